"""The last pass of a migration, as its cost and its interruptions show it."""

import collections
import contextlib
import errno
import os
import re
import shutil
import signal

import pytest

from computers import computers
from devices import PATIENCE, Process, Receiver, end_well, own_port, random_file, sender
from disks import KINDS, Disk, needed, tell
from forgetful_disk import ForgetfulDisk, Server, wait_until_there
from needs import fuse, needs, strace
from outside import MIB, equal, require, wait_for

FILES = 50


@needs(strace)
def test_looks_of_a_pass_without_changes(work):
    """last pass: without a change, the sender opens no file, and looks at each twice; no folder's record crosses"""
    old, new = computers(work, [])
    for number in range(FILES):
        old.write(f"Documents/folder {number % 5}/file-{number}")
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    receiver = new.receive()
    log = f"{work.path}/calls"
    traced = Process(
        work, ["send", "--everything", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json"], "", None,
        old.peer_home, within=("strace", "-f", "-qq", "-s", "200", "-e", "trace=%file", "-o", log), settings=old.settings)
    end_well(traced, receiver)
    with open(log, encoding="utf-8", errors="replace") as file:
        calls = [line for line in file if re.search(r'[/"]file-\d+"', line)]
    looks = collections.Counter(re.search(r"file-\d+", line)[0] for line in calls if re.search(r" (statx|newfstatat)\(", line))
    others = [line for line in calls if not re.search(r" (statx|newfstatat)\(", line)]
    require(not others, f"more than a look: {others[:3]}")
    equal((len(looks), max(looks.values())), (FILES, 2), "the files that are looked at, and how often")
    done = traced.events("done")[0]
    equal((done["sentBytes"], done["present"]), (0, FILES + 6), "what crosses, and what is there")
    work.figure = f"{sum(looks.values())} looks at {FILES} files"


class Dying(Server):
    """A disk of which a folder cannot be listed any more once a file beside it says so."""

    def names_in(self, node, *rest):
        if os.path.basename(self.path(node)) == "dying" and os.path.exists(f"{self.nodes[1]}.dead"):
            raise OSError(errno.EIO, "")
        return super().names_in(node, *rest)


def staged(new, source, name):
    """Whether a file lies complete in the staging directory of a destination."""
    with open(source, "rb") as file:
        content = file.read()
    for place, _, names in os.walk(new):
        if os.path.basename(name) in names and place.endswith(os.path.dirname(name)):
            with open(f"{place}/{os.path.basename(name)}", "rb") as file:
                return file.read() == content
    return False


@pytest.mark.takes(15)
@needs(fuse)
def test_a_folder_that_cannot_be_listed_any_more(work):
    """last pass: what had arrived of a folder that a dying disk cannot list in the second session is kept, and arrives"""
    old, new = work.place()
    behind, seen = f"{old}/behind", f"{old}/seen"
    for folder in (f"{behind}/tree/dying/deep", f"{behind}/tree/later", seen):
        os.makedirs(folder)
    names = [f"dying/{number}" for number in range(20)] + ["dying/deep/in"]
    for name in names:
        random_file(f"{behind}/tree/{name}", 100_000)
    random_file(f"{behind}/tree/later/large", 24 * MIB)
    with contextlib.closing(ForgetfulDisk(behind, seen, Dying)):
        wait_until_there(seen)
        receiver = Receiver(work, new, port=own_port())
        link = work.slow_link(receiver.port, 5 * MIB)
        sending = sender(work, [f"{seen}/tree"], link.port, receiver.pairing_code)
        wait_for("half", PATIENCE, lambda: [event for event in sending.events("progress") if event["bytes"] > 12 * MIB] or sending.poll())
        require(sending.is_running(), f"the sender ended with {sending.code}: {sending.text()[-300:]}")
        for process in (receiver, sending):
            process.signal(signal.SIGKILL)
            process.wait()
        link.close()
        whole = [name for name in names if staged(new, f"{behind}/tree/{name}", name)]
        require(len(whole) > len(names) // 2, f"complete in staging: {whole}")
        with open(f"{behind}.dead", "w", encoding="utf-8"):
            pass
        receiver = Receiver(work, new, port=receiver.port, is_inviting=False)
        again = sender(work, [f"{seen}/tree"], receiver.port, None)
        equal((again.wait(), receiver.wait()), (8, 8), "the exit codes")
        require("tree/dying" in again.text(), f"the folder is not named: {again.text()[-500:]}")
    for name in [*whole, "later/large"]:
        require(os.path.exists(f"{new}/tree/{name}"), f"{name} was complete, and did not arrive")
        with open(f"{behind}/tree/{name}", "rb") as one, open(f"{new}/tree/{name}", "rb") as other:
            require(one.read() == other.read(), f"{name} is another one")


def last_pass(old, new, between):
    """Moves a home twice, the second time after a change and what comes between."""
    for name in ("same", "changed", "folder/in"):
        old.write(f"Documents/{name}", f"first {name}")
    random_file(f"{old.home}/Documents/large", 4 * MIB)
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    between()
    for name in ("changed", "folder/in"):
        old.write(f"Documents/{name}", f"second {name}, longer")
    receiver = new.receive()
    again = old.send(receiver.port, None, "--everything")
    end_well(again, receiver)
    expected = {"same": "first same", "changed": "second changed, longer", "folder/in": "second folder/in, longer"}
    equal({name: new.read(f"Documents/{name}") for name in expected}, expected, "the documents")
    equal(sorted(os.listdir(f"{new.home}/Documents")), ["changed", "folder", "large", "same"], "nothing beside them")
    done = again.events("done")[0]
    require(done["sentBytes"] < 1000, f"sent again: {done}")


def each(*names):
    return pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name, marks=needs(needed(name))) for name in names])


@pytest.mark.takes(4)
@each("XFS", "btrfs", "exFAT", "bindfs")
def test_a_home_that_is_mounted_anew(work, kind):
    """last pass: a home that was mounted anew is the same source: what changed is replaced, and nothing else crosses"""
    disk = Disk(kind, work)
    old, new = computers(work, [])
    old.home = old.settings["HOME"] = disk.place("home")
    last_pass(old, new, disk.again)


def test_a_home_that_was_restored_from_a_backup(work):
    """last pass: a home that was restored from a backup is the same source: what changed is replaced, and nothing else crosses"""
    old, new = computers(work, [])

    def restore():
        shutil.copytree(old.home, f"{old.home}.backup", symlinks=True)
        shutil.rmtree(old.home)
        os.rename(f"{old.home}.backup", old.home)
        os.chmod(old.home, 0o700)

    last_pass(old, new, restore)


@pytest.mark.takes(4)
@each("XFS", "exFAT")
def test_two_cards(work, kind):
    """last pass: two cards at one place are two sources: the photos of the second one arrive beside those of the first"""
    disk = Disk(kind, work)
    old, new = computers(work, [])

    def send(content, code_of=lambda receiver: None):
        os.makedirs(f"{disk.folder}/DCIM", exist_ok=True)
        with open(f"{disk.folder}/DCIM/1.jpg", "w", encoding="utf-8") as file:
            file.write(content)
        receiver = new.receive()
        sending = old.send(receiver.port, code_of(receiver), f"{disk.folder}/DCIM", "--remember")
        end_well(sending, receiver)
        return any("nothing tells this file system from others" in event["message"] for event in sending.events("notice"))

    send("a photo of the first card", lambda receiver: receiver.pairing_code)
    disk.unmount()
    os.rename(disk.image, f"{disk.image}.first")
    with open(disk.image, "wb") as file:
        file.truncate(Disk.SIZE)
    tell(*kind.make, disk.image)
    disk.mount()
    send("another one, of the second card")
    photos = ["a photo of the first card", "another one, of the second card", "a later one, of the second card"]
    # Without a device manager, no card has a UUID: then each transfer is one of another source.
    if not send(photos[2]):
        photos = [photos[0], photos[2], None]
    equal([new.read(f"DCIM/{name}.jpg") for name in ("1", "1 (2)", "1 (3)")], photos, "the photos")


def test_a_folder_that_changed_its_name_with_the_language(work):
    """last pass: after the new computer's language and with it the name of a folder changed, what changed is replaced there"""
    old, new = computers(work, [])
    for name in ("changed", "same", "folder/in"):
        old.write(f"Documents/{name}", f"first {name}")
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    new.write(".config/user-dirs.dirs", 'XDG_DOCUMENTS_DIR="$HOME/Dokumente"\n')
    os.rename(f"{new.home}/Documents", f"{new.home}/Dokumente")
    for name in ("second", "third"):
        old.write("Documents/changed", f"{name} version")
        old.write(f"Documents/{name}", name)
        receiver = new.receive()
        again = old.send(receiver.port, None, "--everything")
        end_well(again, receiver)
        equal((new.read("Dokumente/changed"), new.read(f"Dokumente/{name}")), (f"{name} version", name), "the documents")
        equal((again.events("done")[0]["removed"], os.path.exists(f"{new.home}/Documents")), (0, False), "what is missing")


def files(computer):
    """The documents of a home."""
    return [f"{place}/{name}" for place, _, names in os.walk(f"{computer.home}/Documents") for name in names]

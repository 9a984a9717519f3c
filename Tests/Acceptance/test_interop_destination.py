"""The second implementation's sender and the program's destinations: taken names, small abilities, apps."""

import os

import pytest

from apps import ID, Device
from bundles import GROUP
from devices import Receiver, end_well, small_file
from disks import Disk, KINDS, needed
from interop import ended, interop, paired, roots, to_data
from needs import needs, own_mounts, root
from outside import equal, require

pytestmark = needs(interop)

if interop() is None:
    import wire
    from plan import Part

MOMENT = 1_500_000_000_123_456_789


def filled(folder, files, links=()):
    """A folder of files and links, all of one time."""
    os.mkdir(folder)
    for name, content in files.items():
        small_file(f"{folder}/{name}", content)
        os.utime(f"{folder}/{name}", ns=(MOMENT, MOMENT))
    for name, target in links:
        os.symlink(target, f"{folder}/{name}")


def merged(work):
    """A source, and a destination with equal items, changed items, and items of another kind."""
    old, new = work.place()
    filled(f"{old}/data", {"same": b"same", "differs": b"new content", "fresh": b"fresh"}, [("link", "target"), ("other", "new")])
    os.mkdir(f"{old}/data/folder")
    small_file(f"{old}/data/folder/inner")
    filled(f"{new}/data", {"same": b"same", "differs": b"old", "folder": b"a file", "alone": b"alone"}, [("link", "target"), ("other", "old")])
    return old, new


def test_marks_of_existing_items(work):
    """interop: --existing skip: marks of kinds 2 and 3; the sender leaves these items out"""
    old, new = merged(work)
    receiver = Receiver(work, new, options=["--existing", "skip"])
    made = to_data(paired(receiver, roots(old)))
    key = made.accepted.hashKey
    equal(made.held[2], {wire.mark_of_file(key, len(content), divmod(MOMENT, 10**9), b"data/" + name)
                         for name, content in ((b"same", b"same"), (b"differs", b"old"), (b"folder", b"a file"), (b"alone", b"alone"))}
          | {wire.mark_of_symlink(key, b"target", b"data/link"), wire.mark_of_symlink(key, b"old", b"data/other")}, "marks of kind 2")
    paths = [b"data", *(b"data/" + name for name in (b"same", b"differs", b"folder", b"alone", b"link", b"other"))]
    equal(made.held[3], {wire.mark_of_path(key, path) for path in paths}, "marks of kind 3")
    made.send()
    made.finish()
    made.receipt()
    equal(sorted((path, reason) for path, reason in made.unsent), [(b"data/differs", 33), (b"data/other", 33)], "NOT_STORED")
    finish = next(said for is_own, said in made.control.trace if is_own and said.name == "FINISH")
    equal((finish.present, finish.differing), (2, 2), "present and differing")
    # A directory is sent even where a file exists: it and its content are not stored.
    ended(receiver, 8)
    equal(made.part.done.notStored, 2, "items not stored")
    with open(f"{new}/data/differs", "rb") as file:
        equal(file.read(), b"old", "what was there")
    with open(f"{new}/data/fresh", "rb") as file:
        equal(file.read(), b"fresh", "what is new")


def test_a_sender_that_does_not_leave_out(work):
    """interop: --existing skip, a sender that ignores the marks: NOT_STORED and DONE name and count the items not stored"""
    old, new = merged(work)
    receiver = Receiver(work, new, options=["--existing", "skip"])
    made = to_data(paired(receiver, roots(old)))
    require(made.held[3], "no marks of kind 3")
    made.held[3] = set()
    made.send()
    made.finish()
    made.receipt()
    equal(made.part.done.notStored, 4, "items not stored")
    named = {said.path: said.reason for said in made.refused}
    equal(named, {b"data/differs": 34, b"data/other": 34, b"data/folder": 34, b"data/folder/inner": 22}, "NOT_STORED")
    ended(receiver, 8)


def test_what_belongs_together(work):
    """interop: --existing merge: marks of kind 2 alone, and what belongs together is sent whole"""
    old, new = work.place()
    together = {"db": b"db", "db-wal": b"wal"}
    filled(f"{old}/data", {"same": b"same", **together})
    filled(f"{new}/data", {"same": b"same", "db": b"db", "work": b"work"})
    for folder in (old, new):
        filled(f"{folder}/data/repository", {".git": b"gitdir: x", "file": b"file"})
    receiver = Receiver(work, new, options=["--existing", "merge"])
    made = to_data(paired(receiver, roots(old)))
    key = made.accepted.hashKey
    equal(made.held[2], {wire.mark_of_file(key, len(content), divmod(MOMENT, 10**9), b"data/" + name)
                         for name, content in ((b"same", b"same"), (b"db", b"db"), (b"work", b"work"))}, "marks of kind 2")
    equal(made.held[3], set(), "marks of kind 3")
    made.send()
    made.finish()
    made.receipt()
    finish = next(said for is_own, said in made.control.trace if is_own and said.name == "FINISH")
    equal((finish.present, finish.differing), (1, None), "present and differing")
    end_well(receiver)
    arrived = {name.replace(" (2)", ""): name for name in os.listdir(f"{new}/data") if "(2)" in name}
    equal(arrived, {name: name.replace("db", "db (2)") for name in together}, "what arrived")


# A destination of small abilities


def strange_names(folder):
    filled(folder, {"plain": b"plain", "col:on": b"1", "tail ": b"2", "Case": b"upper", "case": b"lower"}, [("link", "plain")])
    os.mkdir(f"{folder}/ques?tion")
    small_file(f"{folder}/ques?tion/inner")


@needs(needed("exFAT"))
@pytest.mark.parametrize("cut", [False, True])
def test_refused(work, cut):
    """interop: exFAT, names and links that it cannot hold: NOT_STORED, and again in the next session"""
    disk = Disk(KINDS["exFAT"], work)
    old, new = work.place()[0], disk.place("new")
    strange_names(f"{old}/data")
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.send()
    if cut:
        made.cut()
        made.resume()
        to_data(made)
        made.send()
        equal(made.sent_bytes, 0, "bytes sent again")
    made.finish()
    made.receipt()
    expected = {b"data/col:on": 16, b"data/link": 19, b"data/ques?tion": 16, b"data/ques?tion/inner": 22}
    named = {said.path: said.reason for said in made.refused}
    equal({path: named.get(path) for path in expected}, expected, "NOT_STORED")
    equal(made.part.done.notStored, len(named), "items not stored")
    ended(receiver, 8)


# Owners, set-id bits, attributes that stay behind


def owned(work):
    """A file of another owner with a set-user-id bit and an attribute that is never carried."""
    old, new = work.place(on_disk=True)
    filled(f"{old}/data", {"program": b"run", "plain": b"plain"})
    os.chown(f"{old}/data/program", 1234, 5678)
    os.chmod(f"{old}/data/program", 0o4755)
    os.setxattr(f"{old}/data/plain", "trusted.kept.here", b"1")
    return old, new


@needs(root)
@pytest.mark.parametrize("is_kept", [False, True])
def test_owners_and_set_id_bits(work, is_kept):
    """interop: the program drops owners and set-id bits, or keeps them with its options"""
    old, new = owned(work)
    receiver = Receiver(work, new, options=["--owners", "--set-id-bits"] if is_kept else [])
    made = to_data(paired(receiver, roots(old), owners=True))
    made.send()
    made.finish()
    made.receipt()
    end_well(receiver)
    there = os.lstat(f"{new}/data/program")
    equal((there.st_uid, there.st_gid, there.st_mode & 0o7777), (1234, 5678, 0o4755) if is_kept else (os.geteuid(), os.getegid(), 0o755), "owner and mode")
    losses = dict(made.part.done.losses or [])
    equal((8 in losses, 3 in losses), (not is_kept, not is_kept), f"losses {losses}")
    equal([(left["name"], left["count"]) for left in receiver.events("done")[0]["lostAttributes"]], [("trusted.kept.here", 1)], "what is left behind")


# Apps


def archive(work, identifier=ID):
    """The part of an app, whose archive is the content of a folder."""
    old, _ = work.place()
    os.makedirs(f"{old}/archive/Documents")
    small_file(f"{old}/archive/Documents/kept", b"what was written")
    os.mkdir(f"{old}/archive/Group")
    small_file(f"{old}/archive/Group/shared", b"shared")
    app = {"store": "", "platform": "linux", "version": "1.5"}
    return [Part([f"{old}/archive"], kind=wire.APP, identifier=identifier, app=app)]


@needs(own_mounts)
def test_an_app_takes_its_data(work):
    """interop: the program asks for an app's data in its GREETING, and imports it"""
    device = Device(work, work.place()[1])
    receiver = device.receive("--option", "count=7")
    made = to_data(paired(receiver, archive(work)))
    request = made.other.request
    equal((request["identifier"], request["platform"], request["options"]), (ID, "linux", [(b"count", b"7")]), "the request")
    equal(made.accepted.traits, None, "traits for an app")
    made.send()
    made.finish()
    made.receipt()
    end_well(receiver)
    equal(device.documents(), {"kept": b"what was written"}, "the app's files")
    require(os.path.exists(device.group("shared")), f"no file of {GROUP}")

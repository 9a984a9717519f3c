"""Names that are taken at the destination."""

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

import pytest

from devices import PATIENCE, Process, Receiver, end_well, own_port, sender, small_file
from interop import interop
from needs import needs, root, rsync
from outside import NOBODY, Failure, equal, require, wait_for
from strange_sender import MODIFIED, StrangeSender

OLD_TIME = 1_400_000_000_000_000_000
NEW_TIME = 1_600_000_000_000_000_005


def tree(folder, entries, moment):
    """Makes folders (paths that end with a slash), links (values that are text) and files (bytes),
    all of one time."""
    for path, content in entries.items():
        place = f"{folder}/{path.rstrip('/')}"
        if path.endswith("/"):
            os.mkdir(place)
        elif isinstance(content, str):
            os.symlink(content, place)
        else:
            small_file(place, content)
    # The content of a read-only folder is made before the folder.
    for path in sorted(entries, reverse=True):
        if path.endswith("/"):
            os.chmod(f"{folder}/{path}", entries[path])
        os.utime(f"{folder}/{path.rstrip('/')}", ns=(moment, moment), follow_symlinks=False)


def look(folder):
    """Everything in a folder: mode, time and content of each path; only the mode of a folder."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = f"{parent}/{name}"
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                value = ("link", status.st_mtime_ns, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                value = ("folder", stat.S_IMODE(status.st_mode))
            else:
                with open(path, "rb") as file:
                    value = ("file", stat.S_IMODE(status.st_mode), status.st_mtime_ns, file.read())
            found[os.path.relpath(path, folder)] = value
    return found


SENT = {
    "photos/": 0o750, "photos/both": b"new content", "photos/same": b"the same", "photos/new": b"new",
    "photos/link": "to-new", "photos/same-link": "to-same", "photos/deep/": 0o700, "photos/deep/x": b"new deep",
    "photos/deep/y": b"y", "photos/fresh/": 0o500, "photos/fresh/z": b"z", "photos/folder": b"a file now",
    "photos/file/": 0o755, "photos/file/inner": b"inner", "notes.txt": b"new notes", "alone.txt": b"alone",
}
THERE = {
    "photos/": 0o755, "photos/both": b"old content", "photos/own": b"own", "photos/link": "to-old",
    "photos/deep/": 0o755, "photos/deep/x": b"old deep", "photos/folder/": 0o755, "photos/folder/kept": b"kept",
    "photos/file": b"a file", "notes.txt": b"old notes", "other.txt": b"other",
}
SAME = {"photos/same": b"the same", "photos/same-link": "to-same"}


def prepare(work):
    old, new = work.place(on_disk=True)
    tree(old, SENT, NEW_TIME)
    tree(new, THERE, OLD_TIME)
    for path, content in SAME.items():
        tree(new, {path: content}, NEW_TIME)
    return old, new


def run(work, old, new, mode, user=None, port=0):
    options = () if mode is None else ("--existing", mode)
    receiver = Receiver(work, new, user, port, options)
    names = sorted(os.listdir(old))
    sending = sender(work, [f"{old}/{name}" for name in names], receiver.port, receiver.pairing_code, user)
    return receiver, sending


def done(receiver, sending):
    end_well(sending, receiver)
    return receiver.events("done")[0], sending.events("done")[0]


def check_renamed(receiver, sending, expected):
    """Both ends name the items that have other names."""
    for end, run in (("receiver", receiver), ("sender", sending)):
        named = [(event["path"], event["arrivedAs"]) for event in run.events("renamed")]
        equal(sorted(named), expected, f"other names at the {end}")
        equal(run.events("done")[0]["renamed"], len(expected), f"their number at the {end}")


def test_refuse(work):
    """--existing refuse, the default: exit 4 on both sides, nothing changes"""
    for mode in (None, "refuse"):
        old, new = prepare(work)
        before = look(new)
        receiver, sending = run(work, old, new, mode)
        equal((sending.wait(), receiver.wait()), (4, 4), "exit codes")
        equal(look(new), before, "the destination")


def test_skip(work):
    """--existing skip: missing items arrive, existing ones stay and are not sent again

    A folder whose name an existing file keeps is not stored, nor its items: exit 8 on both sides.
    """
    old, new = prepare(work)
    before, sent = look(new), look(old)
    receiver, sending = run(work, old, new, "skip")
    equal((sending.wait(), receiver.wait()), (8, 8), "exit codes")
    missing = {"photos/new", "photos/deep/y", "photos/fresh", "photos/fresh/z", "alone.txt"}
    equal(look(new), {**before, **{path: sent[path] for path in missing}}, "the destination")
    # The folder whose name an existing file has is sent, and left out at the end.
    differing = ["notes.txt", "photos/both", "photos/deep/x", "photos/folder", "photos/link"]
    for side in (sending, receiver):
        named = sorted(event["path"] for event in side.events("unsent"))
        equal(named, sorted(differing), "what exists and differs")
        left = sorted((event["path"], event["reason"]) for event in side.events("notStored"))
        equal(left, [("photos/file", "existingKept"), ("photos/file/inner", "directoryNotStored")], "what is not stored")
        end = side.events("done")[0]
        equal((end["present"], end["differing"], end["unsent"], end["notStored"]), (2, len(named), 0, 2), "figures")


@needs(interop)
def test_skip_of_a_sender_that_leaves_nothing_out(work):
    """--existing skip, and a sender that ignores the marks: items with taken names are not stored

    They are counted and named.
    """
    new = work.place(on_disk=True)[1]
    tree(new, {"tree/": 0o755, "tree/file 0": b"old", "tree/file 1": b"old", "tree/file 2": b"the same"}, OLD_TIME)
    os.utime(f"{new}/tree/file 2", ns=(MODIFIED * 10**9, MODIFIED * 10**9))
    receiver = Receiver(work, new, options=("--existing", "skip"))
    files = {b"file 0": b"new", b"file 1": b"new", b"file 2": b"the same", b"file 3": b"new"}
    strange = StrangeSender(receiver.port, files)
    strange.pair(receiver.pairing_code)
    strange.open_part()
    strange.connect_stream()
    strange.stream.send(strange.joining())
    strange.stream.send(strange.next_frame(strange.record(strange.ROOT)) + b"".join(strange.rest()))
    strange.hear_written()
    strange.finish()
    heard = []
    while True:
        said = strange.control.hear("NOT_STORED", "DONE")
        if said.name == "DONE":
            break
        heard.append((said.path, said.reason))
    equal((sorted(heard), said.notStored), ([(b"tree/file 0", 34), (b"tree/file 1", 34)], 2), "what the sender hears")
    strange.control.say("RECEIPT")
    strange.control.close()
    equal(receiver.wait(), 8, "exit code")
    equal(sorted(event["path"] for event in receiver.events("notStored")), ["tree/file 0", "tree/file 1"], "not stored")


def test_keep_both(work):
    """--existing keep-both: roots with taken names arrive beside the existing items"""
    old, new = prepare(work)
    small_file(f"{new}/notes (2).txt")
    before, sent = look(new), look(old)
    receiver, sending = run(work, old, new, "keep-both")
    done(receiver, sending)
    arrived = {path.replace("photos", "photos (2)", 1).replace("notes.txt", "notes (3).txt"): sent[path] for path in sent}
    equal(look(new), {**before, **arrived}, "the destination")
    check_renamed(receiver, sending, [("notes.txt", "notes (3).txt"), ("photos", "photos (2)")])


def test_replace(work):
    """--existing replace: files replace files, and items of another type arrive beside them"""
    old, new = prepare(work)
    before, sent = look(new), look(old)
    receiver, sending = run(work, old, new, "replace")
    done(receiver, sending)
    expected = {**before, **sent}
    for path in ("photos/folder", "photos/file"):
        expected[path] = before[path]
        expected[f"{path} (2)"] = sent[path]
    expected["photos/file (2)/inner"] = expected.pop("photos/file/inner")
    equal(look(new), expected, "the destination")
    for path in ("photos", "photos/deep"):
        equal(os.lstat(f"{new}/{path}").st_mtime_ns, NEW_TIME, f"the time of {path}")
    check_renamed(receiver, sending, [("photos/file", "photos/file (2)"), ("photos/folder", "photos/folder (2)")])


def test_merge(work):
    """--existing merge: what differs arrives beside, what is equal is not sent, and nothing changes

    The same once more adds nothing.
    """
    old, new = prepare(work)
    before, sent = look(new), look(old)
    beside = {
        "notes.txt": "notes (2).txt", "photos/both": "photos/both (2)", "photos/deep/x": "photos/deep/x (2)",
        "photos/file": "photos/file (2)", "photos/folder": "photos/folder (2)", "photos/link": "photos/link (2)"}
    expected = {**sent, **before, **{name: sent[path] for path, name in beside.items()}}
    expected["photos/file (2)/inner"] = expected.pop("photos/file/inner")
    for _ in range(2):
        receiver, sending = run(work, old, new, "merge")
        for end in done(receiver, sending):
            equal((end["unsent"], end["notStored"]), (0, 0), "what did not arrive")
        equal(look(new), expected, "the destination")
        check_renamed(receiver, sending, sorted(beside.items()))


@needs(rsync)
@pytest.mark.takes(10)
def test_a_receiver_killed_while_it_merges(work):
    """--existing merge: a home with databases and working copies, and a receiver that is killed"""
    old, new = work.place()
    expected, dice = f"{new} as it must be", random.Random(7)
    for home in (old, new):
        os.makedirs(f"{home}/Documents/work/.git/refs")
        for number in range(1200):
            if number % 40 == 0:
                os.mkdir(f"{home}/Documents/{number // 40}")
            small_file(f"{home}/Documents/{number // 40}/{number}.txt", b"%d " % number * 40)
        small_file(f"{home}/Documents/work/.git/refs/head", b"1")
        small_file(f"{home}/Documents/work/source", b"source")
    # A database that a program has open: its last changes are in its log.
    used = sqlite3.connect(f"{old}/Documents/app.db")
    used.execute("PRAGMA journal_mode=WAL")
    used.execute("CREATE TABLE t (x)")
    used.execute("INSERT INTO t VALUES (7)")
    used.commit()
    require(os.path.getsize(f"{old}/Documents/app.db-wal") > 0, "the database has no log")
    small_file(f"{new}/Documents/app.db", b"another database")
    small_file(f"{old}/Documents/work/.git/refs/head", b"22")
    differing = dice.sample(range(1200), 400)
    for number in differing:
        small_file(f"{new}/Documents/{number // 40}/{number}.txt", b"old")
    for parent, folders, files in os.walk(new):
        for name in files:
            os.utime(f"{parent}/{name}", ns=(NEW_TIME, NEW_TIME))
    for parent, folders, files in os.walk(old):
        for name in files:
            if not name.startswith("app.db"):
                os.utime(f"{parent}/{name}", ns=(NEW_TIME, NEW_TIME))
    shutil.copytree(new, expected, symlinks=True)
    for name in ("app.db", "app.db-wal", "app.db-shm"):
        shutil.copy2(f"{old}/Documents/{name}", f"{expected}/Documents/app (2){name[3:]}")
    shutil.copytree(f"{old}/Documents/work", f"{expected}/Documents/work (2)")
    for number in differing:
        place = f"Documents/{number // 40}/{number}"
        shutil.copy2(f"{old}/{place}.txt", f"{expected}/{place} (2).txt")
    receiver, sending = run(work, old, new, "merge", port=own_port())
    port, kills = receiver.port, 0
    while kills < 8:
        wait_for("import", PATIENCE, lambda: '"importing"' in receiver.output() or not receiver.is_running() or not sending.is_running())
        time.sleep(dice.random() * 0.03)
        if not receiver.is_running() or receiver.events("done") or not sending.is_running():
            break
        receiver.signal(signal.SIGKILL)
        receiver.wait()
        kills += 1
        receiver = Process(work, ["receive", new, "--json", "--listen", f"127.0.0.1:{port}"])
    equal(sending.wait(), 0, "the sender's exit code")
    # One that was killed when all was in place, and its sender knew it, waits for another sender.
    def waits():
        return receiver.events("code") and not any(receiver.events(name) for name in ("resumed", "importing"))

    wait_for("the receiver's end", PATIENCE, lambda: receiver.poll() or waits())
    if receiver.is_running():
        receiver.signal(signal.SIGTERM), receiver.wait()
    else:
        end_well(receiver)
    judged = subprocess.run(
        ["rsync", "-rlpcni", "--delete", "--exclude=/.*", f"{expected}/", f"{new}/"], capture_output=True, text=True)
    equal((judged.returncode, judged.stdout), (0, ""), "what rsync would change")
    arrived = sqlite3.connect(f"{new}/Documents/app (2).db")
    equal(arrived.execute("SELECT x FROM t").fetchall(), [(7,)], "the database")
    arrived.close()
    used.close()
    require(kills > 0, "no kill came in time")
    work.figure = f"{kills} kills"


@pytest.mark.takes(5)
def test_a_second_run_sends_only_the_new_file(work):
    """--existing skip: a second run over 4,000 files sends only the new one"""
    old, new = work.place()
    os.mkdir(f"{old}/folder")
    for number in range(4000):
        small_file(f"{old}/folder/{number}", b"%d" % number * 50)
    os.link(f"{old}/folder/7", f"{old}/folder/twin")
    done(*run(work, old, new, "skip"))
    small_file(f"{old}/folder/late", b"late" * 1000)
    os.link(f"{old}/folder/7", f"{old}/folder/triplet")
    small_file(f"{old}/folder/11", b"other")
    expected = look(new)
    receiver, sending = run(work, old, new, "skip")
    ends = done(receiver, sending)
    for end in ends:
        equal((end["present"], end["differing"]), (4000, 1), "what was there, and what differs")
    records = ends[1]["sentBytes"] + ends[1]["savedBytes"] - 4000 - os.path.getsize(f"{old}/folder/7")
    require(0 < records < 2000, f"{records} bytes sent besides the content")
    for name in ("late", "triplet"):
        expected[f"folder/{name}"] = look(old)[f"folder/{name}"]
    equal(look(new), expected, "the destination")


def whole_or_new(new, count, before):
    """The number of new files; fails if a file is neither old nor new as a whole."""
    replaced = 0
    for number in range(count):
        with open(f"{new}/folder/{number % 40}/{number}", "rb") as file:
            content = file.read()
        if content == b"new %d " % number * 40:
            replaced += 1
        elif content != b"old %d " % number * 30:
            raise Failure(f"{number} is neither old nor new: {content[:40]!r}, {before} files were new before")
    return replaced


@pytest.mark.takes(20)
def test_a_receiver_killed_while_it_replaces(work):
    """--existing replace: the receiver is killed again and again while it imports 8,000 files"""
    count = 8000
    old, new = work.place()
    for folder, text, times in ((old, b"new %d ", 40), (new, b"old %d ", 30)):
        os.mkdir(f"{folder}/folder")
        for number in range(count):
            if number < 40:
                os.mkdir(f"{folder}/folder/{number}")
            small_file(f"{folder}/folder/{number % 40}/{number}", text % number * times)
    receiver, sending = run(work, old, new, "replace", port=own_port())
    port, kills, halfway, replaced = receiver.port, 0, 0, 0
    dice = random.Random(6)
    while kills < 12:
        wait_for("import", PATIENCE, lambda: '"importing"' in receiver.output() or not receiver.is_running())
        # Kills in an import that gets shorter each time.
        time.sleep(dice.random() * 0.04)
        if not receiver.is_running() or receiver.events("done"):
            break
        receiver.signal(signal.SIGKILL)
        receiver.wait()
        kills += 1
        now = whole_or_new(new, count, replaced)
        require(now >= replaced, "what was new is old again")
        replaced = now
        halfway += 0 < now < count
        receiver = Process(work, ["receive", new, "--json", "--listen", f"127.0.0.1:{port}"])
    end_well(sending, receiver)
    equal(whole_or_new(new, count, replaced), count, "new files")
    equal([name for name in os.listdir(new) if name != "folder"], [], "what is left")
    require(kills > 0, "no kill came in time")
    work.figure = f"{kills} kills, {halfway} of them halfway"


@needs(root)
def test_a_read_only_folder(work):
    """--existing replace: a read-only folder is named, and the same command resumes when it is
    writable"""
    old, new = work.place(NOBODY)
    # Files that arrive in folders without write permission must be taken out of these, too.
    both = {"folder/": 0o755, "folder/locked/": 0o755, "folder/shut/": 0o755}
    tree(old, {**both, "folder/locked/a": b"new", "folder/b": b"new", "folder/shut/c": b"new", "folder/shut/in/": 0o755,
               "folder/shut/in/d": b"new"}, NEW_TIME)
    tree(new, {**both, "folder/locked/a": b"old", "folder/b": b"old", "folder/shut/c": b"old"}, OLD_TIME)
    for path in ("folder/shut/in", "folder/shut"):
        os.chmod(f"{old}/{path}", 0o500)
    for place in (old, new):
        for parent, folders, files in os.walk(place):
            for name in folders + files:
                os.chown(f"{parent}/{name}", NOBODY, NOBODY)
    os.chmod(f"{new}/folder/locked", 0o500)
    receiver, sending = run(work, old, new, "replace", NOBODY, own_port())
    equal((sending.wait(), receiver.wait()), (7, 7), "exit codes")
    require("'folder/locked/a'" in receiver.error()["message"], receiver.error()["message"])
    with open(f"{new}/folder/locked/a", "rb") as file:
        equal(file.read(), b"old", "the old file")
    os.chmod(f"{new}/folder/locked", 0o755)
    again = Process(work, ["receive", new, "--json", "--listen", f"127.0.0.1:{receiver.port}"], user=NOBODY)
    wait_for("end of the import", PATIENCE, lambda: again.events("done"))
    # It would wait for a sender that missed the answer.
    again.signal(signal.SIGTERM)
    equal(again.wait(), 0, "exit code of the second run")
    expected = look(old)
    equal(look(new), expected, "the destination")

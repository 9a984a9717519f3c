"""Names that are taken at the destination."""

import os
import stat


from devices import Process, Receiver, end_well, sender, small_file
from outside import equal

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
        left = sorted((event["path"], event["reason"]) for event in side.events("notStored"))
        named = [path for path, reason in left if reason == "existsAndDiffers"]
        equal(named, sorted(differing), "what exists and differs")
        left = [event for event in left if event[1] != "existsAndDiffers"]
        equal(left, [("photos/file", "existingKept"), ("photos/file/inner", "directoryNotStored")], "what is not stored")
        end = side.events("done")[0]
        equal((end["present"], end["differing"], end["unsent"], end["notStored"]), (2, len(named), 0, 2), "figures")


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


def test_update(work):
    """--existing update --remember: a second run needs no code, brings what is new and changed, and removes nothing"""
    old, new = work.place(on_disk=True)
    tree(old, {"kept": b"kept", "changed": b"first", "gone": b"gone"}, OLD_TIME)

    def copy():
        receiver = Receiver(work, new, options=("--existing", "update", "--remember"))
        names = [f"{old}/{name}" for name in sorted(os.listdir(old))]
        code = "" if copies else receiver.pairing_code + "\n"
        sending = Process(
            work, ["send", *names, "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--remember"], code)
        copies.append(done(receiver, sending))

    copies = []
    copy()
    os.remove(f"{old}/gone")
    tree(old, {"changed": b"second", "added": b"added"}, NEW_TIME)
    copy()
    found = {path: entry[-1] for path, entry in look(new).items()}
    equal(found, {"kept": b"kept", "changed": b"second", "gone": b"gone", "added": b"added"}, "the destination")

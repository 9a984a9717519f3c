#!/usr/bin/env python3
"""The cases for every file system: the trees that are sent to it, and the judgement of the results.

Usage:
  disk_cases.py make plain|pairs|tree DIR      makes a tree in the existing folder DIR
  disk_cases.py judge SOURCE DEST [EVENTS...]  compares the folder DEST with the folder SOURCE, as far as
                                               DEST's disk can hold it; EVENTS are the files with the
                                               JSON lines of the two ends
  disk_cases.py row NAME SOURCE DEST SENDER RECEIVER
                                               prints the table's row of one transfer, after it was judged

This uses only Python's standard library, and no part of the product, so that it also runs in a
guest. Exit codes: 0 as promised, 1 otherwise.
"""

import base64
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from disk_trial import Kept, refused  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SECOND = 10**9
MIB = 1 << 20
VIDEO = 30 * MIB
PAIRS = 200


class Wrong(Exception):
    """A difference from the promised result; the message names it."""


# Trees


def write(path, content, moment):
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, ns=(moment, moment))


def make_plain(folder):
    """A folder `plain` of ordinary names: 100 photos and notes, and a video of 30 MB."""
    dice, moment = random.Random(15), 1_690_000_000 * SECOND + 123_456_789
    top = os.path.join(folder, "plain")
    os.mkdir(top)
    for name in ("Photos", "Photos/Summer", "Notes"):
        os.mkdir(os.path.join(top, name))
    for number in range(100):
        moment += dice.randrange(SECOND, 86_400 * SECOND)
        if number < 60:
            below = "Photos/Summer" if number % 3 == 0 else "Photos"
            write(f"{top}/{below}/IMG_{1000 + number}.jpg", dice.randbytes(dice.randrange(2_000, 60_000)), moment)
        else:
            write(f"{top}/Notes/Note {number}.txt", f"Note {number}: buy milk\n".encode() * dice.randrange(1, 80), moment)
    write(f"{top}/Photos/Summer/Video.mp4", dice.randbytes(VIDEO), moment + 7)
    for name in ("Photos/Summer", "Photos", "Notes", ""):
        moment += SECOND + 1_000
        os.utime(os.path.join(top, name), ns=(moment, moment))


def pair(number):
    """Two names that some file systems fold: in one half of the pairs the case differs, in the
    other the form of a letter."""
    if number % 2 == 0:
        return f"photo{number:03d}.jpg".encode(), f"PHOTO{number:03d}.jpg".encode()
    return tuple(unicodedata.normalize(form, f"p\u00e1gina {number:03d}").encode() for form in ("NFC", "NFD"))


def pair_content(name):
    """Incompressible content whose length differs from most others, and of which each part
    identifies its owner."""
    stream = hashlib.shake_256(name)
    return stream.digest(32 * (200 + stream.digest(1)[0]))


def make_pairs(folder):
    """A folder `pairs` with 200 pairs of names."""
    top = os.path.join(folder, "pairs")
    os.mkdir(top)
    for number in range(PAIRS):
        for name in pair(number):
            write(os.path.join(os.fsencode(top), name), pair_content(name), (1_700_000_000 + number) * SECOND)


def make_tree(folder):
    """A folder `tree` with all kinds of items that make-tree knows."""
    subprocess.run([sys.executable, f"{HERE}/make-tree", os.path.join(folder, "tree")], check=True)


TREES = {"plain": make_plain, "pairs": make_pairs, "tree": make_tree}


# Events


def events(path, name=None):
    """The events of one end, from the file with its JSON lines."""
    with open(path, encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.endswith("\n")]
    return [event for event in found if name is None or event["event"] == name]


def exact(event, key="path"):
    """The bytes of a name in an event."""
    return base64.b64decode(event[f"{key}Base64"]) if f"{key}Base64" in event else event[key].encode()


def is_left_out(event):
    """Whether the sender has left out the item that is not stored."""
    return event["by"] == "sender" or event["reason"] == "existsAndDiffers"


def not_stored(found):
    """The items that one end reports as not stored, and that were sent: reasons by path."""
    named = {}
    for event in found:
        if event["event"] == "notStored" and not is_left_out(event):
            path = exact(event)
            if path in named:
                raise Wrong(f"{path!r} is named twice as not stored")
            named[path] = event["reason"]
    return named


# Judgement


def agree(sender, receiver):
    """The items that both ends report as not stored, if they agree."""
    ends = not_stored(sender), not_stored(receiver)
    if ends[0] != ends[1]:
        raise Wrong(f"the sender names {differing(*ends)}, the receiver {differing(*reversed(ends))}")
    return ends[0]


def differing(one, other, most=5):
    """The differences between the reports of the two ends, in few words."""
    found = [f"{path!r}: {reason}" for path, reason in sorted(one.items()) if other.get(path) != reason]
    return f"{len(found)} of its own" + "".join(f", {text}" for text in found[:most])


def equal_trees(source, destination, left_out=(), scratch=None):
    """Requires that two folders are equal, except for some paths, as far as the second one's disk
    can hold it."""
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
        file.writelines(escaped(path) + "\n" for path in left_out)
        file.flush()
        result = subprocess.run(
            [sys.executable, f"{HERE}/check-trees", "--inside", "--as-kept", scratch or destination, "--left-out", file.name,
             source, destination],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    if result.returncode != 0:
        lines = result.stdout.decode(errors="replace").strip().splitlines()
        raise Wrong(f"not equal: {len(lines)} lines by check-trees: " + "; ".join(lines[:4]))


def escaped(path):
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in path)


def right_list(named, source, destination):
    """Requires that the disk also refuses the items named as not stored to another program.

    If several names are one there, any of them may be the stored one.
    """
    expected, collisions = refused(source, destination)
    groups = {}
    for path, other in collisions.items():
        if other is not None:
            groups.setdefault(other, {other}).add(path)
    either = set().union(*groups.values()) if groups else set()

    def beneath(path):
        return any(path == one or path.startswith(one + b"/") for one in either)

    for path, reasons in sorted(expected.items()):
        if not beneath(path):
            if path not in named:
                raise Wrong(f"{path!r} cannot be stored there ({' or '.join(reasons)}), and is not named")
            if named[path] not in reasons:
                raise Wrong(f"{path!r} is named as {named[path]}, not {' or '.join(reasons)}")
    for path, reason in sorted(named.items()):
        if path not in expected and not beneath(path):
            raise Wrong(f"{path!r} is named as not stored ({reason}), and the disk takes it")
    for group in groups.values():
        if len(group - named.keys()) != 1:
            raise Wrong(f"of {sorted(group)!r} {len(group - named.keys())} are stored, not one")


def judge_tree(source, destination, sender, receiver, scratch=None):
    """Requires that everything arrived that the disk can hold, and that both ends name the rest;
    returns the named items."""
    named = agree(sender, receiver)
    right_list(named, source, scratch or destination)
    equal_trees(source, destination, named, scratch)
    return named


def contents(destination, folder):
    """The contents of the files in a folder, by the names in its listing."""
    top = os.path.join(os.fsencode(destination), os.fsencode(folder))
    return {name: content(top, name) for name in os.listdir(top)}


def content(top, name):
    try:
        with open(os.path.join(top, name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def judge_pairs(destination, named, folder="pairs"):
    """Requires of each pair that both arrived, or one and the other is named; that nothing is
    mixed, and no other item exists."""
    top = os.path.join(os.fsencode(destination), os.fsencode(folder))
    there = os.listdir(top)
    kept = Kept(destination)
    try:
        # Some file systems show every name in small letters.
        shown = set(there) if kept.shows_names() else None
        for number in range(PAIRS):
            judge_pair(pair(number), kept, top, shown, named)
    finally:
        kept.close()
    if len(there) + len(named) != 2 * PAIRS:
        raise Wrong(f"{len(there)} files are there and {len(named)} named, of {2 * PAIRS}")


def make_some_of_pairs(folder):
    """A folder `pairs` with one name of some pairs, each with its own content; returns the
    contents."""
    top, before = os.path.join(folder, "pairs"), {}
    os.mkdir(top)
    for number in range(0, PAIRS, 5):
        name = pair(number)[number // 5 % 2]
        before[name] = b"before " + name
        write(os.path.join(os.fsencode(top), name), before[name], 1_500_000_000 * SECOND)
    return before


def judge_merged_pairs(destination, named, before, is_replaced):
    """Requires that each name leads to its own content, old or new, and that items that did not
    arrive are named."""
    top = os.path.join(os.fsencode(destination), b"pairs")
    count = 0
    for number in range(PAIRS):
        names = pair(number)
        count += len({content(top, name) for name in names} - {None})
        for name in names:
            old, new, found = before.get(name), pair_content(name), content(top, name)
            if b"pairs/" + name in named:
                # It may lead to the other one.
                expected = {old} if old is not None else {None, *map(pair_content, names), *map(before.get, names)} - {new}
            else:
                expected = {new} if old is None or is_replaced else {old, new}
            if found not in expected:
                raise Wrong(f"{name!r} holds {whose(found, names)}")
    if len(os.listdir(top)) != count:
        raise Wrong(f"{len(os.listdir(top))} names lead to {count} contents")


def judge_pair(names, kept, top, shown, named):
    stored = [name for name in names if b"pairs/" + name not in named]
    for name in names:
        if name in stored:
            if content(top, name) != pair_content(name):
                raise Wrong(f"{name!r} holds {whose(content(top, name), names)}")
            if shown is not None and name not in shown:
                raise Wrong(f"{name!r} is there under another name")
        elif shown is None and name != name.lower() and named[b"pairs/" + name] == "nameNotAllowed":
            # Names that a disk lists in small letters are not stored in capitals.
            pass
        elif named[b"pairs/" + name] != "nameTaken":
            raise Wrong(f"{name!r} is named as {named[b'pairs/' + name]}, not nameTaken")
        elif shown is not None and name in shown:
            raise Wrong(f"{name!r} is named as not stored, and is there")
    count = 1 if kept.folds(*names) else 2
    if len(stored) != count:
        raise Wrong(f"of {names!r} {len(stored)} are stored, not {count}")


def whose(found, names):
    """A description of a file's content."""
    if found is None:
        return "nothing: it is not there"
    if found.startswith(b"before "):
        return f"what {found[7:]!r} held before"
    return next((f"what belongs to {name!r}" for name in names if found == pair_content(name)), "a mixture")


# The table

HEAD = ("file system", "plain", "not stored", "losses")


def counted(words):
    """Words, each with its count."""
    return ", ".join(f"{word} {words.count(word)}" for word in sorted(set(words))) or "nothing"


def losses(found):
    """The losses that a finished end reports for items that arrived."""
    done = [event for event in found if event["event"] == "done"]
    return ", ".join(f"{loss['kind']} {loss['count']}" for loss in done[-1]["losses"]) if done and done[-1]["losses"] else "nothing"


def row(name, plain, stored="not tried", lost="not tried"):
    """A row of the table: the items that arrive on a disk."""
    return f"| {name} | {plain} | {stored} | {lost} |"


def head():
    return [row(*HEAD), row(*["---"] * len(HEAD))]


def table(disks):
    """The table of several file systems: for each, the results of the trees, as
    `[not stored, losses]`, with `FAILED` after them."""
    lines = head()
    for name, trees in sorted(disks.items()):
        plain, tree = trees.get("plain"), trees.get("tree")
        said = "not tried" if plain is None else "FAILED" if "FAILED" in plain else "arrives" + (f", but for {plain[1]}" if plain[1] != "nothing" else "")
        lines.append(row(name, said, *(("not tried",) * 2 if tree is None else ("FAILED",) * 2 if "FAILED" in tree else tree)))
    return lines


def main(arguments):
    try:
        if len(arguments) == 3 and arguments[0] == "make" and arguments[1] in TREES:
            TREES[arguments[1]](arguments[2])
        elif len(arguments) >= 3 and arguments[0] == "judge":
            ends = [events(path) for path in arguments[3:]] or [[]]
            named = judge_tree(arguments[1], arguments[2], ends[0], ends[-1])
            print(f"as promised; not stored: {counted(list(named.values()))}")
        elif len(arguments) == 6 and arguments[0] == "row":
            ends = [events(path) for path in arguments[4:]]
            named = judge_tree(arguments[2], arguments[3], *ends)
            print(row(arguments[1], "arrives", counted(list(named.values())), losses(ends[1])))
        else:
            print(__doc__.strip(), file=sys.stderr)
            return 2
    except Wrong as wrong:
        print(wrong)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

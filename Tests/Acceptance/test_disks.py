"""Transfers to real file systems: everything that the disk can hold arrives, and both sides name
the rest."""

import contextlib
import os
import time

import pytest

import disk_cases
from devices import Receiver, random_file, sender
from disks import KINDS, Disk, needed
from needs import needs
from outside import equal, require


def each(*names, long=()):
    """A check for each of some file systems, and for more of them in a long run."""
    names = names or [name for name in KINDS if name != "NTFS that folds"]
    marks = {name: [needs(needed(name))] for name in names}
    marks.update({name: [needs(needed(name)), pytest.mark.option("--long")] for name in long})
    return pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name, marks=marks[name]) for name in marks])


def source_of(work, tree):
    """A folder with one of the trees that are sent everywhere."""
    old, _ = work.place(on_disk=True)
    disk_cases.TREES[tree](old)
    return old


def begin(work, old, new, *options, port=0, rate=None):
    """Begins to send everything in a folder; returns the sender, the receiver, and the link between
    them."""
    receiver = Receiver(work, new, port=port, options=options)
    link = None if rate is None else work.slow_link(receiver.port, rate)
    sending = sender(work, roots(old), (link or receiver).port, receiver.pairing_code)
    return sending, receiver, link


def roots(old):
    return [f"{old}/{name}" for name in sorted(os.listdir(old))]


def end(sending, receiver, code):
    """Requires that both end with a code."""
    codes = sending.wait(), receiver.wait()
    require(codes == (code, code), f"exit codes {codes}, not {code}: {said(sending)} | {said(receiver)}")


def said(process):
    """A run's error, in few words."""
    with contextlib.suppress(ValueError):
        for event in process.events("error"):
            return event["message"]
    return process.text()[-200:].strip()


def ends(sending, receiver):
    return sending.events(), receiver.events()


def lost(receiver):
    return f"losses: {disk_cases.losses(receiver.events())}"


# Ordinary names


@pytest.mark.takes(12)
@each()
def test_plain(work, kind):
    """100 files and a video of 30 MB arrive, as exact as the disk is; a second run is refused"""
    work.row = kind.name, "plain"
    disk = Disk(kind, work)
    old, new = source_of(work, "plain"), disk.place("new")
    started = time.monotonic()
    sending, receiver, _ = begin(work, old, new)
    end(sending, receiver, 0)
    took = time.monotonic() - started
    equal(disk_cases.agree(*ends(sending, receiver)), {}, "what was not stored")
    disk_cases.equal_trees(old, new, scratch=disk.folder)
    equal(os.listdir(new), ["plain"], "the destination holds")
    again, second, _ = begin(work, old, new)
    end(again, second, 4)
    disk_cases.equal_trees(old, new, scratch=disk.folder)
    work.row = *work.row, "nothing", disk_cases.losses(receiver.events())
    work.figure = f"{took:.1f} s, {lost(receiver)}"


def there_already(work, kind):
    """The source, and a destination that has it already, put there by another program."""
    disk = Disk(kind, work)
    old, new = source_of(work, "plain"), disk.place("new")
    disk_cases.make_plain(new)
    disk_cases.equal_trees(old, new, scratch=disk.folder)
    return disk, old, new


@pytest.mark.takes(8)
@each()
def test_plain_is_there_and_replaced(work, kind):
    """--existing replace replaces files with the new ones, and keeps other files"""
    disk, old, new = there_already(work, kind)
    for name in ("Notes/Note 60.txt", "Notes/Note 61.txt", "Photos/Summer/Video.mp4"):
        with open(f"{new}/plain/{name}", "r+b") as file:
            file.write(b"old")
    random_file(f"{new}/plain/Notes/own", 1000)
    sending, receiver, _ = begin(work, old, new, "--existing", "replace")
    end(sending, receiver, 0)
    equal(os.listdir(new), ["plain"], "the destination holds")
    equal(os.path.getsize(f"{new}/plain/Notes/own"), 1000, "size of what was not sent")
    os.remove(f"{new}/plain/Notes/own")
    moment = os.stat(f"{old}/plain/Notes").st_mtime_ns
    os.utime(f"{new}/plain/Notes", ns=(moment, moment))
    disk_cases.equal_trees(old, new, scratch=disk.folder)


@pytest.mark.takes(8)
@each()
def test_plain_is_there_and_merged(work, kind):
    """--existing merge keeps existing files, and saves what differs beside them once"""
    disk, old, new = there_already(work, kind)
    names = ("Notes/Note 60", "Notes/Note 61", "Notes/Note 62")
    for name in names:
        with open(f"{new}/plain/{name}.txt", "wb") as file:
            file.write(b"old")
    for _ in range(2):
        sending, receiver, _ = begin(work, old, new, "--existing", "merge")
        end(sending, receiver, 0)
    for name in names:
        equal(os.path.getsize(f"{new}/plain/{name}.txt"), 3, "size of what was there")
        os.replace(f"{new}/plain/{name} (2).txt", f"{new}/plain/{name}.txt")
    moment = os.stat(f"{old}/plain/Notes").st_mtime_ns
    os.utime(f"{new}/plain/Notes", ns=(moment, moment))
    disk_cases.equal_trees(old, new, scratch=disk.folder)


# Everything that a disk may be unable to hold

DIFFICULT = ("XFS", "NTFS", "exFAT")
LESS_DIFFICULT = ("btrfs", "overlayfs", "bindfs", "sshfs", "tmpfs")


@pytest.mark.takes(10)
@each(*DIFFICULT, long=LESS_DIFFICULT)
def test_a_varied_tree_on_a_disk(work, kind):
    """a varied tree: both sides name the items that the disk cannot hold, exit 8, the rest is
    equal"""
    work.row = kind.name, "tree"
    disk = Disk(kind, work)
    old, new = source_of(work, "tree"), disk.place("new")
    sending, receiver, _ = begin(work, old, new)
    code = 8 if disk_cases.refused(old, disk.folder)[0] else 0
    end(sending, receiver, code)
    named = disk_cases.judge_tree(old, new, *ends(sending, receiver), disk.folder)
    stored = disk_cases.counted(list(named.values()))
    work.row = *work.row, stored, disk_cases.losses(receiver.events())
    work.figure = f"not stored: {stored}; {lost(receiver)}"


# Names that fold

FOLDING = ("exFAT", "NTFS that folds")


@pytest.mark.takes(8)
@each(*FOLDING, "NTFS", "XFS")
def test_names_that_fold(work, kind):
    """200 pairs of names that some disks fold: the first arrives, the second is named, none is
    mixed"""
    disk = Disk(kind, work)
    old, new = source_of(work, "pairs"), disk.place("new")
    sending, receiver, _ = begin(work, old, new)
    named = judge_pairs(sending, receiver, new)
    work.figure = f"{len(named)} of {2 * disk_cases.PAIRS} named"


def judge_pairs(sending, receiver, new, folder="pairs"):
    codes = sending.wait(), receiver.wait()
    require(codes in ((0, 0), (8, 8)), f"exit codes {codes}: {said(sending)} | {said(receiver)}")
    named = disk_cases.agree(*ends(sending, receiver))
    disk_cases.judge_pairs(new, named, folder=folder)
    equal(codes[0], 8 if named else 0, "exit codes")
    return named


@pytest.mark.takes(8)
@pytest.mark.parametrize("mode", ["skip", "keep-both", "replace"])
@each("exFAT")
def test_names_that_fold_and_are_there(work, kind, mode):
    """200 pairs, of which the destination has some: nothing is mixed, and only equal names are
    replaced"""
    disk = Disk(kind, work)
    old, new = source_of(work, "pairs"), disk.place("new")
    before = disk_cases.make_some_of_pairs(new)
    sending, receiver, _ = begin(work, old, new, "--existing", mode)
    if mode == "keep-both":
        judge_pairs(sending, receiver, new, "pairs (2)")
        equal(disk_cases.contents(new, "pairs"), before, "what was there")
        return
    codes = sending.wait(), receiver.wait()
    require(codes in ((0, 0), (8, 8)), f"exit codes {codes}: {said(sending)} | {said(receiver)}")
    named = disk_cases.agree(*ends(sending, receiver))
    differing = {event["path"].encode() for event in sending.events("notStored") if disk_cases.is_left_out(event)}
    disk_cases.judge_merged_pairs(new, named.keys() | differing, before, is_replaced=mode == "replace")
    work.figure = f"{len(named)} not stored, {len(differing)} differ"


@each("exFAT")
def test_a_root_whose_name_folds(work, kind):
    """a root that differs from an existing name by case: refused, or kept beside it with
    keep-both"""
    disk = Disk(kind, work)
    old, new = source_of(work, "plain"), disk.place("new")
    os.mkdir(f"{new}/PLAIN")
    sending, receiver, _ = begin(work, old, new)
    end(sending, receiver, 4)
    equal(([name.upper() for name in os.listdir(new)], os.listdir(f"{new}/PLAIN")), (["PLAIN"], []), "the destination holds")
    sending, receiver, _ = begin(work, old, new, "--existing", "keep-both")
    end(sending, receiver, 0)
    equal(os.listdir(f"{new}/PLAIN"), [], "what was there holds")
    disk_cases.equal_trees(f"{old}/plain", f"{new}/plain (2)", scratch=disk.folder)

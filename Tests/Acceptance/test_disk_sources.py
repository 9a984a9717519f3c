"""Sending from real file systems, with a resume after a new mount: no file is a mixture."""

import contextlib
import os
import signal
import threading

import pytest

from devices import PATIENCE, Receiver, end_well, random_file, sender, small_file
from disks import KINDS, Disk, FailingDisk, failing_disk, needed, tell
from forgetful_disk import ForgetfulDisk, Lying, wait_until_there
from needs import fuse, needs
from outside import MIB, equal, require, run_script, wait_for

SIZE = 24 * MIB
MOMENT = 1_600_000_000 * 10**9


def each(*names):
    return pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name, marks=needs(needed(name))) for name in names])


def prepared(disk):
    """A folder on the disk with a large file and small ones."""
    old = disk.place("old")
    os.mkdir(f"{old}/folder")
    for number in range(50):
        small_file(f"{old}/folder/{number}", b"content %d\n" % number * 100)
    random_file(f"{old}/large", SIZE)
    os.utime(f"{old}/large", ns=(MOMENT, MOMENT))
    return old


@pytest.mark.takes(3)
@needs(fuse)
def test_a_file_system_that_tells_of_holes_where_data_is(work):
    """holes of a file system that is not known to tell them right: the bytes count, and stay holes"""
    old, new = work.place(on_disk=True)
    behind, folder = f"{old}/behind", f"{old}/seen"
    os.makedirs(behind)
    os.makedirs(folder)
    with open(f"{behind}/large", "wb") as file:
        file.write(os.urandom(2 * MIB))
        file.seek(SIZE - MIB)
        file.write(os.urandom(MIB))
    disk = work.undone.enter_context(contextlib.closing(ForgetfulDisk(behind, folder, Lying)))
    wait_until_there(disk.folder)
    receiver = Receiver(work, new)
    sending = sender(work, [f"{folder}/large"], receiver.port, receiver.pairing_code)
    end_well(receiver, sending)
    with open(f"{behind}/large", "rb") as sent, open(f"{new}/large", "rb") as arrived:
        require(sent.read() == arrived.read(), "the bytes are not those of the source")
    require(os.stat(f"{new}/large").st_blocks * 512 < SIZE // 2, "the zeros are no hole")


def interrupted(work, old):
    """Begins to send the folder and kills the sender in the middle of the large file; returns the
    receiver, which waits."""
    _, new = work.place(on_disk=True)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, 8 * MIB)
    sending = sender(work, sources(old), link.port, receiver.pairing_code)
    wait_for("a half of the large file", PATIENCE, lambda: progress(sending) > SIZE // 2 or sending.poll())
    require(sending.is_running(), f"the sender ended with {sending.code}: {sending.text()[-300:]}")
    sending.signal(signal.SIGKILL)
    sending.wait()
    link.close()
    return new, receiver


def sources(old):
    return [f"{old}/{name}" for name in ("folder", "large")]


def progress(process):
    found = process.events("progress")
    return found[-1]["bytes"] if found else 0


def edit(path):
    """Changes bytes at both ends of a file and restores its time, like `touch -r`."""
    status = os.stat(path)
    with open(path, "r+b") as file:
        for offset in (MIB, SIZE - MIB):
            file.seek(offset)
            file.write(b"an edit that no time shows")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    equal((os.stat(path).st_mtime_ns, os.path.getsize(path)), (status.st_mtime_ns, status.st_size), "time and size after the edit")


def same_content(old, new):
    for name in ["large", *(f"folder/{number}" for number in range(50))]:
        with open(f"{old}/{name}", "rb") as one, open(f"{new}/{name}", "rb") as other:
            require(one.read() == other.read(), f"{name} arrived as something else than what is at the source")


@pytest.mark.takes(8)
@pytest.mark.parametrize("is_edited, is_remounted", [
    pytest.param(True, False, id="edited"), pytest.param(True, True, id="edited and mounted anew"),
    pytest.param(False, True, id="mounted anew")])
@each("exFAT", "NTFS", "bindfs", "sshfs", "XFS")
def test_a_source_between_two_sessions(work, kind, is_edited, is_remounted):
    """the sender is killed, a file changes with its time restored, and the sender starts again"""
    disk = Disk(kind, work)
    old = prepared(disk)
    new, receiver = interrupted(work, old)
    if is_edited:
        edit(f"{old}/large")
    if is_remounted:
        disk.again()
    again = sender(work, sources(old), receiver.port, None)
    end_well(again, receiver)
    same_content(old, new)
    work.figure = f"{again.events('done')[0]['sentBytes'] / MIB:.0f} of {SIZE // MIB} MiB sent in the second session"


@pytest.mark.takes(3)
@needs(failing_disk)
@pytest.mark.parametrize("ahead", [
    pytest.param(5, id="5 s ahead"), pytest.param(-5, id="5 s behind"), pytest.param(200_000, id="two days ahead")])
def test_a_source_with_a_clock_of_its_own(work, ahead):
    """a source with a wrong clock and fresh changes: everything arrives, without a long wait"""
    disk = FailingDisk(work, ahead)
    old = f"{disk.folder}/old"
    os.mkdir(old)
    for number in range(40):
        random_file(f"{old}/{number}", 20_000)
    _, new = work.place()
    receiver = Receiver(work, new)
    sending = sender(work, [old], receiver.port, receiver.pairing_code)
    end_well(sending, receiver)
    run_script("check-trees", old, f"{new}/old")
    work.figure = f"{sending.events('done')[0]['seconds']:.1f} s"


@pytest.mark.takes(8)
@pytest.mark.option("--long")
@each("bindfs")
def test_a_source_that_is_changed_behind_the_kernel(work, kind):
    """a file changes at the server while it is read: one version arrives, despite the cache"""
    disk = Disk(kind, work)
    old = prepared(disk)
    disk.unmount()
    tell("bindfs", "-o", "attr_timeout=600,entry_timeout=600", disk.below, disk.folder)
    # From now on, the kernel has its attributes.
    os.stat(f"{old}/large")
    _, new = work.place(on_disk=True)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, 8 * MIB)
    sending = sender(work, sources(old), link.port, receiver.pairing_code)
    wait_for("a third of the large file", PATIENCE, lambda: progress(sending) > SIZE // 3 or sending.poll())
    edit(f"{disk.below}/old/large")
    end_well(sending, receiver)
    same_content(f"{disk.below}/old", new)


@pytest.mark.takes(35)
@pytest.mark.option("--long")
@each("exFAT", "sshfs")
def test_a_source_that_keeps_changing(work, kind):
    """a file that always changes, on a disk with whole seconds: exit 8, named, and it ends"""
    disk = Disk(kind, work)
    old = prepared(disk)
    is_over = threading.Event()

    def write():
        count = 0
        while not is_over.wait(0.05):
            count += 1
            with open(f"{old}/large", "r+b") as file:
                file.write(b"%d" % count)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        _, new = work.place(on_disk=True)
        receiver = Receiver(work, new)
        sending = sender(work, sources(old), receiver.port, receiver.pairing_code)
        codes = sending.wait(), receiver.wait()
    finally:
        is_over.set()
        thread.join()
    equal(codes, (8, 8), "exit codes")
    equal([(event["path"], event["reason"]) for event in sending.events("unsent")], [("large", "keepsChanging")], "what was not sent")

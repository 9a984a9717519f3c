"""An app's data that differs from its extension's estimate, and transfers larger than a receiver's
user allows."""

import contextlib
import os
import re
import subprocess

import pytest

from apps import ID, Device, devices, send_again, untouched
from devices import PATIENCE, Receiver, end_well, random_file, sender
from disks import KINDS, LOOP, Disk, Kind, by_loop, needed, tell
from needs import needs
from outside import MIB, equal, require, wait_for

LARGE = 200 * MIB


def figures(size):
    """A size as shown to people, in decimal units."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def same(old, new):
    """Requires that the app's large file has arrived unchanged."""
    subprocess.run(["cmp", old.container("Documents/large"), new.container("Documents/large")], check=True, timeout=PATIENCE)


def ends(receiver, sending, code):
    codes = receiver.wait(), sending.wait()
    require(codes == (code, code), f"exit codes {codes}, not {code}: {receiver.text()[-300:]} {sending.text()[-300:]}")
    return receiver.error(), sending.error()


def test_far_more_than_estimated(work, size=100 * MIB):
    """an export far above its estimate of 1 B arrives, without total and time left; the author is
    told"""
    old, new = devices(work, estimate="1")
    random_file(old.container("Documents/large"), size)
    receiver = new.receive()
    # Slow enough for a rate.
    sending = old.send(work.slow_link(receiver.port, 64 * MIB).port, receiver.pairing_code)
    end_well(sending, receiver)
    same(old, new)
    for process, phase in ((sending, "sending"), (receiver, "receiving")):
        beyond = [event for event in process.events("progress") if event["phase"] == phase and event["bytes"] > 1]
        require(beyond, f"no progress of '{process.name()}' beyond the estimate")
        for event in beyond:
            equal((event["totalBytes"], event["secondsLeft"]), (None, None), f"total and time left at '{process.name()}'")
        require(any(event["bytesPerSecond"] for event in beyond), f"no rate at '{process.name()}'")
        equal(process.events("progress")[-1]["totalBytes"], process.events("done")[0]["bytes"], "the total in the end")
    notices = [event["message"] for event in sending.events("notice") if "estimated" in event["message"]]
    equal(len(notices), 1, "notices about the estimate")
    require(f"{ID} estimated its export at 1 B, and it has {figures(size)}" in notices[0], notices[0])
    equal([event for event in receiver.events("notice") if "estimated" in event["message"]], [], "notices at the receiver")
    work.figure = f"{size / 1e9:.1f} GB in {sending.events('done')[0]['seconds']:.1f} s"


@contextlib.contextmanager
def small_disk(work, kind):
    """Two devices, the new one with a disk of 512 MiB; returns both, and that disk's folder."""
    old_folder, _ = work.place()
    disk = Disk(kind, work)
    old, new = Device(work, old_folder), Device(work, disk.place("new"))
    old.write(kept="what was written", estimate="1")
    random_file(old.container("Documents/large"), LARGE)
    yield old, new, disk.folder


def room(folder):
    """The free space of a disk, and a receiver's reserve on it."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, min(1 << 30, status.f_blocks * status.f_frsize // 20)


@pytest.mark.takes(12)
@pytest.mark.parametrize("name", [pytest.param(name, id=name, marks=needs(needed(name))) for name in ("tmpfs", "XFS", "btrfs")])
def test_an_export_that_outgrows_the_disk(work, name):
    """an export outgrows the disk: exit 6 with figures on both sides before it is full, then it
    resumes"""
    with small_disk(work, KINDS[name]) as (old, new, folder):
        # Removed files take space until the disk has synchronized.
        os.sync()
        random_file(f"{folder}/filler", room(folder)[0] - 120 * MIB)
        os.sync()
        receiver = new.receive()
        sending = old.send(receiver.port, receiver.pairing_code)
        for error in ends(receiver, sending, 6):
            require(error["neededBytes"] > error["availableBytes"] > 0, f"the figures: {error}")
            equal(len(re.findall(r"[\d.,]+ (?:[kMG]?B|bytes)", error["message"])) >= 2, True, f"figures in {error['message']!r}")
            require("how much is not known" in error["message"], error["message"])
            require(error["hint"].startswith("Free some space at the destination, and start again."), error["hint"])
        os.sync()
        free, reserve = room(folder)
        require(free > 0.8 * reserve, f"{free} bytes are free, and {reserve} should be")
        require(free < reserve + 16 * MIB, f"{free} bytes are free, and no more than {reserve} should be")
        # The same again, without free space.
        receiver = new.receive(is_inviting=False)
        ends(receiver, old.send(receiver.port, None), 6)
        untouched(new)
        os.remove(f"{folder}/filler")
        os.sync()
        # XFS frees the space of removed files in the background.
        wait_for("the space of the removed file", PATIENCE, lambda: room(folder)[0] > 150 * MIB)
        done = send_again(old, new).events("done")[0]
        same(old, new)
        require(done["heldBytes"] > 60 * MIB, f"only {done['heldBytes']} bytes were held")
        require(done["sentBytes"] < done["bytes"] - done["heldBytes"] + MIB, f"sent again: {done}")
        work.figure = f"{done['heldBytes'] / MIB:.0f} of {LARGE // MIB} MiB were held, {free / MIB:.0f} MiB stayed free"


def quota(disk):
    """A disk of btrfs of which less may be used than it has."""
    by_loop("-t", "btrfs")(disk)
    tell("btrfs", "quota", "enable", disk.folder)
    tell("btrfs", "qgroup", "limit", "400M", disk.folder)


FULL = {kind.name: kind for kind in [
    KINDS["tmpfs"], Kind("ext4", by_loop("-t", "ext4"), ("mkfs.ext4", "-q", "-F"), kernel="ext4", device=LOOP),
    Kind("a quota", quota, ("mkfs.btrfs", "-q"), ["btrfs"], kernel="btrfs", device=LOOP)]}


@pytest.mark.takes(12)
@pytest.mark.parametrize("name", [pytest.param(name, id=name, marks=needs(kind.lacking)) for name, kind in FULL.items()])
def test_an_importer_that_fills_the_disk(work, name):
    """an importer copies until the disk is full: both sides say so, the earlier data is back, and the app starts"""
    with small_disk(work, FULL[name]) as (old, new, folder):
        old.write(behaviour="copy")
        new.write(own="earlier data")
        os.sync()
        if name != "a quota":
            random_file(f"{folder}/filler", room(folder)[0] - LARGE - 60 * MIB)
            os.sync()
        # The second attempt, which finds no room either, is like the first one.
        for _ in range(2):
            receiver = new.receive("--replace")
            ours, theirs = ends(receiver, old.send(receiver.port, receiver.pairing_code), 6)
            require("not enough space: the importer of org.example.test failed: " in ours["message"], ours["message"])
            require("The app's earlier data is back." in ours["hint"], ours["hint"])
            require("there is not enough space" in theirs["message"], theirs["message"])
            equal(new.documents(), {"own": b"earlier data"}, "the app's data")
            require(new.run("status").startswith("failure "), f"the status is {new.run('status')}")
            for place in ("replaced", "imports", "trash"):
                equal(os.listdir(f"{new.home}/{place}") if os.path.isdir(f"{new.home}/{place}") else [], [], place)


def test_the_limit_of_folders(work):
    """--max-size of folders: refused at once with both figures and a hint, and arrives with a
    greater one"""
    old, new = work.place()
    random_file(f"{old}/large", 10 * MIB)
    receiver = Receiver(work, new, options=["--max-size", "5M"])
    sending = sender(work, [f"{old}/large"], receiver.port, receiver.pairing_code)
    for error in ends(receiver, sending, 6):
        require("the transfer has 10.5 MB, and the receiver takes at most 5.0 MB (--max-size)" in error["message"], error["message"])
        require("greater --max-size" in error["hint"], f"the hint {error['hint']!r}")
    equal(os.listdir(new), [], "the destination holds")
    receiver = Receiver(work, new, options=["--max-size", "10.5M"])
    end_well(sender(work, [f"{old}/large"], receiver.port, receiver.pairing_code), receiver)
    equal(os.listdir(new), ["large"], "the destination holds")

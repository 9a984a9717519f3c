"""A receiver whose disk hangs: it answers, refuses other senders, can be ended, and loses
nothing."""

import os
import signal
import time

import pytest

from devices import PATIENCE, Receiver, other_code, small_file
from disks import own_mounts
from frozen_disk import FrozenDisk
from interop import interop
from needs import disk_image, fuse, needs
from outside import equal, wait_for
from standing import BUSY, INTERRUPTED, WRONG, answer, has_ended, length, long_ago, refusal, shown
from standing_disk import StandingDisk
from strange import Together
from strange_sender import MODIFIED, StrangeSender


class Reception:
    """A receiver, a strange sender, and a disk that hangs from a step on."""

    STEPS = ("plan", "offer", "beginning", "rest", "finish")

    def __init__(self, work, step, operation=None, options=(), has_store=False, is_there=False, kind=StandingDisk):
        self.work, self.step, self.operation = work, step, operation
        self.disk = kind(work)
        self.destination = work.place()[1] if has_store else self.disk.place("new")
        if has_store:
            work.environment["PEER_HOME"] = self.disk.place("home")
            os.chmod(work.environment["PEER_HOME"], 0o700)
        self.receiver = Receiver(work, self.destination, options=options)
        self.sender = StrangeSender(self.receiver.port)
        if is_there:
            os.mkdir(f"{self.destination}/tree")
            for name, content in self.sender.files.items():
                path = f"{self.destination}/tree/{os.fsdecode(name)}"
                small_file(path, content)
                # An equal size and time: the items are present, and none is kept out.
                os.utime(path, (MODIFIED, MODIFIED))
        self.sender.pair(self.receiver.pairing_code)

    # Steps of the sender: its messages, and those that it receives

    def say(self, step):
        if step == "plan":
            self.sender.plan()
        elif step == "offer":
            self.sender.offer()
        elif step == "beginning":
            self.sender.stream.send(self.sender.joining() + b"".join(self.sender.beginning()))
        elif step == "rest":
            self.sender.stream.send(b"".join(self.sender.rest()))
        else:
            self.sender.finish()

    def hear(self, step):
        if step == "plan":
            self.sender.hear_verdict()
        elif step == "offer":
            self.sender.hear_ledger()
            self.sender.connect_stream()
        elif step in ("beginning", "rest"):
            self.sender.hear_written()
        else:
            self.sender.hear_done()

    def begin(self):
        """Everything up to the step, and the messages of the step, sent while the disk hangs."""
        for step in self.STEPS[:self.STEPS.index(self.step)]:
            self.say(step)
            self.hear(step)
        self.disk.stand(self.operation)
        self.say(self.step)
        self.disk.wait()

    # The promises

    def stands(self, seconds):
        """Watches while the disk hangs; returns the slowest answer to a PING."""
        begun, told = time.monotonic(), self.told()
        equal(refusal(self.receiver.port), BUSY, "what another sender is told")
        time.sleep(max(0, begun + seconds - time.monotonic()))
        if self.step in ("beginning", "rest"):
            wait_for("progress", PATIENCE, lambda: self.told() - told > seconds / 2)
        return self.sender.control.slowest(begun)

    def told(self):
        return len(self.receiver.events("progress"))

    def goes_on(self, seconds):
        """The disk continues, and everything arrives."""
        self.begin()
        slowest = self.stands(seconds)
        self.disk.go_on()
        for step in self.STEPS[self.STEPS.index(self.step):]:
            if step != self.step:
                self.say(step)
            self.hear(step)
        equal(self.receiver.wait(), 0, "exit code")
        equal(self.receiver.events("interrupted"), [], "interruptions")
        self.sender.arrived(self.destination)
        return slowest

    def is_ended(self, is_killable=True):
        """SIGTERM while the disk hangs: the sender is told, and the program ends; returns the
        seconds until then."""
        self.begin()
        time.sleep(long_ago(self.work))
        begun = time.monotonic()
        self.receiver.signal(signal.SIGTERM)
        equal(self.sender.control.hear("CLOSE").code, INTERRUPTED, "code of CLOSE")
        if not is_killable:
            # The kernel ends a process when its last thread has left the disk.
            wait_for("end of the first thread", PATIENCE, lambda: has_ended(self.receiver.pid))
            took = time.monotonic() - begun
            self.disk.go_on()
        equal(self.receiver.wait(), 143, "exit code")
        took = time.monotonic() - begun if is_killable else took
        if self.step == "finish":
            self.is_taken_up()
        return took

    def is_taken_up(self):
        """The next run completes everything: by itself, or when the sender repeats its last
        message."""
        self.disk.go_on()
        self.receiver = Receiver(self.work, self.destination, is_inviting=False)
        self.sender.leave()
        self.sender.port = self.receiver.port
        self.sender.come_back()
        self.sender.plan()
        self.sender.hear_verdict()
        self.sender.offer()
        if self.sender.control.hear("HELD_END", "DONE").name == "HELD_END":
            self.sender.finish()
            self.sender.control.hear("DONE")
        self.sender.control.say("RECEIPT")
        self.sender.control.close()
        equal(self.receiver.wait(), 0, "exit code of the next run")
        self.sender.arrived(self.destination)


RECEPTIONS = {
    "the plan is judged": {"step": "plan"},
    "the offer is judged": {"step": "offer"},
    "the staging area is made": {"step": "offer", "operation": "make a directory"},
    "the destination is listed": {"step": "offer", "operation": "list", "options": ["--existing", "skip"], "is_there": True},
    "the store is written": {"step": "plan", "has_store": True},
    "a folder is made": {"step": "beginning", "operation": "make a directory"},
    "a file is made": {"step": "beginning", "operation": "create"},
    "what an older state left is removed": {"step": "rest", "operation": "remove"},
    "data is written": {"step": "rest", "operation": "write"},
    "a sync goes on": {"step": "rest", "operation": "sync"},
    "all has arrived": {"step": "finish"},
    "what arrived is moved": {"step": "finish", "operation": "move"},
    "the store is written behind that": {"step": "finish", "has_store": True},
}


@pytest.mark.takes(14)
@needs(fuse, interop)
def test_a_receiver_on_a_hanging_disk(work, trials):
    """the receiver's disk hangs, in each phase: PING is answered, others refused, everything
    arrives"""
    receptions = {name: (trials(), values) for name, values in RECEPTIONS.items()}
    done = Together({
        name: lambda own=own, values=values: Reception(own, **values).goes_on(length(work))
        for name, (own, values) in receptions.items()})
    work.figure = shown(done.found)


@pytest.mark.takes(5)
@needs(fuse, interop)
def test_a_receiver_that_is_ended_while_its_disk_hangs(work, trials):
    """SIGTERM while the receiver's disk hangs, in each phase: it tells the sender, ends, and keeps
    the data"""
    done = Together({
        name: lambda own=trials(), values=values: Reception(own, **values).is_ended() for name, values in RECEPTIONS.items()})
    work.figure = f"after {max(done.found.values()):.1f} s at most"


@pytest.mark.takes(4)
@needs(fuse, interop)
def test_a_receiver_whose_sender_leaves_while_its_disk_hangs(work):
    """a sender leaves an offer that the disk delays: the receiver judges codes, the next transfer
    works"""
    own_mounts()
    first = Reception(work, "offer")
    first.begin()
    first.sender.leave()
    code = first.receiver.event("code", 2)["code"]
    begun = time.monotonic()
    equal(answer(first.receiver.port, other_code(code)), WRONG, "what a wrong code is told")
    # A wrong code delays the next one of its network.
    time.sleep(1.1)
    second = StrangeSender(first.receiver.port)
    second.pair(code)
    took = time.monotonic() - begun
    second.plan()
    time.sleep(60 if work.is_long else 1)
    second.control.slowest(begun)
    first.disk.go_on()
    first.sender = second
    for step in first.STEPS:
        if step != "plan":
            first.say(step)
        first.hear(step)
    equal(first.receiver.wait(), 0, "exit code")
    second.arrived(first.destination)
    work.figure = f"paired after {took:.1f} s"


@pytest.mark.takes(14)
@needs(disk_image, interop)
def test_a_receiver_on_a_frozen_disk(work, trials):
    """the kernel freezes the receiver's disk: PING is answered, and SIGTERM is reported at once"""
    goes_on, ends = trials(), trials()
    done = Together({
        "data is written": lambda: Reception(goes_on, "rest", kind=FrozenDisk).goes_on(length(work)),
        "SIGTERM": lambda: Reception(ends, "rest", kind=FrozenDisk).is_ended(is_killable=False)})
    work.figure = f"PONG after {1000 * done.found['data is written']:.0f} ms at most, ended after {done.found['SIGTERM']:.1f} s"

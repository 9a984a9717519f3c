"""A sender whose disk hangs: it answers, can be ended, and sends everything afterwards."""

import os
import signal
import time

import pytest

from devices import PATIENCE, random_file, sender
from interop import interop
from needs import fuse, needs
from outside import equal, wait_for
from standing import INTERRUPTED, length, long_ago, shown
from standing_disk import StandingDisk
from strange import Together
from strange_receiver import StrangeReceiver


class Sending:
    """A sender, a strange receiver, and a disk that hangs from a step on."""

    def __init__(self, work, step):
        self.work, self.step = work, step
        self.disk = StandingDisk(work)
        has_store = step in ("plan", "done")
        old = work.place()[0] if has_store else self.disk.place("old")
        for number in range(20):
            random_file(f"{old}/file {number}", 50_000)
        if has_store:
            work.environment["PEER_HOME"] = self.disk.place("home")
            os.chmod(work.environment["PEER_HOME"], 0o700)
        self.receiver = StrangeReceiver(work)
        self.taken = None
        if step == "walk":
            # The check of the sources before the connection is not part of the walk.
            self.disk.stand("list", is_alone=True)
        self.sender = sender(work, [old], self.receiver.port, self.receiver.CODE)
        self.receiver.pair()

    def begin(self):
        """Everything up to the step at which the disk hangs."""
        if self.step == "export":
            self.disk.stand("read")
        elif self.step == "plan":
            self.disk.stand()
        if self.step != "walk":
            self.receiver.judge()
        if self.step not in ("walk", "plan"):
            self.receiver.accept()
        if self.step == "done":
            self.receiver.take_stream()
            self.receiver.take()
            self.receiver.hear_finish()
            self.disk.stand()
            self.receiver.say_done()
        elif self.step not in ("walk", "plan"):
            self.taken = self.receiver.begin_taking()
        self.disk.wait()

    def stands(self, seconds):
        begun, told = time.monotonic(), len(self.sender.events("progress"))
        time.sleep(seconds)
        if self.step not in ("walk", "plan"):
            wait_for("progress", PATIENCE, lambda: len(self.sender.events("progress")) - told > seconds / 2)
        return self.receiver.control.slowest(begun)

    def goes_on(self, seconds):
        self.begin()
        slowest = self.stands(seconds)
        self.disk.go_on()
        if self.step == "walk":
            self.receiver.judge()
        if self.step in ("walk", "plan"):
            self.receiver.accept()
            self.taken = self.receiver.begin_taking()
        if self.taken:
            self.taken()
        if self.step != "done":
            self.receiver.hear_finish()
            self.receiver.say_done()
        self.receiver.control.hear("RECEIPT")
        equal(self.sender.wait(), 0, "exit code")
        equal(self.sender.events("interrupted"), [], "interruptions")
        equal(self.receiver.frames > 0, True, "whether data came")
        return slowest

    def is_ended(self):
        self.begin()
        time.sleep(long_ago(self.work))
        begun = time.monotonic()
        self.sender.signal(signal.SIGTERM)
        if self.step != "done":
            equal(self.receiver.control.hear("CLOSE").code, INTERRUPTED, "code of CLOSE")
        equal(self.sender.wait(), 143, "exit code")
        return time.monotonic() - begun


SENDINGS = {
    "the walk": "walk", "the export": "export", "the plan is noted": "plan", "DONE is noted": "done"}


@pytest.mark.takes(14)
@needs(fuse, interop)
def test_a_sender_on_a_hanging_disk(work, trials):
    """the sender's disk hangs, in each phase: PING is answered, and then everything is sent"""
    own = {name: trials() for name in SENDINGS}
    done = Together({
        name: lambda name=name, step=step: Sending(own[name], step).goes_on(length(work)) for name, step in SENDINGS.items()})
    work.figure = shown(done.found)


@pytest.mark.takes(5)
@needs(fuse, interop)
def test_a_sender_that_is_ended_while_its_disk_hangs(work, trials):
    """SIGTERM while the sender's disk hangs, in each phase: it tells the receiver and ends"""
    done = Together({name: lambda step=step: Sending(trials(), step).is_ended() for name, step in SENDINGS.items()})
    work.figure = f"after {max(done.found.values()):.1f} s at most"

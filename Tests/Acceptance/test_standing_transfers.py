"""A disk that hangs in the middle of a transfer between two devices."""

import os
import signal
import time

import pytest

from devices import PATIENCE, Receiver, end_well, random_file, sender, small_file
from needs import fuse, needs
from outside import MIB, equal, run_script, wait_for
from standing import length, long_ago
from standing_disk import StandingDisk
from strange import Together


class Both:
    """A transfer whose source or destination hangs in the middle."""

    def __init__(self, work, has_destination):
        self.work, self.disk = work, StandingDisk(work)
        self.old, self.new = work.place()
        if has_destination:
            self.new = self.disk.place("new")
        else:
            self.old = self.disk.place("old")
        random_file(f"{self.old}/large", 32 * MIB)
        for number in range(100):
            small_file(f"{self.old}/small-{number}", b"%d" % number)
        self.paths = [f"{self.old}/{name}" for name in sorted(os.listdir(self.old))]
        self.receiver = Receiver(work, self.new)
        link = work.slow_link(self.receiver.port, 24 * MIB)
        self.sender = sender(work, self.paths, link.port, self.receiver.pairing_code)
        wait_for("a quarter of the transfer", PATIENCE, lambda: self.arrived() or self.sender.poll() or self.receiver.poll())
        self.disk.stand()
        self.disk.wait()

    def arrived(self):
        found = self.receiver.events("progress")
        return found and found[-1]["bytes"] > 8 * MIB

    def goes_on(self):
        time.sleep(length(self.work))
        self.disk.go_on()
        end_well(self.sender, self.receiver)
        equal((self.sender.events("interrupted"), self.receiver.events("interrupted")), ([], []), "interruptions")
        run_script("check-trees", "--inside", self.old, self.new)

    def is_ended(self, has_destination):
        """SIGTERM at the end that has the disk; then the same commands continue."""
        time.sleep(long_ago(self.work))
        begun = time.monotonic()
        (self.receiver if has_destination else self.sender).signal(signal.SIGTERM)
        equal((self.receiver if has_destination else self.sender).wait(), 143, "exit code")
        took = time.monotonic() - begun
        self.disk.go_on()
        if has_destination:
            equal(self.sender.wait(), 5, "exit code of the sender")
            self.receiver = Receiver(self.work, self.new)
        self.sender = sender(self.work, self.paths, self.receiver.port, None)
        end_well(self.sender, self.receiver)
        run_script("check-trees", "--inside", self.old, self.new)
        return took


SIDES = {"source": False, "destination": True}


@pytest.mark.takes(10)
@needs(fuse)
def test_a_transfer_whose_disk_hangs(work, trials):
    """a disk hangs in the middle of a transfer: no interruption, both succeed, trees are equal"""
    Together({name: lambda own=trials(), side=side: Both(own, side).goes_on() for name, side in SIDES.items()})


@pytest.mark.takes(8)
@needs(fuse)
def test_a_transfer_that_is_ended_while_its_disk_hangs(work, trials):
    """SIGTERM while a disk hangs in the middle of a transfer: it ends, and the same commands
    continue"""
    done = Together({name: lambda own=trials(), side=side: Both(own, side).is_ended(side) for name, side in SIDES.items()})
    work.figure = f"after {max(done.found.values()):.1f} s at most"

"""`peer device forget`: a device that is forgotten is a stranger from then on, whatever it was doing."""

import os
import time

import pytest

from devices import PATIENCE, Process, random_file, small_file
from outside import MIB, equal, require, wait_for
from test_staying import Standing


class Devices:
    """A standing receiver that knows a sender, which has begun to send something large."""

    def __init__(self, work, *options):
        self.work, self.options = work, options
        self.old, self.new = work.place()
        self.receiver = Standing(work, self.new, options)
        small_file(f"{self.old}/small")
        random_file(f"{self.old}/big", 24 * MIB)
        first = self.send("small", self.receiver.shown(1))
        equal(first.wait(), 0, f"exit code of the pairing: {first.text()[-300:]}")
        self.sending = self.send("big", "", "--limit", "3M")
        wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 2 * MIB for event in self.sending.events("progress")))
        equal(self.sending.events("paired")[0]["known"], True, "the device is known")

    def send(self, name, code="", *options):
        return Process(
            self.work, ["send", f"{self.old}/{name}", "--to", f"127.0.0.1:{self.receiver.port}", "--remember",
                        "--code-file", "-", "--json", *options], code + "\n", home=f"{self.work.path}/old-home")

    def ask(self, *words, at_sender=False):
        """The lines of a command on one of the devices."""
        asked = Process(self.work, [*words, "--json"], home=f"{self.work.path}/old-home" if at_sender else None)
        equal(asked.wait(), 0, f"exit code of peer {words[0]}: {asked.text()[-300:]}")
        return asked.events()

    def forget(self, at_sender=False):
        device, = self.ask("device", "list", at_sender=at_sender)
        told = self.ask("device", "forget", device["id"][:8], at_sender=at_sender)
        equal([event["event"] for event in told], ["device", "forgotten"], "the lines of forget")
        equal(told[1]["notice"], None, "what could not be removed")

    def is_a_stranger(self):
        """Nothing is left of the device at the receiver, and it needs a code, with which it is as new."""
        equal(self.ask("device", "list"), [], "known devices")
        equal(self.ask("resume", "list"), [], "unfinished transfers")
        equal(os.listdir(self.new), ["small"], "the destination holds")
        again = self.send("big")
        equal(again.wait(), 3, f"exit code without a code: {again.text()[-300:]}")
        equal(self.ask("device", "list"), [], "known devices behind its return")
        paired = self.send("big", self.receiver.shown(len({event["code"] for event in self.receiver.events("code")})))
        equal(paired.wait(), 0, f"exit code with a code: {paired.text()[-300:]}")
        equal((paired.events("paired")[0]["known"], paired.events("done")[0]["heldBytes"]), (False, 0), "what is known")
        equal(sorted(os.listdir(self.new)), ["big", "small"], "the destination holds")
        self.receiver.stop()


@pytest.mark.takes(8)
def test_during_a_session(work):
    """a device that is forgotten while it sends: its session ends, what had arrived is removed, a stranger is left"""
    devices = Devices(work, "--remember")
    begun = time.monotonic()
    devices.forget()
    work.figure = f"forgotten after {time.monotonic() - begun:.1f} s"
    equal(devices.sending.wait(), 4, f"exit code of the forgotten sender: {devices.sending.text()[-300:]}")
    require("does not know" in devices.sending.error()["message"], devices.sending.text()[-300:])
    require("forgotten" in devices.receiver.event("error")["message"], devices.receiver.text()[-300:])
    devices.is_a_stranger()

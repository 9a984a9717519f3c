"""The example of the library `PeerTransfer`, Examples/Carry, with itself and with the command."""

import os
import re
import signal

import pytest

from devices import PATIENCE, Process, end_well, random_file
from needs import needs, networks
from networks import Network
from outside import MIB, equal, require, wait_for

NEW = "10.99.0.2"
"""The address of the second device of a network."""


def carry(device, *arguments, text=""):
    """Runs the example there; its lines come at once, as at a terminal."""
    return Process(
        device.work, list(arguments), text, home=device.home, within=[*device.enter, "stdbuf", "-oL"],
        program=os.environ["ACCEPTANCE_carry"])


def code_of(run):
    """The code that a receiver shows."""

    def ready():
        require(run.is_running(), f"the receiver ended: {run.text()[-300:]}")
        found = re.search(r"Code: (\d{4}-\d{4})", run.text())
        return found and found.group(1)

    return wait_for("a code", PATIENCE, ready)


def trees(work, size=MIB):
    """A folder to send, and a destination."""
    old, new = work.place()
    os.mkdir(f"{old}/Documents")
    random_file(f"{old}/Documents/file", size)
    return f"{old}/Documents", new


def same(work, sent, destination):
    with open(f"{sent}/file", "rb") as one, open(f"{destination}/Documents/file", "rb") as other:
        require(one.read() == other.read(), "what arrived differs")


@needs(networks)
@pytest.mark.takes(3)
@pytest.mark.parametrize("ends", ["the library on both", "the library sends", "the library receives"])
def test_the_example_of_the_library(work, ends):
    """the library's example, between two devices"""
    network = Network(work, "old", "new")
    source, destination = trees(work)
    sends, receives = ends != "the library receives", ends != "the library sends"
    receiver = (carry if receives else (lambda device, *words: device.start(*words)))(network["new"], "receive", destination)
    code = code_of(receiver)
    if sends:
        sender = carry(network["old"], "send", source, NEW, text=f"{code}\n")
    else:
        sender = network["old"].start("send", source, "--to", NEW, "--code-file", "-", text=f"{code}\n")
    end_well(sender, receiver)
    same(work, source, destination)
    if sends:
        equal(sender.output(), "Code shown on 10.99.0.2: Sent 2 items, 1048576 bytes.\n", "the sender's output")
        equal(sender.errors(), "", "the sender's standard error")
    if receives:
        equal(receiver.output(), f"Code: {code}\nReceived 2 items, 1048576 bytes.\n", "the receiver's output")
        equal(receiver.errors(), "", "the receiver's standard error")


@needs(networks)
def test_the_library_takes_no_signals(work):
    """the library leaves signals to its program"""
    network = Network(work, "old", "new")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        receiver = carry(network["new"], "receive", f"{work.place()[1]}/in")
        code_of(receiver)
        receiver.signal(number)
        equal(receiver.wait(), -number, f"the exit code by signal {number}")


@needs(networks)
def test_errors_of_the_library(work):
    """the library's errors have the command's exit codes"""
    network = Network(work, "old", "new")
    source, destination = trees(work, 1)
    nothing = carry(network["old"], "send", source, NEW)
    equal(nothing.wait(), 5, "the exit code where nothing listens")
    equal(nothing.output(), "carry: nothing listens at 10.99.0.2 on port 47470\n", "the message")
    receiver = carry(network["new"], "receive", destination)
    code_of(receiver)
    uncoded = carry(network["old"], "send", source, NEW, text="no code\n")
    equal(uncoded.wait(), 3, "the exit code without a code")
    missing = carry(network["old"], "send", f"{source}/not", NEW)
    equal(missing.wait(), 2, "the exit code without a source")
    receiver.end()

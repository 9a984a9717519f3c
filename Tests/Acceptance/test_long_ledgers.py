"""A ledger of a million items: both ends answer while it is sent, even on a hanging disk, and can
be ended."""

import signal
import struct
import time

import pytest

from devices import Receiver, small_file, sender
from frozen_disk import FrozenDisk
from interop import interop
from needs import disk_image, needs
from outside import GIB, MIB, equal, mib, require
from standing import BUSY, refusal
from strange_receiver import StrangeReceiver
from strange_sender import StrangeSender

if interop() is None:
    import channel
    import wire

ITEMS = 1_000_000


@pytest.mark.option("--long")
@pytest.mark.takes(150)
@needs(disk_image, interop)
def test_a_receiver_that_sends_a_ledger(work):
    """a million items on a hanging disk: PING is answered, others refused, memory bounded, SIGTERM
    works"""
    disk = FrozenDisk(work, 2 * GIB, "-N", str(ITEMS + 10_000), "-O", "^has_journal")
    receiver = Receiver(work, disk.place("new"))
    strange = StrangeSender(receiver.port, files={})
    strange.pair(receiver.pairing_code)
    strange.open_part(ITEMS)
    strange.connect_stream()
    strange.stream.send(strange.joining())
    fill(strange)
    before = peak(receiver)
    strange.control.close()
    strange.stream.cut()
    # It reads 10 MiB a second: answers wait behind the queued bytes.
    strange.how = {"narrow": 64 << 10}
    strange.come_back(pause=0.1)
    begun = time.monotonic()
    strange.plan()
    strange.hear_verdict()
    strange.offer(ITEMS)
    strange.control.hear("ACCEPT")
    disk.stand()
    equal(refusal(receiver.port), BUSY, "what another sender is told")
    strange.control.hear("HELD_END")
    took, slowest = time.monotonic() - begun, strange.control.slowest(begun)
    disk.go_on()
    memory = peak(receiver) - before
    strange.control.close()
    # It reads none of it.
    strange.come_back()
    strange.plan()
    strange.hear_verdict()
    strange.control.stop()
    strange.offer(ITEMS)
    time.sleep(0.5)
    ended = end(receiver)
    work.figure = (
        f"told in {took:.1f} s, PONG after {1000 * slowest:.0f} ms at most, {memory / MIB:.0f} MiB more than the {before / MIB:.0f} at most"
        f" before, ended after {ended:.1f} s")
    require(slowest < took / 2 and memory < 64 * MIB, work.figure)


@pytest.mark.option("--long")
@pytest.mark.takes(40)
@needs(interop)
def test_a_sender_that_reads_a_ledger(work, trials):
    """a ledger of a million missing items: PING is answered, the sender drops them, SIGTERM
    works"""
    old = work.place()[0]
    small_file(f"{old}/file")
    strange = StrangeReceiver(work)
    sending = sender(work, [old], strange.port, strange.CODE)
    strange.pair()
    begun = time.monotonic()
    strange.judge()
    strange.accept(held=pages())
    strange.take_stream()
    strange.take()
    dropped = 0
    while True:
        said = strange.control.hear("DROP", "FINISH")
        if said.name == "FINISH":
            break
        dropped += len(said.marks)
    strange.totals = said
    took, slowest = time.monotonic() - begun, strange.control.slowest(begun)
    strange.say_done()
    strange.control.hear("RECEIPT")
    equal(sending.wait(), 0, "exit code")
    equal(dropped, ITEMS, "how many items are named as gone")
    own = trials()
    strange = StrangeReceiver(own)
    sending = sender(own, [old], strange.port, strange.CODE)
    strange.pair()
    strange.judge()
    strange.accept(held=pages(), is_ending=False)
    ended = end(sending)
    work.figure = f"told and dropped in {took:.1f} s, PONG after {1000 * slowest:.0f} ms at most, ended after {ended:.1f} s"
    require(slowest < took / 2, work.figure)


@pytest.mark.takes(15)
@needs(interop)
def test_a_ledger_that_fills_a_senders_memory(work):
    """millions of marks, and files in very many pieces: they share one room, and more is refused"""
    old = work.place()[0]
    small_file(f"{old}/file")
    strange = StrangeReceiver(work)
    sending = sender(work, [old], strange.port, strange.CODE)
    strange.pair()
    strange.judge()
    strange.accept(is_ending=False)
    ranges = [(2 * number, 2 * number + 1) for number in range(65_536)]
    said = None
    try:
        for kind in (1, 2, 3):
            for first in range(0, 1_200_000, 60_000):
                marks = b"".join(struct.pack(">QQ", number << 40, 1) for number in range(first, first + 60_000))
                strange.stranger.send(wire.frame_of(wire.TYPES["HELD"], bytes([kind]) + marks))
        for number in range(256):
            strange.control.say("PARTIAL", path=b"%d" % number, generation=bytes(16), ranges=ranges)
    except channel.Cut:
        said = sending.wait()
    equal((said, "the ledger exceeds its limit" in sending.error()["message"]), (1, True), "the end")
    work.figure = f"{mib(sending.peak)} at most"
    require(sending.peak < 160 * MIB, work.figure)


def end(process):
    """Ends it by SIGTERM; returns the seconds until its end."""
    begun = time.monotonic()
    process.signal(signal.SIGTERM)
    equal(process.wait(), 143, "exit code")
    return time.monotonic() - begun


def pages(at_a_time=65_536):
    """HELD for a million items, in ascending order of their marks."""
    marks = [struct.pack(">QQ", number << 40, 1) for number in range(ITEMS)]
    return [wire.frame_of(wire.TYPES["HELD"], b"\1" + b"".join(marks[first:first + at_a_time])) for first in range(0, ITEMS, at_a_time)]


def fill(strange, at_a_time=10_000):
    """Sends a million empty files, and waits until all are acknowledged."""
    for first in range(0, ITEMS, at_a_time):
        strange.stream.send(strange.next_frame(b"".join(
            strange.record(b"tree/%07d" % number, b"") for number in range(first, first + at_a_time))))
        strange.hear_written()


def peak(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

"""The sizes of TLS records and of reads at the other end have no effect."""

import os
import time

import pytest

from devices import Receiver, random_file, sender, small_file
from interop import interop
from needs import needs
from outside import MIB, equal
from strange import Control
from strange_receiver import StrangeReceiver
from strange_sender import StrangeSender

if interop() is None:
    import wire

READY = b"\x07\0\0"

BYTEWISE = {"what it says, each byte in a record": {"crumbles": True}, "what it hears": {"narrow": 65536, "at_a_time": 16}}


def each_way():
    return pytest.mark.parametrize("how", [pytest.param(how, id=name) for name, how in BYTEWISE.items()])


def finished(strange, receiver):
    """The sender's last message, and the receiver's end."""
    strange.finish()
    strange.hear_done()
    equal(receiver.wait(), 0, "exit code")
    strange.arrived(receiver.destination)


@needs(interop)
def test_everything_in_one_record(work):
    """READY, JOIN and DATA in one record, and READY, GREETING and PLAN when the sender comes
    back"""
    receiver = Receiver(work, work.place()[1])
    strange = StrangeSender(receiver.port)
    strange.pair(receiver.pairing_code)
    strange.open_part()
    strange.stream = strange.connected(strange.stranger)
    strange.stream.hello(wire.JOIN)
    in_one_record(strange.stream, READY + strange.joining() + b"".join(strange.beginning()))
    strange.hear_written()
    strange.control.close()
    strange.stream.cut()
    strange.stranger = strange.connected(strange.stranger)
    strange.stranger.hello(wire.RESUME)
    in_one_record(strange.stranger, READY + strange.greeting() + strange.a_plan())
    strange.control = Control(strange.stranger)
    strange.hear_verdict()
    strange.offer()
    strange.hear_ledger()
    strange.stream = strange.connected(strange.stranger)
    strange.stream.hello(wire.JOIN)
    strange.sequence = 0
    first, *others = strange.rest()
    in_one_record(strange.stream, READY + strange.joining() + first)
    strange.stream.send(b"".join(others))
    strange.hear_written()
    finished(strange, receiver)


def in_one_record(stranger, content):
    equal(len(content) <= 16384, True, f"whether {len(content)} bytes are one record")
    stranger.send(content)


@pytest.mark.takes(6)
@needs(interop)
@each_way()
def test_a_sender_byte_by_byte(work, how):
    """a sender, byte by byte"""
    receiver = Receiver(work, work.place()[1])
    begun = time.monotonic()
    files = {b"file %d" % number: os.urandom(3_000 if number < 3 else 0) for number in range(1_000)}
    strange = StrangeSender(receiver.port, files, **how)
    strange.pair(receiver.pairing_code)
    strange.open_part()
    strange.connect_stream()
    strange.stream.send(strange.joining() + b"".join(strange.beginning()) + b"".join(strange.rest()))
    strange.hear_written()
    # The ledger that it then reads is more than it reads at a time.
    strange.control.close()
    strange.stream.cut()
    strange.come_back()
    strange.open_part()
    strange.connect_stream()
    finished(strange, receiver)
    work.figure = f"{time.monotonic() - begun:.1f} s"


@pytest.mark.takes(4)
@needs(interop)
@each_way()
def test_a_receiver_byte_by_byte(work, how):
    """a receiver, byte by byte"""
    old = work.place()[0]
    random_file(f"{old}/large", 12 * MIB)
    for number in range(20):
        small_file(f"{old}/{number}")
    begun = time.monotonic()
    strange = StrangeReceiver(work, **how)
    sending = sender(work, [old], strange.port, strange.CODE)
    strange.pair()
    strange.judge()
    strange.accept()
    strange.take_stream()
    strange.take()
    strange.hear_finish()
    strange.say_done()
    strange.control.hear("RECEIPT")
    equal(sending.wait(), 0, "exit code")
    work.figure = f"{time.monotonic() - begun:.1f} s"

"""The sizes of TLS records and of reads at the other end have no effect."""

import os
import time

import pytest

from attack_hostile import frame
from devices import Receiver, random_file, sender, small_file
from needs import needs, strangers
from outside import MIB, equal
from strange import RECEIPT, Control
from strange_receiver import StrangeReceiver
from strange_sender import StrangeSender

READY = b"\x07\0\0"

BYTEWISE = {"what it says, each byte in a record": ["crumble"], "what it hears": ["narrow 65536", "sip"]}


def each_way():
    return pytest.mark.parametrize("how", [pytest.param(how, id=name) for name, how in BYTEWISE.items()])


def finished(strange, receiver):
    """The sender's last message, and the receiver's end."""
    strange.finish()
    strange.hear_done()
    equal(receiver.wait(), 0, "exit code")
    strange.arrived(receiver.destination)


@needs(strangers)
def test_everything_in_one_record(work, place):
    """READY, JOIN and DATA in one record, and READY, GREETING and OFFER when the sender comes
    back"""
    receiver = Receiver(work, work.place()[1])
    strange = StrangeSender(place, receiver.port)
    strange.pair(receiver.pairing_code)
    strange.offer()
    strange.hear_ledger()
    strange.stream = strange.connected(strange.hostile)
    strange.stream.ask("hello 3")
    in_one_record(strange.stream, READY + strange.joining() + b"".join(strange.beginning()))
    strange.hear_written()
    strange.control.close()
    strange.stream.end()
    strange.hostile = strange.connected(strange.hostile)
    strange.hostile.ask("hello 2")
    in_one_record(strange.hostile, READY + frame(*strange.GREETING) + frame(*strange.an_offer()))
    strange.control = Control(strange.hostile)
    strange.hear_ledger()
    strange.stream = strange.connected(strange.hostile)
    strange.stream.ask("hello 3")
    strange.sequence = 0
    first, *others = strange.rest()
    in_one_record(strange.stream, READY + strange.joining() + first)
    strange.stream.send(b"".join(others))
    strange.hear_written()
    finished(strange, receiver)


def in_one_record(hostile, content):
    equal(len(content) <= 16384, True, f"whether {len(content)} bytes are one record")
    hostile.send(content)


@pytest.mark.takes(6)
@needs(strangers)
@each_way()
def test_a_sender_byte_by_byte(work, place, how):
    """a sender, byte by byte"""
    receiver = Receiver(work, work.place()[1])
    begun = time.monotonic()
    files = {b"file %d" % number: os.urandom(3_000 if number < 3 else 0) for number in range(1_000)}
    strange = StrangeSender(place, receiver.port, files, how)
    strange.pair(receiver.pairing_code)
    strange.offer()
    strange.hear_ledger()
    strange.connect_stream()
    strange.stream.send(strange.joining() + b"".join(strange.beginning()) + b"".join(strange.rest()))
    strange.hear_written()
    # The ledger that it then reads is more than it reads at a time.
    strange.control.close()
    strange.stream.end()
    strange.come_back()
    strange.offer()
    strange.hear_ledger()
    strange.connect_stream()
    finished(strange, receiver)
    work.figure = f"{time.monotonic() - begun:.1f} s"


@pytest.mark.takes(4)
@needs(strangers)
@each_way()
def test_a_receiver_byte_by_byte(work, place, how):
    """a receiver, byte by byte"""
    old = work.place()[0]
    random_file(f"{old}/large", 12 * MIB)
    for number in range(20):
        small_file(f"{old}/{number}")
    begun = time.monotonic()
    strange = StrangeReceiver(place, how)
    sending = sender(work, [old], strange.port, strange.CODE)
    strange.pair()
    strange.accept()
    strange.take_stream()
    strange.take()
    strange.hear_finish()
    strange.say_done()
    strange.control.hear(RECEIPT)
    equal(sending.wait(), 0, "exit code")
    work.figure = f"{time.monotonic() - begun:.1f} s"

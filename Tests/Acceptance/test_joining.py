"""Data streams that join at the same time, and those that the receiver does not take."""

import struct

import pytest

from attack_hostile import CLOSE, JOIN, frame, text_of
from devices import PATIENCE, Receiver
from needs import needs, strangers
from outside import equal, require
from strange import ACK, Together
from strange_sender import StrangeSender

NONE = 0xFFFFFFFF


class Stream:
    """A data stream of a strange sender, with the frames of one file."""

    def __init__(self, strange, number, name):
        self.strange, self.number, self.name = strange, number, name
        self.hostile = None

    def connect(self):
        self.hostile = self.strange.connected(self.strange.hostile)

    def join(self, replaces=NONE, number=None, session=None):
        body = struct.pack(">II", self.number if number is None else number, replaces)
        self.hostile.send(frame(JOIN, (session or self.strange.ids[2]) + body))

    def travel(self):
        """HELLO, READY, JOIN and one file, until that is written."""
        self.connect()
        self.hostile.ask("enter 3")
        self.join()
        self.hostile.send(self.frame)
        kind, body = self.hostile.read(PATIENCE) or (None, None)
        equal((kind, body and struct.unpack(">Q", body[:8])[0]), (ACK, 1), f"the answer to stream {self.number}")


def prepare(work, place, count):
    """A session with as many streams as files that could join now."""
    receiver = Receiver(work, work.place()[1])
    files = {b"file %d" % number: b"content %d" % number for number in range(count)}
    strange = StrangeSender(place, receiver.port, files)
    strange.pair(receiver.pairing_code)
    strange.offer()
    strange.hear_ledger()
    return receiver, strange


@needs(strangers)
def test_many_join_at_once(work, place):
    """As many streams as ACCEPT allows connect and join at the same moment: each is served"""
    receiver, strange = prepare(work, place, 16)
    streams = [Stream(strange, number, name) for number, name in enumerate(strange.files)]
    # Seals.
    strange.stream = strange.hostile
    for stream in streams:
        strange.sequence = 0
        content = strange.files[stream.name]
        root = strange.record(strange.ROOT) if stream.number == 0 else b""
        stream.frame = strange.next_frame(
            root + strange.record(strange.path(stream.name), content) + strange.content(stream.name, content))
    Together({stream.number: stream.travel for stream in streams})
    strange.finish()
    strange.hear_done()
    equal(receiver.wait(), 0, "exit code")
    strange.arrived(receiver.destination)


def refused(stream, *words):
    """Requires that a stream hears CLOSE with the code 16, and words with both values."""
    kind, body = stream.hostile.read(PATIENCE) or (None, None)
    require(kind == CLOSE, f"stream {stream.number} hears {kind} and not CLOSE")
    found = text_of(body)
    equal(found[1], struct.pack(">H", 16), "the code")
    for word in words:
        require(word in found[2].decode(), f"'{word}' is not in '{found[2].decode()}'")


@needs(strangers)
def test_a_stream_that_cannot_join_learns_the_reason(work, place):
    """a refused JOIN is answered with CLOSE and both values, and the session continues

    Refused are a JOIN of another session, of a used number, and one above the limit.
    """
    receiver, strange = prepare(work, place, 16)
    streams = [Stream(strange, number, name) for number, name in enumerate(strange.files)]
    for stream in streams[:15]:
        stream.connect()
        stream.hostile.ask("enter 3")
        stream.join()
    other, again, last, many = (Stream(strange, number, None) for number in (40, 3, 15, 16))
    for stream in (other, again, last, many):
        stream.connect()
        stream.hostile.ask("enter 3")
    other.join(session=bytes(15) + b"\7")
    refused(other, "0" * 31 + "7", strange.ids[2].hex())
    again.join()
    refused(again, "stream 3")
    last.join()
    # The receiver serves it and takes its data.
    strange.stream = strange.hostile
    everything = strange.record(strange.ROOT) + b"".join(
        strange.record(strange.path(name), content) + strange.content(name, content) for name, content in strange.files.items())
    strange.stream = last.hostile
    last.hostile.send(strange.next_frame(everything))
    strange.hear_written()
    many.join()
    refused(many, "stream 16", "16 streams have joined")
    strange.finish()
    strange.hear_done()
    equal(receiver.wait(), 0, "exit code")
    strange.arrived(receiver.destination)


@pytest.mark.takes(11)
@needs(strangers)
def test_a_stream_that_joins_too_late(work, place):
    """a connection without JOIN within 10 s of READY gets CLOSE with that reason

    Another first frame is a violation on that connection alone.
    """
    receiver, strange = prepare(work, place, 1)
    late, wrong = Stream(strange, 0, None), Stream(strange, 1, None)
    for stream in (late, wrong):
        stream.connect()
        stream.hostile.ask("enter 3")
    wrong.hostile.send(frame(0x33))
    kind, body = wrong.hostile.read(PATIENCE)
    equal((kind, text_of(body)[1]), (CLOSE, b"\0\3"), "the answer to END")
    refused(late, "10 s")
    require(receiver.is_running() and strange.control.ended is None, "the session is over")

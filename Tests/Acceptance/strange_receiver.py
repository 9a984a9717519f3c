"""A strange receiver, which follows the protocol and sends each message when a check wants it."""

import socket
import struct

from attack_hostile import ACCEPT, DATA, DONE, GREETING, HELD_END, JOIN, OFFER, Gone, fields, frame, text_of, u64
from devices import PATIENCE
from outside import equal, require
from strange import ACK, END, FINISH, Control, Together, prepared


class StrangeReceiver:
    """Takes a sender's data, and sends each message when it is told to; its code is all zeros."""

    CODE = "0000-0000"

    def __init__(self, place, prepare=()):
        self.place, self.prepare = place, prepare
        self.socket = socket.create_server(("127.0.0.1", 0))
        place.undone.callback(self.socket.close)
        self.hostile = self.listening()
        self.control = self.stream = self.totals = None
        self.has_stream = False
        self.frames = 0

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def listening(self, like=None):
        """A connection that accepts the next one that comes."""
        descriptor = self.socket.fileno()
        return prepared(self.place, like, [*self.prepare, f"inherit {descriptor}"], passed=[descriptor])

    # Steps

    def pair(self):
        self.hostile.ask("accept")
        self.hostile.ask("pair 00000000")
        self.control = Control(self.hostile)
        self.control.say(GREETING, fields(f1=b"\2", f2=b"strange", f3=b"test", f4=u64(0)))
        self.control.hear(GREETING)

    def accept(self, held=(), is_ending=True):
        """Receives the offer, and accepts it; sends a ledger of these pages, with its end unless
        `is_ending` is false."""
        self.control.hear(OFFER)
        self.stream = self.listening(self.hostile)
        keys = {f"f{tag}": bytes([tag]) * 16 for tag in range(1, 5)}
        self.control.say(ACCEPT, fields(**keys, f5=u64(32 << 20), f6=struct.pack(">H", 1), f7=u64(0)))
        for page in held:
            self.control.hostile.send(page)
        if is_ending:
            self.control.say(HELD_END, fields(f1=u64(sum(len(page) // 16 for page in held)), f2=u64(0)))

    def take_stream(self):
        self.stream.ask("accept")
        self.stream.ask("welcome")
        self.has_stream = True
        equal(self.stream.read(PATIENCE)[0], JOIN, "the first frame of the stream")

    def begin_taking(self):
        """Takes the stream while other things are done; returns the action to wait with."""
        def all_of_it():
            if not self.has_stream:
                self.take_stream()
            self.take()

        return Together({"the stream": all_of_it}, is_waiting=False).wait

    def take(self):
        """Takes the stream's frames until END or the sender's FINISH, and acknowledges them."""
        while not any(kind == FINISH for kind, _ in self.control.heard):
            require(self.control.ended is None, f"the connection ended: {self.control.ended}")
            try:
                found = self.stream.read(0.05)
            except Gone:
                break
            if found and found[0] == DATA:
                self.frames += 1
                self.stream.send(frame(ACK, u64(self.frames) + u64(0)))
            elif found:
                equal(found[0], END, "a frame of the stream")

    def hear_finish(self):
        self.totals = text_of(self.control.hear(FINISH))

    def say_done(self):
        self.control.say(DONE, fields(f1=self.totals[1], f2=self.totals[2]))

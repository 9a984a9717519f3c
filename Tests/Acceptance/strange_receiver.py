"""A strange receiver, which follows the protocol and sends each message when a check wants it."""

import socket

from devices import PATIENCE
from interop import interop
from outside import equal, require
from strange import Control, Together

if interop() is None:
    import channel
    from stranger import Stranger


class StrangeReceiver:
    """Takes a sender's data, and sends each message when it is told to; its code is all zeros."""

    CODE = "0000-0000"

    def __init__(self, work, **how):
        self.how = how
        self.socket = socket.create_server(("127.0.0.1", 0))
        work.undone.callback(self.socket.close)
        self.stranger = Stranger(**how)
        self.control = self.stream = self.totals = None
        self.frames = 0

    @property
    def port(self):
        return self.socket.getsockname()[1]

    # Steps

    def pair(self):
        self.stranger.accept(self.socket).pair(self.CODE)
        self.control = Control(self.stranger)
        self.control.say("GREETING", role=2, label="strange", software="test", features=0)
        self.control.hear("GREETING")

    def judge(self):
        """Receives the plan, and takes its only part."""
        equal(len(self.control.hear("PLAN").parts), 1, "parts of the plan")
        self.control.say("VERDICT", plan=bytes(15) + b"\1", session=bytes(15) + b"\2", window=32 << 20, streams=1, parts=[{"code": 0}], flags=0)

    def accept(self, held=(), is_ending=True):
        """Receives the offer, and accepts it; sends a ledger of these frames of marks, with its end
        unless `is_ending` is false."""
        self.control.hear("OFFER")
        self.control.say("ACCEPT", hashKey=bytes(15) + b"\3")
        for page in held:
            self.stranger.send(page)
        if is_ending:
            self.control.say("HELD_END", items=sum(len(page) // 16 for page in held), bytes=0)

    def take_stream(self):
        stream = Stranger(self.stranger, **self.how).accept(self.socket)
        stream.welcome()
        equal(stream.read(PATIENCE).name, "JOIN", "the first message of the stream")
        self.stream = stream

    def take_frame(self):
        """Takes a frame of the stream, and does not acknowledge it."""
        equal(self.stream.read(PATIENCE).name, "DATA", "a message of the stream")
        self.frames += 1

    def acknowledge(self):
        self.stream.say("ACK", written=self.frames, durable=0)

    def begin_taking(self):
        """Takes the stream while other things are done; returns the action to wait with."""
        def all_of_it():
            if not self.stream:
                self.take_stream()
            self.take()

        return Together({"the stream": all_of_it}, is_waiting=False).wait

    def take(self):
        """Takes the stream's frames until END or the sender's FINISH, and acknowledges them."""
        while not any(said.name == "FINISH" for said in self.control.heard):
            require(self.control.ended is None, f"the connection ended: {self.control.ended}")
            try:
                said = self.stream.read(0.05)
            except (channel.Cut, channel.Ended):
                break
            if said and said.name == "DATA":
                self.frames += 1
                self.acknowledge()
            elif said:
                equal(said.name, "END", "a message of the stream")

    def hear_finish(self):
        self.totals = self.control.hear("FINISH")

    def say_done(self):
        self.control.say("DONE", items=self.totals.items, bytes=self.totals.bytes)

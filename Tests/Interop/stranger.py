"""One connection of an end that pairs correctly, and whose frames a test writes one by one.

Several threads may use one. Each ends with one of `ENDS` when the other end has gone.
"""

import contextlib
import select
import socket
import threading
import time
from types import SimpleNamespace

import channel
import pairing
import tls
import wire
from admission import Admission
from forms import Violation

ENDS = (channel.Cut, channel.Ended, channel.Silent, channel.Aborted, channel.Closed, Violation, pairing.Mismatch, OSError, ValueError)
"""The ways in which an end learns that the other one has ended a connection."""


class Pairing(Admission):
    """A receiver's part of one pairing."""

    control = pin = None
    tries, options = 1, SimpleNamespace(highest=wire.SPOKEN)

    def __init__(self, identity, code):
        self.identity, self.code = identity, code

    def begin(self, link):
        link.ready()


class Stranger:
    """One connection, of the same device as `like`.

    Its buffer for received bytes has at most `narrow` bytes. It reads `at_a_time` bytes at a time,
    and with `crumbles` writes each byte in a TLS record of its own.
    """

    def __init__(self, like=None, narrow=None, at_a_time=1 << 16, crumbles=False):
        self.identity = like.identity if like else tls.Identity()
        self.narrow, self.at_a_time, self.crumbles = narrow, at_a_time, crumbles
        self.link, self.lock = None, threading.RLock()

    def connect(self, port, host="127.0.0.1"):
        plain = socket.socket()
        self.set_buffer(plain)
        plain.settimeout(10)
        plain.connect((host, port))
        return self.begin(plain, False)

    def accept(self, listening, seconds=120):
        """Takes the next connection that says anything: a sender looks whether anything listens
        before it asks for a code."""
        self.set_buffer(listening)
        listening.settimeout(seconds)
        while True:
            plain = listening.accept()[0]
            plain.settimeout(10)
            if plain.recv(1, socket.MSG_PEEK):
                return self.begin(plain, True)
            plain.close()

    def set_buffer(self, one):
        # The window of TCP is told with the first packet.
        if self.narrow:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.narrow)

    def begin(self, plain, is_server):
        self.link = channel.Channel(plain, self.identity, is_server)
        self.link.at_a_time, self.link.crumbles = self.at_a_time, self.crumbles
        return self

    # Messages before READY

    def pair(self, code):
        if not self.link.is_server:
            channel.pair(self.link, pairing.digits_of(code))
            return
        said = self.link.hear_early("HELLO_C")
        Pairing(self.identity, code).pair(self.link, wire.early_frame(said.name, **said), said.mode)

    def share(self, code):
        """Says only the share of a pairing, and its hello."""
        exchange = pairing.Exchange(not self.link.is_server, pairing.digits_of(code))
        if self.link.is_server:
            self.link.hear_early("HELLO_C")
            self.link.hear_early("PAIR_A")
            self.link.write(wire.early_frame("HELLO_S", version=wire.SPOKEN, mode=wire.PAIR) + wire.early_frame("PAIR_B", point=exchange.share))
        else:
            self.link.write(wire.early_frame("HELLO_C", mode=wire.PAIR, lowest=wire.SPOKEN, highest=wire.SPOKEN) + wire.early_frame("PAIR_A", point=exchange.share))

    def hello(self, mode):
        """A client's way with a known key to READY, which it does not say."""
        self.link.say_early("HELLO_C", mode=mode, lowest=wire.SPOKEN, highest=wire.SPOKEN)
        self.link.hear_early("HELLO_S")
        self.link.ready()

    def enter(self, mode):
        channel.enter(self.link, mode)

    def welcome(self):
        """A server's way to READY with a known key."""
        said = self.link.hear_early("HELLO_C")
        self.link.say_early("HELLO_S", version=wire.SPOKEN, mode=said.mode)
        self.link.hear_early("READY")
        self.link.ready()

    # Frames after READY

    def send(self, data):
        with self.lock:
            self.link.write(data)

    def say(self, name, /, **values):
        self.send(wire.frame(name, **values))

    def read(self, seconds):
        """The next message, or None if none comes in time; one of HELD has only its body."""
        limit = time.monotonic() + seconds
        while True:
            with self.lock:
                found = self.link.take()
            if found is None:
                left = limit - time.monotonic()
                if left <= 0:
                    return None
                select.select([self.link], [], [], left)
                continue
            said = wire.Message("HELD", {"body": found[1]}) if found[0] == wire.TYPES["HELD"] else wire.message(*found)
            if said is not None:
                return said

    def update(self, seconds):
        """KeyUpdates without end: how many, for how many seconds, and whether the connection was
        still open then."""
        begun, count, is_open = time.monotonic(), 0, True
        end = begun + seconds
        with tls.Updates(self.link.tls) as updates:
            while is_open and time.monotonic() < end:
                data = updates.next(512)
                count += 512
                while data and is_open and time.monotonic() < end:
                    try:
                        data = data[self.link.plain.send(data):]
                    except BlockingIOError:
                        select.select([], [self.link], [], max(0, min(0.2, end - time.monotonic())))
                    except OSError:
                        is_open = False
                    # What comes is ignored, except an error of the socket.
                    try:
                        self.link.plain.recv(4096)
                    except BlockingIOError:
                        pass
                    except OSError:
                        is_open = False
        return count, time.monotonic() - begun, is_open

    # The end

    def close(self):
        """Ends it properly."""
        with self.lock:
            self.link.close()

    def cut(self):
        with contextlib.suppress(OSError):
            if self.link:
                self.link.cut()

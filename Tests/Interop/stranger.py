"""One connection of an end that pairs correctly, and whose frames a test writes one by one.

Several threads may use one. Each ends with one of `ENDS` when the other end has gone.
"""

import contextlib
import select
import socket
import threading
import time

import channel
import pairing
import tls
import wire
from forms import Violation

ENDS = (channel.Cut, channel.Ended, channel.Silent, channel.Aborted, channel.Closed, Violation, pairing.Mismatch, OSError, ValueError)
"""The ways in which an end learns that the other one has ended a connection."""


class Stranger:
    """One connection, of the same device as `like`."""

    def __init__(self, like=None):
        self.identity = like.identity if like else tls.Identity()
        self.link, self.lock = None, threading.RLock()

    def connect(self, port, host="127.0.0.1"):
        plain = socket.socket()
        plain.settimeout(10)
        plain.connect((host, port))
        return self.begin(plain, False)

    def accept(self, listening, seconds=120):
        """Takes the next connection that says anything: a sender looks whether anything listens
        before it asks for a code."""
        listening.settimeout(seconds)
        while True:
            plain = listening.accept()[0]
            plain.settimeout(10)
            if plain.recv(1, socket.MSG_PEEK):
                return self.begin(plain, True)
            plain.close()

    def begin(self, plain, is_server):
        self.link = channel.Channel(plain, self.identity, is_server)
        return self

    # Messages before READY

    def pair(self, code):
        channel.pair(self.link, pairing.digits_of(code))

    def enter(self, mode):
        channel.enter(self.link, mode)

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

    def cut(self):
        with contextlib.suppress(OSError):
            if self.link:
                self.link.cut()

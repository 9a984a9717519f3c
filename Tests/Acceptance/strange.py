"""Code that strange ends share. They follow the protocol: they time the answers to their PINGs, and
several act at once."""

import struct
import threading
import time

from attack_hostile import CLOSE, PING, PONG, Gone, Hostile, closing, frame, u64
from devices import PATIENCE
from outside import Failure, require, wait_for

HELD, DROP, FINISH, RECEIPT, ACK, END = 0x13, 0x16, 0x18, 0x1B, 0x32, 0x33


class Control(threading.Thread):
    """A control connection after READY: sends a PING every 0.2 s, answers the other end's, and
    keeps all other frames."""

    def __init__(self, hostile, pause=0):
        super().__init__(daemon=True)
        self.hostile, self.pause = hostile, pause
        self.heard, self.pings = [], []
        self.ended = None
        """How the connection ended."""
        self.is_over = False
        self.start()

    def run(self):
        try:
            while not self.is_over:
                if not self.pings or time.monotonic() - self.pings[-1][0] > 0.2:
                    self.pings.append((time.monotonic(), None))
                    self.say(PING, u64(len(self.pings) - 1))
                found = self.hostile.read(0.05)
                if found:
                    self.take(*found)
                    time.sleep(self.pause if found[0] == HELD else 0)
        except Failure as failure:
            self.ended = str(failure)

    def take(self, kind, body):
        if kind == PING:
            self.say(PONG, body)
        elif kind == PONG:
            number = struct.unpack(">Q", body)[0]
            self.pings[number] = self.pings[number][0], time.monotonic()
        else:
            self.heard.append((kind, body))

    def say(self, kind, body=b""):
        self.hostile.send(frame(kind, body))

    def hear(self, kind, seconds=PATIENCE):
        """The body of the next frame of a kind; earlier frames count as heard."""
        return self.first(kind, seconds=seconds)[1]

    def first(self, *kinds, seconds=PATIENCE):
        """The next frame of several kinds: its kind and its body."""
        def found():
            while self.heard:
                kind, body = self.heard.pop(0)
                if kind in kinds:
                    return kind, body
                if kind == CLOSE:
                    raise Gone(closing(body))
            require(self.ended is None, f"the connection ended: {self.ended}")
            return None

        return wait_for(f"frame {' or '.join(f'{kind:02x}' for kind in kinds)}", seconds, found)

    def slowest(self, since):
        """The slowest answer to a PING of those sent since a moment, including unanswered ones."""
        now = time.monotonic()
        sent = [ping for ping in self.pings if ping[0] >= since]
        require(sent, f"no PING could be sent: {self.ended}")
        return max((answered or now) - begun for begun, answered in sent)

    def close(self):
        """Ends it properly."""
        self.is_over = True
        self.join(5)
        self.hostile.ask("close")
        self.hostile.end()


def prepared(place, like, commands, **options):
    """A connection, not yet made, of the same device as another one."""
    hostile = Hostile(place, like and like.identity, **options)
    for command in commands:
        hostile.ask(command)
    return hostile


class Together:
    """Does several things at once, each on its own thread; raises their errors, and has their
    results."""

    def __init__(self, actions, is_waiting=True):
        self.found, self.failures = {}, []
        self.threads = [threading.Thread(target=self.do, args=item, daemon=True) for item in actions.items()]
        for thread in self.threads:
            thread.start()
        if is_waiting:
            self.wait()

    def wait(self):
        for thread in self.threads:
            thread.join()
        require(not self.failures, "; ".join(self.failures))

    def do(self, name, action):
        try:
            self.found[name] = action()
        except Exception as failure:  # What one fails by must not hide the others.
            self.failures.append(f"{name}: {type(failure).__name__ + ': ' if not isinstance(failure, Failure) else ''}{failure}")

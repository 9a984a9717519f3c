"""Strange ends, which keep to the protocol: they say each thing when a check wants it, and time the answers to their PINGs."""

import os
import socket
import struct
import threading
import time

from attack_hostile import (
    ACCEPT, CLOSE, DATA, DIRECTORY, DONE, FILE, GREETING, HELD_END, JOIN, OFFER, PING, PONG, Gone, Hostile, closing, data, fields, frame,
    text_of, u64)
from devices import PATIENCE
from outside import Failure, equal, require, wait_for

HELD, DROP, FINISH, RECEIPT, ACK, END = 0x13, 0x16, 0x18, 0x1B, 0x32, 0x33
MODIFIED = 1_600_000_000


class Control(threading.Thread):
    """A control connection behind READY: sends a PING every 0.2 s, answers those of the other end, keeps what else it hears."""

    def __init__(self, hostile, pause=0):
        super().__init__(daemon=True)
        self.hostile, self.pause = hostile, pause
        self.heard, self.pings = [], []
        self.ended = None
        """What the connection ended by."""
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
        """The body of the next frame of a kind; others in front of it count as heard."""
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
        """How long the slowest answer to a PING took, or takes, of those that were sent since a moment."""
        now = time.monotonic()
        sent = [ping for ping in self.pings if ping[0] >= since]
        require(sent, f"no PING could be sent: {self.ended}")
        return max((answered or now) - begun for begun, answered in sent)

    def close(self):
        """Ends it in order."""
        self.is_over = True
        self.join(5)
        self.hostile.ask("close")
        self.hostile.end()


def prepared(place, like, commands, **options):
    """A connection that is still to be made, of the same device as another one."""
    hostile = Hostile(place, like and like.identity, **options)
    for command in commands:
        hostile.ask(command)
    return hostile


class StrangeSender:
    """Sends a folder with files, and takes each step when it is told to."""

    ROOT = b"tree"
    GREETING = GREETING, fields(f1=b"\1", f2=b"strange", f3=b"test", f4=u64(0))

    def __init__(self, place, port, files=None, prepare=()):
        self.place, self.port, self.prepare = place, port, prepare
        self.hostile = self.connected()
        self.control = self.stream = self.ids = None
        self.sequence = 0
        self.files = files if files is not None else {b"file %d" % number: os.urandom(40_000 * number) for number in range(1, 8)}

    def connected(self, like=None):
        return prepared(self.place, like, self.prepare).connect("127.0.0.1", self.port)

    # Steps

    def pair(self, code):
        self.hostile.ask(f"pair {code}")
        self.begin()

    def come_back(self, pause=0):
        """After the connection was lost, or closed; from now on it pauses so long behind each part of the ledger."""
        self.hostile = self.connected(self.hostile)
        self.hostile.ask("enter 2")
        self.begin(pause)

    def leave(self):
        """Ends what is left of a conversation that is over."""
        self.control.is_over = True
        self.control.join(5)
        self.hostile.end()

    def begin(self, pause=0):
        self.control = Control(self.hostile, pause)
        self.control.say(*self.GREETING)
        self.control.hear(GREETING)

    def offer(self, items=None):
        self.control.say(*self.an_offer(items))

    def an_offer(self, items=None):
        size = sum(map(len, self.files.values()))
        values = {
            "f2": b"\1", "f3": bytes([DIRECTORY, len(self.ROOT)]) + self.ROOT, "f4": u64(items or len(self.files) + 1), "f5": u64(size),
            "f6": u64(size), "f8": bytes(4)}
        if self.ids:
            values["f1"] = self.ids[1]
        return OFFER, fields(**values)

    def hear_ledger(self):
        self.ids = text_of(self.control.hear(ACCEPT))
        self.control.hear(HELD_END)

    def connect_stream(self):
        """A data stream, but for JOIN."""
        self.stream = self.connected(self.hostile)
        self.stream.ask("enter 3")

    def joining(self, number=0):
        return frame(JOIN, self.ids[2] + struct.pack(">II", number, 0xFFFFFFFF))

    def beginning(self):
        """The folder, and a part of the first file in a state that it does not keep."""
        if self.files:
            name, content = next(iter(self.files.items()))
            yield self.next_frame(self.record(self.ROOT) + self.chunk(name, content, 0, len(content) // 4, b"an earlier state"))

    def rest(self):
        """The first file in pieces, and then each in a frame."""
        (first, content), *others = self.files.items()
        for begin, end in ((0, len(content) // 3), (len(content) // 3, len(content))):
            yield self.next_frame(self.chunk(first, content, begin, end, self.generation(self.path(first))))
        yield self.next_frame(self.record(self.path(first), content))
        for name, content in others:
            sealed = self.content(name, content) if content else b""
            yield self.next_frame(self.record(self.path(name), content) + sealed)

    def next_frame(self, entries):
        self.sequence += 1
        return data(self.sequence - 1, entries)

    def hear_written(self):
        """Waits until everything is acknowledged as written."""
        written = 0
        while written < self.sequence:
            kind, body = self.stream.read(PATIENCE) or (None, None)
            equal(kind, ACK, "what came on the stream")
            written = struct.unpack(">Q", body[:8])[0]

    def finish(self):
        size = sum(map(len, self.files.values()))
        self.control.say(FINISH, fields(f1=u64(len(self.files) + 1), f2=u64(size), f3=u64(0), f4=self.digest()))

    def hear_done(self):
        """Hears the end, and says that it is known."""
        self.control.hear(DONE)
        self.control.say(RECEIPT)
        self.control.close()

    # What is sent

    @staticmethod
    def generation(path):
        return (path + bytes(16))[-16:]

    def record(self, path, content=None):
        values = {
            "f1": path, "f2": bytes([DIRECTORY if content is None else FILE]), "f3": self.generation(path),
            "f5": struct.pack(">H", 0o755 if content is None else 0o644), "f6": struct.pack(">qI", MODIFIED, 0)}
        if content is not None:
            values["f4"] = u64(len(content))
        body = fields(**values)
        return b"\1" + struct.pack(">I", len(body)) + body

    def content(self, name, content):
        nonce, tag = self.seal(self.path(name), self.generation(self.path(name)), 0, content)
        return b"\4" + struct.pack(">I", len(content)) + nonce + tag + content

    def chunk(self, name, content, begin, end, generation):
        path, part = self.path(name), content[begin:end]
        nonce, tag = self.seal(path, generation, begin, part)
        return b"\2" + struct.pack(">H16sQI", len(path), generation, begin, len(part)) + nonce + tag + path + part

    def seal(self, path, generation, offset, content):
        nonce = os.urandom(12)
        covered = b"\2" + u64(offset) + u64(len(content)) + generation + path + content
        return nonce, self.value(f"seal {self.ids[3].hex()} {nonce.hex()}", covered)

    def path(self, name):
        return b"%s/%s" % (self.ROOT, name)

    def digest(self):
        paths = [self.ROOT, *map(self.path, self.files)]
        marks = [self.value(f"mark {self.ids[4].hex()}", b"\1" + self.generation(path) + path) for path in paths]
        return (sum(int.from_bytes(mark, "big") for mark in marks) % (1 << 128)).to_bytes(16, "big")

    def value(self, command, covered):
        # By a program that waits for nothing else.
        return bytes.fromhex(self.stream.ask(f"{command} {len(covered)}", covered)[1])

    def arrived(self, destination):
        """Requires that a destination has what was sent, and nothing else."""
        equal(os.listdir(destination), [os.fsdecode(self.ROOT)], "the destination holds")
        folder = f"{os.fsencode(destination).decode()}/{os.fsdecode(self.ROOT)}"
        equal(sorted(os.listdir(folder)), sorted(map(os.fsdecode, self.files)), "the folder holds")
        for name, content in self.files.items():
            with open(f"{folder}/{os.fsdecode(name)}", "rb") as file:
                require(file.read() == content, f"{os.fsdecode(name)} arrived as something else")


class StrangeReceiver:
    """Takes what a sender sends, and says each thing when it is told to; its code is all zeros."""

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
        """A connection that is the next one to come."""
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
        """Hears the offer, and takes it; tells a ledger of such pages, to its end unless that is left out."""
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
        """Takes the stream while other things are done; what to wait with."""
        def all_of_it():
            if not self.has_stream:
                self.take_stream()
            self.take()

        return Together({"the stream": all_of_it}, is_waiting=False).wait

    def take(self):
        """Takes the stream's frames to its END or the sender's FINISH, and acknowledges them."""
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


class Together:
    """Does several things at a time, each on a thread of its own; fails with what they failed by, and has what they found."""

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

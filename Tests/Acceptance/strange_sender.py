"""A strange sender, which follows the protocol and takes each step when a check wants it."""

import os
import struct

from attack_hostile import ACCEPT, DIRECTORY, DONE, FILE, GREETING, HELD_END, JOIN, OFFER, data, fields, frame, text_of, u64
from devices import PATIENCE
from outside import equal, require
from strange import ACK, FINISH, RECEIPT, Control, prepared

MODIFIED = 1_600_000_000


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
        """After the connection was lost, or closed; from now on it pauses for this long after each
        part of the ledger."""
        self.hostile = self.connected(self.hostile)
        self.hostile.ask("enter 2")
        self.begin(pause)

    def leave(self):
        """Ends the rest of a conversation that has ended."""
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
        """A data stream, before JOIN."""
        self.stream = self.connected(self.hostile)
        self.stream.ask("enter 3")

    def joining(self, number=0):
        return frame(JOIN, self.ids[2] + struct.pack(">II", number, 0xFFFFFFFF))

    def beginning(self):
        """The folder, and a part of the first file in a state that changes later."""
        if self.files:
            name, content = next(iter(self.files.items()))
            yield self.next_frame(self.record(self.ROOT) + self.chunk(name, content, 0, len(content) // 4, b"an earlier state"))

    def rest(self):
        """The first file in pieces, and each of the others in a frame."""
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
        """Receives the end, and sends RECEIPT."""
        self.control.hear(DONE)
        self.control.say(RECEIPT)
        self.control.close()

    # The sent data

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
        # Asks a program that waits for nothing else.
        return bytes.fromhex(self.stream.ask(f"{command} {len(covered)}", covered)[1])

    def arrived(self, destination):
        """Requires that a destination has exactly the sent files."""
        equal(os.listdir(destination), [os.fsdecode(self.ROOT)], "the destination holds")
        folder = f"{os.fsencode(destination).decode()}/{os.fsdecode(self.ROOT)}"
        equal(sorted(os.listdir(folder)), sorted(map(os.fsdecode, self.files)), "the folder holds")
        for name, content in self.files.items():
            with open(f"{folder}/{os.fsdecode(name)}", "rb") as file:
                require(file.read() == content, f"{os.fsdecode(name)} arrived as something else")

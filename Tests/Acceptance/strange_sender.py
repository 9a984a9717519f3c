"""A strange sender, which follows the protocol and takes each step when a check wants it."""

import os

from devices import PATIENCE
from interop import interop
from outside import equal, require
from strange import Control

if interop() is None:
    import wire
    from stranger import Stranger

MODIFIED = 1_600_000_000


class StrangeSender:
    """Sends a folder with files, and takes each step when it is told to."""

    ROOT = b"tree"

    def __init__(self, port, files=None, **how):
        self.port, self.how = port, how
        self.stranger = self.connected()
        self.control = self.stream = self.verdict = self.accepted = None
        self.sequence = 0
        self.files = files if files is not None else {b"file %d" % number: os.urandom(40_000 * number) for number in range(1, 8)}

    def connected(self, like=None):
        return Stranger(like, **self.how).connect(self.port)

    # Steps

    def pair(self, code):
        self.stranger.pair(code)
        self.begin()

    def come_back(self, pause=0):
        """After the connection was lost, or closed; from now on it pauses for this long after each
        part of the ledger."""
        self.stranger = self.connected(self.stranger)
        self.stranger.enter(wire.RESUME)
        self.begin(pause)

    def leave(self):
        """Ends the rest of a conversation that has ended."""
        self.control.stop()
        self.stranger.cut()

    def begin(self, pause=0):
        self.control = Control(self.stranger, pause)
        self.stranger.send(self.greeting())
        self.control.hear("GREETING")

    def greeting(self):
        return wire.frame("GREETING", role=wire.SENDER, label="strange", software="test", features=0)

    def open_part(self, items=None):
        """Everything up to the end of the ledger."""
        self.plan()
        self.hear_verdict()
        self.offer(items)
        self.hear_ledger()

    def plan(self):
        self.stranger.send(self.a_plan())

    def a_plan(self):
        """A plan of one part, the folder."""
        part = {"kind": wire.FOLDERS, "name": "tree", "roots": [(wire.DIRECTORY, self.ROOT)], "bytes": self.size(), "sources": [bytes(8)]}
        return wire.frame("PLAN", plan=self.verdict and self.verdict.plan, parts=[part], flags=0)

    def hear_verdict(self):
        self.verdict = self.control.hear("VERDICT")
        require(self.verdict.parts[0]["code"] in (wire.TAKEN, wire.FINISHED), f"the part is refused: {self.verdict}")

    def offer(self, items=None):
        self.control.say("OFFER", part=0, items=items or len(self.files) + 1, bytes=self.size(), allocated=self.size(), flags=0)

    def size(self):
        return sum(map(len, self.files.values()))

    def hear_ledger(self):
        self.accepted = self.control.hear("ACCEPT")
        self.control.hear("HELD_END")

    def connect_stream(self):
        """A data stream, before JOIN."""
        self.stream = self.connected(self.stranger)
        self.stream.enter(wire.JOIN)

    def joining(self, number=0):
        return wire.frame("JOIN", session=self.verdict.session, stream=number, replaces=wire.NONE)

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
            sealed = self.piece(wire.CONTENT, name, 0, content) if content else b""
            yield self.next_frame(self.record(self.path(name), content) + sealed)

    def next_frame(self, entries):
        self.sequence += 1
        return wire.frame("DATA", sequence=self.sequence - 1, encoding=0, plainLength=len(entries), payload=entries)

    def hear_written(self):
        """Waits until everything is acknowledged as written."""
        written = 0
        while written < self.sequence:
            said = self.stream.read(PATIENCE)
            equal(said and said.name, "ACK", "what came on the stream")
            written = said.written

    def finish(self):
        self.control.say("FINISH", items=len(self.files) + 1, bytes=self.size(), unsent=0, digest=self.digest())

    def hear_done(self):
        """Receives the end, and sends RECEIPT."""
        self.control.hear("DONE")
        self.control.say("RECEIPT")
        self.control.close()

    # The sent data

    @staticmethod
    def generation(path):
        return (path + bytes(16))[-16:]

    def record(self, path, content=None):
        size = None if content is None else len(content)
        return wire.item(wire.RECORD.put({
            "path": path, "kind": wire.DIRECTORY if content is None else wire.FILE, "generation": self.generation(path),
            "size": size, "mode": 0o755 if content is None else 0o644, "modified": (MODIFIED, 0)}))

    def chunk(self, name, content, begin, end, generation):
        return self.piece(wire.CHUNK, name, begin, content[begin:end], generation)

    def piece(self, kind, name, offset, part, generation=None):
        path = self.path(name)
        return wire.piece(kind, self.accepted.hashKey, path, generation or self.generation(path), offset, len(part), part)

    def path(self, name):
        return b"%s/%s" % (self.ROOT, name)

    def digest(self):
        paths = [self.ROOT, *map(self.path, self.files)]
        return wire.digest([wire.mark(self.accepted.hashKey, self.generation(path), path) for path in paths])

    def arrived(self, destination):
        """Requires that a destination has exactly the sent files."""
        equal(os.listdir(destination), [os.fsdecode(self.ROOT)], "the destination holds")
        folder = f"{os.fsencode(destination).decode()}/{os.fsdecode(self.ROOT)}"
        equal(sorted(os.listdir(folder)), sorted(map(os.fsdecode, self.files)), "the folder holds")
        for name, content in self.files.items():
            with open(f"{folder}/{os.fsdecode(name)}", "rb") as file:
                require(file.read() == content, f"{os.fsdecode(name)} arrived as something else")

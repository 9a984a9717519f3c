"""A device that pairs correctly and then attacks: the program in C makes connections; frames and
records follow Protocol.md."""

import struct
import subprocess
import threading
import time

from outside import Failure

GREETING, OFFER, ACCEPT, HELD_END, UNSENT, PING, PONG, CLOSE = 0x10, 0x11, 0x12, 0x15, 0x17, 0x1E, 0x1F, 0x20
JOIN, DATA, DONE = 0x30, 0x31, 0x1A
HELLO_C = b"\x01\x00\x0bPEER\x01\x01\x01\0\0\0\0"
DIRECTORY, FILE = 1, 2

# Encodings


def varint(value):
    for index, bits in enumerate((6, 14, 30, 62)):
        if value < 1 << bits:
            return (value | index << (8 << index) - 2).to_bytes(1 << index, "big")
    raise ValueError(value)


def fields(**values):
    """A field body; names are as in `f3`, values are bytes."""
    ordered = sorted((int(name[1:]), value) for name, value in values.items())
    return b"".join(bytes([tag]) + varint(len(value)) + value for tag, value in ordered)


def u64(value):
    return struct.pack(">Q", value)


def frame(kind, body=b""):
    return struct.pack(">BI", kind, len(body)) + body


def text_of(body):
    """The message of a CLOSE, and its code."""
    place, found = 0, {}
    while place < len(body):
        tag, size = body[place], 1 << (body[place + 1] >> 6)
        length = int.from_bytes(body[place + 1:place + 1 + size], "big") & (1 << 8 * size - 2) - 1
        place += 1 + size
        found[tag] = body[place:place + length]
        place += length
    return found


def record(path, kind, generation, padding=b"", attributes=b""):
    """The entry ITEM of an empty item; `padding` is a field that no version knows."""
    values = {"f1": path, "f2": bytes([kind]), "f3": struct.pack(">QQ", 0, generation), "f5": struct.pack(">H", 0o755)}
    if kind == FILE:
        values["f4"] = u64(0)
    if attributes:
        values["f9"] = attributes
    if padding:
        values["f200"] = padding
    body = fields(**values)
    return b"\x01" + struct.pack(">I", len(body)) + body


def attribute(name, value):
    return bytes([len(name)]) + name + varint(len(value)) + value


def data(sequence, entries):
    return frame(DATA, struct.pack(">QBI", sequence, 0, len(entries)) + entries)


def unsent(path, message=""):
    values = {"f1": path, "f2": b"\x02"}
    if message:
        values["f3"] = message.encode()
    return frame(UNSENT, fields(**values))


def greeting(role):
    return frame(GREETING, fields(f1=bytes([role]), f2=b"hostile", f3=b"attack", f4=u64(0)))


def offer(items, count, name=b"root"):
    return frame(OFFER, fields(
        f2=b"\x01", f3=bytes([DIRECTORY, len(name)]) + name, f4=u64(items), f5=u64(count), f6=u64(count), f8=bytes(4)))


class Gone(Failure):
    """The other end has ended the connection."""


class Hostile:
    """One connection."""

    def __init__(self, place, identity=None, within=(), passed=()):
        self.place = place
        self.identity = identity or f"{place.folder()}/key"
        self.within = within
        self.lock = threading.Lock()
        self.accept = {}
        self.closed = None
        self.popen = subprocess.Popen(
            [*within, place.program("hostile"), self.identity], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=passed)
        place.processes.append(self)

    def ask(self, line, content=b""):
        """One command; returns the words of its answer."""
        with self.lock:
            try:
                self.popen.stdin.write(line.encode() + b"\n" + content)
                self.popen.stdin.flush()
            except BrokenPipeError:
                raise Failure("the hostile program has died") from None
            words = self.popen.stdout.readline().split()
            if not words:
                raise Failure("the hostile program has died")
            if words[0] == b"gone":
                raise Gone(b" ".join(words[1:]).decode())
            if words[0] == b"frame":
                return int(words[1]), self.popen.stdout.read(int(words[2]))
            return [word.decode() for word in words]

    def connect(self, address, port):
        self.ask(f"connect {address} {port}")
        return self

    def send(self, content):
        self.ask(f"send {len(content)}", content)

    def read(self, seconds):
        """The next frame's type and body; None if none arrives in time."""
        answer = self.ask(f"read {seconds}")
        return None if answer == ["silent"] else answer

    def expect(self, kind, seconds=30):
        """The body of the next frame of a type; answers requests meanwhile."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            found = self.read(1)
            if found is None:
                continue
            if found[0] == PING:
                self.send(frame(PONG, found[1]))
            elif found[0] == kind:
                return found[1]
            elif found[0] == CLOSE:
                raise Gone(closing(found[1]))
        raise Failure(f"no frame {kind:02x} within {seconds} s")

    def begin(self, code, items, count):
        """As a sender: pairs, offers, and reads the ledger; then streams may join."""
        self.ask(f"pair {code}")
        self.send(greeting(1) + offer(items, count))
        self.accept = text_of(self.expect(ACCEPT))
        self.expect(HELD_END)

    def join(self, address, port, stream=0):
        """A data stream of the same device."""
        other = Hostile(self.place, self.identity, self.within).connect(address, port)
        other.ask("enter 3")
        other.send(frame(JOIN, self.accept[2] + struct.pack(">II", stream, 0xFFFFFFFF)))
        return other

    def update(self, seconds):
        """KeyUpdates without end: returns their number, the seconds, and whether the connection was
        still open."""
        words = self.ask(f"update {seconds}")
        return int(words[1]), float(words[2]), words[3] == "kept"

    def end(self):
        self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            try:
                pipe.close()
            except OSError:
                pass
        if self in self.place.processes:
            self.place.processes.remove(self)


class Tending(threading.Thread):
    """Keeps a control connection alive, and records how it ends."""

    def __init__(self, control):
        super().__init__(daemon=True)
        self.control, self.word, self.is_over = control, None, False
        self.start()

    def run(self):
        last = 0.0
        try:
            while not self.is_over:
                found = self.control.read(0.2)
                if found and found[0] == CLOSE:
                    self.word = closing(found[1])
                    return
                if time.monotonic() - last > 3:
                    last = time.monotonic()
                    self.control.send(frame(PING, bytes(8)))
        except Failure as failure:
            self.word = self.word or str(failure)


def closing(body):
    found = text_of(body)
    return f"CLOSE {int.from_bytes(found.get(1, b''), 'big')}: {found.get(2, b'').decode(errors='replace')}"

#!/usr/bin/python3
"""Makes transfer.md, one transfer frame by frame, with fixed ids and keys.

Usage: frames.py [--write | --check]
Prints the frames, or writes them into transfer.md, or exits with 1 if transfer.md has others.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import types

import channel
import explain
import receiver as receiving
import sender as sending
import tree
import wire

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transfer.md")
BEGIN, END = "<!-- frames: begin -->\n", "<!-- frames: end -->"
CONTENTS = {"film.mov": b"a film in two chunks, sent before its ITEM", "hello.txt": b"Hello, peer!\n"}
MOMENT = 1_700_000_000_000_000_005

MEANINGS = {
    "READY": "The sender ends the pairing. All later frames on this connection have a length of four bytes.",
    "GREETING sender": "The sender's role and name, without the feature `zstd`.",
    "GREETING receiver": "The receiver sends its own GREETING at the same time; neither end waits.",
    "OFFER": "The sender has walked its folder: one root, three items. A new transfer has no field `transfer`.",
    "ACCEPT": "The receiver accepts the offer, and chooses all ids and keys.",
    "HELD_END": "The receiver holds nothing yet, so it sends no HELD and no PARTIAL. The sender may open data streams.",
    "HELLO_C": "The sender opens a second connection with the same key, in mode *join*. Before READY a length has two bytes.",
    "HELLO_S": "The receiver knows the key of the running session.",
    "READY join": "The data connection is ready. The sender sends JOIN at once.",
    "JOIN": "The connection becomes stream 0 of the session, and replaces none.",
    "DATA 0": "A directory is its record alone.",
    "DATA 1": "This sender puts at most 32 bytes into a chunk. The file has 42 bytes, so it sends two chunks, and then the ITEM.",
    "DATA 2": "The second chunk of the file.",
    "DATA 3": "The file did not change during the reads: its ITEM vouches for both chunks.",
    "DATA 4": "A small file is its ITEM and its CONTENT in one frame.",
    "ACK": "The receiver has written all frames of the stream up to here.",
    "FINISH": "All frames are acknowledged as written. The digest is the sum of the marks of the three items.",
    "PROGRESS": "The receiver compares the totals and the digest, and imports the items.",
    "DONE": "All items are imported and durable.",
    "END": "The sender ends the stream; both ends close the connection.",
    "RECEIPT": "The sender knows the result. Both ends close, and the receiver forgets the transfer.",
}
"""The meanings of the frames, by their names, and a number or an end where a name comes twice."""


class Plain(channel.Channel):
    """A connection without TLS, inside this process, that logs the bytes of its end."""

    def __init__(self, plain, name, log):
        self.plain, self.name, self.log = plain, name, log
        self.buffer, self.over, self.is_early, self.is_control = bytearray(), None, True, False
        self.answers_pings, self.trace, self.last_said, self.last_heard = True, [], time.monotonic(), time.monotonic()
        self.peer = self.exported = bytes(32)
        plain.setblocking(False)

    def write(self, data):
        self.log.append((self.name, self.is_control, self.is_early, bytes(data)))
        self.plain.sendall(data)

    def pump(self):
        while self.over is None:
            try:
                data = self.plain.recv(1 << 16)
                self.over = None if data else channel.Ended("the end")
                self.buffer += data
            except BlockingIOError:
                return

    def close(self):
        self.plain.close()
        self.over = self.over or channel.Ended("closed here")

    cut = close


class Item(tree.Item):
    """An item with fixed metadata."""

    def __init__(self, path, place, status, target=None):
        number = 1 + ["photos", *CONTENTS].index(os.fsdecode(os.path.basename(path)))
        super().__init__(path, place, types.SimpleNamespace(
            st_mode=status.st_mode & ~0o777 | (0o755 if number == 1 else 0o644), st_dev=1, st_ino=number, st_size=status.st_size,
            st_blocks=8, st_mtime_ns=MOMENT, st_ctime_ns=MOMENT), target)

    def is_unchanged(self):
        return True

    def pieces(self):
        yield 0, self.size, True


class Sender(sending.Sender):
    """The sender over connections of this process."""

    log, listening = None, None

    def connect(self, pin=None):
        plain = socket.socket(socket.AF_UNIX)
        plain.connect(self.listening)
        return Plain(plain, "sender", self.log)

    def look(self):
        super().look()
        self.items = [Item(item.path, item.whole, item.status) for item in self.items]


class Receiver(receiving.Receiver):
    """The receiver over connections of this process."""

    log = None

    def shake(self, plain):
        return Plain(plain, "receiver", self.log)


def counted(begin):
    """Makes ids and keys that count up, each from another byte."""
    starts = iter(range(begin, 256, 16))

    def random(count):
        start = next(starts)
        return bytes(range(start, start + count))

    return random


def transfer(folder):
    """Runs a transfer; the frames in their order: (end, is control, is early, bytes)."""
    log, source, destination = [], f"{folder}/photos", f"{folder}/there"
    os.mkdir(source)
    os.mkdir(destination)
    for name, content in CONTENTS.items():
        with open(f"{source}/{name}", "wb") as file:
            file.write(content)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{folder}/socket")
    listening.listen()
    options = receiving.Options(label="desk", features=0, code="4829-1367", window=33_554_432)
    options.random = counted(0x10)
    receiver = Receiver(destination, options=options, listening=listening)
    receiver.log, ends = log, socket.socketpair()
    other = Plain(ends[1], "receiver", log)

    def receive():
        other.hear_early("READY")
        receiver.pin = other.peer
        receiver.begin(other)
        receiver.run()

    thread = threading.Thread(target=receive, daemon=True)
    # Each frame is acknowledged before the next one, so the order is fixed.
    chosen = sending.Options(label="laptop", features=0, frame=32, flags=0,
                             before_frame=lambda streams, _: streams.drain())
    chosen.random = counted(0xC0)
    sender = Sender([source], chosen)
    sender.log, sender.listening, sender.pin = log, f"{folder}/socket", bytes(32)
    sender.control = Plain(ends[0], "sender", log)
    sender.control.is_control = True
    thread.start()
    sender.control.say_early("READY")
    sender.control.ready()
    sender.session()
    thread.join(10)
    receiver.close()
    # Both ends greet at once; the sender's GREETING is shown first.
    greetings = sorted(log[1:3], key=lambda one: one[0] != "sender")
    return [log[0], *greetings, *log[3:]]


def meaning(name, who, is_control, data):
    """The sentence on a frame."""
    if name == "DATA":
        name += f" {int.from_bytes(data[5:13], 'big')}"
    if name == "READY" and not is_control:
        name += " join"
    return MEANINGS.get(name) or MEANINGS[f"{name} {who}"]


def page():
    """The page in Markdown."""
    folder = tempfile.mkdtemp()
    try:
        said = transfer(folder)
    finally:
        shutil.rmtree(folder)
    text = []
    for who, is_control, is_early, data in said:
        name = (wire.EARLY if is_early else wire.MESSAGES)[data[0]][0]
        other = {"sender": "receiver", "receiver": "sender"}[who]
        sentence = f"**{name}** · {who} → {other}, {'control connection' if is_control else 'data connection'}. "
        text.append(wrapped(sentence + meaning(name, who, is_control, data)))
        text.append("\n".join("    " + line for line in explain.lines(data, is_early)))
    return "\n" + "\n\n".join(text) + "\n\n"


def wrapped(text, width=100):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def main():
    made = page()
    if sys.argv[1:] not in (["--write"], ["--check"]):
        print(made)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    there, _, behind = rest.partition(END)
    if sys.argv[1] == "--check":
        if there != made:
            print("transfer.md is not what Tests/Interop/frames.py makes; run it with --write", file=sys.stderr)
        return int(there != made)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + made + END + behind)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Makes transfer.md, one plan frame by frame, with fixed ids and keys.

Usage: frames.py [--write | --check]
Prints the frames, or writes them into transfer.md, or exits with 1 if transfer.md has others.
"""

import os
import shutil
import socket
import stat
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
from plan import Failed, Part

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transfer.md")
BEGIN, END = "<!-- frames: begin -->\n", "<!-- frames: end -->"
CONTENTS = {"photos/film.mov": b"a film in two chunks, sent before its ITEM", "photos/hello.txt": b"Hello, peer!\n", "documents/letter": b"Dear peer,\n"}
NUMBERS = ["photos", "film.mov", "hello.txt", "documents", "letter"]
MOMENT = 1_700_000_000_000_000_005

MEANINGS = {
    "READY": "The sender ends the pairing. All later frames on this connection have a length of four bytes.",
    "GREETING sender": "The sender's role and name, without the feature `zstd`.",
    "GREETING receiver": "The receiver sends its own GREETING at the same time; neither end waits.",
    "PLAN": "The sender tells both parts: a folder, and the documents of its user, whose place the receiver knows. "
            "A new plan has no field `plan`.",
    "VERDICT": "The receiver takes both parts, and chooses the ids of the plan and of the session.",
    "OFFER 0": "The sender has walked the folder of part 0: three items.",
    "ACCEPT 0": "The receiver accepts the part, and chooses its key.",
    "HELD_END 0": "The receiver holds nothing yet, so it sends no HELD and no PARTIAL. The sender may open data streams.",
    "OFFER 1": "Every frame is acknowledged as written, and part 0 has its result: the next part begins.",
    "ACCEPT 1": "Each part has its own key.",
    "HELD_END 1": "The receiver holds nothing of this part either. The data stream is still there.",
    "HELLO_C": "The sender opens a second connection with the same key, in mode *join*. Before READY a length has two bytes.",
    "HELLO_S": "The receiver knows the key of the running session.",
    "READY join": "The data connection is ready. The sender sends JOIN at once.",
    "JOIN": "The connection becomes stream 0 of the session, and replaces none.",
    "DATA 0": "A directory is its record alone.",
    "DATA 1": "This sender puts at most 32 bytes into a chunk. The file has 42 bytes, so it sends two chunks, and then the ITEM.",
    "DATA 2": "The second chunk of the file.",
    "DATA 3": "The file did not change during the reads: its ITEM vouches for both chunks.",
    "DATA 4": "A small file is its ITEM and its CONTENT in one frame.",
    "DATA 5": "The numbers of the frames continue from part to part.",
    "DATA 6": "The file of this part, with its content.",
    "ACK": "The receiver has written all frames of the stream up to here.",
    "ACK behind FAILED": "The receiver has failed, and acknowledges what still comes as written and durable. It has not looked at the entries.",
    "ACK durable": "Since the DONE of part 0 its five frames are durable.",
    "FINISH": "All frames are acknowledged as written. The digest is the sum of the marks of the three items.",
    "PROGRESS": "The receiver compares the totals and the digest, and imports the items.",
    "DONE": "All items of part 0 are imported and durable.",
    "FAILED receiver": "The receiver's disk fails. It ends the part, and not the session.",
    "FAILED sender": "The sender answers with the same code. The part is settled, since every frame is acknowledged.",
    "END": "The sender ends the stream; both ends close the connection.",
    "RECEIPT": "No part is left, and the sender knows the result of each. Both ends close. Code 9 is resumable, so both keep the plan.",
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
        number = 1 + NUMBERS.index(os.fsdecode(os.path.basename(path)))
        super().__init__(path, place, types.SimpleNamespace(
            st_mode=status.st_mode & ~0o777 | (0o755 if stat.S_ISDIR(status.st_mode) else 0o644), st_dev=1, st_ino=number, st_size=status.st_size,
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


def fail(_, entry):
    """The receiver's disk fails at the letter."""
    if entry.path == b"documents/letter":
        raise Failed(9, "the disk has failed")


def transfer(folder):
    """Runs a plan of two parts; the frames in their order: (end, is control, is early, bytes)."""
    log, destination = [], f"{folder}/there"
    for name in ("photos", "documents", "there"):
        os.mkdir(f"{folder}/{name}")
    for name, content in CONTENTS.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{folder}/socket")
    listening.listen()
    options = receiving.Options(label="desk", features=0, code="4829-1367", window=33_554_432, before_entry=fail, judge_part=lambda _: {"code": 0})
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
    chosen = sending.Options(label="laptop", features=0, frame=32, before_frame=lambda streams, _: streams.drain())
    chosen.random = counted(0xC0)
    parts = [Part([f"{folder}/photos"]), Part([f"{folder}/documents"], identifier="home")]
    sender = Sender(parts, chosen)
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


def meaning(name, who, is_control, data, part, has_failed):
    """The sentence on a frame of a part."""
    more = {"DATA": f"{int.from_bytes(data[5:13], 'big')}", "READY": "" if is_control else "join",
            "ACK": "behind FAILED" if has_failed else "durable" if part else ""}.get(name, f"{part}")
    return next(MEANINGS[key] for key in (f"{name} {more}", f"{name} {who}", name) if key in MEANINGS)


def page():
    """The page in Markdown."""
    folder = tempfile.mkdtemp()
    try:
        said = transfer(folder)
    finally:
        shutil.rmtree(folder)
    text, part, has_failed = [], -1, False
    for who, is_control, is_early, data in said:
        name = (wire.EARLY if is_early else wire.MESSAGES)[data[0]][0]
        other = {"sender": "receiver", "receiver": "sender"}[who]
        part, has_failed = part + (name == "OFFER"), has_failed or name == "FAILED"
        sentence = f"**{name}** · {who} → {other}, {'control connection' if is_control else 'data connection'}. "
        text.append(wrapped(sentence + meaning(name, who, is_control, data, part, has_failed)))
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

#!/usr/bin/python3
"""A sender of the peer protocol (Protocol.md §7.1), written from the document alone.

Usage: sender.py --to HOST:PORT [--code CODE] [--streams N] [--no-zstd] [--no-leave-existing] [--no-refusals] FOLDER…
Prints JSON lines: unsent and refused items, and the result.

Each step of a session is a function, so that a test can call them one by one.
"""

import argparse
import collections
import dataclasses
import json
import os
import sys
import time

import channel
import pairing
import plan
import tls
import tree
import wire
from forms import Violation, require
from streams import Streams

EXITS = {2: 5, 3: 1, 4: 1, 5: 4, 6: 4, 7: 6, 8: 4, 9: 1, 10: 7, 11: 9, 12: 4, 14: 1, 15: 4, 16: 5}
"""The sender's exit codes by the codes of CLOSE (§10)."""


@dataclasses.dataclass
class Options:
    """The options of a sender."""
    label: str = "python"
    features: int = wire.ZSTD
    streams: int = 1
    window: int = 1 << 62
    frame: int = 1 << 18
    """The most bytes of entries in a frame, and of data in a piece of a file."""
    flags: int = wire.COMPRESSIBLE
    before_frame: object = None
    """Called with the streams and the number of each DATA frame; it may cut or raise."""
    greeting: dict = dataclasses.field(default_factory=dict)
    """Fields of GREETING that replace the usual ones, and unknown ones."""
    offer: dict = dataclasses.field(default_factory=dict)
    """Fields of OFFER that replace the usual ones."""
    random = staticmethod(os.urandom)
    """The source of tokens."""
    owners: bool = False
    app: dict = None
    """The app in the OFFER; its archive is the content of the folders."""


class Sender:
    """One transfer from this end, over any number of sessions."""

    def __init__(self, sources, options=None):
        self.sources, self.options = list(sources), options or Options()
        self.identity, self.pin, self.transfer = tls.Identity(), None, None
        self.control = self.accepted = self.streams = self.done = self.finished = None
        self.tries = 0

    # The way in

    def connect(self, pin=None):
        return channel.connect(*self.address, self.identity, pin)

    def pair(self, address, code):
        """Pairs. Tries a busy receiver again for half a minute."""
        self.address, digits = address, pairing.digits_of(code)
        if digits is None:
            raise pairing.Mismatch("this is no code")
        limit, pause = time.monotonic() + 30, 0.1
        while True:
            self.control = self.connect()
            try:
                channel.pair(self.control, digits)
                break
            except channel.Aborted as error:
                self.control.close()
                if error.reason != wire.BUSY or time.monotonic() > limit:
                    raise
                time.sleep(pause)
                pause = min(1, pause * 1.5)
        self.pin, self.control.is_control = self.control.peer, True

    def resume(self, address=None):
        """Connects again with the pinned keys."""
        self.address = address or self.address
        self.control = self.connect(self.pin)
        channel.enter(self.control, wire.RESUME)
        self.control.is_control = True

    def open_stream(self):
        link = self.connect(self.pin)
        channel.enter(link, wire.JOIN)
        return link

    # The steps of a session

    def greet(self):
        self.control.say("GREETING", **{"role": wire.SENDER, "label": self.options.label, "software": "interop",
                                        "features": self.options.features, **self.options.greeting})
        self.other = self.control.hear("GREETING")
        require(self.other.role == wire.RECEIVER, "the other end is no receiver")

    def look(self):
        """Walks the sources."""
        self.items, special = tree.walk(self.sources)
        self.unsent = [(path, 4, None) for path in special]
        if self.options.app:
            roots = {os.path.basename(os.path.abspath(os.fsencode(source))) for source in self.sources}
            self.items = [item for item in self.items if item.path not in roots]
            for item in self.items:
                item.path = item.path.split(b"/", 1)[1]

    def offer(self):
        """Sends OFFER; False if the answer is DONE."""
        self.look()
        files = [item for item in self.items if item.kind == wire.FILE]
        values = {"kind": wire.FOLDERS, "items": len(self.items), "bytes": sum(file.size for file in files), "flags": self.options.flags,
                  "allocated": sum(min(file.size, file.status.st_blocks * 512) for file in files), "transfer": self.transfer}
        if self.options.app:
            values.update(kind=wire.APP, app=self.options.app)
        else:
            values["roots"] = sorted(((item.kind, item.path) for item in self.items if b"/" not in item.path), key=lambda root: root[1])
        self.control.say("OFFER", **{**values, **self.options.offer})
        self.refused = []
        while (said := self.control.hear("ACCEPT", "REFUSED", "DONE")).name == "REFUSED":
            self.refused.append(said)
        if said.name == "DONE":
            require(self.transfer is not None, "DONE answers an OFFER without a transfer")
            require(self.finished in (None, (said.items, said.bytes)), "DONE has not the totals of FINISH")
            self.done = said
            return False
        self.accepted, self.transfer = said, said.transfer
        return True

    def ledger(self):
        """Reads the ledger."""
        self.held, self.partial, last = {1: [], 2: [], 3: []}, {}, (0, b"")
        while (said := self.control.hear("HELD", "PARTIAL", "HELD_END")).name != "HELD_END":
            if said.name == "PARTIAL":
                self.partial[said.path] = said
                continue
            require(last < (said.kind, said.marks[0]), "marks that do not ascend")
            last = said.kind, said.marks[-1]
            self.held[said.kind] += said.marks
        require(len(self.held[1]) == said.items, f"{len(self.held[1])} marks of kind 1, and HELD_END says {said.items}")
        self.held = {kind: set(marks) for kind, marks in self.held.items()}
        self.held_end = said

    def open(self):
        """Prepares the data streams."""
        self.streams = Streams(self.control, self.open_stream, self.accepted, self.options)
        self.streams.on_message = self.hear_refusal
        self.key, self.plain = self.accepted.hashKey, bytearray()
        self.marks, self.bytes, self.sent_bytes = [], 0, 0

    def hear_refusal(self, said):
        require(said.name == "REFUSED" and not self.options.app, f"{said.name} while data is sent")
        self.refused.append(said)

    def send(self):
        """Sends all items that are not held, and waits until they are written."""
        items, left = plan.leave_out(self.items, self.held, self.accepted)
        self.counts = collections.Counter(reason for _, reason, _ in left)
        self.unsent += [one for one in left if one[1] != plan.PRESENT]
        now = {wire.mark(self.key, item.generation(self.key), item.path) for item in items}
        dropped = sorted(self.held[1] - now)
        for at in range(0, len(dropped), 65_536):
            self.control.say("DROP", marks=dropped[at:at + 65_536])
        self.left_behind = collections.Counter(name for item in items for name in item.left_behind())
        for item in items:
            item.owners = self.options.owners
            try:
                self.send_item(item)
            except OSError as error:
                self.unsent.append((item.path, 1 if isinstance(error, FileNotFoundError) else 2, None))
        self.flush()
        self.streams.drain()
        for path, reason, refusal in self.unsent[:10_000]:
            self.control.say("UNSENT", path=path, reason=reason, refusal=refusal)

    def send_item(self, item):
        if item.kind == wire.FILE:
            tree.settle(item)
        mark = wire.mark(self.key, item.generation(self.key), item.path)
        if mark not in self.held[1]:
            for _ in range(8):
                is_sent = self.send_file(item) if item.kind == wire.FILE and item.size else self.put(wire.item(item.record(self.key)))
                if is_sent:
                    break
                # The chunks of another state wait until all of this one are written.
                self.flush()
                self.streams.drain()
                item.status = os.lstat(item.place)
                tree.settle(item)
            else:
                self.unsent.append((item.path, 3, None))
                return
            mark = wire.mark(self.key, item.generation(self.key), item.path)
        self.marks.append(mark)
        self.bytes += item.size

    def send_file(self, item):
        """Sends a file; False if it changed meanwhile."""
        generation, held = item.generation(self.key), []
        if item.path in self.partial and self.partial[item.path].generation == generation:
            held = self.partial[item.path].ranges
        with open(item.place, "rb") as file:
            pieces = list(item.pieces())
            if not held and item.size <= self.options.frame and pieces == [(0, item.size, True)]:
                data, record = file.read(item.size), wire.item(item.record(self.key))
                if not item.is_unchanged() or len(data) != item.size:
                    return False
                return self.put(record + self.piece(wire.CONTENT, item, generation, 0, item.size, data))
            for offset, length, is_data in (part for piece in pieces for part in outside(piece, held)):
                if not is_data:
                    self.put(self.piece(wire.HOLE, item, generation, offset, length))
                    continue
                for at in range(offset, offset + length, self.options.frame):
                    file.seek(at)
                    data = file.read(min(self.options.frame, offset + length - at))
                    if not data:
                        return False
                    self.put(self.piece(wire.CHUNK, item, generation, at, len(data), data))
        return item.is_unchanged() and self.put(wire.item(item.record(self.key)))

    @property
    def joined(self):
        """How many streams have joined in this session."""
        return self.streams.joined

    def piece(self, kind, item, generation, offset, length, data=b""):
        self.sent_bytes += len(data)
        return wire.piece(kind, self.key, item.path, generation, offset, length, data)

    def put(self, entry):
        """Adds an entry to the next frame."""
        if self.plain and len(self.plain) + len(entry) > self.options.frame:
            self.flush()
        self.plain += entry
        return True

    def flush(self):
        if self.plain:
            plain, self.plain = bytes(self.plain), bytearray()
            self.streams.put(plain)

    def finish(self):
        """Sends FINISH, and waits for DONE."""
        self.finished = len(self.marks), self.bytes
        left = self.counts
        self.control.say("FINISH", items=len(self.marks), bytes=self.bytes, digest=wire.digest(self.marks), present=left[plan.PRESENT] or None,
                         unsent=sum(reason not in (6, 7) for _, reason, _ in self.unsent), differing=left[6] or None, withheld=left[7] or None,
                         leftBehind=sorted(self.left_behind.most_common(64)) or None)
        while (said := self.control.hear("PROGRESS", "REFUSED", "DONE")).name != "DONE":
            if said.name == "REFUSED":
                self.hear_refusal(said)
        require(self.finished == (said.items, said.bytes), "DONE has not the totals of FINISH")
        self.done = said

    def receipt(self):
        self.control.say("RECEIPT")
        self.control.close()

    def session(self):
        """A whole session, from READY to RECEIPT."""
        self.greet()
        if self.offer():
            self.ledger()
            self.open()
            self.send()
            self.finish()
            self.streams.end()
        self.receipt()

    def run(self, address, code, seconds=30):
        """Pairs, sends, and resumes until the transfer is done."""
        self.pair(address, code)
        limit = time.monotonic() + seconds
        while self.done is None:
            try:
                if self.control is None:
                    self.resume()
                self.session()
            except (channel.Cut, channel.Ended, channel.Silent, channel.Closed, channel.Aborted, OSError) as error:
                is_over = isinstance(error, channel.Closed) and error.code != 16 or isinstance(error, channel.Aborted) and error.reason != wire.BUSY
                if is_over or time.monotonic() > limit:
                    raise
                self.cut()
                time.sleep(0.2)

    def cut(self):
        """Cuts every connection."""
        for link in [self.control, *(stream.link for stream in (self.streams.streams if self.streams else []))]:
            if link:
                link.cut()
        self.control = self.streams = None


def outside(piece, held):
    """The parts of a piece outside the held ranges."""
    offset, length, is_data = piece
    end = offset + length
    for start, stop in held:
        if offset < min(start, end):
            yield offset, min(start, end) - offset, is_data
        offset = max(offset, stop)
    if offset < end:
        yield offset, end - offset, is_data


def main():
    parser = argparse.ArgumentParser(description="Sends folders to a receiver of the peer protocol.")
    parser.add_argument("--to", required=True)
    parser.add_argument("--code", required=True)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--no-zstd", action="store_true")
    parser.add_argument("folders", nargs="+")
    chosen = parser.parse_args()
    host, _, port = chosen.to.rpartition(":")
    sender = Sender(chosen.folders, Options(streams=chosen.streams, features=0 if chosen.no_zstd else Options.features))
    try:
        sender.run((host, int(port)), chosen.code)
    except channel.Closed as error:
        print(json.dumps({"event": "closed", **{key: str(value) for key, value in error.said.values.items()}}))
        return EXITS.get(error.code, 1)
    except (channel.Aborted, pairing.Mismatch) as error:
        print(json.dumps({"event": "aborted", "message": str(error)}))
        return 3
    except (channel.Cut, channel.Ended, channel.Silent, OSError, Violation) as error:
        print(json.dumps({"event": "failed", "message": str(error)}))
        return 1 if isinstance(error, Violation) else 5
    unsent = getattr(sender, "unsent", [])
    for path, reason, _ in unsent:
        print(json.dumps({"event": "unsent", "path": os.fsdecode(path), "reason": reason}))
    for said in sender.refused:
        print(json.dumps({"event": "refused", "path": os.fsdecode(said.path), "reason": said.reason}))
    print(json.dumps({"event": "done", "items": sender.done.items, "bytes": sender.done.bytes, "notStored": sender.done.notStored or 0}))
    # FIFOs and items that differ at the destination do not change the exit code.
    return 8 if sender.done.notStored or any(reason in (1, 2, 3, 5) for _, reason, _ in unsent) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""A sender of the peer protocol (Protocol.md §7.1), written from the document alone.

Usage: sender.py --to HOST:PORT [--code CODE] [--streams N] [--no-zstd] FOLDER…
Prints JSON lines: unsent and refused items, and the result of each part.

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
import left_out
import pairing
import plan
import tls
import wire
from export import Export
from forms import Violation, require
from plan import Failed, Part
from streams import Streams


@dataclasses.dataclass
class Options:
    """The options of a sender."""
    label: str = "python"
    features: int = wire.ZSTD
    streams: int = 1
    window: int = 1 << 62
    frame: int = 1 << 18
    """The most bytes of entries in a frame, and of data in a piece of a file."""
    before_frame: object = None
    """Called with the streams and the number of each DATA frame; it may cut or raise."""
    greeting: dict = dataclasses.field(default_factory=dict)
    """Fields of GREETING that replace the usual ones, and unknown ones."""
    plan: dict = dataclasses.field(default_factory=dict)
    """Fields of PLAN that replace the usual ones, and unknown ones."""
    offer: dict = dataclasses.field(default_factory=dict)
    """Fields of OFFER that replace the usual ones."""
    random = staticmethod(os.urandom)
    """The source of tokens."""
    owners: bool = False


class Sender(Export):
    """One plan from this end, over any number of sessions. Folders in place of parts are one part."""

    def __init__(self, parts, options=None):
        self.parts, self.options = list(parts), options or Options()
        if not isinstance(self.parts[0], Part):
            self.parts = [Part(self.parts)]
        for number, part in enumerate(self.parts):
            part.number = number
        self.identity, self.pin, self.plan_id, self.is_over = tls.Identity(), None, None, False
        self.control = self.verdict = self.streams = self.part = self.accepted = self.failure = None
        self.places = []
        """The places in a line that ABORT has told, when they changed."""
        self.tries = collections.Counter()
        """The tries that were spent on codes (§4.3)."""

    # The way in

    def connect(self, pin=None):
        return channel.connect(*self.address, self.identity, pin)

    def pair(self, address, code):
        """Pairs. Tries a busy receiver again for half a minute, until it has shown its share."""
        self.address, digits = address, pairing.digits_of(code)
        if digits is None:
            raise pairing.Mismatch("this is no code")
        if self.tries[digits] == 3:
            raise pairing.Mismatch("this code is used up")
        before = self.tries[digits]
        limit, pause = time.monotonic() + 30, 0.1
        while True:
            self.control = self.connect()
            try:
                channel.pair(self.control, digits, spend=lambda: self.tries.update([digits]))
                self.tries[digits] -= 1
                break
            except channel.Aborted as error:
                self.control.close()
                self.places += [place for place in [error.more.get("place")] if place not in (None, *self.places[-1:])]
                if not error.is_worth_a_try() or self.tries[digits] > before or time.monotonic() > limit:
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

    def plan(self):
        """Sends PLAN, and takes its VERDICT."""
        said = wire.Message("PLAN", {"plan": self.plan_id, "parts": [part.told() for part in self.parts], "flags": 0, **self.options.plan})
        self.control.say("PLAN", **said)
        self.verdict = self.control.hear("VERDICT")
        wire.check_verdict(said, self.verdict)
        self.plan_id = self.verdict.plan
        for part, judged in zip(self.parts, self.verdict.parts):
            require(part.done is None or judged["code"] == wire.FINISHED, f"part {part.number} is finished, and is judged again")
            part.judged, part.is_offered = judged, False
            part.code = {wire.TAKEN: None, wire.FINISHED: 0}.get(judged["code"], plan.recorded(judged["code"]))
        self.streams = self.make_streams(bool(self.options.features & self.other.features & wire.ZSTD))

    def make_streams(self, is_packed):
        return Streams(self.control, self.open_stream, self.verdict, is_packed, self.options)

    def left(self):
        """The parts that this session still has to offer."""
        return [part for part in self.parts if part.is_left()]

    def hear(self, *names):
        """The next message about the part; FAILED is raised."""
        said = self.control.hear(*names, "FAILED")
        if said.name == "FAILED":
            self.hear_part(said)
            self.go_on()
        return said

    def hear_part(self, said):
        """Takes a message that may come while the part runs."""
        require(said.name == "FAILED" or said.name == "NOT_STORED" and self.part.kind != wire.APP, f"{said.name} in the part {self.part.number}")
        if said.name == "NOT_STORED":
            self.refused.append(said)
            return
        require(said.part == self.part.number, f"FAILED of part {said.part} in the part {self.part.number}")
        self.failure = Failed(plan.recorded(said.code), said.message, said)

    def go_on(self):
        """Raises what has ended the part."""
        if self.failure:
            raise self.failure

    def offer(self, part=None):
        """Sends OFFER of a part, or of the next one; False if the answer is DONE."""
        self.part = part or self.left()[0]
        self.part.is_offered, self.refused, self.failure, self.plain = True, [], None, bytearray()
        try:
            self.look()
        except OSError as error:
            self.items, self.failure = [], Failed(11, str(error))
        files = [item for item in self.items if item.kind == wire.FILE]
        self.control.say("OFFER", **{
            "part": self.part.number, "items": len(self.items), "bytes": sum(file.size for file in files), "flags": 0,
            "allocated": sum(min(file.size, file.status.st_blocks * 512) for file in files), **self.options.offer})
        self.go_on()
        while (said := self.hear("ACCEPT", "NOT_STORED", "DONE")).name == "NOT_STORED":
            require(self.part.finished, "NOT_STORED answers the OFFER of a part that is not finished")
            self.hear_part(said)
        if said.name == "DONE":
            self.hear_done(said)
            return False
        self.accepted = said
        return True

    def look(self):
        """Walks the sources of the part."""
        self.items, special = self.part.look()
        self.unsent = [(path, 4) for path in special]

    def hear_done(self, said):
        require(self.part.finished == (said.items, said.bytes), f"DONE says {said.items, said.bytes}, FINISH said {self.part.finished}")
        self.part.done, self.part.code = said, 0
        self.streams.keep()

    def ledger(self):
        """Reads the ledger."""
        kinds = range(1, 9 if self.options.features & self.other.features & wire.BASES else 8)
        self.held, self.partial, last = {kind: [] for kind in kinds}, {}, (0, b"")
        while (said := self.hear("HELD", "PARTIAL", "HELD_END")).name != "HELD_END":
            if said.name == "PARTIAL":
                self.partial[said.path] = said
                continue
            require(last < (said.kind, said.marks[0]), "marks that do not ascend")
            require(said.kind in kinds, "marks of bases without the feature")
            last = said.kind, said.marks[-1]
            self.held[said.kind] += said.marks
        require(len(self.held[1]) == said.items, f"{len(self.held[1])} marks of kind 1, and HELD_END says {said.items}")
        self.held = {kind: set(marks) for kind, marks in self.held.items()}
        self.held_end = said

    def open(self):
        """Prepares to send data."""
        self.streams.on_message = self.hear_part
        self.key, self.plain = self.accepted.hashKey, bytearray()
        self.marks, self.bytes, self.sent_bytes = [], 0, 0

    def finish(self):
        """Sends FINISH, and waits for DONE."""
        self.part.finished, self.part.unsent = (len(self.marks), self.bytes), self.unsent
        left = self.counts
        self.control.say("FINISH", items=len(self.marks), bytes=self.bytes, digest=wire.digest(self.marks), present=left[left_out.PRESENT] or None,
                         unsent=sum(reason in wire.SENDERS for _, reason in self.unsent), differing=left[left_out.DIFFERING] or None,
                         lostAttributes=sorted(self.left_behind.most_common(64)) or None, removed=left[left_out.REMOVED] or None)
        while (said := self.hear("PROGRESS", "NOT_STORED", "DONE")).name != "DONE":
            if said.name == "NOT_STORED":
                self.hear_part(said)
        self.hear_done(said)

    def settle(self, failure):
        """Says FAILED, and waits until the part has ended at both ends and every frame is written."""
        self.control.say("FAILED", part=self.part.number, **failure.values)
        ends = [failure.said] if failure.said else []
        self.part.code = failure.code

        def hear(said):
            # Every other message about the part is ignored.
            require(said.name in ("ACCEPT", "HELD", "PARTIAL", "HELD_END", "NOT_STORED", "PROGRESS", "DONE", "FAILED"), f"{said.name} in a failed part")
            if said.name not in ("DONE", "FAILED") or said.name == "DONE" and ends:
                return
            require(not ends, "FAILED comes twice")
            ends.append(said)
            if said.name == "DONE":
                self.hear_done(said)
            else:
                self.hear_part(said)
                self.part.code = self.failure.code

        self.streams.on_message = hear
        self.streams.drain()
        while not ends:
            hear(self.control.hear())

    def run_part(self):
        """One part, from OFFER to its result."""
        try:
            if self.offer():
                self.ledger()
                self.open()
                self.send()
                self.finish()
        except Failed as failure:
            self.settle(failure)

    def receipt(self):
        self.is_over = True
        self.control.say("RECEIPT")
        self.control.close()

    def session(self):
        """A whole session, from READY to RECEIPT."""
        self.greet()
        self.plan()
        while self.left():
            self.run_part()
        self.streams.end()
        self.receipt()

    def exit_code(self):
        return plan.exit_code([part.result() for part in self.parts])

    def run(self, address, code, seconds=30):
        """Pairs, sends, and resumes until every part has its result."""
        self.pair(address, code)
        limit = time.monotonic() + seconds
        while not self.is_over:
            try:
                if self.control is None:
                    self.resume()
                self.session()
            except (channel.Cut, channel.Ended, channel.Silent, channel.Closed, channel.Aborted, OSError) as error:
                is_over = isinstance(error, channel.Closed) and error.code != 16 or isinstance(error, channel.Aborted) and not error.is_worth_a_try()
                if self.is_over:
                    return
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
        return plan.EXITS.get(error.code, 1)
    except channel.Aborted as error:
        print(json.dumps({"event": "aborted", "message": str(error)}))
        return {wire.BUSY: 10, wire.VERSION: 1, wire.UNKNOWN: 4}.get(error.reason, 3)
    except pairing.Mismatch as error:
        print(json.dumps({"event": "aborted", "message": str(error)}))
        return 3
    except (channel.Cut, channel.Ended, channel.Silent, OSError, Violation) as error:
        print(json.dumps({"event": "failed", "message": str(error)}))
        return 1 if isinstance(error, Violation) else 5
    for part in sender.parts:
        for path, reason in part.unsent:
            print(json.dumps({"event": "unsent", "path": os.fsdecode(path), "reason": reason}))
        if part.done:
            print(json.dumps({"event": "done", "items": part.done.items, "bytes": part.done.bytes, "notStored": part.done.notStored or 0}))
        else:
            print(json.dumps({"event": "partFailed", "part": part.number, "code": part.code}))
    for said in sender.refused:
        print(json.dumps({"event": "refused", "path": os.fsdecode(said.path), "reason": said.reason}))
    return sender.exit_code()


if __name__ == "__main__":
    sys.exit(main())

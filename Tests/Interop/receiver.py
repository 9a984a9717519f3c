#!/usr/bin/python3
"""A receiver of the peer protocol (Protocol.md §7.2, §7.3, §7.5), written from the document alone.

Usage: receiver.py --into DIR [--port PORT] [--code CODE] [--no-zstd] [--no-refusals] [--label TEXT]
Prints JSON lines: the port and the code, the unsent items, and the result.

It takes one transfer, over any number of sessions. A test can call `turn` in place of `run`, and
look at the receiver between two turns.
"""

import argparse
import dataclasses
import json
import os
import shutil
import socket
import sys
import tempfile
import time

import zstandard

import channel
import pairing
import tls
import wire
from admission import Admission
from archive import Archive
from forms import Violation, require

CLOSES = {3: 1, 4: 1, 5: 4, 6: 4, 7: 6, 8: 4, 9: 1, 10: 7, 11: 9, 14: 1, 15: 4, 16: 5}
"""The receiver's exit codes by the codes of CLOSE (§10)."""


@dataclasses.dataclass
class Options:
    """The options of a receiver."""
    label: str = "python"
    features: int = wire.ZSTD
    window: int = 33_554_432
    streams: int = 16
    tries: int = 3
    code: str = None
    greeting: dict = dataclasses.field(default_factory=dict)
    """Fields of GREETING that replace the usual ones, and unknown ones."""
    accept: dict = dataclasses.field(default_factory=dict)
    """Fields of ACCEPT that replace the usual ones."""
    there: tuple = ((), ())
    """Functions of the hash key that make the marks of kind 2, and of kind 3."""
    before_frame: object = None
    """Called with the receiver and each DATA before it is decoded."""
    before_entry: object = None
    """Called with the receiver and each entry before it is stored; it may cut a stream or raise."""
    refuse: object = None
    """Called with the record of each item; returns a reason to refuse it, or None."""
    turn_away: object = None
    """Called with the receiver for each data connection; returns a reason of ABORT, or None."""
    done: dict = dataclasses.field(default_factory=dict)
    """Fields of DONE that replace the usual ones."""
    judge: object = None
    """Called with an OFFER; returns the values of a CLOSE that refuses it, or None."""
    lowest, highest = 2, 2
    random = staticmethod(os.urandom)
    """The source of ids and keys."""


class Receiver(Admission):
    """One transfer at this end."""

    def __init__(self, into, port=0, options=None, listening=None):
        self.into, self.options = into, options or Options()
        self.identity, self.listening = tls.Identity(), listening or socket.create_server(("127.0.0.1", port))
        self.port = None if listening else self.listening.getsockname()[1]
        self.code, self.tries, self.pin = self.options.code or pairing.new_code(), self.options.tries, None
        self.staging = tempfile.mkdtemp(prefix=".staging-", dir=into)
        self.archive, self.keys = Archive(self.staging), {name: self.options.random(16) for name in ("transfer", "hashKey")}
        self.control, self.state, self.streams, self.used = None, "away", [], set()
        self.finished = self.offer = self.other = self.session = None
        self.unsent, self.is_over, self.turned_away = [], False, []
        self.roots, self.has_paired, self.not_stored = None, False, []
        self.unsent_messages, self.sessions, self.dropped = [], 0, 0
        self.aborts, self.closes = [], []
        """The reasons of ABORTs sent and the codes of CLOSEs received, in their order."""

    # Sessions

    def begin(self, link):
        link.ready()
        link.is_control = True
        self.sessions += 1
        self.control, self.state, self.used, self.session = link, "greeting", set(), None
        link.say("GREETING", **{"role": wire.RECEIVER, "label": self.options.label, "software": "interop",
                                "features": self.options.features, **self.options.greeting})

    def cut_streams(self, number=None):
        """Ends one stream, or all, without reading the rest of their data."""
        for stream in [stream for stream in self.streams if number in (None, stream.number)]:
            stream.link.cut()
            self.streams.remove(stream)

    def end(self, **close):
        """Ends the session, with CLOSE if `close` has values."""
        self.cut_streams()
        control, self.control, self.state = self.control, None, "away"
        try:
            if close:
                control.say("CLOSE", **close)
            control.close()
        except channel.Cut:
            control.close()

    def hear(self, said):
        """Acts on a message of the control connection, by the state (§7.2)."""
        expected = {"greeting": ["GREETING"], "waiting": ["OFFER"], "receiving": ["UNSENT", "DROP", "FINISH"], "answered": ["RECEIPT"]}
        require(said.name in expected[self.state], f"{said.name} in the state '{self.state}'")
        getattr(self, "hear_" + said.name.lower())(said)

    def hear_greeting(self, said):
        require(said.role == wire.SENDER, "the other end is no sender")
        self.other, self.state = said, "waiting"

    def hear_offer(self, said):
        names = [name for _, name in said.roots or []]
        require(self.roots in (None, names), "other roots than those of the first offer")
        self.roots, self.offer, self.unsent, self.unsent_messages = names, said, [], []
        refusal = self.options.judge and self.options.judge(said)
        if said.transfer and (self.has_paired or said.transfer != self.keys["transfer"]):
            refusal = {"code": 12, "message": "this transfer is not known"}
        if refusal:
            self.is_over = True
            self.end(**refusal)
        elif self.finished:
            require(said.transfer is not None, "an OFFER without a transfer that is finished")
            # REFUSED names all items not stored before the DONE that answers an OFFER.
            for path, generation, reason in self.not_stored if said.roots else []:
                self.control.say("REFUSED", path=path, generation=generation, reason=reason)
            self.answer()
        else:
            self.accept()

    def accept(self):
        self.session, features = self.options.random(16), self.options.features & self.other.features & wire.ZSTD
        if not self.offer.flags & wire.COMPRESSIBLE:
            features = 0
        self.features = self.options.accept.get("features", features)
        self.control.say("ACCEPT", **{**self.keys, "session": self.session, "window": self.options.window, "streams": self.options.streams,
                                      "features": features, **self.options.accept})
        key, partial = self.keys["hashKey"], self.archive.partial()
        for kind, marks in ((1, self.archive.marks(key)), *((kind, sorted(make(key) for make in self.options.there[kind - 2])) for kind in (2, 3))):
            for at in range(0, len(marks), 65_536):
                self.control.say("HELD", kind=kind, marks=marks[at:at + 65_536])
        for held in partial:
            self.control.say("PARTIAL", path=held.path, generation=held.generation, ranges=held.ranges)
        complete = self.archive.complete()
        self.control.say("HELD_END", items=len(complete), bytes=sum(held.size() for held in complete if not held.refused) + sum(held.bytes() for held in partial))
        for held in self.archive.refused():
            self.say_refused(held)
        self.state = "receiving"

    def say_refused(self, held):
        if self.offer.kind == wire.FOLDERS:
            self.control.say("REFUSED", path=held.path, generation=held.generation, reason=held.refused)

    def hear_unsent(self, said):
        self.unsent.append((said.path, said.reason))
        self.unsent_messages.append(said)

    def hear_drop(self, said):
        gone = {wire.mark(self.keys["hashKey"], held.generation, held.path): held.path for held in self.archive.complete()}
        self.dropped += len(said.marks)
        for mark in said.marks:
            if mark in gone:
                self.archive.drop(gone[mark])

    def hear_finish(self, said):
        for held in [held for held in self.archive.held.values() if not held.is_complete()]:
            self.archive.drop(held.path)
        complete, marks = self.archive.complete(), self.archive.marks(self.keys["hashKey"])
        own = len(complete), sum(held.size() for held in complete), wire.digest(marks)
        require(own == (said.items, said.bytes, said.digest), f"FINISH says {said.items, said.bytes, said.digest.hex()}, here are {own}")
        self.control.say("PROGRESS", phase=1, done=len(marks), total=len(marks))
        self.archive.put_in_place(self.into)
        shutil.rmtree(self.staging)
        self.not_stored = [(held.path, held.generation, held.refused) for held in self.archive.refused()]
        self.not_stored += [(said.path, bytes(16), said.refusal or 9) for said in self.unsent_messages if said.reason == 7]
        self.finished = said
        self.answer()

    def answer(self):
        self.state = "answered"
        lost = (self.finished.withheld or 0) + len(self.archive.refused())
        self.control.say("DONE", **{"items": self.finished.items, "bytes": self.finished.bytes, "notStored": lost or None, **self.options.done})

    def hear_receipt(self, _):
        self.is_over = True
        self.end()

    def data(self, stream, said):
        """Writes one frame, and acknowledges it."""
        if said.name == "END":
            stream.link.close()
            self.streams.remove(stream)
            return
        require(said.name == "DATA" and self.state == "receiving", f"{said.name} on a data stream in the state '{self.state}'")
        require(said.sequence == stream.written, f"the frame {said.sequence} behind {stream.written} frames")
        if self.options.before_frame:
            self.options.before_frame(self, said)
        for entry in wire.entries(self.plain(said), self.keys["hashKey"]):
            if self.options.before_entry:
                self.options.before_entry(self, entry)
            self.archive.take(entry, self.session)
            reason = self.options.refuse and entry.kind == wire.ITEM and self.options.refuse(wire.record(entry.data))
            if reason:
                self.archive.refuse(entry.path, reason)
                self.say_refused(self.archive.held[entry.path])
        stream.written += 1
        stream.link.say("ACK", written=stream.written, durable=0)

    def plain(self, said):
        if said.encoding == 0:
            require(len(said.payload) == said.plainLength, "a payload that is not as long as it says")
            return said.payload
        require(self.features & wire.ZSTD, "zstd without the feature")
        try:
            head = zstandard.get_frame_parameters(said.payload)
            unknown = zstandard.CONTENTSIZE_UNKNOWN
            require(not head.dict_id and head.window_size <= 8 << 20 and head.content_size in (said.plainLength, unknown), "a zstd frame's header")
            decoder = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
            plain = decoder.decompress(said.payload)
        except zstandard.ZstdError as error:
            raise Violation(f"zstd: {error}") from None
        require(decoder.eof and not decoder.unused_data and len(plain) == said.plainLength, "a payload that is not one zstd frame")
        return plain

    def turn(self, seconds=1):
        """Waits at most `seconds` for data and acts on it. A violation ends the run."""
        links = [link for link in [self.control, *(stream.link for stream in self.streams)] if link]
        try:
            ready = channel.wait(links, seconds, self.listening)
            for stream in [stream for stream in self.streams if stream.link in ready]:
                self.turn_stream(stream)
            if self.control in ready:
                while self.control and (said := self.control.next()) is not None:
                    self.hear(said)
        except Violation as error:
            self.is_over = True
            self.end(code=3, message=str(error)[:900])
            raise
        except channel.Closed as error:
            self.end()
            self.closes.append(error.code)
            if error.code not in (2, 16):
                self.is_over = True
                raise
        except (channel.Cut, channel.Ended, channel.Silent):
            self.end()
        else:
            if self.listening in ready:
                self.admit()

    def turn_stream(self, stream):
        try:
            while stream in self.streams and (said := stream.link.next()) is not None:
                self.data(stream, said)
        except Violation as error:
            stream.link.say("CLOSE", code=3, message=str(error)[:900])
            raise
        except (channel.Cut, channel.Ended):
            stream.link.cut()
            if stream in self.streams:
                self.streams.remove(stream)

    def run(self, seconds=30):
        """Runs until the transfer ends; returns its FINISH."""
        limit = time.monotonic() + seconds
        while not self.is_over:
            if time.monotonic() > limit:
                raise channel.Silent("no sender comes")
            self.turn()
        return self.finished

    def close(self):
        if self.control:
            self.end()
        self.listening.close()
        shutil.rmtree(self.staging, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description="Receives folders from a sender of the peer protocol.")
    parser.add_argument("--into", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--code")
    parser.add_argument("--label", default="python")
    parser.add_argument("--no-zstd", action="store_true")
    chosen = parser.parse_args()
    options = Options(label=chosen.label, code=chosen.code, features=0 if chosen.no_zstd else Options.features)
    receiver = Receiver(chosen.into, chosen.port, options)
    print(json.dumps({"event": "listening", "port": receiver.port, "code": receiver.code}), flush=True)
    try:
        done = receiver.run(3600)
    except channel.Closed as error:
        print(json.dumps({"event": "closed", **{key: str(value) for key, value in error.said.values.items()}}))
        return CLOSES.get(error.code, 1)
    except (Violation, channel.Silent) as error:
        print(json.dumps({"event": "failed", "message": str(error)}))
        return 1 if isinstance(error, Violation) else 5
    finally:
        receiver.close()
    for path, reason in receiver.unsent:
        print(json.dumps({"event": "unsent", "path": os.fsdecode(path), "reason": reason}))
    print(json.dumps({"event": "done", "items": done.items, "bytes": done.bytes}))
    return 8 if receiver.not_stored or any(reason in (1, 2, 3, 5) for _, reason in receiver.unsent) else 0


if __name__ == "__main__":
    sys.exit(main())

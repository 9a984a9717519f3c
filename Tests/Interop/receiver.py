#!/usr/bin/python3
"""A receiver of the peer protocol (Protocol.md §7.2, §7.3, §7.5), written from the document alone.

Usage: receiver.py --into DIR [--port PORT] [--code CODE] [--no-zstd] [--label TEXT]
Prints JSON lines: the port and the code, the unsent items, and the result of each part.

It takes one plan, over any number of sessions. A test can call `turn` in place of `run`, and
look at the receiver between two turns.
"""

import argparse
import dataclasses
import json
import os
import socket
import sys
import time

import channel
import pairing
import plan
import tls
import wire
from admission import Admission
from archive import Part
from forms import Violation, require
from plan import Failed
from streams import plain


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
    verdict: dict = dataclasses.field(default_factory=dict)
    """Fields of VERDICT that replace the usual ones."""
    judge_part: object = None
    """Called with each part of a PLAN that is not finished; returns its verdict, or None for the usual one."""
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
    """Called with a PLAN; returns the values of a CLOSE that refuses it, or None."""
    at: object = None
    """Called with the receiver and each state that it enters; it may raise Failed."""
    lowest, highest = wire.SPOKEN, wire.SPOKEN
    random = staticmethod(os.urandom)
    """The source of ids and keys."""


class Receiver(Admission):
    """One plan at this end."""

    def __init__(self, into, port=0, options=None, listening=None):
        self.into, self.options = into, options or Options()
        self.identity, self.listening = tls.Identity(), listening or socket.create_server(("127.0.0.1", port))
        self.port = None if listening else self.listening.getsockname()[1]
        self.code, self.tries, self.pin = self.options.code or pairing.new_code(), self.options.tries, None
        self.plan = self.plan_id = self.part = None
        """The first PLAN, its id, and the part of the newest OFFER of the session."""
        self.parts = []
        self.control, self.state, self.streams, self.used, self.may_join = None, "away", [], set(), False
        self.other = self.session = None
        self.is_over, self.turned_away, self.has_paired, self.sessions, self.refusal = False, [], False, 0, None
        self.aborts, self.closes = [], []
        """The reasons of ABORTs sent and the codes of CLOSEs received, in their order."""

    # Sessions

    def begin(self, link):
        link.ready()
        link.is_control = True
        self.sessions += 1
        self.control, self.state, self.used, self.session, self.part, self.may_join = link, "greeting", set(), None, None, False
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

    def enter(self, state):
        self.state = state
        if self.options.at:
            self.options.at(self, state)

    EXPECTED = {"greeting": ["GREETING"], "waiting": ["PLAN"], "between": ["OFFER", "RECEIPT", "FAILED"],
                "receiving": ["NOT_STORED", "DROP", "FINISH", "FAILED"], "settling": ["NOT_STORED", "DROP", "FINISH", "FAILED"]}

    def hear(self, said):
        """Acts on a message of the control connection, by the state (§7.2)."""
        require(said.name in self.EXPECTED[self.state], f"{said.name} in the state '{self.state}'")
        if self.state == "settling" and said.name != "FAILED":
            return
        try:
            getattr(self, "hear_" + said.name.lower())(said)
        except Failed as failure:
            self.fail(failure)

    def hear_greeting(self, said):
        require(said.role == wire.SENDER, "the other end is no sender")
        self.other, self.state = said, "waiting"

    def hear_plan(self, said):
        self.refusal = self.options.judge and self.options.judge(said)
        if self.plan and said.plan is None and not any(part.is_here() for part in self.parts):
            # A new plan of the same key.
            self.close_parts()
            self.plan = self.plan_id = None
        if said.plan and (self.has_paired or said.plan != self.plan_id) or self.plan and said.plan is None:
            self.refusal = {"code": 12, "message": "this plan is not known"}
        elif self.plan and plan.fixed(said) != plan.fixed(self.plan):
            self.refusal = {"code": 3, "message": "another plan than the first one"}
        if self.refusal:
            self.is_over = True
            self.end(**self.refusal)
            return
        if not self.plan:
            self.plan, self.plan_id = said, self.options.random(16)
            self.parts = [Part(number, told, self.into, self.options.random) for number, told in enumerate(said.parts)]
        for part in self.parts:
            part.is_ended = part.has_crossed = False
            if part.code != 0:
                part.judged = self.options.judge_part and self.options.judge_part(part) or {"code": plan.usual_code(part.told, self.options.greeting.get("request"))}
                part.code = plan.recorded(part.judged["code"]) if part.judged["code"] else None
        self.session = self.options.random(16)
        self.is_packed = bool(self.options.features & self.other.features & wire.ZSTD)
        parts = [{"code": wire.FINISHED} if part.code == 0 else part.judged for part in self.parts]
        self.control.say("VERDICT", **{"plan": self.plan_id, "session": self.session, "window": self.options.window,
                                       "streams": self.options.streams, "parts": parts, "flags": 0, **self.options.verdict})
        self.enter("between")

    def hear_offer(self, said):
        require(said.part < len(self.parts) and (self.part is None or said.part > self.part.number), f"part {said.part} is offered")
        part = self.parts[said.part]
        require(part.code in (None, 0), f"part {said.part} is offered, and has the code {part.code}")
        self.part = part
        self.enter("judging")
        if part.code == 0:
            # NOT_STORED names all items not stored before the DONE that answers an OFFER.
            for path, generation, reason in part.not_stored:
                self.control.say("NOT_STORED", path=path, generation=generation, reason=reason)
            self.answer()
        else:
            part.begin(said)
            self.accept()

    def accept(self):
        part = self.part
        self.control.say("ACCEPT", **{"hashKey": part.key, **self.options.accept})
        self.enter("reporting")
        partial = part.archive.partial()
        for kind, marks in ((1, part.archive.marks(part.key)), *((kind, sorted(make(part.key) for make in self.options.there[kind - 2])) for kind in (2, 3))):
            for at in range(0, len(marks), 65_536):
                self.control.say("HELD", kind=kind, marks=marks[at:at + 65_536])
        for held in partial:
            self.control.say("PARTIAL", path=held.path, generation=held.generation, ranges=held.ranges)
        complete = part.archive.complete()
        self.control.say("HELD_END", items=len(complete), bytes=sum(held.size() for held in complete if not held.refused) + sum(held.bytes() for held in partial))
        self.may_join = True
        for held in part.archive.refused():
            self.say_refused(held)
        self.enter("receiving")

    def say_refused(self, held):
        if self.part.told["kind"] != wire.APP:
            self.control.say("NOT_STORED", path=held.path, generation=held.generation, reason=held.refused)

    def hear_not_stored(self, said):
        require(said.generation is None, "a sender names a state that the receiver does not hold")
        self.part.unsent.append(said)

    def hear_drop(self, said):
        gone = {wire.mark(self.part.key, held.generation, held.path): held.path for held in self.part.archive.complete()}
        self.part.dropped += len(said.marks)
        for mark in said.marks:
            if mark in gone:
                self.part.archive.drop(gone[mark])

    def hear_finish(self, said):
        part, archive = self.part, self.part.archive
        for held in [held for held in archive.held.values() if not held.is_complete()]:
            archive.drop(held.path)
        complete, marks = archive.complete(), archive.marks(part.key)
        own = len(complete), sum(held.size() for held in complete), wire.digest(marks)
        require(own == (said.items, said.bytes, said.digest), f"FINISH says {said.items, said.bytes, said.digest.hex()}, here are {own}")
        self.enter("importing")
        self.control.say("PROGRESS", phase=1, done=len(marks), total=len(marks))
        try:
            os.makedirs(part.place(), exist_ok=True)
            archive.put_in_place(part.place())
        except OSError as error:
            raise Failed(10, str(error)) from None
        part.not_stored = [(held.path, held.generation, held.refused) for held in archive.refused()]
        part.finished = said
        part.end(0)
        self.answer()

    def answer(self):
        part = self.part
        for stream in self.streams:
            stream.durable = stream.written
        self.control.say("DONE", **{"items": part.finished.items, "bytes": part.finished.bytes, "notStored": part.lost() or None, **self.options.done})
        self.enter("between")

    def fail(self, failure):
        """Ends the part with FAILED."""
        require(self.part and self.state in ("judging", "reporting", "receiving", "importing"), f"{failure} in the state '{self.state}'")
        self.part.end(failure.code)
        self.control.say("FAILED", part=self.part.number, **failure.values)
        self.enter("settling")

    def hear_failed(self, said):
        require(self.part and said.part == self.part.number, f"FAILED of part {said.part}")
        if self.state == "between":
            require(self.part.code == 0 and not self.part.has_crossed, "FAILED behind the end of a part")
            self.part.has_crossed = True
            return
        if self.state != "settling":
            self.part.end(said.code)
            self.control.say("FAILED", part=said.part, code=said.code, message="the sender has ended the part")
        self.enter("between")

    def hear_receipt(self, _):
        left = [part.number for part in self.parts if part.judged["code"] == wire.TAKEN and part.code is None]
        require(not left, f"RECEIPT without a result of the parts {left}")
        self.is_over = True
        self.end()

    def data(self, stream, said):
        """Writes one frame, and acknowledges it."""
        if said.name == "END":
            stream.link.close()
            self.streams.remove(stream)
            return
        has_failed = self.part and self.part.is_ended and self.part.code != 0
        require(said.name == "DATA" and (self.state == "receiving" or has_failed), f"{said.name} on a data stream in the state '{self.state}'")
        require(said.sequence == stream.written, f"the frame {said.sequence} behind {stream.written} frames")
        self.check_form(said)
        if not has_failed:
            self.write(said)
        stream.written += 1
        if has_failed:
            # Nothing of a failed part is kept, so nothing has to be durable.
            stream.durable = stream.written
        stream.link.say("ACK", written=stream.written, durable=stream.durable)

    def check_form(self, said):
        require(said.encoding == 0 or self.is_packed, "zstd without the feature")

    def write(self, said):
        if self.options.before_frame:
            self.options.before_frame(self, said)
        for entry in wire.entries(plain(said), self.part.key):
            if self.options.before_entry:
                self.options.before_entry(self, entry)
            require(entry.kind != wire.BASE or self.options.features & self.other.features & wire.BASES, "a BASE without the feature")
            self.part.take(entry, self.session)
            reason, held = None, self.part.archive.held[entry.path]
            if entry.kind == wire.BASE:
                # This receiver has no bases (§6.10).
                reason = 27
            elif entry.kind == wire.ITEM and self.options.refuse:
                reason = self.options.refuse(wire.record(entry.data))
            if reason and not held.refused:
                self.part.archive.refuse(entry.path, reason)
                self.say_refused(held)

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
            self.end(code=error.code, message=str(error)[:900])
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
                try:
                    self.data(stream, said)
                except Failed as failure:
                    # The frame is not written: it counts among those that still come.
                    self.fail(failure)
                    self.data(stream, said)
        except Violation as error:
            stream.link.say("CLOSE", code=error.code, message=str(error)[:900])
            raise
        except (channel.Cut, channel.Ended):
            stream.link.cut()
            if stream in self.streams:
                self.streams.remove(stream)

    def run(self, seconds=30):
        """Runs until RECEIPT, or the end of the plan."""
        limit = time.monotonic() + seconds
        while not self.is_over:
            if time.monotonic() > limit:
                raise channel.Silent("no sender comes")
            self.turn()

    def exit_code(self):
        return plan.EXITS.get(self.refusal["code"], 1) if self.refusal else plan.exit_code([part.result() for part in self.parts])

    def close(self):
        if self.control:
            self.end()
        self.listening.close()
        self.close_parts()

    def close_parts(self):
        for part in self.parts:
            part.remove()


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
        receiver.run(3600)
    except channel.Closed as error:
        print(json.dumps({"event": "closed", **{key: str(value) for key, value in error.said.values.items()}}))
        return plan.EXITS.get(error.code, 1)
    except (Violation, channel.Silent) as error:
        print(json.dumps({"event": "failed", "message": str(error)}))
        return 1 if isinstance(error, Violation) else 5
    finally:
        receiver.close()
    for part in receiver.parts:
        for said in part.unsent:
            print(json.dumps({"event": "unsent", "path": os.fsdecode(said.path), "reason": said.reason}))
        if part.code == 0:
            print(json.dumps({"event": "done", "items": part.finished.items, "bytes": part.finished.bytes}))
        else:
            print(json.dumps({"event": "partFailed", "part": part.number, "code": part.code}))
    return receiver.exit_code()


if __name__ == "__main__":
    sys.exit(main())

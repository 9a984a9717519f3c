"""Hostile ends: they pair correctly, and then write anything in place of any frame
(Tests/Interop/hostile.py). The program ends with a documented code, harms nothing, and imports
only the archive."""

import concurrent.futures
import contextlib
import os
import select
import socket
import time

import pytest

from devices import PATIENCE, Process, Receiver, sender, small_file
from interop import ended, interop, listening, paired, roots
from needs import needs
from outside import MIB, equal, require, run_script

pytestmark = needs(interop)

if interop() is None:

    import hostile
    import sender as sending
    import wire
    from plan import Failed
    from stranger import ENDS, Stranger

CODES = {0, 1, 3, 4, 5, 6, 7, 8, 9, 143}
"""The documented exit codes of a transfer, except that of a wrong command line."""

OF_SENDER = ["HELLO_C", "PAIR_A", "CONF_A", "READY", "GREETING", "PLAN", "OFFER", "JOIN", "DATA", "FINISH", "FAILED", "RECEIPT"]
OF_RECEIVER = ["HELLO_S", "PAIR_B", "CONF_B", "GREETING", "VERDICT", "ACCEPT", "HELD_END", "ACK", "PROGRESS", "DONE", "FAILED"]
OTHERS = ["GREETING", "PLAN", "VERDICT", "OFFER", "ACCEPT", "HELD", "PARTIAL", "HELD_END", "DROP", "NOT_STORED", "FINISH", "PROGRESS", "DONE",
          "FAILED", "RECEIPT", "JOIN", "DATA", "ACK", "END", "CLOSE"]

MOST = 96 * MIB
"""The most memory of a program under attack."""


def attacks(name):
    """All scripts about one frame, by what they do to it."""
    is_early = name in wire.FORMS and wire.TYPES[name] in wire.EARLY
    for way, spoil in hostile.spoiled(is_early).items():
        yield way, lambda spoil=spoil: hostile.Script().replace(name, spoil)
    yield "twice", lambda: hostile.Script().repeat(name)
    yield "a hundred times", lambda: hostile.Script().repeat(name, 100)
    yield "behind the next one", lambda: hostile.Script().swap(name)
    yield "cut", lambda: hostile.Script().cut(name)
    yield "ended", lambda: hostile.Script().end(name)
    yield "behind a megabyte of frames to be skipped", lambda: hostile.Script().before(name, wire.frame_of(0x90, bytes(1 << 20)))
    if not is_early:
        for other in OTHERS:
            if other != name:
                yield f"behind {other}", lambda other=other: hostile.Script().before(name, wire.frame(other, **VALUES.get(other, {})))


if interop() is None:
    ID = bytes(16)
    VALUES = {
        "GREETING": {"role": wire.SENDER, "label": "x", "software": "x", "features": 0},
        "PLAN": {"parts": [{"kind": wire.FOLDERS, "name": "\x1b[2J", "roots": [(1, b"other")], "sources": [bytes(8)]}], "flags": 0},
        "VERDICT": {"plan": ID, "session": ID, "window": 1 << 25, "streams": 1, "parts": [{"code": 0}], "flags": 0},
        "OFFER": {"part": 0, "items": 1, "bytes": 0, "allocated": 0, "flags": 0}, "ACCEPT": {"hashKey": ID},
        "FAILED": {"code": 999, "message": "\x1b[2J\u202e", "part": 0},
        "HELD": {"kind": 1, "marks": [ID]}, "PARTIAL": {"path": b"x", "generation": ID, "ranges": [(0, 9)]},
        "HELD_END": {"items": 9, "bytes": 9}, "DROP": {"marks": [ID]}, "NOT_STORED": {"path": b"x", "reason": 1},
        "FINISH": {"items": 0, "bytes": 0, "unsent": 0, "digest": ID}, "PROGRESS": {"phase": 1, "done": 0, "total": 1},
        "DONE": {"items": 0, "bytes": 0},
        "JOIN": {"session": ID, "stream": 5, "replaces": wire.NONE},
        "DATA": {"sequence": 0, "encoding": 0, "plainLength": 1, "payload": b"\1"}, "ACK": {"written": 1 << 40, "durable": 1 << 40},
        "CLOSE": {"code": 999, "message": "\x1b[2J\u202e"},
    }
    """The values of frames that come where they must not."""


def chosen(work, name):
    """Five of the attacks about a frame, others for each frame; with --long all of them."""
    every = list(attacks(name))
    begin = sum(name.encode())
    return every if work.is_long else [every[(begin + number * 7) % len(every)] for number in range(5)]


def prepare(work):
    """A folder to send, a destination, and a file beside it that must not change."""
    old, new = work.place()
    os.mkdir(f"{old}/tree")
    small_file(f"{old}/tree/one", b"one\n")
    small_file(f"{old}/tree/two", b"two\n" * 40_000)
    small_file(f"{os.path.dirname(new)}/beside", b"mine\n")
    return old, new


def judge(program, way, old, new, is_received):
    """Whether the program has ended well, or has ended badly without harm."""
    require(program.code in CODES, f"{way}: exit code {program.code}: {program.text()[-300:]}")
    require(program.peak < MOST, f"{way}: {program.peak // MIB} MiB of memory")
    with open(f"{os.path.dirname(new)}/beside", "rb") as file:
        equal(file.read(), b"mine\n", f"{way}: the file beside the destination has")
    there = [name for name in os.listdir(new) if not name.startswith(".")]
    if program.code in (0, 8) or there:
        require(is_received, f"{way}: exit code {program.code} without an end of the transfer, with {there}")
        run_script("check-trees", "--inside", old, new)
    text = program.text()
    require(all(c.isprintable() or c == "\n" for c in text), f"{way}: {text!r} has controls")


def fail(*_):
    """The part fails at its first frame."""
    raise Failed(11, "by the test")


def make_attacks(work, trials, name, attack):
    """Makes the chosen attacks on a frame, several at a time: most of their time they wait.

    On a busy machine an end may be too slow to come to the frame; then it tries again.
    """
    def until_said(way, script):
        require(any(attack(trials(), f"{name} {way}", script()) for _ in range(5)), f"{name} {way}: the frame was not said")

    tries = chosen(work, name)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(until_said, *one) for one in tries]:
            done.result()
    work.figure = f"{len(tries)} attacks"


@pytest.mark.parametrize("name", OF_SENDER)
@pytest.mark.takes(10)
def test_any_frame_of_a_sender(work, trials, name):
    """hostile sender: a frame is spoiled, repeated, moved, or comes behind another one"""
    def attack(own, way, script):
        old, new = prepare(own)
        receiver = Receiver(own, new)
        made = script.attach(sending.Sender(roots(old), sending.Options(before_frame=fail if name == "FAILED" else None)))
        try:
            made.pair(("127.0.0.1", receiver.port), receiver.pairing_code)
            made.session()
        except ENDS:
            pass
        for link in script.links:
            link.cut()
        if not finished(receiver):
            receiver.end()
        judge(receiver, way, old, new, made.parts[0].finished is not None)
        return script.changed

    make_attacks(work, trials, name, attack)


@pytest.mark.parametrize("name", OF_RECEIVER)
@pytest.mark.takes(10)
def test_any_frame_of_a_receiver(work, trials, name):
    """hostile receiver: a frame is spoiled, repeated, moved, or comes behind another one"""
    def attack(own, way, script):
        old, new = prepare(own)
        with listening(new, before_frame=fail if name == "FAILED" else None) as receiver:
            script.attach(receiver)
            program = Process(own, ["send", *roots(old), "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--give-up-after", "3"],
                              receiver.code + "\n")
            limit = time.monotonic() + PATIENCE
            while program.is_running() and time.monotonic() < limit:
                try:
                    receiver.turn(0.05)
                except ENDS:
                    pass
            require(not program.is_running(), f"{way}: the sender did not end")
            is_received = any(part.finished for part in receiver.parts)
        judge(program, way, old, new, is_received)
        return script.changed

    make_attacks(work, trials, name, attack)


def test_a_base_that_was_not_told(work):
    """hostile sender: a file of pieces of a base that was not told is refused, and every other one arrives"""
    old, new = prepare(work)
    receiver = Receiver(work, new)
    made = hostile.refer(paired(receiver, roots(old), frame=100_000, features=wire.ZSTD | wire.BASES))
    made.session()
    ended(receiver, 8)
    equal([(said.path, said.reason) for said in made.refused], [(b"tree/two", 27)], "what the receiver refuses")
    equal((made.part.done.notStored, os.listdir(f"{new}/tree")), (1, ["one"]), "how many are not stored, and what is there")


def finished(process, seconds=2):
    """Whether a process ends by itself soon."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if process.poll():
            return True
        time.sleep(0.02)
    return False


# Strangers in the place of a known device


def test_a_stranger_between_both(work):
    """a relay with a key of its own between both, which forwards every byte, is refused by both"""
    old, new = prepare(work)
    receiver = Receiver(work, new)
    with socket.create_server(("127.0.0.1", 0)) as listening_socket:
        program = sender(work, roots(old), listening_socket.getsockname()[1], receiver.pairing_code)
        near = Stranger().accept(listening_socket)
    far = Stranger(near).connect(receiver.port)
    seen = pass_all(near.link, far.link)
    equal((program.wait(), program.error()["message"]), (3, "The code did not match. Nothing was sent."), "the sender's end")
    receiver.event("wrongCode")
    equal(os.listdir(new), [], "the destination holds")
    # HELLO_C, PAIR_A and CONF_A went through: the relay did its work, and the devices noticed all
    # the same.
    names = [name for name, _ in hostile.split(seen, True)]
    equal(names[:3], ["HELLO_C", "PAIR_A", "CONF_A"], "what the sender said")


def pass_all(near, far):
    """Passes all bytes between two connections until one has ended; returns those of the first."""
    seen, limit = b"", time.monotonic() + PATIENCE
    while not (near.over or far.over) and time.monotonic() < limit:
        select.select([near, far], [], [], 0.1)
        for one, other in ((near, far), (far, near)):
            one.pump()
            part, one.buffer = bytes(one.buffer), bytearray()
            seen += part if one is near else b""
            with contextlib.suppress(*ENDS):
                other.write(part)
    near.close()
    far.close()
    return seen

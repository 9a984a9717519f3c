"""The data that a paired device can make a receiver keep: metadata, generations, attributes, and
names of unsent items."""

import contextlib
import os
import threading

import wire
from attack_paired import Tending, joined, paired
from attack_place import ENDING, STATUSES, Receiver, Watch
from outside import MIB
from stranger import ENDS

MEMORY = 64 * MIB
SLACK = 64 * MIB
"""The room that an offer allows beyond its bytes (Protocol.md §11)."""


class Case:
    """Frames that a paired sender sends; how many items and bytes it announces."""

    def __init__(self, name, items, frames, disk=SLACK, count=0):
        self.name, self.items, self.frames, self.disk, self.count = name, items, frames, disk, count


PADDING = os.urandom(1_200_000)
ATTRIBUTES = [(b"user.large", os.urandom(60_000)), (b"user.more", os.urandom(60_000))]


def data(number, path, kind, **values):
    """A frame with the record of an empty item, in a generation that is the frame's number."""
    record = wire.item(wire.RECORD.put({
        "path": path, "kind": kind, "generation": number.to_bytes(16, "big"), "mode": 0o755, "size": 0 if kind == wire.FILE else None, **values}))
    return wire.frame("DATA", sequence=number, encoding=0, plainLength=len(record), payload=record)


def fat_directories():
    for number in range(600):
        yield data(number, b"root/%06d" % number, wire.DIRECTORY, unknown={200: PADDING})


def generations_of_file():
    for number in range(3000):
        yield data(number, b"root/one", wire.FILE, attributes=ATTRIBUTES)


def files_with_attributes():
    for number in range(5000):
        yield data(number, b"root/%06d" % number, wire.FILE, attributes=ATTRIBUTES)


CASES = [
    Case("600 directories with 1.2 MB of unknown fields each, 0 bytes announced", 601, fat_directories),
    Case("one empty file in 3,000 generations with 120 kB of attributes, one item announced", 2, generations_of_file),
    Case("5,000 empty files with 120 kB of attributes each, one item announced", 1, files_with_attributes),
]


def play(receiver, stream, case):
    """Sends everything, or as much as the receiver accepts; returns the bytes."""
    sent = 0
    try:
        for one in case.frames():
            if receiver.ended_at is not None:
                break
            stream.send(one)
            sent += len(one)
    except ENDS:
        pass
    return sent


def metadata(place, checks, case):
    receiver = Receiver(place)
    control = stream = watch = None
    try:
        watch = Watch(receiver, [receiver.destination, receiver.home])
        control = paired(receiver.port, receiver.pairing_code(), case.items, case.count)
        stream = joined(control, receiver.port)
        tending = Tending(control)
        sent = play(receiver, stream, case)
        # By then, the last frames are judged.
        receiver.wait(2)
        most = watch.end()
        tending.is_over = True
        tending.join(5)
        told = tending.word or ("still taken" if receiver.ended_at is None else f"status {receiver.code}")
        checks.tell(f"{case.name}: memory", most["memory"] <= MEMORY, f"{most['memory'] / MIB:.0f} MiB at most; {sent / MIB:.0f} MiB sent, {told[:90]}")
        checks.tell(f"{case.name}: disk", most["disk"] <= case.disk, f"{most['disk'] / MIB:.0f} MiB at most")
        code = receiver.code
        if receiver.ended_at is None:
            code, took = receiver.terminate(10)
            checks.tell(f"{case.name}: one SIGTERM", code in STATUSES and took <= ENDING, f"status {code} after {took:.2f} s")
        else:
            checks.tell(f"{case.name}: status", code in STATUSES, f"status {code}")
    finally:
        for one in (stream, control):
            if one is not None:
                one.cut()
        receiver.end()
        if watch:
            watch.end()


def names(place, checks):
    """NOT_STORED with hostile names; then one SIGTERM."""
    title = "6,000 hostile names"
    receiver = Receiver(place)
    control = watch = None
    try:
        control = paired(receiver.port, receiver.pairing_code(), 10, MIB)
        watch = Watch(receiver)
        sent = pour(control, lambda number: {"path": b"root/%06d" % number + b"\x1b[2J\xe2\x80\xae\xff\x1b]0;x\x07" * 3000}, 6000)
        # By then, it has read everything that is queued.
        receiver.wait(1)
        most = watch.end()
        checks.tell(f"{title}: memory", most["memory"] <= MEMORY, f"{most['memory'] / MIB:.0f} MiB at most; {sent / MIB:.0f} MiB sent")
        if receiver.ended_at is None:
            code, took = receiver.terminate(10)
            checks.tell(f"{title}: one SIGTERM", code in STATUSES and took <= ENDING, f"status {code} after {took:.2f} s")
        else:
            checks.tell(f"{title}: status", receiver.code in STATUSES, f"status {receiver.code}: {receiver.words()}")
    finally:
        if control:
            control.cut()
        receiver.end()
        if watch:
            watch.end()


def pour(control, make, count):
    """Sends as many of the frames as are accepted in ten seconds; a receiver that waits for its
    reader accepts no more. Returns the bytes."""
    sent = 0

    def send():
        nonlocal sent
        with contextlib.suppress(*ENDS):
            for number in range(count):
                if is_over.is_set():
                    return
                frame = wire.frame("NOT_STORED", reason=2, **make(number))
                control.send(frame)
                sent += len(frame)

    is_over = threading.Event()
    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    sending.join(10)
    is_over.set()
    return sent


def budgets(place, checks):
    for case in CASES:
        checks.make(case.name, metadata, place, checks, case)
    checks.make("6,000 hostile names", names, place, checks)

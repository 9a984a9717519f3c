"""Ends: tiny transfers whose sender is killed around the end, and a standard output without a
reader."""

import concurrent.futures
import contextlib
import os
import random
import time

from attack_place import PATIENCE, STATUSES, Receiver, Run, send
from outside import Failure


# Tiny transfers


def tiny(place, source, draw):
    """One transfer whose sender is killed at a random moment around its end; returns the receiver's
    status, and the way it ended."""
    receiver = Receiver(place)
    sender = send(place, [source], f"127.0.0.1:{receiver.port}", receiver.pairing_code())
    try:
        sender.wait_event("paired")
        # From the pairing on it takes some ten milliseconds; a few senders survive until the end.
        time.sleep(draw.random() ** 2 * 0.06)
        sender.popen.kill()
        sender.wait()
        if receiver.wait(draw.uniform(0, 0.15)) is not None:
            return receiver.code, "by itself", receiver.words()
        code, took = receiver.terminate(10)
        return code, "late" if took > 1 or code is None else "by SIGTERM", receiver.words()
    finally:
        sender.end()
        receiver.end()
        # Thousands of homes would fill the memory.
        for folder in (sender.home, receiver.home, receiver.destination):
            place.drop(folder)


def ends(place, checks):
    count = 3000 if place.is_long else 20
    source = place.source(1000)
    found, words = {}, []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for code, how, said in pool.map(lambda number: tiny(place, source, random.Random(number)), range(count)):
            found[code, how] = found.get((code, how), 0) + 1
            if code not in STATUSES:
                words.append(said)
    told = ", ".join(f"{code} {how} {number} times" for (code, how), number in sorted(found.items(), key=str))
    checks.tell(
        f"{count:,} tiny transfers whose sender is killed around the end", {code for code, _ in found} <= STATUSES,
        told + (f": {words[0]}" if words else ""))
    late = sum(number for (_, how), number in found.items() if how == "late")
    checks.tell("one SIGTERM ends their receivers within a second", not late, f"{late} beyond it")


# Output


class Blocked:
    """A full pipe, without a reader from now on."""

    def __init__(self):
        self.reading, self.writing = os.pipe()

    def fill(self):
        # Opened anew, so that the flags set here do not apply to the command.
        own = os.open(f"/proc/self/fd/{self.writing}", os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(own, bytes(4096))
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(own, bytes(1))
        os.close(own)

    def lines(self, run, name, seconds=PATIENCE):
        """Reads until an event arrives."""
        limit = time.monotonic() + seconds
        rest = b""
        while time.monotonic() < limit:
            rest += os.read(self.reading, 65536)
            *whole, rest = rest.split(b"\n")
            for line in whole:
                run.hear(line)
            if run.find(name):
                return
        raise Failure(f"no '{name}' within {seconds} s")

    def close(self):
        os.close(self.reading)
        os.close(self.writing)


def many_files(place, count):
    folder = f"{place.folder()}/tree"
    os.mkdir(folder)
    for number in range(count):
        with open(f"{folder}/{number}", "wb") as file:
            file.write(b"content\n")
    return folder


def blocked_receiver(place, checks, is_for_people):
    """The transfer ends, and the process ends by itself; its output is lost."""
    what = f"a receiver's output ({'for people' if is_for_people else '--json'}) that nobody reads"
    blocked = Blocked()
    receiver = sender = None
    try:
        receiver = Receiver(place, out=blocked.writing, is_for_people=is_for_people)
        blocked.lines(receiver, "code")
        blocked.fill()
        sender = send(
            place, [many_files(place, 2000)], f"127.0.0.1:{receiver.find('listening')['port']}", receiver.pairing_code())
        sent, begun = sender.wait(20), time.monotonic()
        checks.tell(f"{what}: the sender", sent == 0, f"status {sent} {sender.words()}")
        code = receiver.wait(10)
        took = (receiver.ended_at or time.monotonic()) - begun
        checks.tell(f"{what}: it ends by itself", code == 0, f"status {code} after {took:.1f} s")
        if code is None:
            code, took = receiver.terminate(5)
            checks.tell(f"{what}: one SIGTERM", code in STATUSES and took <= 1, f"status {code} after {took:.1f} s")
    finally:
        for one in (sender, receiver):
            if one is not None:
                one.end()
        blocked.close()


def blocked_sender(place, checks):
    blocked = Blocked()
    receiver = Receiver(place)
    blocked.fill()
    sender = Run(
        place, ["send", many_files(place, 2000), "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json"],
        text=receiver.pairing_code() + "\n", out=blocked.writing)
    try:
        begun = time.monotonic()
        code, received = sender.wait(20), receiver.wait(20)
        took = (sender.ended_at or time.monotonic()) - begun
        checks.tell(
            "a sender's output that nobody reads: both end by themselves", (code, received) == (0, 0),
            f"statuses {code} and {received} after {took:.1f} s")
    finally:
        sender.end()
        receiver.end()
        blocked.close()


def blocked_waiting(place, checks):
    """Before any sender comes: one SIGTERM is enough."""
    blocked = Blocked()
    blocked.fill()
    receiver = Receiver(place, out=blocked.writing)
    try:
        time.sleep(0.5)
        code, took = receiver.terminate(5)
        checks.tell("an output that takes nothing from the start: one SIGTERM", code in STATUSES and took <= 1, f"status {code} after {took:.1f} s")
    finally:
        receiver.end()
        blocked.close()


def output(place, checks):
    for is_for_people in (False, True):
        checks.make("a receiver's output that nobody reads", blocked_receiver, place, checks, is_for_people)
    checks.make("a sender's output that nobody reads", blocked_sender, place, checks)
    checks.make("an output that takes nothing from the start", blocked_waiting, place, checks)

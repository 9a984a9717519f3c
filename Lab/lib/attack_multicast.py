"""Floods of multicast DNS packets against the announcement and the search."""

import random
import struct
import subprocess
import time

from attack_place import Failure, wait_for
from attack_floods import receiver
from outside import MIB, mib

GROUP, PORT = "224.0.0.251", 5353
RATE = 10_000
MOST_MEMORY = 16 * MIB
"""How much memory a flood may cost, with any content."""
MOST_CPU = 0.5
"""How much of a processor it may cost: a generous share, because the flood itself uses it too."""

A, PTR, TXT, SRV = 1, 12, 16, 33


def name(*labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


SERVICE = name(b"_peer-migrate", b"_tcp", b"local")


def record(owner, kind, data, life=120):
    return owner + struct.pack("!HHIH", kind, 1 if kind == PTR else 0x8001, life, len(data)) + data


def question(number):
    """A question for the service, each with another known answer."""
    own = name(b"known %d" % number)[:-1] + SERVICE
    return struct.pack("!6H", 0, 0, 1, 1, 0, 0) + SERVICE + struct.pack("!HH", PTR, 1) + record(SERVICE, PTR, own)


def answer(number):
    """A receiver that does not exist, a different one each time."""
    own = name(b"ghost %d" % number)[:-1] + SERVICE
    host = name(b"peer-%016x" % number, b"local")
    records = [
        record(SERVICE, PTR, own), record(own, SRV, struct.pack("!HHH", 0, 0, 47470) + host),
        record(own, TXT, b"\x13id=%016x" % number), record(host, A, bytes([10, 77, number >> 8 & 255, number & 255]))]
    return struct.pack("!6H", 0, 0x8400, 0, 1, 0, 3) + b"".join(records)


def loop(number):
    """A name that leads to itself."""
    return struct.pack("!6H", 0, 0x8400, 0, 1, 0, 0) + bytes([0xC0, 12 + number % 3]) * 40


def noise(number):
    return random.Random(number).randbytes(number % 1400)


FLOODS = {
    "questions": (question, 0), "answers, each with another receiver": (answer, 0), "answers that are spoilt": (answer, 3),
    "questions that are spoilt": (question, 2), "names that lead to themselves": (loop, 0), "noise": (noise, 0)}


class Datagrams:
    """A running flood."""

    def __init__(self, place, kind):
        make, spoil = FLOODS[kind]
        path = f"{place.folder()}/datagrams"
        with open(path, "wb") as file:
            for packet in map(make, range(4096)):
                file.write(struct.pack("!H", len(packet)) + packet)
        self.begun = time.monotonic()
        self.popen = subprocess.Popen(
            [*place.namespaces().enter("attacker"), place.program("datagrams"), "net", GROUP, str(PORT), str(RATE), str(spoil), path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        place.processes.append(self)
        self.place = place

    def end(self):
        if self in self.place.processes:
            self.place.processes.remove(self)
            self.popen.kill()
            self.popen.communicate(timeout=30)

    def stop(self):
        """Stops it; returns the packets sent per second."""
        out, _ = self.popen.communicate(timeout=30)
        took = time.monotonic() - self.begun
        self.end()
        if self.popen.returncode != 0:
            raise Failure(f"the flood ended by itself: {self.popen.returncode}")
        return int(out) / took


def searching(place, one):
    """A search on a receiver's device, for longer than the flood lasts."""
    before = open_ports(one)
    run = place.start(["discover", "--json", "--for", "10m"], within=place.namespaces().enter("receiver"))
    wait_for("the search", 20, lambda: open_ports(one) > before)
    return run


def open_ports(run):
    """How many sockets of a device have the port of multicast DNS."""
    with open(f"/proc/{run.pid}/net/udp", "rb") as file:
        return file.read().count(b":14E9 ")


def cost(place, checks, kind, seconds):
    """The cost of a flood for a receiver and a search: both survive, with constant memory and a
    processor for others."""
    title = f"10,000 packets a second, {kind}"
    one = receiver(place)
    search = searching(place, one)
    runs = {"receiver": one, "search": search}
    flood = None
    try:
        before = {role: run.takes() for role, run in runs.items()}
        flood = Datagrams(place, kind)
        time.sleep(seconds / 2)
        middle = {role: run.takes() for role, run in runs.items()}
        time.sleep(seconds / 2)
        rate = flood.stop()
        for role, run in runs.items():
            after = run.takes()
            cpu = (after["cpu"] - before[role]["cpu"]) / seconds
            grown, late = after["memory"] - before[role]["memory"], after["memory"] - middle[role]["memory"]
            checks.tell(
                f"{title}: the {role} lives on at small cost",
                run.ended_at is None and cpu < MOST_CPU and grown < MOST_MEMORY,
                f"{100 * cpu:.1f} % of a processor, memory {mib(before[role]['memory'])} + {grown / MIB:.1f}, "
                f"{late / MIB:.1f} of it in the second half ({rate:,.0f} packets/s)")
            checks.tell(f"{title}: the {role} ends in order", run.terminate(10)[0] == 143, f"exit code {run.code}")
    finally:
        if flood:
            flood.end()
        for run in runs.values():
            run.end()


def multicast(place, checks):
    place.namespaces()
    kinds = list(FLOODS) if place.is_long else ["answers, each with another receiver", "answers that are spoilt"]
    for kind in kinds:
        checks.make(kind, cost, place, checks, kind, 20 if place.is_long else 4)

"""Tests the disk of Lab/power by itself: reading, flushing, and power cuts. Prints a line
for each test.

Usage: lab_nbd_self_test.py
"""

import errno
import os
import random
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True

import lab_nbd  # noqa: E402
from lab_nbd import (  # noqa: E402
    FLUSH, FUA, GO, HELLO, OPTION, READ, REQUEST, SECTOR, TRIM, WRITE, WRITE_ZEROES, Cache, Server, boundaries, take)
from outside import MIB, equal, require  # noqa: E402
from self_tests import run  # noqa: E402

SIZE = 4 * MIB
SEEDS = 60


class Client:
    """A client of the server, in the words of the protocol."""

    def __init__(self, server):
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.link.connect(server.path)
        require(take(self.link, 18)[:16] == HELLO, "the greeting")
        self.link.sendall(struct.pack(">I", 3))
        # An option that the server does not know, then the export.
        self.option(8)
        equal(self.answer(), 1 << 31 | 1, "the answer to an unknown option")
        self.option(GO, struct.pack(">IH", 0, 0))
        equal((self.answer(), self.answer()), (3, 1), "the answers to GO")

    def option(self, number, data=b""):
        self.link.sendall(OPTION + struct.pack(">II", number, len(data)) + data)

    def answer(self):
        _, _, kind, length = struct.unpack(">QIII", take(self.link, 20))
        data = take(self.link, length)
        if kind == 3:
            self.size, self.flags = struct.unpack(">QH", data[2:12])
        return kind

    def ask(self, kind, offset=0, length=0, data=b"", flags=0):
        self.link.sendall(struct.pack(">IHHQQI", REQUEST, flags, kind, 7, offset, length or len(data)) + data)
        _, error, cookie = struct.unpack(">IIQ", take(self.link, 16))
        equal(cookie, 7, "the cookie")
        return error if error or kind != READ else take(self.link, length)


class Disk:
    """A server with its client, for the length of a test."""

    def __init__(self, folder, **options):
        self.server = Server(folder, "disk", SIZE, **options)

    def __enter__(self):
        return self.server, Client(self.server)

    def __exit__(self, *_):
        self.server.close()


def what_is_written_is_read(folder):
    with Disk(folder) as (_, client):
        equal((client.size, client.flags), (SIZE, 1 | 4 | 8 | 32 | 64), "size and flags of the export")
        client.ask(WRITE, 1000, data=b"abcdef")
        client.ask(FLUSH)
        client.ask(WRITE, 1002, data=b"XY")
        equal(client.ask(READ, 999, 8), b"\0abXYef\0", "what is read")
        client.ask(WRITE_ZEROES, 1001, 2)
        client.ask(TRIM, 1004, 1)
        equal(client.ask(READ, 999, 8), b"\0a\0\0Y\0f\0", "what is read after zeros")
        equal(client.ask(WRITE, SIZE - 1, data=b"ab"), errno.EINVAL, "the answer to a write beyond the end")
        equal(client.ask(77), errno.EINVAL, "the answer to an unknown command")


def what_is_flushed_survives_and_the_rest_is_dropped_at_random(folder):
    survived = 0
    for seed in range(SEEDS):
        os.mkdir(f"{folder}/{seed}")
        with Disk(f"{folder}/{seed}") as (server, client):
            for number in range(20):
                client.ask(WRITE, number * SECTOR, data=bytes([1]) * SECTOR)
            client.ask(FLUSH)
            for number in range(20):
                client.ask(WRITE, number * SECTOR, data=bytes([2]) * SECTOR)
            client.ask(WRITE, 20 * SECTOR, data=bytes([3]) * SECTOR, flags=FUA)
            for number in range(20):
                client.ask(WRITE, (30 + number) * SECTOR, data=bytes([4]) * SECTOR)
            kept, torn, dropped = server.cut(seed)
            # A write with FUA also flushes the earlier ones: a disk may always do more.
            equal((kept + dropped, torn), (20, 0), "the writes in the cache at the cut")
            server.turn_on()
            client = Client(server)
            equal(client.ask(READ, 0, 21 * SECTOR), bytes([2]) * 20 * SECTOR + bytes([3]) * SECTOR, "what was durable")
            found = [client.ask(READ, (30 + number) * SECTOR, SECTOR)[0] for number in range(20)]
            equal(found.count(4), kept, "the writes that survived")
            survived += kept
    require(0.2 * 20 * SEEDS < survived < 0.6 * 20 * SEEDS, f"{survived} of {20 * SEEDS} unflushed writes survived")
    return f"{survived} of {20 * SEEDS} unflushed writes survived"


def one_write_may_be_torn_between_two_sectors(folder):
    # The last one begins and ends in the middle of a sector.
    for offset, length, expected in (0, SECTOR, []), (SECTOR, 512, []), (512, SECTOR, [SECTOR - 512]), (7 * SECTOR - 512, 2 * SECTOR, [512, SECTOR + 512]):
        equal(list(boundaries(offset, bytes(length))), expected, f"the boundaries in {length} bytes at {offset}")
    lengths = set()
    for seed in range(SEEDS):
        cache = Cache(folder, str(seed), SIZE)
        cache.write(SECTOR, bytes([5]) * 8 * SECTOR)
        torn = cache.cut(random.Random(seed))[1]
        found = cache.read(SECTOR, 8 * SECTOR)
        count = found.count(5)
        equal(found, bytes([5]) * count + bytes(8 * SECTOR - count), "what survived")
        require(count % SECTOR == 0, f"a write was torn at {count} bytes")
        if torn:
            lengths.add(count // SECTOR)
        cache.close()
    require(len(lengths) > 3 and lengths <= set(range(1, 8)), f"torn after these sectors: {sorted(lengths)}")
    return f"after {sorted(lengths)} of 8 sectors"


def a_cut_can_be_repeated(folder):
    outcomes = []
    for time_around in "a", "b":
        cache = Cache(folder, time_around, SIZE)
        draw = random.Random(11)
        for _ in range(300):
            cache.write(draw.randrange(SIZE // SECTOR - 9) * SECTOR, draw.randbytes(draw.randrange(1, 9) * SECTOR))
        cache.cut(random.Random("11/cut"))
        outcomes.append(cache.read(0, SIZE))
        cache.close()
    require(outcomes[0] == outcomes[1], "the same seed left another disk")


def a_disk_that_lies_loses_what_was_flushed(folder):
    lost = 0
    for seed in range(SEEDS):
        os.mkdir(f"{folder}/{seed}")
        with Disk(f"{folder}/{seed}", is_lying=True) as (server, client):
            client.ask(WRITE, 0, data=bytes([6]) * SECTOR, flags=FUA)
            equal(client.ask(FLUSH), 0, "the answer to a flush")
            server.cut(seed)
            server.turn_on()
            lost += Client(server).ask(READ, 0, 1) == b"\0"
    require(SEEDS // 4 < lost < SEEDS, f"{lost} of {SEEDS} flushed writes were lost")
    return f"{lost} of {SEEDS} flushed writes were lost"


def nothing_is_answered_after_the_cut(folder):
    with Disk(folder) as (server, client):
        client.ask(WRITE, 0, data=b"before")
        server.cut(1)
        try:
            client.ask(FLUSH)
        except (EOFError, OSError):
            return
        raise AssertionError("a flush was answered after the cut")


def the_cache_has_a_bound(folder):
    with Disk(folder) as (server, client):
        before, lab_nbd.CACHE = lab_nbd.CACHE, MIB
        try:
            for number in range(40):
                client.ask(WRITE, number * 64 * 1024, data=bytes([number + 1]) * 64 * 1024)
            require(server.cache.bytes <= MIB, f"{server.cache.bytes} bytes are in the cache")
        finally:
            lab_nbd.CACHE = before


def it_is_fast(folder):
    with Disk(folder) as (_, client):
        begun, block = time.monotonic(), bytes(range(256)) * 256
        for number in range(1000):
            client.ask(WRITE, number % 60 * len(block), data=block)
            if number % 50 == 0:
                client.ask(FLUSH)
        return f"{len(block) * 1000 / (time.monotonic() - begun) / MIB:.0f} MiB/s with a flush for every 3 MiB"


TESTS = [
    what_is_written_is_read, what_is_flushed_survives_and_the_rest_is_dropped_at_random, one_write_may_be_torn_between_two_sectors,
    a_cut_can_be_repeated, a_disk_that_lies_loses_what_was_flushed, nothing_is_answered_after_the_cut, the_cache_has_a_bound, it_is_fast]

if __name__ == "__main__":
    sys.exit(run(TESTS, "peer-nbd-"))

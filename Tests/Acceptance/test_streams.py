"""The number of data streams, and the limit of their rate."""

import os
import time

import pytest

from devices import Process, Receiver, end_well, random_file, sender
from outside import MIB, require, run_script


def travel(work, old, new, delay, flight, *options, meanwhile=None):
    """Sends a folder's content over a far link; returns the link, the time, and the greater peak
    memory of the two."""
    receiver = Receiver(work, new)
    link = work.far_link(receiver.port, delay, flight)
    begun = time.monotonic()
    sending = sender(work, [*[f"{old}/{name}" for name in os.listdir(old)], *options], link.port, receiver.pairing_code)
    if meanwhile:
        meanwhile(link, sending)
    end_well(sending, receiver, seconds=300)
    took = time.monotonic() - begun
    link.close()
    run_script("check-trees", "--inside", old, new)
    # A program that links Swift's runtime as libraries is larger by itself than the product, which has it inside.
    with open(work.binary, "rb") as file:
        is_product = b"libswiftCore.so" not in file.read()
    alone = Process(work, ["send", f"{old}/missing", "--to", "127.0.0.1:9", "--code-file", "-"])
    require(alone.wait() != 0, "something that is missing was sent")
    for one in (sending, receiver):
        require(
            one.peak - alone.peak <= 47 * MIB and (one.peak <= 64 * MIB or not is_product),
            f"'{one.name()}' had {one.peak / MIB:.0f} MiB in memory, {alone.peak / MIB:.0f} of them before a transfer")
    return link, took, max(sending.peak, receiver.peak)


@pytest.mark.takes(20)
def test_a_distance_brings_more_streams(work):
    """50 ms away, at most 1 MiB under way in a connection: as many streams as help, found while
    sending"""
    size = 384 * MIB
    (old, _), (_, one), (_, many) = (work.place() for _ in range(3))
    random_file(f"{old}/big", size)
    _, slow, _ = travel(work, old, one, 0.05, MIB, "--streams", "1")
    work.drop(one)
    link, fast, peak = travel(work, old, many, 0.05, MIB)
    work.figure = (
        f"{size / slow / 1e6:.0f} MB/s in one stream, {size / fast / 1e6:.0f} in {link.most - 1} ({slow / fast:.1f} times), "
        f"memory {peak / MIB:.0f} MiB")
    # The gain depends on the other load of this machine; Lab/bench measures it.
    require(link.most - 1 >= 4, work.figure)

"""The number of data streams, and the limit of their rate."""

import os
import time

import pytest

from devices import Process, Receiver, end_well, random_file, sender, small_file
from outside import MIB, equal, require, run_script, wait_for


def small_files(folder, count, size):
    """Files of random bytes, a hundred to a folder."""
    for number in range(count):
        if number % 100 == 0:
            os.makedirs(f"{folder}/{number // 100}")
        with open(f"{folder}/{number // 100}/{number}", "wb") as file:
            file.write(os.urandom(size))


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


@pytest.mark.takes(20)
def test_no_small_file_waits_for_an_answer(work):
    """20,000 small files 50 ms away: no file waits for an answer"""
    old, near = work.place()
    _, far = work.place()
    small_files(f"{old}/folder", 20_000, 1_000)
    _, short, _ = travel(work, old, near, 0, 4 * MIB)
    _, long, _ = travel(work, old, far, 0.05, 4 * MIB)
    work.figure = f"{long:.2f} s, without the distance {short:.2f} s"
    # A tenth of the time that one answer for each would take. Lab/bench measures the cost of
    # distance.
    require(long <= 20_000 * 0.05 / 10, work.figure)


def rates_of(link):
    """The rate of the sender's bytes in bytes a second: from the first data to the end, and in the
    best second."""
    samples = list(link.samples)
    first = next(index for index, (_, passed) in enumerate(samples) if passed > 64_000)
    # From the last bytes before the data: a relay that reads the first of them late would make the
    # time too short.
    samples = samples[max(0, first - 1):]
    (begun, before), (ended, after) = samples[0], samples[-1]
    best = begin = 0
    for moment, passed in samples:
        while moment - samples[begin][0] > 1:
            begin += 1
        best = max(best, passed - samples[begin][1])
    return (after - before) / (ended - begun), best


@pytest.mark.takes(14)
@pytest.mark.parametrize("options", [
    pytest.param((), id="as many streams as help"), pytest.param(("--streams", "4"), id="four streams together")])
def test_the_limit_holds(work, options):
    """--limit 20M holds within a twentieth, for one large file and for small ones

    The limit is never exceeded over the whole, on any machine. The best second of the large file
    shows that the rate is not much lower: a busy machine gives the sender a second at least. The
    rate of small files depends on the machine; their best second is only a figure.
    """
    figures = []
    for kind in ("one file", "small files"):
        old, new = work.place()
        if kind == "one file":
            random_file(f"{old}/big", 100 * MIB)
        else:
            small_files(f"{old}/folder", 15_000, 4_000)
        link, _, _ = travel(work, old, new, 0, 4 * MIB, "--limit", "20M", *options)
        rate, best = rates_of(link)
        figures.append(f"{kind}: {rate / 1e6:.2f} MB/s, {best / 1e6:.2f} in the best second")
        work.figure = ", ".join(figures)
        require(rate <= 21e6 and (best >= 19e6 or kind == "small files"), work.figure)


@pytest.mark.takes(5)
def test_a_stream_that_is_cut(work):
    """one of eight streams is cut in the middle: everything arrives, equal"""
    old, new = work.place()
    random_file(f"{old}/big", 96 * MIB)
    for number in range(300):
        small_file(f"{old}/small-{number}", b"%d" % number)

    def cut_one(link, sending):
        wait_for("40 MiB on the link", 120, lambda: link.passed >= 40 * MIB or not sending.is_running())
        require(sending.is_running(), "it was over before anything could be cut")
        link.do(link.cut_one, 3)

    link, _, _ = travel(work, old, new, 0.02, MIB, "--streams", "8", meanwhile=cut_one)
    equal(link.count, 10, "connections")
    work.figure = f"{link.count} connections"

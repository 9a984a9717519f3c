"""Acceptance of how many data streams there are, and of the limit on what they send."""

import os
import time

from checks import check
from devices import Receiver, random_file, sender, small_file
from far_link import FarLink
from outside import MIB, equal, require, run_script


def small_files(folder, count, size):
    """Files of random bytes, a hundred to a folder."""
    for number in range(count):
        if number % 100 == 0:
            os.makedirs(f"{folder}/{number // 100}")
        with open(f"{folder}/{number // 100}/{number}", "wb") as file:
            file.write(os.urandom(size))


def travel(work, old, new, delay, flight, *options, meanwhile=None):
    """Sends what is in a folder over a far link; the link, and how long it took from the first byte to the end."""
    receiver = Receiver(work, new)
    link = FarLink(receiver.port, delay, flight)
    try:
        begun = time.monotonic()
        sending = sender(
            work, [*[f"{old}/{name}" for name in os.listdir(old)], *options], link.port, receiver.pairing_code)
        if meanwhile:
            meanwhile(link, sending)
        codes = sending.wait(240), receiver.wait(60)
        took = time.monotonic() - begun
        require(codes == (0, 0), f"exit codes {codes}: {sending.text()[-300:]} {receiver.text()[-300:]}")
        run_script("check-trees", "--inside", old, new)
        for one in (sending, receiver):
            require(one.peak <= 64 * MIB, f"'peer {one.arguments[0]}' had {one.peak / MIB:.0f} MiB in memory")
        return link, took, max(sending.peak, receiver.peak)
    finally:
        link.close()


@check("50 ms away, at most 1 MiB on its way in a connection: as many streams as help, found while sending")
def _(work):
    size = 384 * MIB
    old, one = work.place()
    _, many = work.place()
    random_file(f"{old}/big", size)
    try:
        _, slow, _ = travel(work, old, one, 0.05, MIB, "--streams", "1")
        link, fast, peak = travel(work, old, many, 0.05, MIB)
        figure = (
            f"{size / slow / 1e6:.0f} MB/s in one stream, {size / fast / 1e6:.0f} in {link.most - 1} ({slow / fast:.1f} times), "
            f"memory {peak / MIB:.0f} MiB")
        # How much faster that is depends on who else needs this machine; Scripts/bench measures it.
        require(link.most - 1 >= 4, figure)
        return figure
    finally:
        for folder in (old, one, many):
            work.drop(folder)


@check("20,000 small files 50 ms away: no file waits for an answer")
def _(work):
    old, near = work.place()
    _, far = work.place()
    small_files(f"{old}/folder", 20_000, 1_000)
    try:
        _, short, _ = travel(work, old, near, 0, 4 * MIB)
        _, long, _ = travel(work, old, far, 0.05, 4 * MIB)
        figure = f"{long:.2f} s, without the distance {short:.2f} s"
        # A tenth of what one answer each would take. Scripts/bench measures what the distance costs.
        require(long <= 20_000 * 0.05 / 10, figure)
        return figure
    finally:
        for folder in (old, near, far):
            work.drop(folder)


def rate_of(link):
    """How many bytes a second came from the sender, once data came."""
    samples = [sample for sample in link.samples if sample[1] > 64_000]
    (begun, before), (ended, after) = samples[0], samples[-1]
    return (after - before) / (ended - begun)


def limited(work, *options):
    figures = []
    for kind in ("one file", "small files"):
        # In memory, since a disk that stalls would be slower than the limit.
        place = work.shared_memory()
        old, new = f"{place}/old", f"{place}/new"
        os.mkdir(old)
        os.mkdir(new)
        if kind == "one file":
            random_file(f"{old}/big", 100 * MIB)
        else:
            small_files(f"{old}/folder", 15_000, 4_000)
        try:
            link, _, _ = travel(work, old, new, 0, 4 * MIB, "--limit", "20M", *options)
            rate = rate_of(link)
            figures.append(f"{kind}: {rate / 1e6:.2f} MB/s")
            require(abs(rate - 20e6) <= 1e6, ", ".join(figures))
        finally:
            work.drop(old)
    return ", ".join(figures)


@check("--limit 20M holds within a twentieth, for one large file and for small ones")
def _(work):
    return limited(work)


@check("--limit 20M holds within a twentieth over four streams together")
def _(work):
    return limited(work, "--streams", "4")


@check("eight streams of which one is cut in the middle: everything arrives, equal")
def _(work):
    old, new = work.place()
    random_file(f"{old}/big", 96 * MIB)
    for number in range(300):
        small_file(f"{old}/small-{number}", b"%d" % number)

    def cut_one(link, sending):
        while sending.is_running() and link.passed < 40 * MIB:
            time.sleep(0.01)
        require(sending.is_running(), "it was over before anything could be cut")
        link.cut(3)

    link, _, _ = travel(work, old, new, 0.02, MIB, "--streams", "8", meanwhile=cut_one)
    equal(link.count, 10, "connections")
    return f"{link.count} connections"

"""The works of a bench: what is sent, and who carries it.

Each work is a function of the `Bench` and gives its cases.
"""

import re
import subprocess

from bench_contestants import Copy, Peer, Rsync, Tar, Yardstick
from bench_data import big_file, many_files, source_text, system_tree
from bench_rounds import Case
from outside import GIB, MIB, ROOT

WORKS = {}

ROUND_TRIP = 50
"""The distance, in milliseconds there and back."""

WINDOW = 4 * MIB
"""What one connection has under way at most over a distance."""

SLOW = 20_000_000
"""A slow link, in bytes a second."""


def work(title):
    def register(function):
        WORKS[function.__name__] = (title, function)
        return function

    return register


class Bench:
    """What a run of the bench was asked for: where, which binaries, against whom, how much."""

    def __init__(self, place, binaries, contestants, is_quick):
        self.place, self.binaries, self.contestants, self.is_quick = place, binaries, contestants, is_quick

    def peers(self, source, suffix="", **options):
        return [Case(name + suffix, Peer(binary, **options), source) for name, binary in self.binaries.items()]

    def others(self, source, *more):
        """The programs that peer is compared with, those that are wanted and here."""
        known = [("rsync over ssh", Rsync()), ("tar through TLS", Tar()), *more]
        return [Case(name, contestant, source) for name, contestant in known if name.split()[0].strip(",") in self.contestants]

    def knows(self, option):
        """Whether every binary has this option of `peer send`."""
        helps = [
            subprocess.run([binary, "help", "send"], stdout=subprocess.PIPE, check=False).stdout.decode()
            for binary in self.binaries.values()]
        return all(re.search(rf"(?<![\w-]){option}(?![\w-])", text) for text in helps)

    def numbers(self, full, quick):
        return quick if self.is_quick else full


@work("one file of random bytes")
def big(bench):
    source = bench.place.source("big", big_file, bench.numbers(2 * GIB, 8 * MIB))
    return bench.peers(source) + bench.others(source, ("TLS, one stream", Yardstick(1)), ("TLS, two streams", Yardstick(2)))


@work("files of 4 KiB in 200 folders")
def small(bench):
    source = bench.place.source("small", many_files, *bench.numbers((200, 250), (4, 25)), [4096])
    return bench.peers(source) + bench.others(source, ("cp, no network", Copy()))


@work("/usr/share and /usr/include")
def mixed(bench):
    source = bench.place.source("mixed", system_tree) if not bench.is_quick else f"{ROOT}/Scripts"
    return bench.peers(source) + bench.others(source, ("cp, no network", Copy()))


@work("empty and tiny files, a million")
def million(bench):
    source = bench.place.source("million", many_files, *bench.numbers((1000, 1000), (10, 100)), [0, 1, 0, 10, 0, 100])
    return bench.peers(source) + bench.others(source, ("cp, no network", Copy()))


@work("one byte: what starting costs")
def start(bench):
    return bench.peers(bench.place.source("start", many_files, 1, 1, [1]))


@work(f"a round trip of {ROUND_TRIP} ms, {WINDOW // MIB} MiB a connection under way")
def distance(bench):
    far = (ROUND_TRIP / 2, WINDOW, 0)
    large = bench.place.source("distant", big_file, bench.numbers(GIB, 8 * MIB))
    files = bench.place.source("distant-files", many_files, *bench.numbers((80, 250), (4, 25)), [4096])
    cases = bench.peers(large, ": one file, far", link=far)
    if bench.knows("--streams"):
        cases += bench.peers(large, ": one file, far, --streams 1", link=far, send_options=["--streams", "1"])
    near = (0, WINDOW, 0)
    cases += bench.peers(files, ": small files, far", link=far)
    return cases + bench.peers(files, ": small files, near", link=near)


@work(f"compressing: source text at {SLOW // 1_000_000} MB/s, random bytes at once")
def compress(bench):
    slow = (0, WINDOW, SLOW)
    text = bench.place.source("text", source_text) if not bench.is_quick else f"{ROOT}/Scripts"
    random = bench.place.source("random", big_file, bench.numbers(GIB, 8 * MIB))
    cases = bench.peers(text, ": text, slow", link=slow)
    never = ["--compress", "never"] if bench.knows("--compress") else None
    if never:
        cases += bench.peers(text, ": text, slow, never", link=slow, send_options=never)
    cases += bench.peers(random, ": random")
    if never:
        cases += bench.peers(random, ": random, never", send_options=never)
    return cases

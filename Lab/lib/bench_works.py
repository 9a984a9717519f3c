"""The works of a bench: the data, and the programs that transfer it.

Each work is a function of the `Bench` and returns its cases.
"""

import os
import shutil

import bench_ssh
from bench_contestants import WDT, App, Floor, OtherFloor, Peer, Tar
from bench_data import big_file, flat_files, many_files, system_tree
from bench_report import result
from bench_rounds import Case, hold
from bench_services import Syncthing, Wormhole
from outside import GIB, MIB, ROOT, require

WORKS = {}

USUAL = ["rsync", "tar", "floor"]

CONTESTANTS = [*USUAL, "WDT", "scp", "tar-ssh", "wormhole", "syncthing"]

SSH = {"ssh": "openssh-client", "sshd": "openssh-server"}

NEEDED = {
    "rsync": {"rsync": "rsync", **SSH}, "scp": SSH, "tar-ssh": {"tar": "tar", **SSH}, "tar": {"tar": "tar", "socat": "socat"},
    "wormhole": {"wormhole": "magic-wormhole", "twist3": "python3-magic-wormhole-mailbox-server"}, "syncthing": {"syncthing": "syncthing"},
    "profile": {"valgrind": "valgrind", "strace": "strace"}}
"""The required commands, and the Debian packages that contain them."""

ROUND_TRIP = 50
"""The distance, in milliseconds there and back."""

WINDOW = 4 * MIB
"""How many bytes one connection has under way at most over a distance."""

SLOW = 20_000_000
"""A slow link, in bytes a second."""


def work(title):
    def register(function):
        WORKS[function.__name__] = (title, function)
        return function

    return register


def missing(name):
    """The required commands that are missing here."""
    if name == "WDT":
        return [] if "WDT" in os.environ else ["WDT=PROGRAM"]
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    return [f"the package {package}" for command, package in NEEDED.get(name, {}).items() if not shutil.which(command, path=path)]


class Bench:
    """The settings of a bench: where, which binaries, and which other programs."""

    def __init__(self, place, binaries, contestants):
        self.place, self.binaries, self.contestants = place, binaries, contestants
        for name in contestants:
            require(not missing(name), f"{name} takes {' and '.join(missing(name))}; --against leaves it out")

    def measure(self, name, runs):
        """The measured cost of a work."""
        title, make = WORKS[name]
        cases = make(self)
        hold(self.place, cases, runs)
        self.place.forget_sources()
        return result(name, title, cases)

    def peers(self, source, suffix="", **options):
        return [Case(name + suffix, Peer(binary, **options), source) for name, binary in self.binaries.items()]

    def everything(self, source):
        """peer and the requested programs for comparison."""
        known = {
            "rsync": [("rsync over ssh", bench_ssh.OverSsh(bench_ssh.rsync))], "tar": [("tar through TLS", Tar())],
            "WDT": [("WDT", WDT(os.environ.get("WDT")))], "floor": [("floor", Floor())],
            "scp": [("scp", bench_ssh.OverSsh(bench_ssh.scp))], "tar-ssh": [("tar over ssh", bench_ssh.OverSsh(bench_ssh.tar))],
            "wormhole": [("magic-wormhole", Wormhole())], "syncthing": [("syncthing", Syncthing())]}
        if "FLOOR" in os.environ:
            known["floor"].append(("other floor", OtherFloor(os.environ["FLOOR"])))
        wanted = [one for name, some in known.items() if name in self.contestants for one in some]
        return self.peers(source) + [Case(name, contestant, source) for name, contestant in wanted]


@work("one file of random bytes")
def big(bench):
    return bench.everything(bench.place.source("big", big_file, 2 * GIB))


@work("files of 4 KiB in 200 folders")
def small(bench):
    return bench.everything(bench.place.source("small", many_files, 200, 250, [4096]))


@work("/usr/share and /usr/include without links")
def mixed(bench):
    return bench.everything(bench.place.source("mixed", system_tree, "/usr/share", "/usr/include"))


@work("empty and tiny files, a million")
def million(bench):
    return bench.everything(bench.place.source("million", many_files, 1000, 1000, [0, 1, 0, 10, 0, 100]))


@work("one byte: what starting costs")
def start(bench):
    return bench.peers(bench.place.source("start", many_files, 1, 1, [1]))


@work(f"a round trip of {ROUND_TRIP} ms, {WINDOW // MIB} MiB a connection under way")
def distance(bench):
    far, near = (ROUND_TRIP / 2, WINDOW, 0), (0, WINDOW, 0)
    large = bench.place.source("distant", big_file, GIB)
    files = bench.place.source("distant-files", many_files, 80, 250, [4096])
    return [
        *bench.peers(large, ": one file, far", link=far),
        *bench.peers(large, ": one file, far, --streams 1", link=far, send_options=["--streams", "1"]),
        *bench.peers(files, ": small files, far", link=far), *bench.peers(files, ": small files, near", link=near)]


@work(f"compressing: source text at {SLOW // 1_000_000} MB/s, random bytes at once")
def compress(bench):
    slow, never = (0, WINDOW, SLOW), ["--compress", "never"]
    text = bench.place.source("text", system_tree, "/usr/include", f"{ROOT}/Sources")
    random = bench.place.source("random", big_file, GIB)
    return [
        *bench.peers(text, ": text, slow", link=slow), *bench.peers(text, ": text, slow, never", link=slow, send_options=never),
        *bench.peers(random, ": random"), *bench.peers(random, ": random, never", send_options=never)]


@work("5,000 files of 4 KiB in 50 folders; a disk waits 2 ms at each open, read and create")
def waiting(bench):
    files = bench.place.source("waiting", many_files, 50, 100, [4096])
    one = ["--streams", "1"]
    return [
        *bench.peers(files, ": plain disks"),
        *bench.peers(files, ": the source waits", waits="source"),
        *bench.peers(files, ": the source waits, --streams 1", waits="source", send_options=one),
        *bench.peers(files, ": the destination waits", waits="destination"),
        *bench.peers(files, ": the destination waits, --streams 1", waits="destination", send_options=one)]


@work("an app's 5,000 files of 300 bytes in one folder, which its extension appends")
def appends(bench):
    files = bench.place.source("appends", flat_files, 5000, 300)
    ways = {"one append": "linux", "5,000 appends": "one by one"}
    return [Case(f"{name}: {way}", App(binary, word), files) for name, binary in bench.binaries.items() for way, word in ways.items()]

"""Shows which way data takes between two homes, and how much of it passes the relay.

Usage: Lab/relay PEER --homes
  PEER  the program

Each row is one transfer of 64 MiB, at most 8 MiB a second, between two network namespaces behind
routers of their own, with a relay on a server between them: the ways that the sender names, when it
has named the first one, and what the relay has passed on in MiB, in all, and from one second behind
that on. The rows are: routers that keep ports; one that changes them; IPv6 with a firewall on both
sides; a sender that has another address in the middle; a relay that is killed and started. Ends with
1 if a transfer fails, or takes another way than the row says. Needs root, nft, ip and nsenter.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../../Tests/Acceptance")
from homes import Homes  # noqa: E402

SIZE = 64 << 20
COUNTER = """
table inet count {
  counter relay { }
  chain into {
    type filter hook input priority 0
    counter name relay
  }
}
"""


class Pair:
    """Two homes, a relay, and one transfer between them."""

    def __init__(self, program, undone, manners=("", ""), has_ipv6=False):
        self.program, self.undone = program, undone
        self.work = undone.enter_context(tempfile.TemporaryDirectory(prefix="peer-homes-", dir="/dev/shm"))
        self.homes = Homes(undone, manners, has_ipv6)
        self.homes.run("server", "nft", COUNTER)
        os.mkdir(f"{self.work}/into")
        with open(f"{self.work}/file", "wb") as file:
            file.write(os.urandom(SIZE))
        self.start_relay()
        self.via = ["--via", "198.51.100.1", "--via-token-file", f"{self.work}/token", "--json"]
        self.receiver = self.start("new", "receive", f"{self.work}/into", *self.via)
        code = wait(lambda: [event["code"] for event in self.events("new", "code") if len(event["code"]) > 9])[-1]
        with open(f"{self.work}/code", "w", encoding="ascii") as file:
            file.write(code + "\n")
        os.chmod(f"{self.work}/code", 0o600)
        self.sender = self.start(
            "old", "send", f"{self.work}/file", "--limit", "8M", "--compress", "never", "--code-file", f"{self.work}/code",
            *self.via)

    def start(self, name, *words):
        with open(f"{self.work}/{name}", "ab") as out:
            process = subprocess.Popen(
                [*self.homes.enter(name), self.program, *words], stdout=out, stdin=subprocess.DEVNULL,
                env={**os.environ, "PEER_HOME": f"{self.work}/{name}-home"})
        self.undone.callback(end, process)
        return process

    def start_relay(self):
        self.relay = self.start("server", "relay", "--token-file", f"{self.work}/token", "--json")
        wait(lambda: os.path.exists(f"{self.work}/token"))

    def events(self, name, kind):
        with contextlib.suppress(OSError), open(f"{self.work}/{name}", encoding="utf-8") as file:
            return [event for event in map(json.loads, file.read().split("\n")[:-1]) if event["event"] == kind]
        return []

    def passed(self):
        """How much has come to the relay, in MiB."""
        text = subprocess.run(
            [*self.homes.enter("server"), "nft", "list", "counter", "inet", "count", "relay"], capture_output=True,
            text=True, check=True).stdout
        return int(re.search(r"bytes (\d+)", text)[1]) / (1 << 20)

    def ways(self):
        return [" ".join(filter(None, (event["way"], event.get("family")))) for event in self.events("old", "way")]

    def done(self):
        return sum(event["bytes"] for event in self.events("old", "progress")[-1:])


def wait(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > limit:
            raise TimeoutError
        time.sleep(0.02)
    return found


def end(process):
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()


def move(pair):
    """The sender's device joins its network again, with another address."""
    for words in (("addr", "del", "10.0.0.2/24"), ("addr", "add", "10.0.0.9/24")):
        subprocess.run(["ip", "-n", pair.homes.space("old"), *words, "dev", "net"], check=True)
    subprocess.run(
        ["ip", "-n", pair.homes.space("old"), "route", "add", "default", "via", "10.0.0.1"], check=True)


def kill(pair):
    end(pair.relay)
    pair.start_relay()


ROWS = {
    "keep ports": ({}, None, ["direct IPv4"]),
    "change ports": ({"manners": ("", "random")}, None, []),
    "IPv6": ({"manners": ("random", "random"), "has_ipv6": True}, None, ["direct IPv6"]),
    "other address": ({}, move, ["direct IPv4"] * 2),
    "relay killed": ({}, kill, ["direct IPv4"] * 2),
}


def row(program, name):
    options, trouble, ways = ROWS[name]
    with contextlib.ExitStack() as undone:
        pair = Pair(program, undone, **options)
        wait(lambda: pair.done() or pair.sender.poll() is not None)
        begun, first, later = time.monotonic(), None, 0.0
        while pair.sender.poll() is None:
            if first is None and pair.ways():
                first, mark = time.monotonic() - begun, time.monotonic() + 1
            if first is not None and mark and time.monotonic() >= mark:
                later, mark = pair.passed(), None
            if trouble and pair.done() > SIZE // 2:
                trouble(pair)
                trouble = None
            if time.monotonic() - begun > 180:
                sys.exit(f"relay: {name}: it takes too long: {pair.ways()}")
            time.sleep(0.05)
        pair.receiver.wait(60)
        total, codes = pair.passed(), (pair.sender.returncode, pair.receiver.returncode)
        figures = f"{first:6.2f} s" if first is not None else " " * 8
        print(f"{name:14} {', '.join(pair.ways()) or 'relay':26} {figures} {total:7.1f} {total - later:7.2f}", flush=True)
        with open(f"{pair.work}/file", "rb") as sent, open(f"{pair.work}/into/file", "rb") as got:
            if codes != (0, 0) or sent.read() != got.read() or [way for way in pair.ways() if way != "relay"] != ways:
                sys.exit(f"relay: {name}: exit codes {codes}, ways {pair.ways()}")


def main(program):
    print(f"{'':14} {'ways':26} {'first':>8} {'MiB':>7} {'later':>7}")
    for name in ROWS:
        row(program, name)

"""Sends through an emulated link, by as many data streams as peer finds and by one, in turns.

Usage: Lab/emulate PEER [--bytes N] [--rounds N] [--rates MBIT,...] [--delays MS,...] [--losses PERCENT,...]
                   [--controls NAME,...]
  PEER        the program to measure

Each case has two network namespaces, which a link of Lab/lib/emulator.c joins: its rate, half of its delay in
each direction, its loss, and a queue of 100 ms, at least of 64 KiB. Prints a row for each case: the median
seconds from the pairing to the end of the sender with the number of streams that peer finds, with one, and
their ratio. Needs root and a C compiler. Exit codes: 0 if no ratio is above 1.05, 1 otherwise.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
SPACES = ("old", "new")


def run(*words):
    subprocess.run(words, check=True, timeout=20)


class Link:
    """The emulated link, and the namespaces that it joins."""

    def __init__(self, undone, emulator, rate, delay, loss, control, seed):
        self.tag = f"peer-emulated-{os.getpid()}"
        for name in SPACES:
            run("ip", "netns", "add", self.space(name))
            undone.callback(run, "ip", "netns", "del", self.space(name))
            run(*self.enter(name), "sh", "-c", f"echo {control} > /proc/sys/net/ipv4/tcp_congestion_control")
            # What an earlier transfer has found of the way is none of the next one's.
            run(*self.enter(name), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save")
        queue = max(64 << 10, rate // 8 // 10)
        words = [emulator, *(f"/run/netns/{self.space(name)}" for name in SPACES), rate, delay * 500, round(loss * 100), queue, seed]
        emulation = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE)
        undone.callback(emulation.wait)
        undone.callback(emulation.kill)
        if not emulation.stdout.readline():
            sys.exit("emulate: the emulator does not begin")
        for number, name in enumerate(SPACES, 1):
            run("ip", "-n", self.space(name), "addr", "add", f"10.66.0.{number}/24", "dev", "net")
            for device in ("net", "lo"):
                run("ip", "-n", self.space(name), "link", "set", device, "up")

    def space(self, name):
        return f"{self.tag}-{name}"

    def enter(self, name):
        return ["ip", "netns", "exec", self.space(name)]


def wait_for(file, event):
    """The next event of this name."""
    for line in file:
        if (found := json.loads(line))["event"] == event:
            return found
    sys.exit(f"emulate: a command ended without the event {event}")


def transfer(peer, link, work, source, streams):
    """The seconds of one transfer."""
    def start(name, words, **pipes):
        environment = {**os.environ, "PEER_HOME": f"{work}/{name}-home"}
        return subprocess.Popen(
            [*link.enter(name), peer, *words, "--json"], env=environment, stdout=subprocess.PIPE, text=True, **pipes)
    receiver = start("new", ["receive", f"{work}/in", "--take-apps"])
    code = wait_for(receiver.stdout, "code")["code"]
    sender = start("old", ["send", source, "--to", "10.66.0.2", "--code-file", "-", *streams], stdin=subprocess.PIPE)
    print(code, file=sender.stdin)
    sender.stdin.close()
    wait_for(sender.stdout, "paired")
    begun = time.monotonic()
    wait_for(sender.stdout, "done")
    seconds = time.monotonic() - begun
    for process in (sender, receiver):
        process.stdout.read()
        process.wait(60)
    shutil.rmtree(f"{work}/in")
    return seconds


def main():
    def numbers(text):
        return [float(part) for part in text.split(",")]
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("peer")
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", type=numbers, default=[10, 50])
    parser.add_argument("--delays", type=numbers, default=[20, 100])
    parser.add_argument("--losses", type=numbers, default=[0, 1])
    parser.add_argument("--controls", type=lambda text: text.split(","), default=["cubic", "reno", "bbr"])
    options = parser.parse_args()
    peer, worst = os.path.abspath(options.peer), 0
    # A namespace may use only those that the machine allows.
    settings = pathlib.Path("/proc/sys/net/ipv4")
    (settings / "tcp_allowed_congestion_control").write_text((settings / "tcp_available_congestion_control").read_text())
    with tempfile.TemporaryDirectory(prefix="emulated-") as work:
        emulator, source = f"{work}/emulator", f"{work}/source"
        run(shutil.which("cc") or "clang", "-O2", "-Wall", "-o", emulator, str(HERE / "emulator.c"))
        with open(source, "wb") as file:
            file.write(os.urandom(options.bytes))
        print("| Mbit/s | ms | lost | control | streams as found, s | one stream, s | ratio |\n| --: | --: | --: | --- | --: | --: | --: |")
        for rate, delay, loss, control in itertools.product(options.rates, options.delays, options.losses, options.controls):
            seconds = ([], [])
            for seed in range(options.rounds):
                for which, streams in enumerate(([], ["--streams", "1"])):
                    with contextlib.ExitStack() as undone:
                        link = Link(undone, emulator, round(rate * 1e6), round(delay), loss, control, seed + 1)
                        seconds[which].append(transfer(peer, link, work, source, streams))
            medians = [statistics.median(times) for times in seconds]
            ratio = medians[0] / medians[1]
            worst = max(worst, ratio)
            ranges = [f"{median:.1f} ({min(times):.1f}–{max(times):.1f})" for median, times in zip(medians, seconds)]
            print(f"| {rate:g} | {delay:g} | {loss:g} % | {control} | {ranges[0]} | {ranges[1]} | {ratio:.2f} |", flush=True)
    sys.exit(worst > 1.05)


if __name__ == "__main__":
    main()

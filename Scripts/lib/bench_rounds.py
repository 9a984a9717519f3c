"""Rounds of measuring: every contestant once a round, so that what disturbs the machine disturbs all of them alike."""

import functools
import os
import shutil
import statistics
import subprocess
import sys
import time

from bench_data import measure
from outside import MIB, equal, mib, remove, require


sent = functools.cache(measure)
"""What a source holds; it stays as it was made."""


class Case:
    """One row of a table: who carries what, and all its runs."""

    def __init__(self, name, contestant, source):
        self.name, self.contestant, self.source = name, contestant, source
        self.items, self.bytes = sent(source)
        self.runs = []

    def once(self, place):
        """One run into an empty destination, which is gone again afterwards."""
        destination = place.fresh("new")
        place.settle()
        before = Busy()
        run = self.contestant(place, self.source, destination)
        if place.is_on_disk:
            subprocess.run(["sync", "-f", destination], check=True)
            run.end = time.monotonic()
        run.others = before.others(run)
        self.check(f"{destination}/{os.path.basename(self.source)}", destination)
        remove(destination)
        self.runs.append(run)

    def check(self, arrived, destination):
        """What came is what was sent: all of it compared once, counted every time."""
        if not os.path.isdir(arrived):
            arrived = destination
        if not self.runs:
            result = subprocess.run(
                ["diff", "-rq", "--no-dereference", self.source, arrived], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                check=False)
            require(result.returncode == 0, f"{self.name}: {result.stdout.decode(errors='replace')[:300]}")
        equal(measure(arrived), (self.items, self.bytes), f"{self.name}: items and bytes")

    def figures(self):
        """The medians of all runs, and the spread of the time, as members of a JSON object."""
        def median(of):
            return statistics.median(of(run) for run in self.runs)

        seconds, cpu = median(lambda run: run.seconds), median(lambda run: run.cpu)
        return {
            "runs": len(self.runs),
            "items": self.items,
            "bytes": self.bytes,
            "seconds": round(seconds, 4),
            "fastestSeconds": round(min(run.seconds for run in self.runs), 4),
            "slowestSeconds": round(max(run.seconds for run in self.runs), 4),
            "megabytesPerSecond": round(self.bytes / seconds / 1e6, 1),
            "itemsPerSecond": round(self.items / seconds),
            "senderCPUSeconds": round(median(lambda run: run.sender_cpu), 4),
            "receiverCPUSeconds": round(median(lambda run: run.receiver_cpu), 4),
            "cpuSeconds": round(cpu, 4),
            "kernelShare": round(median(lambda run: run.system / run.cpu if run.cpu else 0), 3),
            "leastCPUSeconds": round(min(run.cpu for run in self.runs), 4),
            "cpuSecondsPerGigabyte": round(cpu / self.bytes * 1e9, 3) if self.bytes >= MIB else None,
            "cpuMicrosecondsPerItem": round(cpu / self.items * 1e6, 2),
            "senderPeakBytes": int(median(lambda run: run.sender_peak)),
            "receiverPeakBytes": int(median(lambda run: run.receiver_peak)),
            "othersShare": round(median(lambda run: run.others), 3),
            "milliseconds": {
                name: round(median(lambda run, name=name: run.moments[name]) * 1000, 2) for name in self.runs[0].moments},
        }


class Busy:
    """How busy the machine is with other things: from what all processors did, without what ours did."""

    def __init__(self):
        self.moment, self.used = time.monotonic(), self.read()

    @staticmethod
    def read():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:]]
        user, nice, system, _, _, _, _, steal = fields[:8]
        return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")

    def others(self, run):
        """The share of all processors that others took."""
        capacity = (time.monotonic() - self.moment) * os.cpu_count()
        return max(0.0, (self.read() - self.used - run.cpu) / capacity)


def hold(place, cases, runs):
    """Runs all cases in turn, again and again; each round begins with another one, so that none always follows the same."""
    needed = max(case.bytes + case.items * 4096 for case in cases)
    require(shutil.disk_usage(place.path).free > needed, f"{mib(needed)} of room are needed in {place.path}")
    for number in range(1, runs + 1):
        first = number % len(cases)
        for case in cases[first:] + cases[:first]:
            show(f"bench: round {number} of {runs}: {case.name}")
            case.once(place)
    show("")


def show(text):
    """One line that stands for the one before, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)

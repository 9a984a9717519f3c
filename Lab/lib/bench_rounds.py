"""Rounds of measuring: every contestant runs once a round, so that a disturbance of the machine
affects all of them alike."""

import functools
import os
import shutil
import subprocess
import sys
import time

from bench_data import many_files, measure
from outside import equal, mib, remove, require


sent = functools.cache(measure)
"""The contents of a source, which does not change."""


class Case:
    """One row of a table: the contestant, the source, and all runs."""

    def __init__(self, name, contestant, source):
        self.name, self.contestant, self.source = name, contestant, source
        self.items, self.bytes = sent(source)
        self.runs, self.starts = [], []
        """The cost of transferring the source, and of transferring one byte."""
        self.is_compared = False

    def once(self, place, least=None):
        """One run, after one with the least source if there is one."""
        if least:
            self.starts.append(self.carry(place, least))
        self.runs.append(self.carry(place, self.source))

    def carry(self, place, source):
        """A run into an empty destination, which is removed afterwards."""
        destination = place.fresh("new")
        if place.is_on_disk:
            os.sync()
        moment, before = time.monotonic(), busy()
        run = self.contestant(place, source, destination)
        if place.is_on_disk:
            subprocess.run(["sync", "-f", destination], check=True)
            run.end = time.monotonic()
        capacity = (time.monotonic() - moment) * os.cpu_count()
        run.others = max(0.0, (busy() - before - sum(run.cpu)) / capacity)
        if source == self.source:
            self.check(destination)
        remove(destination)
        return run

    def check(self, destination):
        """The received data equals the source: compared completely once, counted every time."""
        below = f"{destination}/{os.path.basename(self.source)}"
        arrived = below if os.path.isdir(below) else destination
        if not self.is_compared:
            words = ["diff", "-rq", "--no-dereference", self.source, arrived]
            result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            require(result.returncode == 0, f"{self.name}: {result.stdout.decode(errors='replace')[:300]}")
            self.is_compared = True
        equal(measure(arrived), (self.items, self.bytes), f"{self.name}: items and bytes")


def busy():
    """The seconds for which all processors together were busy, since their start."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, _, _, steal, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")


def hold(place, cases, runs):
    """Runs all cases in rotation, again and again; each round begins with another one, so that none
    always follows the same.

    The first round is not counted: a virtual machine's memory is slow at its first use.
    """
    needed = max(case.bytes + case.items * 4096 for case in cases)
    require(shutil.disk_usage(place.path).free > needed, f"{mib(needed)} of room are needed in {place.path}")
    least = place.source("least", many_files, 1, 1, [1])
    for number in range(runs + 1):
        first = number % len(cases)
        for case in cases[first:] + cases[:first]:
            show(f"bench: round {number} of {runs}: {case.name}")
            case.once(place, least)
            if number == 0:
                case.runs, case.starts = [], []
    show("")


def show(text):
    """Replaces the previous line on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)

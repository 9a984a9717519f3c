"""A soak: its standing processes, its rounds, and its report."""

import os
import random
import subprocess
import time

import soak_alone
from attack_place import Place
from outside import MIB, Failure, check_line
from soak_apps import ID, Apps
from soak_judge import columns, lines, rows, verdict
from soak_leftovers import Leftovers, mounts
from soak_rounds import Folders
from soak_samples import Sampler
from soak_standing import LongTransfer, StandingApp, StandingReceiver

MOST_FAILURES = 10
"""After so many failed rounds there is nothing more to learn."""

ROOM = 96 * MIB
"""The size of the disk on which the standing receiver stores what it receives."""

OUTCOMES = {True: "ok", False: "FAILED", None: "skipped"}
"""The word for a check that is good, bad, or was not made."""

OFTEN = {"plain": 3, "app": 2}
"""How many rounds of a kind come in a deck; of all others one."""


def kinds():
    return sorted(
        name.removeprefix("do_").replace("_", " ") for one in (Folders, Apps) for name in dir(one) if name.startswith("do_"))


class Soak:
    """All rounds of one run, in one folder."""

    def __init__(self, binary, programs, seed, minutes, path, only, temporary):
        self.seed, self.seconds, self.path = seed, 60 * minutes, path
        self.period = 60.0 if minutes >= 5 else self.seconds / 5
        self.draw = random.Random(seed)
        self.place = Place(binary, False, None)
        os.environ["TMPDIR"] = self.place.folder()
        self.programs, self.only, self.temporary = programs, only, temporary
        self.failures, self.done = [], {}
        self.replaced = {}
        """How many rounds of a kind became plain transfers, since this system does not allow it."""
        self.table, self.mounted = [], []
        self.sampler = None
        self.standing = {}

    def begin(self):
        """Starts everything that lives the whole time."""
        self.begun = time.monotonic()
        self.sampler = Sampler(self.path, self.begun)
        self.receiver = StandingReceiver(self.place, self.draw, self.disk())
        self.long = LongTransfer(self.place, self.draw, self.seconds)
        self.apps = Apps(self.place, self.programs, self.draw)
        self.app = StandingApp(self.place, self.apps.device(), ID, self.place.binary)
        self.folders = Folders(self.place, self.receiver, self.draw)
        self.sampler.add("receiver --keep", self.receiver.pid, rests=True)
        self.sampler.add("long receiver", self.long.receiver.pid, rests=True)
        self.sampler.add("long sender", self.long.sender.pid, rests=True)
        self.sampler.add("app with credentials", self.app.popen.pid)
        self.sampler.add("its broker", self.app.broker)
        self.sampler.start()
        self.left = Leftovers(self.place.path, soak_alone.is_alone(), self.temporary, {
            "receiver": f"{self.receiver.home}/peer", "sender": f"{self.folders.known}/peer",
            "old app": f"{self.apps.old}/peer", "new app": f"{self.apps.new}/peer", "credentials": f"{self.app.home}/peer"})

    def disk(self):
        """The standing receiver's folder: a disk of its own, where this process may mount one."""
        folder = self.place.folder()
        if soak_alone.is_alone():
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", folder], check=True)
            self.mounted.append(folder)
        return folder

    # The rounds

    def run(self):
        self.begin()
        actions = {**self.folders.kinds, **self.apps.kinds}
        chosen = [name for name in sorted(actions) if not self.only or name in self.only]
        deck, next_row = [], self.period
        while time.monotonic() - self.begun < self.seconds and len(self.failures) < MOST_FAILURES:
            if not deck:
                deck = [name for name in chosen for _ in range(OFTEN.get(name, 1))]
                self.draw.shuffle(deck)
            self.round(deck.pop(), actions)
            if time.monotonic() - self.begun >= next_row:
                self.row(next_row)
                next_row += self.period * (1 + (time.monotonic() - self.begun - next_row) // self.period)
        self.row(time.monotonic() - self.begun)

    def round(self, name, actions):
        begun = time.monotonic()
        try:
            kind = actions[name]() or name
            self.long.require_going()
            self.app.require_going()
            self.done[kind] = self.done.get(kind, 0) + 1
            if kind != name:
                self.replaced[name] = self.replaced.get(name, 0) + 1
        except (Failure, OSError) as failure:
            self.failures.append(f"round {self.sampler.rounds + 1}, {name}: {failure}")
            print(check_line(f"round {self.sampler.rounds + 1}, {name}", "FAILED", f"{time.monotonic() - begun:.1f} s: {failure}"), flush=True)
        self.sampler.settle()
        # The long transfer has the next round to come back.
        self.long.disturb()

    def row(self, at):
        self.table.append({"minute": f"{at / 60:.1f}", "rounds": self.sampler.rounds, **self.left.look(),
                           "receiver's mounts": mounts(self.receiver.pid)})

    # The report

    def report(self):
        checks = []
        for name in self.sampler.processes:
            table = rows(self.sampler.samples, name, self.period, round(self.seconds / self.period))
            print(f"\n{name}")
            print("\n".join(lines(table, self.period)))
            checks += [(f"{name}: {what}", is_flat, figure) for what, is_flat, figure in verdict(table, frames=name.startswith("long "))]
        print("\nleftovers")
        print("\n".join(columns([list(self.table[0]), *([str(value) for value in row.values()] for row in self.table)])))
        checks += self.end_standing()
        checks += [(f"rounds: {name}", None, f"{count} were plain transfers, since the run is not alone") for name, count in sorted(self.replaced.items())]
        print()
        for name, is_good, figure in checks:
            print(check_line(name, OUTCOMES[is_good], figure))
        for failure in self.failures:
            print(f"FAILED: {failure}")
        told = ", ".join(f"{count} {name}" for name, count in sorted(self.done.items()))
        bad = [check for check in checks if check[1] is False]
        skipped = sum(check[1] is None for check in checks)
        print(f"soak: {self.sampler.rounds} rounds in {(time.monotonic() - self.begun) / 60:.1f} minutes ({told}), {len(self.failures)} failed; "
              f"{self.long.cuts} cuts of the long transfer, {self.app.asked} requests to the broker; {len(bad)} of {len(checks)} checks failed, {skipped} skipped")
        print(f"soak: samples: {self.path}")
        return 1 if bad or self.failures else 0

    def end_standing(self):
        """Ends everything, and looks for leftovers."""
        self.sampler.close()
        checks = []
        for name, one in (("app with credentials", self.app), ("long sender", self.long.sender), ("long receiver", self.long.receiver),
                          ("receiver --keep", self.receiver)):
            is_good, code = one.stop()
            checks.append((f"{name}: ends when it is told to", is_good, f"exit code {code}"))
        left = os.listdir(self.receiver.destination)
        checks.append(("left over, destination", not left, f"{len(left)}: {left}" if left else "nothing"))
        first, last = self.table[0], self.table[-1]
        for name in ("mounts", "receiver's mounts"):
            # Other programs may mount what a run that is not alone sees.
            is_good = last[name] <= first[name] if soak_alone.is_alone() else None
            checks.append((name, is_good, f"{first[name]} at the beginning, {last[name]} at the end"))
        return checks + self.left.checks()

    def clean(self):
        for process in list(self.place.processes):
            process.end()
        for name in ("receiver", "long", "apps"):
            one = getattr(self, name, None)
            if one is not None:
                one.close()
        if self.sampler is not None:
            self.sampler.close()
        for folder in self.mounted:
            subprocess.run(["umount", folder], check=False)
        self.place.clean()

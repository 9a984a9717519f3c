"""Cuts the power of a machine that receives or sends, at a random moment of every phase; starts it
again, and runs the same command. Prints a line for each round: name | ok, FAILED or skipped |
figure, and at the end a table by phase and file system.

Usage: Lab/power [--rounds N] [--seed N] [--round N] [--only FS] [--keep]
  --rounds N       how many rounds, over ext4, XFS and btrfs (default: 9); a round takes about half a
                   minute
  --seed N         the seed of the rounds (default: 1)
  --round N        only this round of the seed, as far as timing lets
  --only FS        only this file system: ext4, xfs or btrfs
  --keep           keeps the folder of the rounds, with the events of both ends

The disk is a server of this script with a volatile cache. A cut drops a random part of the writes
that the machine has not flushed, by the seed, and perhaps tears one between two physical sectors of 4,096 bytes; then the
emulator is killed. PEER_HOME, the staging and the destination are on that disk.

A round has one or two cuts. It is good if both ends then end with the same commands and without
another code, the trees are equal, nothing staged is left, and nothing beside the destination has
changed. In most rounds the sender outside is the second implementation (Tests/Interop), which notes
the entries that were acknowledged as durable: when it resumes, the receiver's ledger must have all
of them. Some rounds are a later pass with `--existing update`, in which blocks of large files have
changed: after each cut such a file must be the old one or the new one.
"""

import collections
import os
import shutil
import subprocess
import sys
import time

from lab_parts import Parts, run_folder
from lab_power_phases import PHASES, PLANS
from lab_power_place import MAKING, Difference, Place, make_sources
from lab_power_round import PYTHON, Round
from lab_power_trees import make
from outside import ROOT, Failure, Skip, check_line, find_binary, tool

FILES = ("make-tree", "check-trees", "disk_trial.py", "lab_power_trees.py")
"""The scripts that run in the machine."""


def parse(arguments):
    """The options with their values; None if the line is wrong."""
    options = {"--rounds": 9, "--seed": 1, "--round": None, "--only": None, "--keep": False}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option == "--keep":
            options[option] = True
        elif option in ("--rounds", "--seed", "--round") and rest and rest[0].isdecimal():
            options[option] = int(rest.pop(0))
        elif option == "--only" and rest:
            options[option] = rest.pop(0)
        else:
            return None
    is_known = options["--only"] in (None, *MAKING)
    return options if is_known and options["--rounds"] > 0 else None


class Rounds:
    """All rounds of one run, and their results."""

    def __init__(self, parts, binary, work, options):
        self.parts, self.work, self.options = parts, work, options
        self.cuts, self.done, self.differences = collections.Counter(), collections.Counter(), collections.Counter()
        self.failures = 0
        self.log = open(f"{work}/rounds.log", "w", encoding="utf-8")
        # Outside it has a prefix of its own: what lies below a program's prefix counts as what programs run.
        os.makedirs(f"{work}/program/bin")
        shutil.copy(binary, f"{work}/program/bin/peer")
        os.link(f"{work}/program/bin/peer", f"{work}/peer")
        os.makedirs(f"{work}/tools")
        for name in FILES:
            shutil.copy(tool(name), f"{work}/tools")
        make(f"{work}/sources", options["--seed"])
        make_sources(parts, work, options["--seed"])

    def round(self, place, number, plan):
        """Runs one round; whether it was good. A failure that is no difference shows no flaw of the
        program."""
        begun = time.monotonic()
        one = Round(place, number, self.options["--seed"], plan, self.log)
        problem = None
        try:
            one.run()
        except Failure as failure:
            is_difference = isinstance(failure, Difference)
            problem = " ".join(f"{'difference' if is_difference else 'failure'}: {failure}".split())
            self.differences[one.cuts[-1] if one.cuts else PHASES[0], place.kind] += is_difference
            self.failures += not is_difference
            one.note(problem)
        self.done[place.kind] += 1
        for phase in one.cuts:
            self.cuts[phase, place.kind] += 1
        figure = f"{time.monotonic() - begun:.0f} s, cut while {' and '.join(one.cuts) or 'nothing'}, {one.lost} writes lost"
        if problem:
            figure += f"; {problem[:500]}; repeat: Lab/power --seed {self.options['--seed']} --round {number}"
        print(check_line(f"{place.kind}, round {number}", "FAILED" if problem else "ok", figure), flush=True)
        return problem is None

    def table(self):
        """Cuts by phase and file system, and differences where there were any."""
        kinds = [kind for kind in MAKING if self.done[kind]]
        yield "| cut while | " + " | ".join(kinds) + " | all |"
        yield "| --- |" + " --- |" * (len(kinds) + 1)
        for phase in PHASES:
            row = [self.cell(phase, [kind]) for kind in kinds] + [self.cell(phase, kinds)]
            yield f"| {phase} | " + " | ".join(row) + " |"
        totals = [*(self.done[kind] for kind in kinds), self.done.total()]
        yield "| rounds | " + " | ".join(map(str, totals)) + " |"

    def cell(self, phase, kinds):
        cuts, wrong = (sum(counts[phase, kind] for kind in kinds) for counts in (self.cuts, self.differences))
        return f"{cuts}, {wrong} differ" if wrong else str(cuts)

    def one_by_one(self, numbers):
        """Runs rounds, each file system's together, so that few machines have to start. Whether all
        were good."""
        kinds = list(MAKING)
        is_good = True
        for kind in kinds:
            if self.options["--only"] not in (None, kind):
                continue
            place = None
            try:
                for number in numbers:
                    if kinds[number % len(kinds)] != kind:
                        continue
                    place = place or Place(self.parts, self.work, kind)
                    if self.round(place, number, PLANS[number // len(kinds) % len(PLANS)]):
                        continue
                    is_good = False
                    # The next round gets a disk of its own.
                    place.end()
                    place = None
            finally:
                if place is not None:
                    place.end()
        return is_good


def set_up_witness():
    """Installs the packages of the second implementation, if they are missing."""
    subprocess.run(
        ["bash", "-c", '. "$1/Scripts/lib/setup.sh"; set_up_for interop', "bash", ROOT], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if subprocess.run([PYTHON, "-c", "import OpenSSL, cryptography, zstandard"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("the packages of the second implementation cannot be installed")


def run(work, options):
    """Whether everything was as promised."""
    parts = Parts()
    set_up_witness()
    binary = find_binary("lab")
    if binary is None:
        raise Skip("there is no binary to run")
    rounds = Rounds(parts, binary, work, options)
    numbers = range(options["--rounds"]) if options["--round"] is None else [options["--round"]]
    is_good = rounds.one_by_one(numbers)
    print("\n" + "\n".join(rounds.table()))
    print(f"lab power: {rounds.done.total()} rounds, {rounds.cuts.total()} cuts, {rounds.differences.total()} differences, "
          f"{rounds.failures} other failures (seed {options['--seed']})")
    return is_good


def main(arguments):
    options = parse(arguments)
    if options is None:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    with run_folder(options["--keep"]) as work:
        return 0 if run(work, options) else 1

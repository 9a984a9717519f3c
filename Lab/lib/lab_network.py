"""Sends through bad networks, between devices that sleep, and with clocks that jump. Prints a
table: name | ok, FAILED or skipped | seconds, rate, and how often the devices connected again.

Usage: Lab/network [--only TEXT]... [--keep] [--list]
  --only TEXT  only the cases whose names contain this text
  --keep       keeps the folder with the output of both ends
  --list       names the cases, and does nothing

Both devices are in one machine, as network namespaces with a third one between them, whose packets
the kernel's netem delays, loses, reorders and damages. For cases with a clock or a sleep of one
device, each device is a machine, with a cable between the two. Each transfer must complete within
its time, and the received tree must equal the sent one in every field.
"""

import os
import sys
import time

from lab_network_cases import all_cases
from lab_network_place import Machines, Spaces
from lab_network_trial import Trial
from lab_parts import Parts, run_folder
from outside import Failure, Skip, check_line, find_binary, require

MAKERS = {"network": Spaces, "routed": Spaces, "machines": Machines}


def parse(arguments):
    """The options with their values; None if the line is wrong."""
    options = {"--keep": False, "--list": False, "--only": []}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option == "--only" and rest:
            options[option].append(rest.pop(0))
        elif option in ("--keep", "--list"):
            options[option] = True
        else:
            return None
    return options


class Lab:
    """One run: its places, each made when a case needs it first, and its results."""

    def __init__(self, parts, binary, work, is_kept):
        self.parts, self.binary, self.work, self.is_kept = parts, binary, work, is_kept
        self.places = {}
        self.count = 0
        self.failed = False

    def say(self, name, outcome, figure=""):
        self.failed = self.failed or outcome == "FAILED"
        print(check_line(name, outcome, " ".join(str(figure).split())[:900]), flush=True)

    def place(self, case):
        """The place of a case, before anything happens to it."""
        kind = MAKERS[case.place]
        if kind not in self.places:
            # No further case needs the machines of the other kind.
            self.end()
            work = f"{self.work}/{kind.__name__.lower()}-{self.count}"
            os.makedirs(work)
            self.places[kind] = kind(self.parts, work, self.binary)
        place = self.places[kind]
        place.lay(*([case.place == "routed"] if kind is Spaces else []))
        return place

    def check(self, case):
        self.count += 1
        trial = None
        try:
            place = self.place(case)
            trial = Trial(place, case, self.count)
            if case.netem:
                place.disturb(*([case.netem] if isinstance(case.netem, str) else case.netem))
            seconds = trial.run()
            figure = f"{seconds:.1f} s, {case.size / seconds / 1000:.0f} kB/s, connected again: {len(trial.reconnections())}"
            require(seconds <= case.limit, f"{figure}; more than {case.limit:.0f} s")
            self.say(case.name, "ok", figure)
        except (Failure, OSError) as failure:
            self.say(case.name, "FAILED", failure)
        finally:
            self.clean(case, trial)

    def clean(self, case, trial):
        """Ends the trial. A machine that does not obey any more is replaced by another one."""
        try:
            if trial is not None:
                folder = f"{self.work}/{self.count} {case.name.replace('/', ' ')}"
                os.makedirs(folder)
                trial.log(folder)
                trial.stop()
        except (Failure, OSError):
            self.end()

    def end(self):
        for place in self.places.values():
            place.end()
        self.places = {}


def main(arguments):
    options = parse(arguments)
    if options is None:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    cases = [case for case in all_cases() if not options["--only"] or any(text in case.name for text in options["--only"])]
    if options["--list"] or not cases:
        print("\n".join(case.name for case in (cases or all_cases())))
        return 0 if cases else 2
    begun = time.monotonic()
    with run_folder(options["--keep"]) as work:
        parts = Parts()
        binary = find_binary("lab")
        if binary is None:
            raise Skip("there is no binary to run")
        lab = Lab(parts, binary, work, options["--keep"])
        try:
            for case in cases:
                lab.check(case)
        finally:
            lab.end()
    print(f"lab: {len(cases)} cases in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return 1 if lab.failed else 0

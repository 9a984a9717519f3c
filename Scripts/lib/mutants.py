"""Changes the engine at one place after the other, and finds out which changes its tests or the
simulator catch.

Usage: mutants.py OPTION... (Scripts/mutants lists the options; it finds a toolchain first)
"""

import argparse
import collections
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True

from mutants_build import MODULES, PLACE, Build, digest_of, find_engine  # noqa: E402
from mutants_list import LIST, match_survivors, read_list  # noqa: E402
from mutants_runs import ISSUE, SEEDS, Simulator, Tests, catch  # noqa: E402
from mutants_source import KINDS  # noqa: E402
from outside import ROOT, Failure, check_line, require, say, terminated  # noqa: E402

LEAST = 95
"""How many percent must be caught."""

LEAST_BY_TESTS = 90
"""The same without the simulator."""

LEAST_BY_SIMULATOR = 50
"""The same without the tests."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/mutants", add_help=False)
    parser.add_argument("--module", choices=MODULES, default="Engine")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--kinds", default="condition,action")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seeds", type=int, default=SEEDS[-1])
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--tests-only", action="store_true")
    ways.add_argument("--simulator-only", action="store_true")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--mutant", type=int)
    parser.add_argument("--caught", action="store_true")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    options = parser.parse_args(arguments)
    options.kinds = options.kinds.split(",")
    # The simulator judges the decisions of the engine.
    options.tests_only |= options.module != "Engine"
    if options.tests_only and options.simulator_only:
        parser.error("the simulator judges only the module Engine")
    if unknown := [kind for kind in options.kinds if kind not in KINDS.values()]:
        parser.error(f"no kind of place: {unknown[0]}")
    return options


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, terminated)
    os.makedirs(PLACE, exist_ok=True)
    engine = find_engine(options.module)
    chosen = [mutant for mutant in engine.mutants if mutant.kind in options.kinds
              and (not options.file or any(text in mutant.place.file for text in options.file))]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.number:5} {mutant.title}")
        return 0

    is_sample = options.sample is not None and options.sample < len(chosen)
    if is_sample:
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=lambda mutant: mutant.number)
        # Programs that do not run need not be built.
        places = {id(mutant.place) for mutant in chosen}
        for mutant in engine.mutants:
            mutant.place.is_tried = id(mutant.place) in places
    build = Build("debug" if options.debug else "release", options.module)
    build.prepare()
    say("mutants: building the module with its changes in it, and its tests")
    begun = time.monotonic()
    tests = Tests(build.tests(engine, digest_of(engine)), options.module)
    say(f"mutants: built in {time.monotonic() - begun:.0f} s; without a change the tests take {tests.seconds:.1f} s")
    if options.mutant is not None:
        return run_one(options, engine, build, tests)

    # A case that its switch requires is the compiler's to keep, and no place.
    untried = [mutant for mutant in chosen if not mutant.place.is_tried and mutant.place.kind != "case"]
    chosen = [mutant for mutant in chosen if mutant.place.is_tried]
    is_complete = not (options.file or is_sample or options.tests_only or options.simulator_only)
    left, by_tests, by_simulator = chosen, {}, {}
    if not options.simulator_only:
        left, by_tests = catch(tests, chosen, options.jobs)
    if left and not options.tests_only:
        left, by_simulator = catch(Simulator(build.simulator(), options.seeds), left, 1)
    return report(options, engine, chosen, untried, left, by_tests, by_simulator, is_complete)


def run_one(options, engine, build, tests):
    """Runs one mutant with its whole output."""
    mutant = next((mutant for mutant in engine.mutants if mutant.number == options.mutant), None)
    require(mutant is not None and mutant.place.is_tried, f"there is no mutant {options.mutant} that can be tried")
    print(mutant.title, flush=True)
    outcome = tests.run(mutant, print)
    caught = outcome.caught or (ISSUE in outcome.text and "an issue was recorded")
    if not caught and not options.tests_only:
        caught = Simulator(build.simulator(), options.seeds).run(mutant, print).caught
    print(f"caught: {caught}" if caught else "not caught")
    return 0 if caught else 1


def report(options, engine, chosen, untried, left, by_tests, by_simulator, is_complete):
    """Prints the results of all; returns the exit code."""
    entries, problems = read_list()
    reasons, stale = match_survivors(entries, engine.mutants, {mutant.number for mutant in left}, is_complete)
    unexplained = [mutant for mutant in left if mutant.number not in reasons]
    problems += stale
    if options.caught:
        for mutant in chosen:
            reason = by_tests.get(mutant.number) or by_simulator.get(mutant.number)
            if reason:
                print(f"{mutant.title}\n    {reason}")
    files = collections.defaultdict(lambda: [0, 0])
    for mutant in chosen:
        files[mutant.place.file][1] += 1
    for mutant in left:
        files[mutant.place.file][0] += 1
    for name, (survived, count) in sorted(files.items()):
        print(f"  {name}: {count - survived} of {count}")
    caught, count = len(chosen) - len(left), len(chosen)
    share = 100 * caught / max(1, count)
    figure = f"{caught} of {count} caught ({share:.1f} %): {len(by_tests)} by the tests, {len(by_simulator)} by the simulator"
    figure += f"; {len(left) - len(unexplained)} explained, {len(unexplained)} not; {len(untried)} cannot be tried"
    is_part = options.tests_only or options.simulator_only
    least = LEAST_BY_TESTS if options.tests_only else LEAST_BY_SIMULATOR if options.simulator_only else LEAST
    is_good = 100 * caught >= least * count and (is_part or not unexplained)
    print(check_line("mutants", "ok" if is_good else "FAILED", figure))
    print(check_line("list of survivors", "FAILED" if problems else "ok", f"{len(entries)} entries"))
    without = "left to the others" if is_part else "NOT EXPLAINED"
    for problem in problems:
        print(f"  {os.path.relpath(LIST, ROOT)}: {problem}")
    for mutant in left:
        print(f"{mutant.number:5} {mutant.title}\n    {reasons.get(mutant.number, without)}")
    for mutant in untried:
        print(f"cannot be tried: {mutant.title}")
    return 0 if is_good and not problems else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        say(f"mutants: {failure}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)

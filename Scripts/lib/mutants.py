"""Changes a module at one place after the other, and finds out which changes its tests or the
world catch.

Usage: mutants.py OPTION... (Scripts/mutants lists the options; it finds a toolchain first)
"""

import argparse
import collections
import concurrent.futures
import os
import random
import signal
import sys

sys.dont_write_bytecode = True

from mutants_build import MODULES, Build  # noqa: E402
from mutants_runs import Tests, World  # noqa: E402
from outside import Failure, check_line, require, say, terminated  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/mutants", add_help=False)
    parser.add_argument("--module", choices=MODULES, default="Engine")
    parser.add_argument("--file", default="")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--mutant", type=int)
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, terminated)
    build = Build(options.module)
    chosen = [mutant for mutant in build.source.mutants if options.file in mutant.place.file
              and options.mutant in (None, mutant.number)]
    require(chosen, "there is no such place")
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random("1").sample(chosen, options.sample), key=lambda mutant: mutant.number)
    say("mutants: building the module with its changes in it, and its tests")
    build.make(chosen)
    ways = [(Tests(build.tests, options.module), options.jobs)]
    if build.world:
        ways.append((World(build.world, options.seeds, options.jobs), 1))
    untried = [mutant for mutant in chosen if not mutant.place.is_tried]
    chosen = left = [mutant for mutant in chosen if mutant.place.is_tried]
    figures = []
    for way, jobs in ways:
        before = left
        left = missed(way, left, jobs, shows=options.mutant is not None)
        figures.append(f"{len(before) - len(left)} by the {way.name}")
    return report(chosen, left, untried, figures)


def missed(way, mutants, jobs, shows):
    """Runs mutants in one way. Returns those that it did not catch."""
    left, done = [], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, (reason, text) in zip(mutants, pool.map(way.run, mutants)):
            done += 1
            if shows:
                print(text)
            if not reason:
                left.append(mutant)
            print(f"{done} of {len(mutants)}: {mutant.title}\n    {reason or f'not caught by the {way.name}'}", flush=True)
    return left


def report(chosen, left, untried, figures):
    """Prints the results of all; returns the exit code."""
    files = collections.Counter(mutant.place.file for mutant in chosen)
    survived = collections.Counter(mutant.place.file for mutant in left)
    for name, count in sorted(files.items()):
        print(f"  {name}: {count - survived[name]} of {count}")
    for mutant in untried:
        print(f"does not compile: {mutant.title}")
    for mutant in left:
        print(f"not caught: {mutant.title}")
    caught, count = len(chosen) - len(left), len(chosen)
    is_good = 100 * caught >= (95 if len(figures) > 1 else 90) * count
    share = f"{caught} of {count} caught ({100 * caught / max(1, count):.1f} %): {', '.join(figures)}"
    print(check_line("mutants", "ok" if is_good else "FAILED", share))
    return 0 if is_good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        say(f"mutants: {failure}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)

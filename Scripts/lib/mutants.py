"""Changes the engine at one place after the other, and finds out which changes its tests or the simulator catch.

Usage: mutants.py OPTION... (Scripts/mutants says which; it finds a toolchain first)
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

from mutants_source import (  # noqa: E402
    KINDS, Engine, files_below, find_places, is_engine, match_survivors, read_survivors, write, write_folder)
from outside import Failure, ROOT, check_line, require, terminated  # noqa: E402

PLACE = f"{ROOT}/.build/mutants"
SOURCES = f"{ROOT}/Sources/MigrationEngine"
LIST = f"{ROOT}/Scripts/lib/mutants_survivors.txt"

LEAST = 95
"""So many of a hundred must be caught."""

LEAST_BY_TESTS = 85
"""So many where the simulator is not asked."""

SEEDS = (100, 1_000, 5_000, 20_000)
"""After so many seeds it is looked whether the simulator has caught one."""

MEMORY = 6 << 30
"""A run that takes more has gone wrong."""

MANIFEST = """

// Only what is needed: for the engine's tests, or for the simulator.
let isWhole = Context.environment["MUTANTS_WHOLE"] != nil
for target in package.targets {
  if target.name == "TestSupport", !isWhole {
    // What is pure of it, so that nothing is built that touches the world.
    target.path = "Tests/EngineTestSupport"
    target.dependencies = ["MigrationWire"]
  }
  // Their tables take minutes to optimise, and no time to run.
  if target.name == "MigrationEngineTests" { target.swiftSettings = common + [.unsafeFlags(["-Onone"])] }
}
var wanted: Set<String> = []
var found = [isWhole ? "simulate" : "MigrationEngineTests"]
while let name = found.popLast() {
  guard wanted.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
  found += target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
}
package.targets.removeAll { !wanted.contains($0.name) }
package.products = []
"""
"""What follows this package's own manifest."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# Building

def shell(text, *words, **environment):
    """A command of the shell that knows setup.sh."""
    return subprocess.run(
        ["bash", "-c", f'set -euo pipefail; . "{ROOT}/Scripts/lib/setup.sh"; {text}', "bash", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={**os.environ, **environment}).stdout.decode(errors="replace")


def toolchain():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swiftc"))))


def build_finder():
    """The program that finds places, over the parser that every toolchain has; its path."""
    source, host = f"{ROOT}/Scripts/lib/mutants_places.swift", f"{toolchain()}/lib/swift/host"
    with open(source, "rb") as file:
        digest = hashlib.sha256(file.read() + f"{host} {os.path.getmtime(host)}".encode()).hexdigest()
    program = f"{PLACE}/places-{digest[:12]}"
    if not os.path.exists(program):
        os.makedirs(PLACE, exist_ok=True)
        said = subprocess.run(
            ["swiftc", "-swift-version", "6", "-Onone", "-I", host, "-L", host, "-lSwiftSyntax", "-lSwiftParser",
             "-lSwiftOperators", "-Xlinker", "-rpath", "-Xlinker", host, "-module-cache-path", f"{PLACE}/modules",
             source, "-o", program],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        require(said.returncode == 0, f"what finds the places cannot be built: {said.stdout.decode(errors='replace')[:2000]}")
    return program


class Build:
    """A package with the wrapped engine, and its builds, as a release or for debugging."""

    def __init__(self, configuration):
        self.configuration = configuration
        self.package = f"{PLACE}/{configuration}/package"
        self.wrapped = f"{self.package}/Sources/MigrationEngine"
        self.products = f"{PLACE}/build/{configuration}"

    def prepare(self):
        """A package with links to this one's sources, but for the engine's."""
        for kind in ("Sources", "Tests"):
            os.makedirs(f"{self.package}/{kind}", exist_ok=True)
            for name in os.listdir(f"{ROOT}/{kind}"):
                link = f"{self.package}/{kind}/{name}"
                if name != "MigrationEngine" and not os.path.islink(link):
                    os.symlink(f"{ROOT}/{kind}/{name}", link)
        pure = {}
        for name in files_below(f"{ROOT}/Tests/TestSupport"):
            with open(f"{ROOT}/Tests/TestSupport/{name}", "rb") as file:
                pure[name] = file.read()
        needs = re.compile(rb"^(package |public )?import (?!MigrationWire\b|Synchronization\b)", re.M)
        write_folder(f"{self.package}/Tests/EngineTestSupport", {name: text for name, text in pure.items() if not needs.search(text)})
        with open(f"{ROOT}/Package.swift", encoding="utf-8") as file:
            manifest = file.read().replace("  .treatAllWarnings(as: .error),\n", "")
        write(f"{self.package}/Package.swift", (manifest + MANIFEST).encode())

    def run(self, *words, is_whole=False):
        """What was said, and whether it went well."""
        said = shell(
            f'package="{self.package}"; build_mutants "{PLACE}/build" -c {self.configuration} "$@" && echo all is built', *words,
            **({"MUTANTS_WHOLE": "1"} if is_whole else {}))
        return said, said.rstrip().endswith("all is built")

    def typecheck(self, engine):
        """What the compiler says of the wrapped engine."""
        engine.write(self.wrapped)
        with open(f"{self.package}/Package.swift", encoding="utf-8") as file:
            features = re.findall(r'enableUpcomingFeature\("(\w+)"\)', file.read())
        options = [word for name in features for word in ("-enable-upcoming-feature", name)]
        names = [f"{self.wrapped}/{name}" for name in [*engine.sources, "Mutant.swift"]]
        # With whole modules, so that all errors are told at once.
        return subprocess.run(
            ["swiftc", "-typecheck", "-wmo", "-swift-version", "6", "-module-name", "MigrationEngine",
             "-package-name", os.path.basename(self.package), "-I", f"{self.products}/Modules", *options, *names],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode(errors="replace")

    def tests(self, engine, digest):
        """Builds the tests of the wrapped engine, in which nothing is left that does not compile; the program."""
        notes = f"{PLACE}/left-out-{self.configuration}.json"
        try:
            with open(notes, encoding="utf-8") as file:
                known = json.load(file)
        except (FileNotFoundError, ValueError):
            known = {}
        if known.get("digest") == digest:
            left_out = set(known["left_out"])
            for mutant in engine.mutants:
                mutant.place.is_tried = mutant.place.number not in left_out
        else:
            engine.write(self.wrapped)
            said, is_good = self.run("--target", "MigrationWire")
            require(is_good, said[-4000:])
            leave_out_least(engine, self.wrapped, lambda: self.typecheck(engine))
        for _ in range(10):
            engine.write(self.wrapped)
            said, is_good = self.run("--build-tests")
            if is_good:
                with open(notes, "w", encoding="utf-8") as file:
                    left_out = sorted({mutant.place.number for mutant in engine.mutants if not mutant.place.is_tried})
                    json.dump({"digest": digest, "left_out": left_out}, file)
                return f"{self.products}/peerPackageTests.xctest"
            require(leave_out_what_fails(engine, self.wrapped, said), f"the tests of the changed engine cannot be built:\n{said[-4000:]}")
        raise Failure("the wrapped engine cannot be built")

    def simulator(self):
        say("mutants: building the simulator")
        said, is_good = self.run("--product", "simulate", is_whole=True)
        require(is_good, f"the simulator of the changed engine cannot be built:\n{said[-4000:]}")
        return f"{self.products}/simulate"


# What compiles

ERROR = re.compile(r"^(/.*\.swift):(\d+):(\d+): error: (.*)$", re.M)


def leave_out_what_fails(engine, folder, said):
    """Leaves out the places at which the compiler found errors; how many."""
    left_out = set()
    for path, line, column, _ in ERROR.findall(said):
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
        if name in engine.sources:
            left_out.update(engine.blame(name, int(line), int(column)))
    for place in left_out:
        place.is_tried = False
    return len(left_out)


def choose_cases(engine, folder, cases, typecheck):
    """Finds the cases that can be passed over: those of a switch that needs each of its cases cannot."""
    waiting = collections.defaultdict(list)
    for place in cases:
        waiting[place.file, place.owner].append(place)
    # All at once where there is a default; otherwise one after the other, in all switches at a time.
    first = True
    while waiting:
        trial = {}
        for key, places in waiting.items():
            trial[key] = list(places) if first else [places.pop(0)]
            for place in trial[key]:
                place.is_tried = True
        for path, line, column, _ in ERROR.findall(typecheck()):
            for place in engine.blame(os.path.relpath(path, folder), int(line), int(column)):
                if place.kind == "case" and place in trial.get((place.file, place.owner), ()):
                    place.is_tried = False
        if first:
            waiting = {key: places for key, places in waiting.items() if not places[0].is_tried}
            first = False
        else:
            waiting = {key: places for key, places in waiting.items() if places}


def leave_out_least(engine, folder, typecheck):
    """Leaves out what does not compile. Cases come last: they are looked at in functions without errors alone."""
    cases = [place for source in engine.sources.values() for place in source.places if place.kind == "case" and place.is_tried]
    for place in cases:
        place.is_tried = False
    leave_out_all(engine, folder, typecheck)
    choose_cases(engine, folder, cases, typecheck)
    leave_out_all(engine, folder, typecheck)


def leave_out_all(engine, folder, typecheck):
    for _ in range(20):
        said = typecheck()
        if not ERROR.search(said):
            return
        require(leave_out_what_fails(engine, folder, said), f"the engine itself does not compile:\n{said[:4000]}")
    raise Failure("the wrapped engine does not compile")


# Running

class Outcome:
    def __init__(self, caught, seconds, text):
        self.caught, self.seconds, self.text = caught, seconds, text


def run(command, number, seconds, stops_at=None, on_line=None):
    """Runs something with one mutant until it ends, fails or takes too long. `seconds` are of a processor."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    environment = {**os.environ, "NO_COLOR": "1", "MUTANT": str(number), "SWIFT_BACKTRACE": "enable=no"}
    begun = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, preexec_fn=bound)
    lines, reason = [], None
    timer = threading.Timer(20 * seconds, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            lines.append(text)
            if on_line:
                on_line(text)
            elif stops_at and stops_at in text:
                reason = text.strip()
                process.kill()
                break
        code = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
    if reason is None and code != 0:
        reason = {-signal.SIGXCPU: "it does not end", -signal.SIGKILL: "it does not end"}.get(code, f"ended with {code}")
    return Outcome(reason, time.monotonic() - begun, "\n".join(lines))


ISSUE = "recorded an issue"


class Tests:
    """The engine's own tests: suites that catch much in a file and take little come first."""

    name = "tests"

    SINGLE = 4
    """So many suites run alone before all others run together."""

    def __init__(self, program):
        self.command = [program, "--testing-library", "swift-testing"]
        plain = run([*self.command, "--no-parallel"], -1, 600)
        require(plain.caught is None and ISSUE not in plain.text, f"the tests fail without a change: {plain.text[-2000:]}")
        self.seconds = plain.seconds
        self.bound = max(10, round(8 * plain.seconds))
        self.costs = {suite: 0.05 + float(cost) for suite, cost in re.findall(r"Suite (\w+) passed after ([0-9.]+) s", plain.text)}
        self.catches = collections.Counter()

    def order(self, file):
        return sorted(self.costs, key=lambda suite: -(self.catches[file, suite] + 0.2) / self.costs[suite])

    def of(self, option, *suites):
        return [*self.command, *(word for suite in suites for word in (option, rf"^MigrationEngineTests\.{suite}/"))]

    def run(self, mutant, on_line=None):
        suites, file = self.order(mutant.place.file), mutant.place.file
        for suite in suites[: self.SINGLE]:
            outcome = run(self.of("--filter", suite), mutant.number, self.bound, ISSUE, on_line)
            if outcome.caught or on_line and ISSUE in outcome.text:
                self.catches[file, suite] += 1
                return outcome
        outcome = run(self.of("--skip", *suites[: self.SINGLE]), mutant.number, self.bound, ISSUE, on_line)
        if outcome.caught and (test := re.search(r" at (\w+)\.swift:", outcome.caught)):
            self.catches[file, test.group(1)] += 1
        return outcome


def timed(body):
    """What something gives, and how many seconds of a processor the programs took that it ran."""
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    return body(), spent() - before


class Simulator:
    """Both engines against each other, seed by seed."""

    name = "simulator"

    def __init__(self, program, seeds):
        self.program, self.seeds = program, seeds
        plain, cpu = timed(lambda: run([program, "--seeds", str(min(seeds, 1000))], -1, 3600))
        require(plain.caught is None, f"the simulator fails without a change: {plain.text[-2000:]}")
        self.each = cpu / min(seeds, 1000)

    def run(self, mutant, on_line=None):
        begun, first = time.monotonic(), 1
        for last in (*(some for some in SEEDS if some < self.seeds), self.seeds):
            count = last - first + 1
            command = [self.program, "--from", str(first), "--seeds", str(count)]
            one = run(command, mutant.number, max(30, round(8 * count * self.each)), None, on_line)
            if one.caught:
                break
            first = last + 1
        broken = re.search(r"^seed (\d+): (.*)$", one.text, re.M)
        if one.caught and broken:
            one.caught = broken.group(0)
        return Outcome(one.caught, time.monotonic() - begun, one.text)


class Progress:
    def __init__(self, total, what):
        self.total, self.what, self.done, self.caught, self.begun = total, what, 0, 0, time.monotonic()
        self.lock, self.told = threading.Lock(), 0.0

    def count(self, is_caught):
        with self.lock:
            self.done += 1
            self.caught += is_caught
            now = time.monotonic()
            if now - self.told > 10 or self.done == self.total:
                self.told = now
                left = (now - self.begun) / self.done * (self.total - self.done)
                say(f"{self.what}: {self.done} of {self.total}, {self.caught} caught, {left:.0f} s left")


def catch(way, mutants, jobs):
    """Runs mutants one way; those that it did not catch, and what caught each of the others."""
    caught, progress = {}, Progress(len(mutants), way.name)

    def one(mutant):
        outcome = way.run(mutant)
        if outcome.caught:
            caught[mutant.number] = outcome.caught
        else:
            # At once, so that a run that is broken off has said something.
            say(f"not caught by the {way.name}: {mutant.number} {mutant.title}")
        progress.count(bool(outcome.caught))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(one, mutants):
            pass
    return [mutant for mutant in mutants if mutant.number not in caught], caught


# The whole

def find_engine(engine_folder=SOURCES):
    program = build_finder()
    names = files_below(engine_folder)
    found = find_places(program, engine_folder, [name for name in names if is_engine(name)])
    return Engine(engine_folder, {name: found.get(name, []) for name in names})


def digest_of(engine):
    digest = hashlib.sha256(repr([mutant.number for mutant in engine.tried()]).encode())
    for name in ("mutants.py", "mutants_source.py", "mutants_places.swift"):
        with open(f"{ROOT}/Scripts/lib/{name}", "rb") as file:
            digest.update(file.read())
    for name, source in engine.sources.items():
        digest.update(name.encode() + b"\0" + source.text)
    return digest.hexdigest()


def read_list():
    try:
        with open(LIST, encoding="utf-8") as file:
            return read_survivors(file.read())
    except FileNotFoundError:
        return [], []


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/mutants", add_help=False)
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--kinds", default="condition,action")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seeds", type=int, default=SEEDS[-1])
    parser.add_argument("--tests-only", action="store_true")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--mutant", type=int)
    parser.add_argument("--caught", action="store_true")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    options = parser.parse_args(arguments)
    options.kinds = options.kinds.split(",")
    if unknown := [kind for kind in options.kinds if kind not in KINDS.values()]:
        parser.error(f"no kind of place: {unknown[0]}")
    return options


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, terminated)
    os.makedirs(PLACE, exist_ok=True)
    engine = find_engine()
    chosen = [mutant for mutant in engine.mutants if mutant.kind in options.kinds
              and (not options.file or any(text in mutant.place.file for text in options.file))]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.number:5} {mutant.title}")
        return 0

    is_sample = options.sample is not None and options.sample < len(chosen)
    if is_sample:
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=lambda mutant: mutant.number)
        # What is not run need not be built.
        places = {id(mutant.place) for mutant in chosen}
        for mutant in engine.mutants:
            mutant.place.is_tried = id(mutant.place) in places
    build = Build("debug" if options.debug else "release")
    build.prepare()
    say("mutants: building the engine with its changes in it, and its tests")
    begun = time.monotonic()
    tests = Tests(build.tests(engine, digest_of(engine)))
    say(f"mutants: built in {time.monotonic() - begun:.0f} s; without a change the tests take {tests.seconds:.1f} s")
    if options.mutant is not None:
        return run_one(options, engine, build, tests)

    # A case that its switch needs is the compiler's to keep, and no place.
    untried = [mutant for mutant in chosen if not mutant.place.is_tried and mutant.place.kind != "case"]
    chosen = [mutant for mutant in chosen if mutant.place.is_tried]
    is_complete = not options.file and not is_sample and not options.tests_only
    left, by_tests = catch(tests, chosen, options.jobs)
    by_simulator = {}
    if left and not options.tests_only:
        left, by_simulator = catch(Simulator(build.simulator(), options.seeds), left, 1)
    return report(options, engine, chosen, untried, left, by_tests, by_simulator, is_complete)


def run_one(options, engine, build, tests):
    """Runs one mutant with all that is said."""
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
    """Prints what became of all; whether it is good enough, as an exit code."""
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
    figure = f"{caught} of {count} caught ({share:.1f} %) by tests {len(by_tests)}"
    figure += "" if options.tests_only else f", by the simulator {len(by_simulator)}"
    figure += f"; {len(left) - len(unexplained)} explained, {len(unexplained)} not; {len(untried)} cannot be tried"
    is_good = 100 * caught >= (LEAST_BY_TESTS if options.tests_only else LEAST) * count
    is_good = is_good and (options.tests_only or not unexplained)
    print(check_line("mutants", "ok" if is_good else "FAILED", figure))
    print(check_line("list of survivors", "FAILED" if problems else "ok", f"{len(entries)} entries"))
    without = "left to the simulator" if options.tests_only else "NOT EXPLAINED"
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

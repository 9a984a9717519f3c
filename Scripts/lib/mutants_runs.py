"""Runs the tests, or the simulator, with one change of the engine after the other."""

import collections
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import threading
import time

from outside import require, say

SEEDS = (100, 1_000, 5_000, 20_000)
"""After so many seeds the run checks whether the simulator has caught the mutant."""

MEMORY = 6 << 30
"""The longest run without an error."""


NO_END = "it does not end"


class Outcome:
    """The end of a run: the reason why the change is caught, or None; and the run's exit code."""

    def __init__(self, caught, seconds, text, code=None):
        self.caught, self.seconds, self.text, self.code = caught, seconds, text, code


def changing(number):
    """The variables of a run with one mutant, or of one without any."""
    return {"MUTANT": str(number)}


def run(command, variables, seconds, stops_at=None, on_line=None, patience=None):
    """Runs something with these variables, which choose a change, until it ends, fails or takes too
    long. `seconds` are processor time, `patience` seconds of a clock."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        # The upper limit stays: a test may want a core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    environment = {**os.environ, "NO_COLOR": "1", **variables, "SWIFT_BACKTRACE": "enable=no"}
    begun = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, preexec_fn=bound)
    lines, reason = [], None
    # A process that waits in vain takes no processor time; under other load, a working process
    # takes long.
    timer = threading.Timer(patience or max(300, 20 * seconds), process.kill)
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
        reason = {-signal.SIGXCPU: NO_END, -signal.SIGKILL: NO_END}.get(code, f"ended with {code}")
    return Outcome(reason, time.monotonic() - begun, "\n".join(lines), code)


ISSUE = "recorded an issue"


class Tests:
    """The module's own tests: suites that catch much in a file and take little time come first."""

    name = "tests"

    SINGLE = 4
    """How many suites that have caught something in a file run alone, before all others run
    together."""

    KIN = 4
    """A suite whose name shares so many first letters with the file's name belongs to the file."""

    LEAST = 5
    """The processor seconds that a run may always take."""

    def __init__(self, program, module):
        self.module = module
        self.command = [program, "--testing-library", "swift-testing", "--skip", r"\.\w+Probe(/|$)"]
        plain = run([*self.command, "--no-parallel"], changing(-1), 600)
        require(plain.caught is None and ISSUE not in plain.text, f"the tests fail without a change: {plain.text[-2000:]}")
        self.seconds = plain.seconds
        self.costs = {suite: 0.05 + float(cost) for suite, cost in re.findall(r"Suite (\w+) passed after ([0-9.]+) s", plain.text)}
        self.catches = collections.Counter()

    def groups(self, file):
        """The suites that run together, first those that are likely to catch something in a
        file."""
        def worth(suite):
            return self.catches[file, suite] / self.costs[suite]

        known = sorted((suite for suite in self.costs if self.catches[file, suite]), key=worth, reverse=True)[: self.SINGLE]
        # By their names: those of the sender for its files, and so on.
        kin = [suite for suite in self.costs if suite not in known and len(os.path.commonprefix([suite, file])) >= self.KIN]
        others = [suite for suite in self.costs if suite not in known and suite not in kin]
        return [group for group in (*([suite] for suite in known), kin, others) if group]

    def command_for(self, suites):
        return [*self.command, *(word for suite in suites for word in ("--filter", rf"^Migration{self.module}Tests\.{suite}/"))]

    def bound(self, suites):
        """How many processor seconds they may take. Suites that run alone take much less than among
        others."""
        return max(self.LEAST, round(4 * sum(self.costs[suite] for suite in suites)))

    def run(self, mutant, on_line=None):
        file = mutant.place.file
        for suites in self.groups(file):
            outcome = run(self.command_for(suites), changing(mutant.number), self.bound(suites), ISSUE, on_line)
            if outcome.caught or on_line and ISSUE in outcome.text:
                named = re.search(r" at (\w+)\.swift:", outcome.caught or "")
                self.catches[file, named.group(1) if named and named.group(1) in self.costs else suites[0]] += 1
                break
        return outcome


def timed(body):
    """The result of a function, and the processor seconds of the programs that it ran."""
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
        plain, cpu = timed(lambda: run([program, "--seeds", str(min(seeds, 1000))], changing(-1), 3600))
        require(plain.caught is None, f"the simulator fails without a change: {plain.text[-2000:]}")
        self.each = cpu / min(seeds, 1000)

    def run(self, mutant, on_line=None):
        begun, first = time.monotonic(), 1
        for last in (*(some for some in SEEDS if some < self.seeds), self.seeds):
            count = last - first + 1
            command = [self.program, "--from", str(first), "--seeds", str(count)]
            one = run(command, changing(mutant.number), max(30, round(8 * count * self.each)), None, on_line)
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
    """Runs mutants in one way. Returns those that it did not catch, and the check that caught each
    of the others."""
    caught, progress = {}, Progress(len(mutants), way.name)

    def one(mutant):
        outcome = way.run(mutant)
        if outcome.caught:
            caught[mutant.number] = outcome.caught
        else:
            # At once, so that a run that is broken off has printed its results.
            say(f"not caught by the {way.name}: {mutant.number} {mutant.title}")
        progress.count(bool(outcome.caught))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(one, mutants):
            pass
    return [mutant for mutant in mutants if mutant.number not in caught], caught

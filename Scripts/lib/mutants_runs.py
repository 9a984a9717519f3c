"""Runs the tests, or the world, with one change of a module after the other."""

import collections
import os
import re
import resource
import signal
import subprocess
import threading

from outside import require

MEMORY = 6 << 30
ISSUE = "recorded an issue"
SINGLE = 4
"""How many suites that have caught something in a file run alone, before all others run together."""
KIN = 4
"""A suite whose name shares so many first letters with the file's name belongs to the file."""
DEAR = 5
"""A suite that takes more seconds runs only for the files that it belongs to."""


def run(command, number, seconds, stops_at=None):
    """Runs a program with the change of that number until it ends, fails or takes too long, which are
    `seconds` of a processor, or 20 times as many of a clock. Returns the reason why the change is
    caught, or None, and the output."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        # The upper limit stays: a test may want a core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    environment = {**os.environ, "NO_COLOR": "1", "MUTANT": str(number), "SWIFT_BACKTRACE": "enable=no"}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, preexec_fn=bound)
    lines, reason = [], None
    timer = threading.Timer(max(300, 20 * seconds), process.kill)
    timer.start()
    try:
        for line in process.stdout:
            lines.append(line.decode(errors="replace").strip())
            if stops_at and stops_at in lines[-1]:
                reason = lines[-1]
                process.kill()
                break
        code = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
    if reason is None and code != 0:
        reason = "it does not end" if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"ended with {code}"
    return reason, "\n".join(lines)


class Tests:
    """The module's own tests: suites that catch much in a file and take little time come first."""

    name = "tests"

    def __init__(self, program, module):
        self.module = module
        self.command = [program, "--testing-library", "swift-testing", "--skip", r"\.\w+Probe(/|$)"]
        reason, text = run([*self.command, "--no-parallel"], -1, 600)
        require(reason is None and ISSUE not in text, f"the tests fail without a change: {text[-2000:]}")
        self.costs = {suite: 0.05 + float(cost) for suite, cost in re.findall(r"Suite (\w+) passed after ([0-9.]+) s", text)}
        self.catches = collections.Counter()

    def groups(self, file):
        """The suites that run together, first those that are likely to catch something in a file."""
        known = [suite for suite in self.costs if self.catches[file, suite]]
        known = sorted(known, key=lambda suite: self.costs[suite] / self.catches[file, suite])[:SINGLE]
        others = [suite for suite in self.costs if suite not in known]
        kin = [suite for suite in others if len(os.path.commonprefix([suite, os.path.basename(file)])) >= KIN]
        others = [suite for suite in others if suite not in kin and self.costs[suite] <= DEAR]
        return [group for group in (*([suite] for suite in known), kin, others) if group]

    def run(self, mutant):
        file = mutant.place.file
        for suites in self.groups(file):
            filters = [word for suite in suites for word in ("--filter", rf"^Migration{self.module}Tests\.{suite}/")]
            # Suites that run alone take much less than among others.
            seconds = max(5, round(4 * sum(self.costs[suite] for suite in suites)))
            reason, text = run([*self.command, *filters], mutant.number, seconds, ISSUE)
            if reason:
                named = re.search(r" at (\w+)\.swift:", reason)
                self.catches[file, named[1] if named and named[1] in self.costs else suites[0]] += 1
                break
        return reason, text


class World:
    """Both ends as they are, seed by seed."""

    name = "world"

    def __init__(self, program, seeds, jobs):
        self.command = [program, "--seeds", str(seeds), "--jobs", str(jobs)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        reason, text = run(self.command, -1, 3600)
        require(reason is None, f"the world fails without a change: {text[-2000:]}")
        self.seconds = max(30, round(8 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)))

    def run(self, mutant):
        reason, text = run(self.command, mutant.number, self.seconds)
        broken = re.search(r"^seed (\d+): (.*)$", text, re.M)
        return broken[0] if reason and broken else reason, text

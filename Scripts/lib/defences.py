"""Takes one defence out after the other, and requires that a test notices each.

Usage: defences.py OPTION... (Scripts/defences lists the options; it finds a toolchain first)
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import signal
import sys
import tempfile

sys.dont_write_bytecode = True

from defences_table import DEFENCES  # noqa: E402
from mutants_runs import NO_END, run  # noqa: E402
from named_tests import fault, is_script, is_swift, split, swift_filter  # noqa: E402
from outside import ROOT, Failure, check_line, equal, require, say, terminated  # noqa: E402
from weakened import build  # noqa: E402

SECONDS = 120
"""How much processor time the tests of one defence may take; more counts as noticed."""

PATIENCE = 240
"""For how long these tests may wait in vain."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/defences", add_help=False)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    return parser.parse_args(arguments)


ISSUE, FAILED = "recorded an issue", "| FAILED"
"""The words in the line of a failed test of the Swift suites, and in that of a check."""


def noticed(done, mark, may_crash):
    """The line or the end of a run that shows a failed test; None if all tests passed. Fails if
    they did not run: a runner that cannot start, or has no test, has noticed nothing."""
    if done.caught is None:
        require("Test run with 0 tests" not in done.text, "no test ran")
        return None
    if mark in done.caught or done.caught == NO_END or may_crash and done.code < 0:
        return done.caught
    raise Failure(f"the tests did not run: {done.caught}: {' '.join(done.text.split())[-300:]}")


def require_matches(patterns, listed):
    """Each pattern selects at least one of the tests in a list, a test a line."""
    lines = listed.splitlines()
    equal([pattern for pattern in patterns if not any(re.search(pattern, line) for line in lines)], [], "patterns that match no test")


class Programs:
    """The tests of the weakened build."""

    def __init__(self, folder, links):
        self.tests = f"{folder}/peerPackageTests.xctest"
        self.links = links
        for name in ("peer", "TestApp", "TestAppExtension"):
            os.symlink(f"{folder}/{name}", f"{links}/{name}")
        # Another package has the example of the library; no check of a defence runs it.
        os.symlink("/bin/false", f"{links}/carry")

    def require_tests(self, tests):
        """Fails unless each of these tests exists, those of the suites in the built program."""
        equal([reason for reason in map(fault, tests) if reason], [], "tests that do not exist")
        done = run([self.tests, "--testing-library", "swift-testing", "--list-tests"], {}, SECONDS, patience=PATIENCE)
        require(done.caught is None, f"the tests cannot be listed: {done.caught}: {done.text[-300:]}")
        require_matches([swift_filter(name) for name in tests if is_swift(name)], done.text)

    def notice(self, tests, defence=None, times=1):
        """Runs tests without a defence, for `times` as long as those of one may take. Returns the
        line of the first failure, or the end of the run; None if all pass. Fails if they did not
        run."""
        weakened = {"PEER_WEAKENED": defence.name} if defence else {}
        swift = [word for name in tests if is_swift(name) for word in ("--filter", swift_filter(name))]
        if swift:
            done = run([self.tests, "--testing-library", "swift-testing", *swift], weakened, times * SECONDS, ISSUE, patience=times * PATIENCE)
            if reason := noticed(done, ISSUE, may_crash=True):
                return reason
        checks = [f"{ROOT}/Tests/Acceptance/{file}::{function}" for file, function in map(split, tests) if file.endswith(".py")]
        if checks:
            command = [os.environ.get("PEER_PYTHON", sys.executable), "-m", "pytest", "-p", "xdist", "-p", "no:terminal", "-p",
                       "no:cacheprovider", "--rootdir", f"{ROOT}/Tests/Acceptance", "-c", "/dev/null", *checks]
            # These are some of the checks, and need not reach every event and exit code.
            done = run(command, {**weakened, "PEER_PROGRAMS": self.links, "PEER_BINARY": f"{self.links}/peer",
                                 "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "ACCEPTANCE_ONLY": " "}, times * SECONDS, FAILED, patience=times * PATIENCE)
            return noticed(done, FAILED, may_crash=False)
        return None


def told(reason):
    """The name of the test that noticed, if a line of its run has it."""
    for begin, end in (('Test "', '" recorded'), ("Test ", " recorded")):
        before, _, rest = reason.partition(begin)
        if rest and end in rest:
            return rest.partition(end)[0]
    return reason.partition("|")[0].strip()


def judge(programs, defence):
    """The line of a defence, and whether its absence was noticed."""
    if all(map(is_script, defence.tests)):
        return check_line(f"{defence.name}: {defence.what}", "skipped", f"left to {defence.tests[0]}"), True
    try:
        reason = programs.notice(defence.tests, defence)
    except Failure as failure:
        return check_line(f"{defence.name}: {defence.what}", "FAILED", failure), False
    return check_line(f"{defence.name}: {defence.what}", "ok" if reason else "FAILED", told(reason) if reason else "no test notices"), bool(reason)


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, terminated)
    chosen = [one for one in DEFENCES if options.only in f"{one.name}: {one.what}"]
    if not chosen:
        print(f"error: no defence has '{options.only}' in its name", file=sys.stderr)
        return 2
    if options.list:
        for one in chosen:
            print("\n    ".join([f"{one.name}: {one.what}", *one.tests]))
        return 0
    try:
        folder = build()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        programs = Programs(folder, stack.enter_context(tempfile.TemporaryDirectory(prefix="peer-defences-")))
        say("defences: running the tests with every defence in place")
        every = list(dict.fromkeys(name for one in chosen for name in one.tests))
        try:
            programs.require_tests(every)
            reason = programs.notice(every, times=10)
        except Failure as failure:
            print(f"error: {failure}", file=sys.stderr)
            return 2
        if reason:
            print(check_line("nothing taken out", "FAILED", reason), flush=True)
            return 1
        print(check_line("nothing taken out", "ok", "all named tests pass"), flush=True)
        unnoticed = 0
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(options.jobs))
        for line, is_noticed in pool.map(lambda one: judge(programs, one), chosen):
            print(line, flush=True)
            unnoticed += not is_noticed
    print(f"defences: {len(chosen)} taken out, {unnoticed} unnoticed", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Tests of Scripts/defences without a build: its tables, and the table of SECURITY.md."""

import re
import sys

sys.dont_write_bytecode = True

import defences  # noqa: E402
import named_tests  # noqa: E402
import weakened  # noqa: E402
from defence import Defence  # noqa: E402
from defences_table import DEFENCES  # noqa: E402
from mutants_runs import NO_END, run  # noqa: E402
from outside import ROOT, Failure, equal, require  # noqa: E402
from self_tests import run as run_tests  # noqa: E402


def rows():
    """The rows of SECURITY.md's tables of attacks: their cells."""
    with open(f"{ROOT}/SECURITY.md", encoding="utf-8") as file:
        section = file.read().partition("## Attacks, defences and tests\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith(("| attack |", "| --- "))]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def tests_of(row):
    return re.findall(r"`([^`]+)`", row[-1])


def every_change_finds_its_place(_):
    weakened.places(DEFENCES, weakened.sources())
    names = [one.name for one in DEFENCES]
    equal([name for name in names if names.count(name) > 1], [], "names that two defences have")
    return f"{len(names)} defences"


def every_test_of_a_defence_exists(_):
    equal([fault for one in DEFENCES for fault in map(named_tests.fault, one.tests) if fault], [], "tests that do not exist")
    equal([one.name for one in DEFENCES if not one.tests], [], "defences without a test")


def every_row_of_the_security_page_has_tests(_):
    found = rows()
    require(len(found) >= 60, f"SECURITY.md has {len(found)} rows")
    equal([row[0] for row in found if len(row) != 3 or not tests_of(row)], [], "rows without tests")
    equal([fault for row in found for fault in map(named_tests.fault, tests_of(row)) if fault], [], "tests that do not exist")
    return f"{len(found)} attacks, {sum(map(len, map(tests_of, found)))} tests"


def the_security_page_has_every_defence(_):
    named = {name for row in rows() for name in tests_of(row)}
    equal([one.name for one in DEFENCES if not named & set(one.tests)], [], "defences of which no test is on the page")


def a_change_that_does_not_fit_is_refused(_):
    files = {"Module/One.swift": b"let one = 1\nlet two = 1\n", "Module/Two.c": b"#define _GNU_SOURCE\n\n#include <a.h>\nint two = 2;\n"}

    def fault(*changes):
        try:
            weakened.places([Defence("x", "", [], changes)], files)
        except Failure as failure:
            return str(failure)
        return None

    equal(fault(("Module/One.swift", "one = 1", "one = WEAKENED ? 2 : 1")), None, "a good change")
    require("0 times" in fault(("Module/One.swift", "three", "WEAKENED")), "a text that is not there")
    require("2 times" in fault(("Module/One.swift", " = 1", "WEAKENED")), "a text that is there twice")
    require("no switch" in fault(("Module/One.swift", "one = 1", "one = 2")), "a change without a switch")
    require("overlap" in fault(("Module/One.swift", "let one", "WEAKENED"), ("Module/One.swift", "one = 1", "WEAKENED")), "two that overlap")
    require("does not exist" in fault(("Module/Three.swift", "one", "WEAKENED")), "a file that is not there")
    found = weakened.places([Defence("x", "", [], [("Module/One.swift", "one = 1", "one = WEAKENED ? 2 : 1"),
                                                   ("Module/Two.c", "two = 2", "two = WEAKENED")])], files)
    equal(weakened.changed(files["Module/One.swift"].decode(), found["Module/One.swift"], "Module/One.swift"),
          'let one = isWeakened("x") ? 2 : 1\nlet two = 1\n', "the changed file")
    equal(weakened.changed(files["Module/Two.c"].decode(), found["Module/Two.c"], "Module/Two.c"),
          '#define _GNU_SOURCE\n\n#include "weakened.h"\n#include <a.h>\nint two = is_weakened("x");\n', "the changed file in C")


def the_test_that_noticed_is_named(_):
    equal(defences.told('✘ Test "a name: x" recorded an issue at A.swift:1:2: no'), "a name: x", "a test with a sentence")
    equal(defences.told("✘ Test probe() recorded an issue at A.swift:1:2"), "probe()", "a test with a function's name")
    equal(defences.told("a check of the program      | FAILED  | why"), "a check of the program", "a check")
    equal(defences.told("ended with -5"), "ended with -5", "a crash")


def only_tests_that_ran_notice(_):
    def result(text, mark, may_crash=False):
        done = run(["sh", "-c", text], {}, 20, mark, patience=20)
        try:
            return defences.noticed(done, mark, may_crash)
        except Failure as failure:
            require("did not run" in str(failure) or "no test ran" in str(failure), failure)
            return Failure

    issue = "Test \"a\" recorded an issue at A.swift:1:2"
    equal(result(f"echo '{issue}'; exit 1", defences.ISSUE), issue, "an issue")
    equal(result("echo 'a check | FAILED | why'; exit 1", defences.FAILED), "a check | FAILED | why", "a failed check")
    equal(result("kill -ABRT $$", defences.ISSUE, may_crash=True), "ended with -6", "a crash of the suites")
    equal(result("ulimit -t 1; while :; do :; done", defences.FAILED), NO_END, "tests without an end")
    equal(result("echo passed", defences.ISSUE), None, "tests that pass")
    # 69 is that of the suites without a test, the others are those of pytest.
    for code in (1, 2, 3, 4, 5, 69, 127):
        equal(result(f"exit {code}", defences.FAILED), Failure, f"the exit code {code} alone")
    equal(result("echo 'Test run with 0 tests passed'", defences.ISSUE), Failure, "a run without tests")
    equal(result("kill -ABRT $$", defences.FAILED), Failure, "a crash of pytest")


def each_pattern_needs_a_test(_):
    listed = "Module.SuiteTests/`a name`()\nModule.SuiteTests/probe(_:)"
    defences.require_matches([r"^Module\.SuiteTests/`a\ name`\(", r"^Module\.SuiteTests/probe\("], listed)
    try:
        defences.require_matches([r"^Module\.SuiteTests/`a\ name`\(", r"^Module\.SuiteTests/`another`\("], listed)
    except Failure as failure:
        require("another" in str(failure) and "a\\ name" not in str(failure), failure)
        return
    raise Failure("a pattern without a test is accepted")


def a_defence_whose_tests_did_not_run_fails(_):
    class Programs:
        def notice(self, tests, defence):
            raise Failure("the tests did not run")

    line, is_noticed = defences.judge(Programs(), Defence("x", "what", ["a_test.py: test"], []))
    require("FAILED" in line and not is_noticed, line)


TESTS = [
    every_change_finds_its_place, every_test_of_a_defence_exists, every_row_of_the_security_page_has_tests,
    the_security_page_has_every_defence, a_change_that_does_not_fit_is_refused, the_test_that_noticed_is_named,
    only_tests_that_ran_notice, each_pattern_needs_a_test, a_defence_whose_tests_did_not_run_fails,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, "peer-defences-"))

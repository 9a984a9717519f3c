"""Proof that stages find errors: each way to fail, with commands that only fail in that way."""

import glob
import json
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True

import command  # noqa: E402
from outside import ROOT, equal, require  # noqa: E402
from self_tests import run as run_tests  # noqa: E402
from test_stages import CHECKS, PROBES  # noqa: E402
from stages import Run, Stage, Table  # noqa: E402
from swift_suites import SwiftSuites  # noqa: E402


def run(logs, *stages, is_strict=False):
    """Runs stages; returns whether they passed, the result of each, the counts, and every line."""
    lines = []
    one = Run(list(stages), logs, 3, lines.append, is_strict)
    is_good = one.run()
    one.report()
    return is_good, [stage.outcome for stage in stages], one.counts(), "\n".join(lines)


def sh(name, text, **options):
    return Stage(name, 5, ["sh", "-c", text], **options)


def an_exit_code_fails_a_stage_and_what_needs_it_is_not_run(logs):
    found = run(logs, sh("one", "echo the reason; exit 3"), sh("two", "touch made", needs=["one"]), sh("three", "true"))
    equal(found[:3], (False, ["FAILED", "skipped", "ok"], [1, 1, 1]), "outcomes")
    require("the reason" in found[3] and "needs one" in found[3], found[3])


def a_line_of_a_table_that_failed_fails_its_stage(logs):
    text = "echo 'a | ok      | 1 s'; echo 'b | FAILED  | so'; echo 'c | skipped | not root'; echo in full"
    found = run(logs, sh("table", text, reader=lambda: Table(CHECKS)))
    equal(found[:3], (False, ["FAILED"], [1, 1, 1]), "outcomes")
    require("in full" in found[3] and "c: not root" in found[3], found[3])


def a_skip_is_a_failure_where_nothing_may_be_skipped(logs):
    table = sh("table", "echo 'c | skipped | not root'", reader=lambda: Table(CHECKS))
    equal(run(logs, table, is_strict=True)[:3], (False, ["FAILED"], [0, 1, 0]), "outcomes")


def a_forbidden_word_fails_a_stage(logs):
    equal(run(logs, sh("build", "echo 'x.swift: warning: unused'", refuses="warning:"))[0], False, "whether it passed")


def what_hangs_is_ended_with_all_that_it_started(logs):
    stage = sh("hung", "sleep 300 & echo $!; wait")
    stage.bound = lambda: 1
    begun = time.monotonic()
    found = run(logs, stage)
    equal(found[:2], (False, ["FAILED"]), "outcomes")
    require(time.monotonic() - begun < 60, "it was waited for")
    with open(f"{logs}/hung.log", encoding="utf-8") as log:
        child = int(log.readline())
    require(not os.path.exists(f"/proc/{child}") or state(child) == "Z", "its child still runs")
    require(re.search(rf"FAILED: hung: .*did not end within 1 s\n.*\n.*: sh, .*\n +{child}: sleep, state S", found[3]), found[3])


def what_holds_the_output_of_an_ended_command_counts_as_hanging(logs):
    # In a session of its own, it stays: only its output is no longer waited for.
    stage = sh("held", "setsid sleep 60 & echo $!")
    stage.bound = lambda: 1
    command.GRACE = 1
    found = run(logs, stage)
    with open(f"{logs}/held.log", encoding="utf-8") as log:
        os.kill(int(log.readline()), signal.SIGKILL)
    equal(found[:2], (False, ["FAILED"]), "outcomes")
    require("did not end within 1 s" in found[3], found[3])


def state(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def stages_that_share_something_do_not_overlap(logs):
    text = f"test ! -e {logs}/busy && touch {logs}/busy && sleep 0.2 && rm {logs}/busy"
    stages = [sh(f"stage {number}", text, alone="folder") for number in range(4)]
    equal(run(logs, *stages)[0], True, "whether they passed")


def tests_that_failed_or_never_ended_are_found(logs):
    events = f"{logs}/events"

    def test(name):
        return {"kind": "test", "payload": {"kind": "function", "name": f"{name}()", "id": f"M.S/{name}()/S.swift:1:1"}}

    def event(kind, name, **more):
        return {"kind": "event", "payload": {"kind": kind, "testID": f"M.S/{name}()/S.swift:1:1", "messages": [{"text": "why"}], **more}}

    lines = [{"kind": "test", "payload": {"kind": "suite", "name": "S", "id": "M.S"}}]
    for name in ("good", "bad", "known", "crashed"):
        lines += [test(name), event("testCaseStarted", name)]
        if name in ("bad", "known"):
            lines.append(event("issueRecorded", name, issue={"isKnown": name == "known"}))
        if name != "crashed":
            lines += [event("testCaseEnded", name), event("testEnded", name)]
    text = "\n".join(json.dumps(line) for line in lines) + "\n{\"kind\": \"ev"
    command = ["sh", "-c", 'printf %s "$0" > "$1"', text, events]
    found = run(logs, Stage("suites", 5, command, reader=lambda: SwiftSuites(events)))
    equal(found[:3], (False, ["FAILED"], [2, 2, 0]), "outcomes")
    require("M.S: bad()" in found[3] and "it was running when the process ended" in found[3], found[3])
    between = [test("good"), event("testStarted", "good"), event("testCaseStarted", "good"), event("testCaseEnded", "good")]
    text = "".join(f"{json.dumps(line)}\n" for line in between)
    found = run(logs, Stage("suites", 5, ["sh", "-c", 'printf %s "$0" > "$1"', text, events], reader=lambda: SwiftSuites(events)))
    require("it was running when the process ended" in found[3], found[3])
    empty = run(logs, Stage("suites", 5, ["true"], reader=lambda: SwiftSuites(events)))
    equal(empty[:2], (False, ["FAILED"]), "a run without tests")


def suites_that_a_test_starts_are_left_out(_):
    started = set()
    for path in glob.glob(f"{ROOT}/Tests/*Tests/*.swift"):
        with open(path, encoding="utf-8") as file:
            started |= set(re.findall(r'runAgain\("(\w+)"|swift-testing --filter (\w+)', file.read()))
    names = {name for pair in started for name in pair if name}
    require(names, "no test starts a suite")
    equal([name for name in sorted(names) if not re.search(PROBES, f"Module.{name}/`one`()/File.swift:1:1")], [], "suites that run as tests")
    require(not re.search(PROBES, "MigrationArchiveTests.DiskProbeTests/`one`()/File.swift:1:1"), "suites of a probe are left out")
    return f"{len(names)} suites"


TESTS = [
    an_exit_code_fails_a_stage_and_what_needs_it_is_not_run, a_line_of_a_table_that_failed_fails_its_stage,
    a_skip_is_a_failure_where_nothing_may_be_skipped, a_forbidden_word_fails_a_stage,
    what_hangs_is_ended_with_all_that_it_started, what_holds_the_output_of_an_ended_command_counts_as_hanging, stages_that_share_something_do_not_overlap,
    tests_that_failed_or_never_ended_are_found, suites_that_a_test_starts_are_left_out,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, "peer-stages-"))

"""The stages of Scripts/test and Scripts/check, which find a toolchain and what it needs before
they start this.

Usage: test_stages.py test|check [--require] [FILTER]
"""

import os
import re
import shlex
import signal
import sys

sys.dont_write_bytecode = True

from stages import Run, Stage, Table  # noqa: E402
from swift_suites import SwiftSuites  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = f"{ROOT}/.build/logs"
SETUP = f'. "{ROOT}/Scripts/lib/setup.sh"; '

CHECKS = r"^(?P<name>.*\S) *\| (?P<outcome>ok|FAILED|skipped) *\| ?(?P<figure>.*)$"
"""A script's line for a check."""

OWN_SUITES = ["MigrationTransferTests", "MigrationArchiveTests", "MigrationHostTests", "AppMigrationKitTests"]
"""Suites that wait much, so that they get a process each, or two; all others share one."""

PROBES = r"\.\w+Probe(/|$)"
"""The suites that a test starts in a process of its own, by their names; they are left out."""

PROGRAMS = ["peer", "TestApp", "TestAppExtension", "simulate", "carry"]


def shell(text):
    """A command of the shell that knows setup.sh, and ends with the first failure."""
    return ["bash", "-c", f"set -euo pipefail; {SETUP}{text}"]


def script(name, *words):
    return [f"{ROOT}/Scripts/{name}", *words]


def suites(name, budget, *words):
    """Tests of the suites, in a process of their own."""
    return swift_tests(name, budget, shell(f"run_tests peer {shlex.join([*words, '--skip', PROBES])}"), needs=["debug build"])


def swift_tests(name, budget, command, **options):
    """A stage that ends with a run of Swift tests."""
    events = f"{LOGS}/{name.replace(' ', '-')}.events"
    return Stage(name, budget, command, reader=lambda: SwiftSuites(events), environment={"PEER_TEST_EVENTS": events}, **options)


def built():
    """The environment that tells the scripts of other stages about the built programs."""
    folder = f"{ROOT}/.build/release-static/release"
    return {"PEER_PROGRAMS": folder, "PEER_BINARY": f"{folder}/peer"}


def debug_build(refuses=None):
    return Stage("debug build", 300, shell("build --build-tests"), room=2, refuses=refuses)


def builds(refuses):
    # The linker of a release warns of runtime functions that are never called.
    programs = "; ".join(f"build_program {name}" for name in PROGRAMS)
    return [debug_build(refuses), Stage("release build", 200, shell(programs), room=2)]


def tests():
    """All stages of Scripts/test; the first that are ready and find room come first."""
    release = {"needs": ["release build"], "environment": built()}
    debug = {"needs": ["debug build"], "alone": "debug folder"}
    transfer, archive, host, kit = OWN_SUITES
    others = [word for module in OWN_SUITES for word in ("--skip", rf"^{module}\.")]
    return [
        suites("transfer suites, A to M", 120, "--filter", rf"^{transfer}\.[A-M]"),
        suites("transfer suites, N to Z", 120, "--filter", rf"^{transfer}\.[^A-M]"),
        Stage("acceptance", 310, script("acceptance", "--jobs", "4"), reader=lambda: Table(CHECKS), **release),
        suites("archive suites", 150, "--filter", rf"^{archive}\."),
        suites("host suites", 30, "--filter", rf"^{host}\."),
        suites("kit suites", 20, "--filter", rf"^{kit}\."),
        suites("other suites", 50, *others),
        swift_tests("dependent package", 30, script("dependent-package"), **debug),
        swift_tests("example app", 30, shell("package=$root/Examples/Notes; build --build-tests; run_tests Notes"), **debug),
        Stage("simulations", 60, script("simulate", "--seeds", "10000", "--mutations"), alone="release folder",
              reader=lambda: Table(CHECKS), **release),
        Stage("simulations of a receiver that stays", 30, script("simulate", "--seeds", "3000", "--keep"), alone="release folder",
              reader=lambda: Table(CHECKS), **release),
        Stage("fuzzing", 240, script("fuzz", "--jobs", "2", "--seed", "1", "all", "4"), room=2, reader=lambda: Table(CHECKS)),
        # Whole transfers, in the build that exists already.
        Stage("leaks", 40, script("sanitize", "leaks", r"^PeerTransferTests\.|^MigrationTransferTests\.(ReleaseTests|OneProcessTests)"),
              reader=lambda: Table(CHECKS), **debug),
        Stage("chaos", 90, script("chaos", "--rounds", "3"), reader=lambda: Table(CHECKS), **release),
        # It takes seconds as a promise, and so needs as much room as a small machine has.
        Stage("attacks", 120, script("attack"), room=4, reader=lambda: Table(CHECKS), **release),
        Stage("mutants", 90, script("mutants", "--sample", "12", "--tests-only", "--debug"), room=2,
              reader=lambda: Table(CHECKS), alone="mutants"),
        Stage("chaos's own test", 45, script("chaos", "--self-test"), reader=lambda: Table(CHECKS), **release),
        Stage("attack's own test", 30, script("attack", "--self-test"), room=2, reader=lambda: Table(CHECKS)),
        Stage("bench's own test", 30, script("bench", "--self-test"), reader=lambda: Table(CHECKS), **release),
        Stage("soak's own test", 10, script("soak", "--self-test"), reader=lambda: Table(CHECKS)),
        Stage("mutants' own test", 30, script("mutants", "--self-test"), alone="mutants", reader=lambda: Table(CHECKS)),
        Stage("coverage's own test", 10, ["python3", f"{ROOT}/Scripts/lib/coverage_self_test.py"], reader=lambda: Table(CHECKS)),
        Stage("tree checker's own test", 10, script("check-trees", "--self-test")),
        Stage("disk cases' own test", 30, ["python3", f"{ROOT}/Scripts/lib/disk_cases.py", "self-test"]),
        Stage("defences' own test", 10, script("defences", "--self-test"), reader=lambda: Table(CHECKS)),
        Stage("own test of the disk that loses writes", 10, ["python3", f"{ROOT}/Scripts/lib/lab_nbd_self_test.py"], reader=lambda: Table(CHECKS)),
        Stage("stages' own test", 10, ["python3", f"{ROOT}/Scripts/lib/stages_self_test.py"], reader=lambda: Table(CHECKS)),
    ]


def checks():
    """The stages of Scripts/check besides the tests."""
    release = {"needs": ["release build"], "environment": built()}
    return [
        Stage("formatting", 20, ["swift", "format", "lint", "--strict", "--recursive",
                                 *(f"{ROOT}/{place}" for place in ("Sources", "Tests", "Examples", "Package.swift"))]),
        Stage("English", 20, shell('"$root/Scripts/style" --self-test; "$root/Scripts/style"')),
        Stage("posture", 20, script("posture"), reader=lambda: Table(CHECKS), **release),
        Stage("documentation", 30, script("docs"), needs=["debug build"], alone="debug folder"),
        Stage("demo", 20, script("demo"), **release),
        Stage("installing", 60, ["python3", f"{ROOT}/Scripts/lib/install_self_test.py"], reader=lambda: Table(CHECKS), **release),
        Stage("Debian package", 60, shell('folder=$(mktemp -d); trap \'rm -rf "$folder"\' EXIT; "$root/Scripts/package" --check "$folder"'),
              reader=lambda: Table(CHECKS), **release),
        Stage("demo of an app", 60, script("demo", "--app"), alone="release folder", **release),
        Stage("demo of a clip", 60, script("demo", "--clip"), alone="release folder", **release),
    ]


def plan(kind, pattern):
    if pattern is not None:
        return [debug_build(), suites("suites", 60, "--filter", pattern)]
    refuses = "warning:" if kind == "check" else None
    return builds(refuses) + (checks() if kind == "check" else []) + tests()


def show(text):
    """Prints lines in which control characters are escaped."""
    print("\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n")), flush=True)


def terminated(number, _):
    raise SystemExit(128 + number)


def main(arguments):
    kind = arguments.pop(0)
    is_strict = "--require" in arguments
    words = [word for word in arguments if word != "--require"]
    if len(words) > 1 or any(word.startswith("-") for word in words):
        return 2
    pattern = words[0] if words else None
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            print(f"error: '{pattern}' is not a regular expression: {error}", file=sys.stderr)
            return 2
    signal.signal(signal.SIGTERM, terminated)
    run = Run(plan(kind, pattern), LOGS, 2 * max(2, os.cpu_count() or 1), show, is_strict)
    try:
        is_good = run.run()
    except KeyboardInterrupt:
        return 130
    run.report()
    show("total: {} passed, {} failed, {} skipped".format(*run.counts()))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

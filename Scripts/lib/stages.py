"""The stages of Scripts/test and Scripts/check: their table, their order and their report.

Usage: stages.py test|check [--require] [FILTER]

A stage is one command. It starts when the stages that it needs have passed and there is room for
it, in a session of its own, so that a terminal or a background job changes nothing. Its output is
in .build/logs. Scripts/test runs the stages whose table has `test`, Scripts/check all others too.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = f"{ROOT}/.build/logs"
CHECK = re.compile(r"^(?P<name>.*\S) *\| (?P<outcome>ok|FAILED|skipped) *\| ?(?P<figure>.*)$")
"""A script's line for a check."""
TESTS = re.compile(r"Test run with (\d+) tests? .*(?:passed|failed)")
SKIPPED = re.compile(r'Test "?(?P<name>.*?)"? skipped: (?P<figure>.*)$')
WRONG = re.compile(r" recorded an issue |: (?:fatal )?error: |Fatal error|\| FAILED")
"""A line that tells a failure."""
PROBES = r"\.\w+Probe(/|$)"
"""The suites that a test starts in a process of its own; they are left out."""
PROGRAMS = ["peer", "TestApp", "TestAppExtension", "carry"]
RELEASE = {"PEER_PROGRAMS": f"{ROOT}/.build/release-static/release", "PEER_BINARY": f"{ROOT}/.build/release-static/release/peer"}
DEBUG = {"PEER_PROGRAMS": f"{ROOT}/.build/debug", "PEER_BINARY": f"{ROOT}/.build/debug/peer"}
BOUND = 1800
"""How many seconds a stage may take: a guard against hangs, not a promise."""


@dataclass(eq=False)
class Stage:
    """A line of the table. `alone` names something that exists once, such as a build folder: stages
    that share one do not overlap. One that is `patient` leaves the processor to the others."""

    name: str
    command: str
    needs: str = ""
    room: int = 1
    alone: str = ""
    environment: dict = field(default_factory=dict)
    refuses: str = ""
    patient: bool = False
    outcome: str = ""
    seconds: float = 0
    processor: float = 0
    counts: dict = field(default_factory=lambda: {"ok": 0, "FAILED": 0, "skipped": 0})
    told: list = field(default_factory=list)


def suites(name, *words):
    return Stage(name, f"run_tests peer {shlex.join([*words, '--skip', PROBES])}", needs="debug build")


def test_stages(pattern):
    """What a newcomer runs."""
    build = Stage("debug build", "build --build-tests", room=2, alone="debug folder")
    if pattern is not None:
        return [build, suites("suites", "--filter", pattern)]
    # Tests that wait block a processor's thread, which the library's tasks need: each has its process.
    waiting = r"^(MigrationTransfer|MigrationArchive|MigrationHost|AppMigrationKit)Tests\."
    # The longest come first.
    return [
        build,
        suites("transfer suites, A to M", "--filter", r"^MigrationTransferTests\.[A-M]"),
        suites("archive suites", "--filter", r"^MigrationArchiveTests\."),
        *(Stage(f"promises, part {part}", "Scripts/acceptance --promises", needs="debug build",
                environment=DEBUG | {"ACCEPTANCE_PART": f"{part}/2"}) for part in (1, 2)),
        suites("transfer suites, N to Z", "--filter", r"^MigrationTransferTests\.[^A-M]"),
        suites("other suites", "--skip", waiting),
        suites("host suites", "--filter", r"^MigrationHostTests\."),
        suites("kit suites", "--filter", r"^AppMigrationKitTests\."),
    ]


def check_stages():
    """All others."""
    programs = "; ".join(f"build_program {name}" for name in PROGRAMS)

    def released(name, command, **options):
        return Stage(name, command, needs="release build", environment=RELEASE, **options)

    return [
        Stage("release build", programs, room=2, alone="release folder"),
        released("acceptance", "Scripts/acceptance --jobs 5", room=2),
        Stage("formatting", "swift format lint --strict --recursive Sources Tests Examples Package.swift"),
        Stage("words", "Scripts/style"),
        released("posture", "Scripts/posture"),
        Stage("leaks", r"Lab/sanitize leaks '^PeerTransferTests\.|^MigrationTransferTests\.(ReleaseTests|OneProcessTests)'",
              needs="debug build", alone="debug folder"),
        Stage("fuzzing", "Lab/fuzz --replay", needs="debug build", alone="debug folder"),
        Stage("documentation", "Scripts/docs", needs="debug build", alone="debug folder"),
        Stage("dependent package", "Scripts/lib/dependent-package", needs="debug build", alone="debug folder"),
        # A copy, with the file that makes an index needless: that would be nothing for an author to read.
        Stage("example app",
              "package=$root/.build/notes; mkdir -p $package; cp -a Examples/Notes/. $package; cp -a Tests/XCTMain.swift $package/Tests; "
              "build --build-tests; run_tests Notes", needs="debug build", alone="debug folder"),
        released("demo", "Scripts/demo", alone="release folder"),
        released("demo of an app", "Scripts/demo --app", alone="release folder"),
        released("demo of a clip", "Scripts/demo --clip", alone="release folder"),
        released("installing", 'python3 "$root/Scripts/lib/install_checks.py"'),
        released("Debian package",
                 'folder=$(mktemp -d); trap \'rm -rf "$folder"\' EXIT; Scripts/package --check "$folder"; Scripts/package --compare "$folder"',
                 alone="release folder"),
        Stage("the world", ".build/debug/interleave; .build/debug/world --seeds 1000", needs="debug build", room=2),
        released("attacks", "Lab/attack", room=4),
    ]


def plan(kind, pattern):
    stages = test_stages(pattern)
    if kind == "check":
        # The linker of a release warns of runtime functions that are never called.
        stages[0].refuses = "warning:"
        # The longest stage waits for the release.
        stages[0].patient = True
        # The acceptance has the promises among its checks.
        stages = [stage for stage in stages if not stage.name.startswith("promises")] + check_stages()
    return stages


class Run:
    """Runs stages, as many at the same time as there is room for."""

    def __init__(self, stages, room, is_strict):
        self.stages, self.room, self.is_strict = stages, room, is_strict
        self.names = {stage.name: stage for stage in stages}
        self.change, self.processes = threading.Condition(), []
        os.makedirs(LOGS, exist_ok=True)

    def next(self, running):
        taken = {stage.alone for stage in running if stage.alone}
        free = self.room - sum(stage.room for stage in running)
        for stage in self.stages:
            need = self.names.get(stage.needs)
            if stage.outcome or stage in running or need and not need.outcome:
                continue
            if need and need.outcome != "ok":
                stage.outcome = "skipped"
                self.say(stage, f"needs {need.name}, which did not pass")
            elif (stage.room <= free or not running) and stage.alone not in taken:
                return stage
        return None

    def run(self):
        running = []
        try:
            while True:
                with self.change:
                    running = [stage for stage in running if not stage.outcome]
                    stage = self.next(running)
                    if stage:
                        running.append(stage)
                        threading.Thread(target=self.hold, args=(stage,), daemon=True).start()
                    elif running:
                        self.change.wait(1)
                    else:
                        return all(stage.outcome == "ok" for stage in self.stages)
        finally:
            for process in self.processes:
                end(process)

    def hold(self, stage):
        begun, problem = time.monotonic(), ""
        try:
            problem = self.execute(stage)
        except Exception as failure:  # Whatever goes wrong is this stage's failure, and the others still run.
            problem = f"{type(failure).__name__}: {failure}"
        stage.seconds = time.monotonic() - begun
        if self.is_strict and stage.counts["skipped"]:
            problem = problem or "a check was skipped"
        with self.change:
            stage.outcome = "FAILED" if problem else "ok"
            figure = ", ".join(f"{count} {word}" for word, count in stage.counts.items() if count)
            spent = f"{stage.seconds:.0f} s, {stage.processor:.0f} of a processor"
            self.say(stage, f"{spent}{f', {figure}' if figure else ''}{f': {problem}' if problem else ''}")
            self.change.notify_all()

    def execute(self, stage):
        """Runs the command; returns what is wrong, or nothing."""
        words = ["nice", "-n", "10" if stage.patient else "0", "bash", "-c",
                 f'set -euo pipefail; . "{ROOT}/Scripts/lib/setup.sh"; cd "$root"; {stage.command}']
        path = log_of(stage)
        with open(path, "wb") as log:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "NO_COLOR": "1", **stage.environment})
        self.processes.append(process)
        bound = threading.Timer(BOUND, os.killpg, [process.pid, signal.SIGKILL])
        bound.start()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        stage.processor = used.ru_utime + used.ru_stime
        if bound.finished.is_set():
            return f"did not end within {BOUND} s"
        bound.cancel()
        with open(path, encoding="utf-8", errors="replace") as log:
            lines = log.read().splitlines()
        for line in lines:
            check, tests, skipped = CHECK.match(line), TESTS.search(line), SKIPPED.search(line)
            if check:
                stage.counts[check["outcome"]] += 1
            if tests:
                stage.counts["ok"] += int(tests[1])
            if skipped or check and check["outcome"] == "skipped":
                stage.counts["skipped"] += bool(skipped)
                stage.told.append("skipped: {name}: {figure}".format(**(skipped or check).groupdict()))
            elif WRONG.search(line) and code:
                stage.told.append(line)
        refused = [line for line in lines if stage.refuses and stage.refuses in line]
        if code:
            # Its end comes first, so that the cause is the last that is read.
            stage.told = [line for line in lines[-40:] if "✔" not in line] + stage.told
        return f"ended with {code}" if code else f"said: {refused[0]}" if refused else ""

    def say(self, stage, figure):
        print(f"{stage.name:40} | {stage.outcome:7} | {figure}", flush=True)


def end(process):
    """Ends a stage with everything in its session: first with a request, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass


def log_of(stage):
    return f"{LOGS}/{stage.name.replace(' ', '-')}.log"


def terminated(number, _):
    raise SystemExit(128 + number)


def main(arguments):
    kind, words = arguments[0], [word for word in arguments[1:] if word != "--require"]
    if len(words) > 1 or any(word.startswith("-") for word in words):
        return 2
    # A run that nohup started stays. Its stages are in sessions of their own, which no terminal ends.
    signal.signal(signal.SIGTERM, terminated)
    # The suites and promises wait for half of their time; what the check adds does not.
    room = (3 if kind == "test" else 2) * max(2, os.cpu_count() or 1)
    run = Run(plan(kind, words[0] if words else None), room, "--require" in arguments)
    try:
        is_good = run.run()
    except KeyboardInterrupt:
        return 130
    for stage in run.stages:
        for line in stage.told:
            print(f"{stage.name}: {''.join(c if c.isprintable() else repr(c)[1:-1] for c in line)}")
    print(f"{'all passed' if is_good else 'FAILED'}; logs: {os.path.relpath(LOGS)}/", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

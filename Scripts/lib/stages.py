"""Stages of a long check: their order, their time budgets, and their reports.

A stage is one command. It starts when the stages that it needs have passed and there is room for
it. Its output goes to its own log file, and a reader makes lines for people from it while it runs.
"""

import os
import re
import threading
import time

from command import Command

OUTCOMES = ("ok", "FAILED", "skipped")


class Result:
    """One suite or check: its outcome, name and figure, the number of its tests, and its complete
    failure."""

    def __init__(self, outcome, name, figure="", tests=1, detail=""):
        self.outcome, self.name, self.figure, self.tests, self.detail = outcome, name, figure, tests, detail


class Silent:
    """Reads a stage whose output is only for its log: the stage itself is the one check."""

    def line(self, _):
        return []

    def end(self):
        return []


class Table:
    """Reads a stage that prints a line for each check, whose parts a pattern names: name, outcome,
    figure."""

    def __init__(self, pattern):
        self.pattern = re.compile(pattern)
        self.others, self.failed = [], []

    def line(self, text):
        found = self.pattern.match(text)
        if found is None:
            self.others.append(text)
            return []
        parts = found.groupdict()
        result = Result(parts["outcome"], parts["name"].strip(), parts["figure"] or "")
        if result.outcome == "FAILED":
            self.failed.append(result)
        return [result]

    def end(self):
        # Lines that are not in the table belong to the failures.
        if self.failed:
            self.failed[-1].detail = "\n".join(self.others)
        return []


class Stage:
    """One command with its budget in seconds; far beyond its budget it counts as hanging and is
    ended.

    `needs` names the stages that must have passed before. `room` is how much of the `Run`'s room it
    takes while it runs. `alone` names something that exists once, such as a build folder: stages
    that share one do not overlap.
    """

    def __init__(self, name, budget, command, needs=(), room=1, alone=None, reader=Silent, refuses=None, environment=None):
        self.name, self.budget, self.command = name, budget, command
        self.needs, self.room, self.alone, self.reader = needs, room, alone, reader
        self.refuses = refuses
        self.environment = environment or {}
        self.outcome = None
        self.seconds = self.cpu = 0.0
        self.results = []

    HANGS_AFTER = 8
    """A stage that takes so many times its budget hangs."""

    def bound(self):
        return max(600, self.HANGS_AFTER * self.budget)


class Run:
    """Runs stages, as many at the same time as there is room for, and reports. With `is_strict`,
    nothing may be skipped."""

    def __init__(self, stages, logs, room, show, is_strict=False):
        self.stages, self.logs, self.room, self.show, self.is_strict = stages, logs, room, show, is_strict
        self.names = {stage.name: stage for stage in stages}
        self.change = threading.Condition()
        self.commands = []
        self.width = max(len(stage.name) for stage in stages)
        os.makedirs(logs, exist_ok=True)

    def log_of(self, stage):
        return os.path.join(self.logs, stage.name.replace(" ", "-") + ".log")

    # Order

    def ready(self, running):
        """The first stage that may start now; None if none may."""
        free = self.room - sum(stage.room for stage in running)
        taken = {stage.alone for stage in running if stage.alone}
        for stage in self.stages:
            if stage.outcome is None and stage not in running and all(
                    self.names[name].outcome == "ok" for name in stage.needs if name in self.names):
                if (stage.room <= free or not running) and stage.alone not in taken:
                    return stage
        return None

    def drop_impossible(self):
        """Gives up stages that need a failed one."""
        for stage in self.stages:
            failed = [name for name in stage.needs if name in self.names and self.names[name].outcome not in (None, "ok")]
            if stage.outcome is None and failed:
                stage.outcome = "skipped"
                self.tell(stage, Result("skipped", stage.name, f"needs {failed[0]}, which did not pass"))

    def run(self):
        """Runs everything; returns whether all succeeded."""
        running = []
        try:
            while True:
                self.drop_impossible()
                with self.change:
                    running = [stage for stage in running if stage.outcome is None]
                    stage = self.ready(running)
                    if stage is None:
                        if not running:
                            break
                        self.change.wait(1)
                        continue
                    running.append(stage)
                threading.Thread(target=self.hold, args=(stage,), daemon=True).start()
        finally:
            self.end_all()
        return all(stage.outcome == "ok" for stage in self.stages)

    # One stage

    def hold(self, stage):
        begun = time.monotonic()
        reader = stage.reader()
        lines, hung, problem = [], [], None
        try:
            code, hung = self.execute(stage, reader, lines)
            problem = f"did not end within {stage.bound()} s" if hung else None if code == 0 else f"ended with {code}"
        except Exception as failure:  # Whatever goes wrong here is this stage's failure, and the others still run.
            problem = f"{type(failure).__name__}: {failure}"
        for result in reader.end():
            self.tell(stage, result)
        stage.seconds = time.monotonic() - begun
        refused = [line for line in lines if stage.refuses and stage.refuses in line]
        failed = any(result.outcome == "FAILED" for result in stage.results)
        if problem is None and refused:
            problem = f"said: {refused[0].strip()}"
        if problem and (hung or not failed):
            self.tell(stage, Result("FAILED", stage.name, problem, detail="\n".join(hung + lines[-60:])))
        elif not stage.results:
            self.tell(stage, Result("ok", stage.name, f"{stage.seconds:.0f} s"))
        with self.change:
            stage.outcome = "FAILED" if problem or failed else "ok"
            self.change.notify_all()

    def execute(self, stage, reader, lines):
        """Runs the command until it ends; returns its exit code, and where it hung if it did."""
        command = Command(stage.command, {**os.environ, "NO_COLOR": "1", **stage.environment})
        with self.change:
            self.commands.append(command)
        timer = threading.Timer(stage.bound(), command.hang)
        timer.start()
        try:
            with open(self.log_of(stage), "w", encoding="utf-8") as log:
                for text in command.lines():
                    log.write(text + "\n")
                    log.flush()
                    lines.append(text)
                    for result in reader.line(text):
                        self.tell(stage, result)
                code, stage.cpu = command.result()
                log.writelines(f"{line}\n" for line in command.hung)
        finally:
            timer.cancel()
        return code, command.hung

    def end_all(self):
        for command in self.commands:
            command.end()

    # Words

    def tell(self, stage, result):
        """Shows one suite's or check's line. If nothing may be skipped, a skip is a failure."""
        if self.is_strict and result.outcome == "skipped":
            result.outcome = "FAILED"
        with self.change:
            stage.results.append(result)
            parts = [result.name if result.name != stage.name else "", result.figure]
            self.show(" | ".join([f"{stage.name:{self.width}}", f"{result.outcome:7}", *filter(None, parts)]))

    def report(self):
        """The failures in full, the skipped checks with their reasons, the time of each stage, and
        the counts."""
        for stage in self.stages:
            for result in stage.results:
                if result.outcome == "FAILED":
                    self.show(f"\nFAILED: {stage.name}: {result.name}: {result.figure}")
                    if result.detail:
                        self.show(result.detail)
        skipped = [(stage, result) for stage in self.stages for result in stage.results if result.outcome == "skipped"]
        if skipped:
            self.show("\nskipped:")
            for stage, result in skipped:
                self.show(f"  {stage.name}: {result.name}: {result.figure}")
        self.show(f"\n{'stage':{self.width}} | came to |   took |    CPU | budget")
        for stage in self.stages:
            over = "  over" if stage.seconds > stage.budget else ""
            self.show(f"{stage.name:{self.width}} | {stage.outcome or 'not run':7} | {stage.seconds:4.0f} s | {stage.cpu:4.0f} s | {stage.budget:4} s{over}")
        self.show(f"logs: {os.path.relpath(self.logs)}/")

    def counts(self):
        """How many tests passed, failed and were skipped."""
        return [sum(result.tests for stage in self.stages for result in stage.results if result.outcome == outcome)
                for outcome in OUTCOMES]

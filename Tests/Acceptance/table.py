"""The output of the acceptance tests: a line for each check as it ends, failures in full, skipped
checks, and totals."""

import sys

import pytest

import disk_cases

WIDTH = 106


def line(text):
    """Text in one line, without control characters for a terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text.strip())


class Table:
    """Replaces pytest's own reporter."""

    def __init__(self):
        self.reports = {}
        self.outcomes = {"passed": [], "failed": [], "skipped": []}
        self.disks = {}

    def pytest_runtest_logreport(self, report):
        reports = self.reports.setdefault(report.nodeid, [])
        reports.append(report)
        # The third kind is the report of a worker that died.
        if report.when not in ("setup", "call"):
            self.show(self.reports.pop(report.nodeid))

    def show(self, reports):
        told = dict(property for report in reports for property in report.user_properties)
        name = told.get("sentence", reports[0].nodeid)
        outcome = next((word for word in ("failed", "skipped") if any(report.outcome == word for report in reports)), "passed")
        chosen = next((report for report in reports if report.outcome == outcome), reports[0])
        figure = told.get("figure") or f"{sum(report.duration for report in reports if report.when == 'call'):.2f} s"
        if outcome == "failed":
            crash = getattr(chosen.longrepr, "reprcrash", None)
            figure = crash.message.removeprefix("outside.Failure: ") if crash else str(chosen.longrepr)
        elif outcome == "skipped":
            figure = chosen.longrepr[2].removeprefix("Skipped: ")
        self.outcomes[outcome].append((name, figure, [report for report in reports if report.failed]))
        if "row" in told:
            disk, tree, *found = told["row"]
            self.disks.setdefault(disk, {})[tree] = found
        word = {"passed": "ok", "failed": "FAILED"}.get(outcome, outcome)
        print(f"{name:{WIDTH}} | {word:7} | {line(figure)}", flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes["failed"].append((report.nodeid, "", [report]))

    def pytest_internalerror(self, excrepr):
        print(excrepr, file=sys.stderr)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        for name, _, reports in self.outcomes["failed"]:
            for report in reports:
                print(f"\n{name}: {getattr(report, 'when', 'collect')}\n{report.longreprtext}")
                for title, content in report.sections:
                    print(f"\n  {title}\n{content.rstrip()}")
        for name, figure, _ in self.outcomes["skipped"]:
            print(f"skipped: {name}: {line(figure)}")
        if self.disks:
            print("\n" + "\n".join(disk_cases.table(self.disks)) + "\n")
        counts = {outcome: len(found) for outcome, found in self.outcomes.items()}
        print(f"acceptance: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
        if not counts["passed"]:
            session.exitstatus = 2
        if counts["failed"]:
            session.exitstatus = 1

"""Reads the report of Swift's testing library: a line for each suite, and each failure in full."""

import json
import os

from stages import Result


class SwiftSuites:
    """Reads a run's event stream when the run has ended; its output for people goes to the log."""

    def __init__(self, path):
        self.path = path
        # An interrupted run may have left this file behind.
        if os.path.exists(path):
            os.remove(path)
        self.suites, self.names, self.begun, self.ended = set(), {}, {}, set()
        self.started = set()
        self.skipped, self.issues, self.known = {}, {}, {}

    def line(self, _):
        return []

    def end(self):
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    # A process that died may have left half a line.
                    if line.endswith("\n"):
                        self.take(json.loads(line))
            os.remove(self.path)
        return list(self.results())

    def take(self, record):
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "suite":
                self.suites.add(payload["id"])
            else:
                self.names[payload["id"]] = payload.get("displayName") or payload["name"]
            return
        test, kind = payload.get("testID"), payload["kind"]
        if kind == "testStarted":
            self.started.add(test)
        elif kind == "testCaseStarted":
            self.begun[test] = self.begun.get(test, 0) + 1
        elif kind == "testCaseEnded":
            self.begun[test] -= 1
        elif kind == "testEnded":
            self.ended.add(test)
        elif kind == "testSkipped":
            self.skipped[test] = text_of(payload).partition('skipped')[2].strip(' :."') or "without a reason"
        elif kind == "issueRecorded":
            issue = payload["issue"]
            if issue["isKnown"]:
                self.known[test] = self.known.get(test, 0) + 1
            elif issue.get("severity") != "warning":
                place = issue.get("sourceLocation") or {}
                where = f"{place.get('fileID', '')}:{place.get('line', '')}"
                self.issues.setdefault(test, []).append(f"  {where}\n    {text_of(payload)}")

    def suite_of(self, test):
        """The innermost suite that a test is in, or its module."""
        path = test.rsplit("/", 1)[0] if test.count("/") else test
        holders = [suite for suite in self.suites if path.startswith(suite + "/")]
        return max(holders, key=len) if holders else path.split(".")[0]

    def running(self):
        """The tests that were running at the end: those in one of their cases, or else, since the
        library starts a test long before it has room for its cases, all that had started."""
        inside = {test for test, count in self.begun.items() if count}
        return inside or self.started - self.ended

    def results(self):
        tests, running = {}, self.running()
        for test in self.names:
            if test not in self.skipped and (test in self.ended or test in self.issues or test in running):
                tests.setdefault(self.suite_of(test), []).append(test)
        if not tests and not self.skipped:
            yield Result("FAILED", "no test ran")
        for suite in sorted(tests):
            ran = tests[suite]
            known = sum(self.known.get(test, 0) for test in ran)
            figure = f"{len(ran)} tests" if len(ran) != 1 else "1 test"
            if known:
                figure += f", {known} known {'issue' if known == 1 else 'issues'}"
            bad = [test for test in ran if test in self.issues or test not in self.ended]
            if len(ran) > len(bad):
                yield Result("ok", suite, figure if not bad else f"{len(ran) - len(bad)} of {figure}", len(ran) - len(bad))
            for test in bad:
                said = "\n".join(self.issues.get(test, []))
                unfinished = "" if test in self.ended else "  it was running when the process ended\n"
                yield Result("FAILED", f"{suite}: {self.names[test]}", detail=unfinished + said)
        for test, reason in self.skipped.items():
            if test in self.names:
                yield Result("skipped", f"{self.suite_of(test)}: {self.names[test]}", reason)
        # An issue outside of any test, or of a test that was never announced.
        for test in self.issues.keys() - self.names.keys():
            yield Result("FAILED", test or "outside of any test", detail="\n".join(self.issues[test]))


def text_of(payload):
    return "\n    ".join(message["text"] for message in payload.get("messages", []))

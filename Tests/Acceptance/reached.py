"""The exit codes and events that the checks of a run have reached, and whether each event follows
the schema."""

import contextlib
import json
import os

import events


def lines(process):
    """The complete lines that a run of the command wrote to standard output as JSON."""
    with contextlib.suppress(OSError), open(process.out_path, encoding="utf-8", errors="replace") as out:
        for line in out.read().split("\n")[:-1]:
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)


def note(item, report, work):
    """Notes the exit codes and events of one check. The check fails if an event does not follow the
    schema."""
    found, heard = set(), list(work.reached)
    for process in work.processes:
        if process.poll():
            found.add(("code", process.code))
        if b"--json" in map(os.fsencode, process.arguments):
            heard += lines(process)
    for event in heard:
        wrong = events.mistake(event)
        if wrong and not report.failed:
            report.outcome, report.longrepr = "failed", wrong
        if isinstance(event, dict):
            found.add(("event", event.get("event")))
    item.user_properties.append(("reached", sorted(([kind, value] for kind, value in found if value is not None), key=str)))
    report.user_properties = list(item.user_properties)


LONG = {"codesSpent"}
"""The names that only the checks of a long run reach."""


def missing(reached, is_long):
    """The names that no check of a run has reached, in words."""
    codes = sorted(events.CODES - {value for kind, value in reached if kind == "code"})
    names = sorted(events.names() - {value for kind, value in reached if kind == "event"} - (set() if is_long else LONG))
    return [f"exit code {code}" for code in codes] + [f"the event '{name}'" for name in names]


def is_whole(counts):
    """Whether every check ran: a check that was left out or skipped may be the only one that
    reaches a name."""
    return not os.environ.get("ACCEPTANCE_ONLY") and not counts["skipped"] and not counts["failed"]

"""Judges samples of long-lived processes: makes a table over time, and finds growth. It takes and
returns only values."""

import statistics
from typing import NamedTuple, Optional

from outside import MIB

TOLERANCE = 0.05
"""How much more than after the first minute a process may have at the end."""

FRAME = 272 << 10
"""The memory of one frame, in bytes (`ArchiveSizes.frameCapacity`). A transfer that is under way
has some of them, and now and then one more."""

LEAST_ROWS = 3
"""How many minutes a run needs for a verdict: the first, one to compare with, and the last."""


class Sample(NamedTuple):
    """The resources of a process at one moment; an unreadable number is None."""

    at: float
    """Seconds since the beginning of the run."""
    process: str
    anonymous: Optional[int]
    """Bytes of memory that belong to no file. These are judged: the rest of RSS and PSS is the
    program's code, which counts when it runs for the first time, and is shared."""
    proportional: Optional[int]
    resident: int
    descriptors: Optional[int]
    threads: int
    is_judged: bool
    """Whether the process was at rest: between two transfers, if it takes transfers."""


class Row(NamedTuple):
    """The medians of a process's judged samples in one minute."""

    minute: int
    anonymous: Optional[float]
    proportional: Optional[float]
    resident: float
    descriptors: Optional[float]
    threads: float
    samples: int


JUDGED = {"anonymous": "memory", "descriptors": "descriptors", "threads": "threads"}
"""The judged values, with their names for people."""


def rows(samples, process, period, count):
    """A row for each of so many minutes (or other periods) in which the process was at rest. Later
    samples belong to the last row."""
    minutes = {}
    for sample in samples:
        if sample.process == process and sample.is_judged:
            minutes.setdefault(min(int(sample.at // period), count - 1), []).append(sample)
    return [
        Row(minute + 1, *(middle(found, field) for field in ("anonymous", "proportional", "resident", "descriptors", "threads")), len(found))
        for minute, found in sorted(minutes.items())]


def middle(samples, field):
    values = [getattr(sample, field) for sample in samples if getattr(sample, field) is not None]
    return statistics.median(values) if values else None


def verdict(table, frames=0, since=2):
    """The growth of each judged value: its name, whether it is within the tolerance, and a figure.
    The memory may also grow by so many frames.

    The end is the last row. The beginning is the row of minute `since`, or the next one: the first
    minute is for what a process needs once.
    """
    base = next((row for row in table if row.minute >= since), None)
    if base is None or len(table) < LEAST_ROWS or base is table[-1]:
        return [("all", False, f"only {len(table)} minutes with samples: too few to judge")]
    found = []
    for field, name in JUDGED.items():
        begin, end = getattr(base, field), getattr(table[-1], field)
        if begin is None or end is None:
            found.append((name, False, "could not be read"))
            continue
        growth = (end - begin) / begin if begin else float(end > 0)
        slack = frames * FRAME if field == "anonymous" else 0
        is_flat = end - slack <= begin * (1 + TOLERANCE)
        found.append((name, is_flat, f"{shown(field, begin)} in minute {base.minute}, {shown(field, end)} in minute {table[-1].minute}: {100 * growth:+.1f} %"))
    return found


def shown(field, value):
    if value is None:
        return "?"
    return f"{value / MIB:.2f} MiB" if field in ("anonymous", "proportional", "resident") else f"{value:g}"


def lines(table, period):
    """The table of a process, for people."""
    unit = "minute" if period == 60 else f"{period:g} s"
    header = [unit, "anonymous", "PSS", "RSS", "descriptors", "threads", "samples"]
    body = [
        [str(row.minute), *(shown(field, getattr(row, field)) for field in ("anonymous", "proportional", "resident", "descriptors", "threads")),
         str(row.samples)] for row in table]
    return columns([header, *body])


def columns(table):
    """Lines in which the cells of each column end at the same place."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [" | ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table]

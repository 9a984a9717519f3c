"""The results of a bench, as a table."""

import statistics

from outside import MIB


def result(name, title, cases):
    """A work with the cost of each of its contestants."""
    rows = [{"name": case.name, **figures(case)} for case in cases]
    floors = {case.source: row["cpu"] for case, row in zip(cases, rows) if row["name"] == "floor"}
    for case, row in zip(cases, rows):
        row["timesFloor"] = row["cpu"] / floors[case.source] if case.source in floors else None
    return {"work": name, "title": title, "contestants": rows}


def figures(case):
    """The medians of all runs, and the spread of the time."""
    def median(of, runs=case.runs):
        return statistics.median(map(of, runs)) if runs else None

    seconds, start = median(lambda run: run.seconds), median(lambda run: run.seconds, case.starts)
    return {
        "runs": len(case.runs),
        "items": case.items,
        "bytes": case.bytes,
        "seconds": seconds,
        "range": (min(run.seconds for run in case.runs), max(run.seconds for run in case.runs)),
        "lessOneByte": seconds - start if start else None,
        "cpu": median(lambda run: sum(run.cpu)),
        "senderCPU": median(lambda run: run.cpu[0]),
        "receiverCPU": median(lambda run: run.cpu[1]),
        "senderPeak": median(lambda run: run.peak[0]),
        "receiverPeak": median(lambda run: run.peak[1]),
        "others": median(lambda run: run.others),
    }


COLUMNS = [
    "", "seconds", "(range)", "less one byte", "MB/s", "CPU s", "sender", "receiver", "× floor", "sender MiB", "receiver MiB", "others"]


def table(work):
    """A line a contestant."""
    contestants = work["contestants"]
    rows = [COLUMNS] + [row(one) for one in contestants]
    widths = [max(map(len, column)) for column in zip(*rows)]
    sizes = "; ".join(dict.fromkeys(f"{one['items']} items, {one['bytes'] / 1e6:.1f} MB" for one in contestants))
    title = [f"{work['work']}: {work['title']}: {sizes}; medians of {contestants[0]['runs']}"]
    return title + [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]).rstrip() for first, *rest in rows]


def row(found):
    def shown(name, digits=2):
        return "" if found[name] is None else f"{found[name]:.{digits}f}"

    return [
        found["name"], shown("seconds", 3), "({:.2f}–{:.2f})".format(*found["range"]), shown("lessOneByte", 3),
        f"{found['bytes'] / found['seconds'] / 1e6:.0f}", shown("cpu"), shown("senderCPU"), shown("receiverCPU"), shown("timesFloor"),
        f"{found['senderPeak'] / MIB:.1f}", f"{found['receiverPeak'] / MIB:.1f}", f"{found['others'] * 100:.0f} %"]

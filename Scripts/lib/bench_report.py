"""What a bench found, as a table and as one JSON object."""

import os
import platform

from outside import MIB

COLUMNS = ["", "seconds", "(range)", "MB/s", "CPU s/GB", "(least)", "CPU µs/item", "(least)",
           "in kernel", "sender MiB", "receiver MiB", "× first", "others"]


def table(title, cases):
    """One work, a line a contestant; times in proportion to the first that carries the same."""
    firsts = {}
    for case in cases:
        firsts.setdefault(case.source, case.figures())
    rows = [COLUMNS] + [row(case.name, case.figures(), firsts[case.source]) for case in cases]
    widths = [max(len(line[column]) for line in rows) for column in range(len(COLUMNS))]
    sizes = "; ".join(f"{one['items']} items, {one['bytes'] / 1e6:.1f} MB" for one in firsts.values())
    lines = [f"{title}: {sizes}; medians of {len(cases[0].runs)}"]
    for cells in rows:
        lines.append("  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths))).rstrip())
    return lines + [moments(case.name, case.figures()) for case in cases if is_short(case.figures())]


def row(name, found, first):
    """What one contestant cost; a rate by content or items only where there are enough of them."""
    size, items, least = found["bytes"], found["items"], found["leastCPUSeconds"]
    per_gigabyte = (f"{found['cpuSeconds'] / size * 1e9:.2f}", f"({least / size * 1e9:.2f})") if size >= MIB else ("", "")
    per_item = (f"{found['cpuMicrosecondsPerItem']:.1f}", f"({least / items * 1e6:.1f})") if items > 9 else ("", "")
    return [
        name, f"{found['seconds']:.3f}", f"({found['fastestSeconds']:.2f}–{found['slowestSeconds']:.2f})",
        f"{found['megabytesPerSecond']:.0f}", *per_gigabyte, *per_item, f"{found['kernelShare'] * 100:.0f} %",
        f"{found['senderPeakBytes'] / MIB:.1f}", f"{found['receiverPeakBytes'] / MIB:.1f}",
        f"{found['seconds'] / first['seconds']:.2f}", f"{found['othersShare'] * 100:.0f} %"]


def is_short(found):
    return found["milliseconds"] and found["bytes"] < MIB


def moments(name, found):
    """The line about a short transfer: what starting costs."""
    ends = ", ".join(f"{end} {found[f'{end}CPUSeconds'] * 1000:.1f}" for end in ("sender", "receiver"))
    when = ", ".join(f"{moment} {value:.1f}" for moment, value in found["milliseconds"].items())
    return f"{name}: CPU ms: {ends}; ms from each end's start: {when}"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
    }


def document(place, found):
    """Everything as one JSON object: works by name, contestants in order."""
    return {
        "machine": machine(),
        "storage": "disk" if place.is_on_disk else "memory",
        "works": [
            {"work": name, "title": title, "contestants": [{"name": case.name, **case.figures()} for case in cases]}
            for name, title, cases in found],
    }

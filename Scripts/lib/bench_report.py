"""What a bench found, as a table and as one JSON object."""

import os
import platform

from outside import MIB

COLUMNS = ["", "seconds", "(range)", "MB/s", "items/s", "CPU s/GB", "CPU µs/item", "sender MiB", "receiver MiB", "× peer", "others"]


def table(title, cases):
    """One work, a line a contestant; all times in proportion to the first."""
    first = cases[0].figures()
    rows = [COLUMNS]
    for case in cases:
        found = case.figures()
        per_gigabyte = found["cpuSecondsPerGigabyte"]
        rows.append([
            case.name, f"{found['seconds']:.3f}", f"({found['fastestSeconds']:.2f}–{found['slowestSeconds']:.2f})",
            f"{found['megabytesPerSecond']:.0f}", f"{found['itemsPerSecond']}" if found["items"] > 9 else "",
            f"{per_gigabyte:.2f}" if per_gigabyte is not None else "",
            f"{found['cpuMicrosecondsPerItem']:.1f}" if found["items"] > 9 else "",
            f"{found['senderPeakBytes'] / MIB:.1f}", f"{found['receiverPeakBytes'] / MIB:.1f}",
            f"{found['seconds'] / first['seconds']:.2f}", f"{found['othersShare'] * 100:.0f} %"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [f"{title}: {first['items']} items, {first['bytes'] / 1e6:.1f} MB, medians of {first['runs']}"]
    for row in rows:
        lines.append("  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
    for case in cases:
        moments = case.figures()["milliseconds"]
        if moments and first["bytes"] < MIB:
            lines.append(f"{case.name}: ms from each end's start: " + ", ".join(f"{k} {v:.1f}" for k, v in moments.items()))
    return lines


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
        "storage": "disk, with a final sync" if place.is_on_disk else "memory",
        "works": [
            {"work": name, "title": title, "contestants": [{"name": case.name, **case.figures()} for case in cases]}
            for name, title, cases in found],
    }

"""What a bench found, as a table and as one JSON object."""

import os
import platform

from outside import MIB

COLUMNS = ["", "seconds", "(range)", "MB/s", "CPU s/GB", "(least)", "CPU µs/item", "(least)",
           "in kernel", "sender MiB", "receiver MiB", "× first", "others"]


def table(title, cases):
    """One work, a line a contestant; times in proportion to the first that carries the same."""
    sources = {}
    for case in cases:
        sources.setdefault(case.source, case.figures())
    rows = [COLUMNS]
    for case in cases:
        found = case.figures()
        per_gigabyte, least, is_many = found["cpuSecondsPerGigabyte"], found["leastCPUSeconds"], found["items"] > 9
        rows.append([
            case.name, f"{found['seconds']:.3f}", f"({found['fastestSeconds']:.2f}–{found['slowestSeconds']:.2f})",
            f"{found['megabytesPerSecond']:.0f}",
            f"{per_gigabyte:.2f}" if per_gigabyte is not None else "",
            f"({least / found['bytes'] * 1e9:.2f})" if per_gigabyte is not None else "",
            *((f"{found['cpuMicrosecondsPerItem']:.1f}", f"({least / found['items'] * 1e6:.1f})") if is_many else ("", "")),
            f"{found['kernelShare'] * 100:.0f} %", f"{found['senderPeakBytes'] / MIB:.1f}", f"{found['receiverPeakBytes'] / MIB:.1f}",
            f"{found['seconds'] / sources[case.source]['seconds']:.2f}", f"{found['othersShare'] * 100:.0f} %"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    sizes = "; ".join(f"{one['items']} items, {one['bytes'] / 1e6:.1f} MB" for one in sources.values())
    lines = [f"{title}: {sizes}; medians of {len(cases[0].runs)}"]
    for row in rows:
        lines.append("  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
    for case in cases:
        found = case.figures()
        if found["milliseconds"] and found["bytes"] < MIB:
            lines.append(
                f"{case.name}: CPU ms of the sender {found['senderCPUSeconds'] * 1000:.1f}, of the receiver "
                f"{found['receiverCPUSeconds'] * 1000:.1f}; ms from each end's start: "
                + ", ".join(f"{name} {value:.1f}" for name, value in found["milliseconds"].items()))
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
        "storage": "disk" if place.is_on_disk else "memory",
        "works": [
            {"work": name, "title": title, "contestants": [{"name": case.name, **case.figures()} for case in cases]}
            for name, title, cases in found],
    }

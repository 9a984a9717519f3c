"""The table of Lab/coverage, from what llvm-cov exports to its standard input.

Usage: coverage.py ROOT [--missed TEXT]
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True

from outside import check_line  # noqa: E402

LEAST = {"MigrationWire": 95, "pairing": 95}
"""The shares that are more than those of the other modules, in percent."""

LEAST_ELSEWHERE = 85

PAIRING = re.compile(r"^(MigrationWire/Pairing/|MigrationTransfer/Pairing/|MigrationTLS/(Pairing|Spake2))")
"""The files of the pairing, from the code that a user types to the keys."""


def measured(root, export):
    """Each file below Sources with its part of the export, by its path there."""
    sources = f"{os.path.realpath(root)}/Sources/"
    for file in export["data"][0]["files"]:
        path = os.path.realpath(file["filename"])
        if path.startswith(sources):
            yield path[len(sources):], file


def groups_of(path):
    yield path.split("/")[0]
    if PAIRING.match(path):
        yield "pairing"


def report(files):
    """Prints the table; whether each share is reached."""
    lines, run = {}, {}
    for path, file in files:
        summary = file["summary"]["lines"]
        for group in groups_of(path):
            lines[group] = lines.get(group, 0) + summary["count"]
            run[group] = run.get(group, 0) + summary["covered"]
    is_good = bool(lines)
    for group in sorted({*lines, *LEAST}):
        least = LEAST.get(group, LEAST_ELSEWHERE)
        if not lines.get(group):
            # Its files have other paths now, or the export lacks them.
            is_good = False
            print(check_line(f"{group + ': lines that run':<60}", "FAILED", "no lines were measured"))
            continue
        share = 100 * run[group] / lines[group]
        outcome = "ok" if share >= least else "FAILED"
        is_good = is_good and outcome == "ok"
        print(check_line(f"{group + ': lines that run':<60}", outcome, f"{share:.1f} % of {lines[group]}, at least {least} %"))
    return is_good


def missed_lines(segments):
    """The ranges of lines that did not run: each segment counts until the next one."""
    missed = []
    for (line, _, count, has_count, _, is_gap), after in zip(segments, segments[1:]):
        if has_count and count == 0 and not is_gap:
            missed.append((line, after[0]))
    return missed


def show_missed(root, files, text):
    for path, file in files:
        ranges = missed_lines(file["segments"]) if text in path else []
        if ranges:
            with open(f"{root}/Sources/{path}", encoding="utf-8") as source:
                content = source.read().split("\n")
            print(path)
            for number in sorted({line for first, last in ranges for line in range(first, last + 1)}):
                print(f"{number:5} {content[number - 1]}")


def main(arguments):
    root, *rest = arguments
    files = sorted(measured(root, json.load(sys.stdin)), key=lambda file: file[0])
    if rest:
        show_missed(root, files, rest[1])
        return 0
    return 0 if report(files) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

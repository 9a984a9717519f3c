"""Runs the rows of docs/Evidence.md and writes their table: Lab/evidence has the usage."""

import datetime
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = f"{ROOT}/.build/evidence"
PAGE = f"{ROOT}/docs/Evidence.md"
BEGIN, END = "<!-- written by Lab/evidence -->", "<!-- end -->"
CHECK = re.compile(r"^.*\S *\| (ok|FAILED|skipped) *\|", re.MULTILINE)


@dataclass
class Row:
    """`figure` finds the figures in the output; without it, the lines of checks are counted."""

    name: str
    promise: str
    breaker: str
    command: str
    figure: str = ""


ROWS = [
    Row("world", "Nothing is lost, mixed up or reported too early, at any moment at which a process or a machine ends",
        "both ends and the relay as they are, in a simulated world: a seed chooses kills, power losses, cuts, stalls, lost "
        "writes, a user's edits and later passes", "Scripts/world --first 1 --seeds 3000", r"\d+ seeds, .* switches"),
    Row("threads", "No order of two threads breaks an object that they share", "two or three threads meet at one real object",
        "Lab/interleave --seeds 2000", r"\d+ meetings, .* switches"),
    Row("power", "What was reported as arrived survives a power cut; a changed file is the old one or the new one",
        "an emulated machine whose disk drops and tears writes, on ext4, XFS and btrfs", "Lab/power --rounds 39 --seed 5",
        r"lab power: (.*)"),
    Row("chaos", "A transfer ends completely after kills and broken connections", "real processes, signals and a bad line",
        "Lab/chaos --rounds 20", r"\d+ rounds, \d+ failed.*"),
    Row("outside", "What the manual says of each command is so", "the release program from outside, as a user and an "
        "administrator run it; each exit code, JSON by its schema", "Scripts/acceptance --jobs 3"),
    Row("interop", "Protocol.md is enough to implement either end", "a second implementation in another language, as both ends, "
        "and the vectors", "Scripts/acceptance --only interop"),
    Row("hostile", "The other end cannot make a device lose, overwrite or disclose anything",
        "the second implementation, with frames replaced, repeated, moved and cut", "Scripts/acceptance --only hostile"),
    Row("floods", "Strangers on the network do not keep an honest pair from its transfer",
        "floods of connections, metadata without end, 10,000 packets of multicast DNS a second", "Lab/attack"),
    Row("fuzzing", "No bytes from outside break a reader", "libFuzzer with the address sanitizer, each target for twenty seconds",
        "Lab/fuzz --jobs 2 all 20"),
    Row("files", "The promises hold on other file systems", "NFS, CIFS, 9p, exFAT, FAT, ext4 with casefold, each in a machine of "
        "its own", "Lab/files"),
    Row("second-run", "A second and a third run of a move change nothing that they should not",
        "a home of real programs, Debian 12 to 13, changes on both sides; judged by rsync",
        'Lab/second-run "${PEER_BINARY:-.build/release-static/release/peer}"'),
    Row("leaks", "No memory is lost or read after its end", "the suites under the sanitizer of leaks", "Lab/sanitize leaks"),
    Row("mutants", "The tests notice a changed decision", "the engine's conditions and actions, changed one by one",
        "Scripts/mutants --module Engine --sample 100", r"mutants .*"),
]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()


def version():
    with open(f"{ROOT}/Sources/Transfer/MigrationTransfer/Version.swift", encoding="utf-8") as file:
        return re.search(r'"(\d+\.\d+\.\d+)"', file.read()).group(1)


def result(row, output):
    """The figures of a run, in words."""
    if row.figure:
        found = re.findall(row.figure, output)
        return " ".join(found[-1].replace("|", ",").split()) if found else ""
    counts = {word: 0 for word in ("ok", "FAILED", "skipped")}
    for word in CHECK.findall(output):
        counts[word] += 1
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def run(row):
    print(f"{row.name}: {row.command}", flush=True)
    path, begun = f"{KEPT}/{row.name}.log", datetime.datetime.now()
    with open(path, "w", encoding="utf-8", errors="replace") as log:
        code = subprocess.run(["bash", "-c", row.command], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    with open(path, encoding="utf-8", errors="replace") as log:
        figure = result(row, log.read())
    found = {"version": version(), "commit": git("rev-parse", "--short=8", "HEAD"), "date": begun.strftime("%Y-%m-%d"),
             "minutes": round((datetime.datetime.now() - begun).total_seconds() / 60, 1), "code": code, "figure": figure}
    with open(f"{KEPT}/{row.name}.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
    print(f"    exit code {code} after {found['minutes']} min: {figure or 'no figures'}", flush=True)


def kept(row):
    """The last run of this version; nil if there is none."""
    try:
        with open(f"{KEPT}/{row.name}.json", encoding="utf-8") as file:
            found = json.load(file)
    except OSError:
        return None
    is_ours = subprocess.run(["git", "-C", ROOT, "merge-base", "--is-ancestor", found["commit"], "HEAD"], stderr=subprocess.DEVNULL,
                             check=False).returncode == 0
    return found if found["version"] == version() and is_ours else None


def table():
    yield "| promise | what tries to break it | result | repeat with |"
    yield "| --- | --- | --- | --- |"
    for row in ROWS:
        if found := kept(row):
            figure = found["figure"] + ("" if found["code"] == 0 else f"; **exit code {found['code']}**")
            yield f"| {row.promise} | {row.breaker} | {figure} ({found['commit']}, {found['minutes']} min) | `{row.command}` |"


def write():
    with open(PAGE, encoding="utf-8") as file:
        head, rest = file.read().split(BEGIN)
    tail = rest.split(END)[1]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n" + "\n".join(table()) + f"\n{END}{tail}")


def main(words):
    names = [word for word in words if not word.startswith("-")]
    rows = [row for row in ROWS if not names or row.name in names]
    if "--list" in words:
        print("\n".join(f"{row.name:<10} | {row.command}" for row in ROWS))
        return 0
    if len(rows) != (len(names) or len(ROWS)):
        print("error: There is no such row.\nhint: Lab/evidence --list names them.", file=sys.stderr)
        return 2
    os.makedirs(KEPT, exist_ok=True)
    if "--write" not in words:
        for row in rows:
            run(row)
    write()
    return 0 if all((kept(row) or {"code": 1})["code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

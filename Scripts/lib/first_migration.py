"""Runs every command of the page "From nothing to a migration in ten minutes", one after the other,
as written.

Usage: first_migration.py PAGE FOLDER [--until TEXT]
  PAGE    the page
  FOLDER  where they run; an empty folder of the user
  --until TEXT  ends before the heading with this text

`peer` and `swift` are those of PATH, and HOME decides where apps are installed. A line of a block
that does not begin with one of the programs below is the expected output of the commands above it;
`…` in it matches anything. Prints each command with its seconds, its output if it failed, and at
the end the seconds of all. Exit codes: 0 if all commands did what the page says, 1 otherwise.
"""

import os
import re
import subprocess
import sys
import time

PROGRAMS = ("peer", "cd", "swift", "./bundle", "mkdir", "cp")
PATIENCE = 900


def steps(text):
    """The commands of a page, each with its expected output."""
    found = []
    for line in re.findall(r"^    (.+)$", text, re.MULTILINE):
        if line.split(" ")[0] in PROGRAMS:
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return found


def shows(said, line):
    return re.search(".*".join(map(re.escape, line.split("…"))), said) is not None


def run(text, folder):
    """Whether every command does what the page promises."""
    began = time.monotonic()
    for command, lines in steps(text):
        if command.startswith("cd "):
            folder = os.path.join(folder, command[3:])
            continue
        start = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE, check=False)
        said = done.stdout.decode(errors="replace")
        missing = [line for line in lines if not shows(said, line)]
        print(f"{command}: {time.monotonic() - start:.1f} s", flush=True)
        if done.returncode != 0 or missing:
            print(f"{said[-3000:]}\nended with {done.returncode}; not shown: {missing}")
            return False
    print(f"{len(steps(text))} commands in {time.monotonic() - began:.0f} s")
    return True


def main(page, folder, *options):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if options:
        _, heading = options
        text = text[:text.index(f"\n## {heading}\n")]
    return 0 if run(text, folder) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

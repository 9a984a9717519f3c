"""Runs `peer receive` in a whole machine, on file systems that this machine's kernel may lack.
Prints a table: name | ok, FAILED or skipped | figure, and at the end the items that each file
system holds.

Usage: Lab/files [--only TEXT] [--keep] [--list]
  --only TEXT  only the file systems whose names contain this text
  --keep       keeps the folder with the images and the output
  --list       names the file systems, and does nothing

Each file system gets its own machine, for a minute or two; nothing of it outlives the run. `peer
send` runs outside, and reaches the machine by a port of the outer machine's loopback.
"""

import sys

from lab_cases import Lab
from lab_disks import all_disks
from lab_parts import Parts, run_folder
from outside import Skip, find_binary


def parse(arguments):
    """The options with their values; None if the line is wrong."""
    options = {"--keep": False, "--list": False, "--only": ""}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option == "--only" and rest:
            options[option] = rest.pop(0)
        elif option in ("--keep", "--list"):
            options[option] = True
        else:
            return None
    return options


def run(disks, work, options):
    """Whether no check failed."""
    parts = Parts()
    binary = find_binary("lab")
    if binary is None:
        raise Skip("there is no binary to run")
    lab = Lab(parts, binary, work, options["--keep"])
    for disk in disks:
        lab.check(disk)
    print(f"\n{lab.table()}")
    return not lab.failed


def main(arguments):
    options = parse(arguments)
    if options is None:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    disks = [disk for disk in all_disks() if options["--only"] in disk.name]
    if options["--list"] or not disks:
        print("\n".join(disk.name for disk in all_disks()))
        return 0 if disks else 2
    with run_folder(options["--keep"]) as work:
        return 0 if run(disks, work, options) else 1

"""The distribution of the work: instructions by function and system calls by name, of both ends.

They are counted, not timed, so that a busy machine changes nothing: callgrind counts executed
instructions, strace calls of the kernel. The cost of a transfer of one byte (starting, pairing,
ending) is subtracted, and the rest is divided by the sent amount.
"""

import collections
import os
import re
import shutil
import subprocess

from bench_contestants import Floor, Peer
from bench_data import big_file, many_files
from outside import MIB, ROOT, remove, require

ENDS = ["sender", "receiver"]
BARE = "peer-bare"
"""The name of the binary without its line tables."""

SHOWN = 25
"""How many functions of an end are listed."""

HEAD = re.compile(r"^\s*([\d,]+)(?: \(\s*[\d.]+%\))?\s+(.*)$")
CALLS = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$")


def callgrind(path):
    return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={path}"]


def strace(path):
    return ["strace", "-f", "-c", "-o", path]


def instructions(path):
    """Instructions by (object, function, with_callees): its own, or including those of its
    callees."""
    found = collections.Counter()
    for with_callees in (False, True):
        command = f'callgrind_annotate --threshold=100 --inclusive={"yes" if with_callees else "no"} "$2"'
        said = subprocess.run(
            ["bash", "-c", f'. "$1/Scripts/lib/setup.sh"; find_swift; {command} | swift demangle --simplified', "bash", ROOT, path],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode(errors="replace")
        for match in filter(None, map(HEAD.match, said.splitlines())):
            place, _, binary = match.group(2).strip().partition(" [")
            # If functions call each other in a circle, their names end in a number.
            function = re.sub(r"'\d+$", "", place.split(":", 1)[-1])
            if "PROGRAM TOTALS" not in place:
                found[os.path.basename(binary.rstrip("]")), function, with_callees] += int(match.group(1).replace(",", ""))
    require(found, "callgrind_annotate says nothing that is understood")
    return found


def system_calls(path):
    with open(path, encoding="utf-8") as file:
        matches = [CALLS.match(line) for line in file]
    found = collections.Counter({match.group(2): int(match.group(1)) for match in matches if match and match.group(2) != "total"})
    require(found, "strace says nothing that is understood")
    return found


def count(tool, read, place, contestant, source):
    """The work of both ends to transfer a folder: a counter each. `contestant` makes one, given its
    tool."""
    files = {end: place.file(f"counted-{end}") for end in ENDS}
    destination = place.fresh("new")
    contestant(lambda end: tool(files[end]))(place, source, destination)
    remove(destination)
    return {end: read(path) for end, path in files.items()}


def difference(whole, start):
    """The cost of a work beyond starting and ending."""
    return collections.Counter({key: count - start[key] for key, count in whole.items() if count != start[key]})


def show_instructions(found, amount, unit):
    """The lines about one end's instructions."""
    own = collections.Counter({key: count for key, count in found.items() if not key[2]})
    total = sum(own.values())
    # Functions without a name, or with nearly everything, are not informative.
    whole = collections.Counter({
        key: count for key, count in found.items()
        if key[2] and key[0] == BARE and not key[1].startswith("0x") and count < 0.9 * total})
    yield f"{total / amount:,.0f} instructions {unit}"
    for title, counted in (("by themselves", own), ("with what they call", whole)):
        yield f"  {title}:"
        for (binary, function, _), count in counted.most_common(SHOWN):
            yield f"  {count / amount:12,.1f}  {count / total * 100:4.1f} %  {function[:110]}  [{binary}]"


def show_calls(found, amount, unit):
    """The lines about one end's system calls."""
    yield f"{sum(found.values()) / amount:.2f} system calls {unit}"
    for name, count in found.most_common(16):
        if abs(count) / amount >= 0.005:
            yield f"  {count / amount:8.2f}  {name}"


def profile(place, binary, folders=20, files=100, size=64):
    """The lines of the whole profile, as they are found."""
    # Valgrind does not understand all of the compiler's line tables; the functions' names are
    # enough.
    bare = place.file(BARE)
    shutil.copy(binary, bare)
    if shutil.which("objcopy"):
        subprocess.run(["objcopy", "--strip-debug", bare], check=True)
    least = place.source("least", big_file, 1)
    small = place.source("small", many_files, folders, files, [4096]), "small files of 4 KiB", "a file", folders * files
    large = place.source("large", big_file, size * MIB), "one file", "a MiB", size
    contestants = [("peer", lambda beneath: Peer(bare, beneath=beneath)), ("floor", lambda beneath: Floor(beneath))]
    for tool, read, show in ((callgrind, instructions, show_instructions), (strace, system_calls, show_calls)):
        for name, contestant in contestants:
            start = count(tool, read, place, contestant, least)
            for source, title, unit, amount in (small, large):
                whole = count(tool, read, place, contestant, source)
                for end in ENDS:
                    lines = show(difference(whole[end], start[end]), amount, unit)
                    yield f"{title}, {name}, {end}: " + "\n".join(lines) + "\n"

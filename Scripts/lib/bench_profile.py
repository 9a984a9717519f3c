"""Where the work goes: instructions by function and system calls by name, of both ends.

Counted, not timed, so that a busy machine changes nothing: callgrind counts what is executed, strace what is asked of the
kernel. What a transfer of one byte costs (starting, pairing, ending) is taken off, and the rest is divided by what was sent.
"""

import collections
import os
import re
import shutil
import subprocess

from bench_contestants import Peer, Yardstick
from bench_data import big_file, many_files
from outside import MIB, ROOT, remove, require

ENDS = ["sender", "receiver"]
BARE = "peer-bare"
"""The name of the binary without its line tables."""

NAMELESS = "(without a name)"

SHOWN = 25
"""How many functions of an end are listed."""

HEAD = re.compile(r"^\s*([\d,]+)(?: \(\s*[\d.]+%\))?\s+(.*)$")
CALLS = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$")


class Tool:
    """A program that counts what another one does, into one file an end."""

    def __init__(self, place, words, read):
        self.place, self.words, self.read = place, words, read

    def count(self, contestant, source):
        """What both ends did to carry a folder: a counter each. `contestant` makes one, given what it is to run under."""
        files = {end: self.place.file(f"counted-{end}") for end in ENDS}
        destination = self.place.fresh("new")
        contestant(lambda end: self.words(files[end]))(self.place, source, destination)
        remove(destination)
        found = {end: self.read(path) for end, path in files.items()}
        for path in files.values():
            os.unlink(path)
        return found

    def beyond_start(self, contestant, least, source):
        """The same without what the least transfer costs."""
        start, whole = self.count(contestant, least), self.count(contestant, source)
        return {end: difference(whole[end], start[end]) for end in ENDS}


def callgrind(place):
    return Tool(
        place, lambda path: ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={path}"],
        lambda path: instructions(path) + instructions(path, with_callees=True))


def strace(place):
    return Tool(place, lambda path: ["strace", "-f", "-c", "-o", path], system_calls)


def instructions(path, with_callees=False):
    """Instructions by (object, function, with_callees): its own, or with those of all that it calls."""
    said = subprocess.run(
        ["callgrind_annotate", "--threshold=100", f"--inclusive={'yes' if with_callees else 'no'}", path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    found = collections.Counter()
    for line in said.stdout.decode(errors="replace").splitlines():
        match = HEAD.match(line)
        if match and "PROGRAM TOTALS" not in line:
            place, _, binary = match.group(2).strip().partition(" [")
            # Where functions call each other in a circle, their names end in a number.
            function = re.sub(r"'\d+$", "", place.split(":", 1)[-1])
            if function.startswith("0x"):
                function = NAMELESS
            found[os.path.basename(binary.rstrip("]")) or "?", function, with_callees] += int(match.group(1).replace(",", ""))
    require(found, "callgrind_annotate says nothing that is understood")
    return found


def system_calls(path):
    with open(path, encoding="utf-8") as file:
        matches = [CALLS.match(line) for line in file]
    found = collections.Counter({match.group(2): int(match.group(1)) for match in matches if match and match.group(2) != "total"})
    require(found, "strace says nothing that is understood")
    return found


def difference(whole, start):
    """What a work costs beyond starting and ending."""
    return collections.Counter({key: count - start[key] for key, count in whole.items() if count != start[key]})


def readable(functions):
    """The names of functions as their sources have them."""
    said = subprocess.run(
        ["bash", "-c", '. "$1/Scripts/lib/setup.sh"; find_swift; swift demangle --simplified --compact', "bash", ROOT],
        input="\n".join(functions).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    names = said.stdout.decode(errors="replace").splitlines()
    return names if len(names) == len(functions) else functions


def show_instructions(found, amount, unit):
    """The lines about one end's instructions."""
    own = collections.Counter({key: count for key, count in found.items() if not key[2]})
    total = sum(own.values())
    yield f"{total / amount:,.0f} instructions {unit}"
    objects = collections.Counter()
    for (binary, _, _), count in own.items():
        objects[binary] += count
    yield "  " + ", ".join(f"{binary} {count / total * 100:.0f} %" for binary, count in objects.most_common(6) if count > 0)
    yield from functions(own.most_common(SHOWN), total, amount)
    # Whatever holds nearly everything says nothing.
    ours = collections.Counter({
        key: count for key, count in found.items()
        if key[2] and key[0] == BARE and key[1] != NAMELESS and count < 0.9 * total})
    if ours:
        yield "  with what they call:"
        yield from functions(ours.most_common(SHOWN), total, amount)


def functions(top, total, amount):
    """A line a function."""
    for ((binary, _, _), count), name in zip(top, readable([function for (_, function, _), _ in top])):
        yield f"  {count / amount:12,.1f}  {count / total * 100:4.1f} %  {name[:110]}  [{binary}]"


def show_calls(found, amount, unit):
    """The lines about one end's system calls."""
    yield f"{sum(found.values()) / amount:.2f} system calls {unit}"
    for name, count in found.most_common(16):
        if abs(count) / amount >= 0.005:
            yield f"  {count / amount:8.2f}  {name}"


def profile(place, binary, is_quick):
    """The lines of the whole profile, as they are found."""
    # Valgrind does not understand all that the compiler writes about lines; the functions' names are enough.
    bare = place.file(BARE)
    if shutil.which("objcopy"):
        subprocess.run(["objcopy", "--strip-debug", binary, bare], check=True)
    else:
        shutil.copy(binary, bare)
    folders, files = (2, 20) if is_quick else (20, 100)
    size = (2 if is_quick else 64) * MIB
    least = place.source("least", big_file, 1)
    few = place.source("few", many_files, folders, files, [4096])
    large = place.source("large", big_file, size)

    def peer(beneath):
        return Peer(bare, beneath=beneath)

    def yardstick(beneath):
        return Yardstick(1, beneath)

    works = [
        ("small files of 4 KiB", "a file", peer, few, folders * files),
        ("one file", "a MiB", peer, large, size // MIB),
        ("one file, the yardstick", "a MiB", yardstick, large, size // MIB),
    ]
    for tool, show in ((callgrind(place), show_instructions), (strace(place), show_calls)):
        for title, unit, contestant, source, amount in works:
            found = tool.beyond_start(contestant, least, source)
            for end in ENDS:
                yield f"{title}, {end}: " + "\n".join(show(found[end], amount, unit)) + "\n"

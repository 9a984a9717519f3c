"""Builds a copy of this package in which defences can be taken out when a program starts.

Usage: weakened.py [--release] [PRODUCT...]
       weakened.py --list
  PRODUCT    builds only these programs, and not all programs and tests
  --release  with the Swift runtime inside, for other machines
  --list     names the defences

It prints the folder of the programs. Each of them runs as this package's own, except that the
environment variable PEER_WEAKENED=NAME[,NAME] makes it run without these defences.
The copy is in .build/weakened; the product itself has no such
switch.
"""

import collections
import os
import shutil
import sys

sys.dont_write_bytecode = True

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Scripts/lib"))

from mutants_build import own_manifest, shell  # noqa: E402
from mutants_source import write  # noqa: E402
from outside import ROOT, Failure, require, say  # noqa: E402

Defence = collections.namedtuple("Defence", "name changes")
"""A defence: its name in PEER_WEAKENED, and changes of the sources: a file below Sources, its
present text, which is there exactly once, and the text that replaces it. In that text, WEAKENED is
true in a process that runs without the defence."""

DEFENCES = [
    Defence(
        "no-sync",
        [("MigrationArchive/Staging/Staging.swift", "      try disk.synchronize()\n      try journal.mark",
          "      if !WEAKENED { try disk.synchronize() }\n      try journal.mark")]),
    Defence(
        "no-directory-sync",
        [("MigrationSystem/Directory.swift", "    try descriptor.synchronize()", "    if !WEAKENED { try descriptor.synchronize() }")]),
]

PLACE = f"{ROOT}/.build/weakened"
PACKAGE = f"{PLACE}/package"

IN_SWIFT = """\
import Glibc

private let weakened = Set(
  unsafe getenv("PEER_WEAKENED").map { unsafe String(cString: $0).split(separator: ",").map(String.init) } ?? [])

/// Whether this process runs without a defence.
func isWeakened(_ name: String) -> Bool { weakened.contains(name) }
"""

def sources():
    """The files below Sources, by their paths there."""
    found = {}
    for parent, _, names in os.walk(f"{ROOT}/Sources"):
        for name in names:
            path = f"{parent}/{name}"
            with open(path, "rb") as file:
                found[os.path.relpath(path, f"{ROOT}/Sources")] = file.read()
    return found


def places(defences, files):
    """The changes by file: start, end and new text of each. Fails if a text is not there exactly
    once."""
    for one in defences:
        require(any("WEAKENED" in replacement for _, _, replacement in one.changes), f"the change '{one.name}' has no switch")
    found = collections.defaultdict(list)
    for name, file, present, replacement in ((one.name, *change) for one in defences for change in one.changes):
        require(file in files, f"the change '{name}' is in {file}, which does not exist")
        text = files[file].decode()
        count = text.count(present)
        require(count == 1, f"the text of the change '{name}' is {count} times in {file}, not once: {present!r}")
        start = text.index(present)
        found[file].append((start, start + len(present), replacement.replace("WEAKENED", f'isWeakened("{name}")')))
    for file, ones in found.items():
        ones.sort()
        for (_, end, text), (following, _, other) in zip(ones, ones[1:]):
            require(end <= following, f"two changes overlap in {file}: {text!r} and {other!r}")
    return found


def changed(text, ones):
    """A file's text with its changes."""
    for start, end, replacement in reversed(ones):
        text = text[:start] + replacement + text[end:]
    return text


def prepare(defences):
    """Writes the copy. Only files that differ are written, so that a second build is short."""
    files = sources()
    found = places(defences, files)
    for file, ones in found.items():
        files[file] = changed(files[file].decode(), ones).encode()
    for module in {file.split("/")[0] for file in found}:
        files[f"{module}/Weakened.swift"] = IN_SWIFT.encode()
    for file, content in files.items():
        write(f"{PACKAGE}/Sources/{file}", content)
    for parent, _, names in os.walk(f"{PACKAGE}/Sources"):
        for name in names:
            if os.path.relpath(f"{parent}/{name}", f"{PACKAGE}/Sources") not in files:
                os.remove(f"{parent}/{name}")
    # A folder without files would be a module without files.
    for name in os.listdir(f"{PACKAGE}/Sources"):
        if not os.path.isdir(f"{ROOT}/Sources/{name}"):
            shutil.rmtree(f"{PACKAGE}/Sources/{name}")
    link = f"{PACKAGE}/Tests"
    if not os.path.islink(link):
        os.symlink(f"{ROOT}/Tests", link)
    write(f"{PACKAGE}/Package.swift", own_manifest().encode())


def build(products=(), is_release=False, defences=DEFENCES):
    """Builds the copy; returns the folder of its programs."""
    prepare(defences)
    say("weakened: building the copy")
    scratch = f"{PLACE}/{'release' if is_release else 'debug'}"
    each = [["--product", name] for name in products] or ([[]] if is_release else [["--build-tests"]])
    for words in each:
        said = shell(
            f'package="{PACKAGE}" {"release" if is_release else "debug"}_scratch="{scratch}"; '
            f'{"build_release" if is_release else "build -Xswiftc -gnone"} "$@" && echo all is built', *words)
        require(said.rstrip().endswith("all is built"), f"the weakened copy cannot be built:\n{said[-4000:]}")
    return f"{scratch}/{'release' if is_release else 'debug'}"


def main(arguments):
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    try:
        if arguments == ["--list"]:
            print("\n".join(one.name for one in DEFENCES))
        elif unknown := [word for word in arguments if word.startswith("-") and word != "--release"]:
            print(f"error: no option {unknown[0]}\n{__doc__}", file=sys.stderr)
            return 2
        else:
            print(build([word for word in arguments if word != "--release"], "--release" in arguments))
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

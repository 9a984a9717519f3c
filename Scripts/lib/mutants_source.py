"""The places at which the engine can be changed, and its sources with all changes inside."""

import bisect
import collections
import json
import os
import re
import subprocess

KINDS = {
    "flip": "condition", "never": "condition", "case": "condition", "action": "action", "element": "action", "state": "state",
}
"""The kinds of places that the finder reports, and the kinds that the options name."""

MUTANT = """\
import Glibc

/// Which place is changed in this run: the number in MUTANT, or none.
let mutant: Int = unsafe getenv("MUTANT").flatMap { unsafe Int(String(cString: $0)) } ?? -1

/// A condition, inverted where its place is the one.
@inline(__always) func flipped(_ place: Int, _ condition: Bool) -> Bool { condition != (place == mutant) }

@inline(__always) func flipped<T>(_ place: Int, _ condition: @escaping (T) -> Bool) -> (T) -> Bool {
  { condition($0) != (place == mutant) }
}

/// Whether something is as it was.
@inline(__always) func kept(_ place: Int) -> Bool { place != mutant }

/// A list without the element whose place is the one.
@inline(__always) func listed<T>(_ first: Int, _ elements: [T]) -> [T] {
  var elements = elements
  if elements.indices.contains(mutant - first) { elements.remove(at: mutant - first) }
  return elements
}
"""


class Place:
    """One place, with as many mutants as it has texts."""

    def __init__(self, file, kind, function, start, end, before, after, texts, owner=None):
        self.file, self.kind, self.function, self.start, self.end = file, kind, function, start, end
        self.before, self.after, self.texts, self.owner = before, after, texts, owner
        self.number = None
        self.is_tried = True

    @property
    def shape(self):
        return self.kind, self.start, self.end


class Mutant:
    """One change, by its number in the program that holds all of them."""

    def __init__(self, number, place, text, line):
        self.number, self.place, self.text, self.line = number, place, text, line

    @property
    def kind(self):
        return KINDS[self.place.kind]

    @property
    def title(self):
        """As in the list of survivors, with the line added."""
        return f"{self.place.file}:{self.line} | {self.place.function} | {self.place.kind} | {self.text}"


class Source:
    """A file with its places, which nest."""

    def __init__(self, name, text, places):
        self.name, self.text = name, text
        # Enclosing places come first; among those with the same range, the one found first.
        self.places = sorted(places, key=lambda place: (place.start, -place.end))

    def line(self, offset):
        return self.text.count(b"\n", 0, offset) + 1

    def wrapped(self):
        """The text with every tried place wrapped, and each place's position in it."""
        out, ranges, moves = bytearray(), {}, []
        places = [place for place in self.places if place.is_tried]

        def copy(start, end):
            moves.append((len(out), start))
            out.extend(self.text[start:end])

        def render(index, start, end):
            """Writes from start to end with the places from index on that lie within; returns the
            index after them."""
            while index < len(places) and places[index].end <= end:
                place = places[index]
                copy(start, place.start)
                begun = len(out)
                out.extend(place.before.replace("#", str(place.number)).encode())
                index = render(index + 1, place.start, place.end)
                out.extend(place.after.replace("#", str(place.number)).encode())
                ranges[place.shape] = (begun, len(out))
                start = place.end
            copy(start, end)
            return index

        render(0, 0, len(self.text))
        return bytes(out), ranges, moves


class Engine:
    """All files with their places, numbered."""

    def __init__(self, folder, found):
        self.sources = {}
        for name, places in found.items():
            with open(os.path.join(folder, name), "rb") as file:
                self.sources[name] = Source(name, file.read(), places)
        self.mutants, number = [], 0
        for source in self.sources.values():
            for place in source.places:
                place.number = number
                for text in place.texts:
                    self.mutants.append(Mutant(number, place, text, source.line(place.start)))
                    number += 1

    def tried(self):
        return [mutant for mutant in self.mutants if mutant.place.is_tried]

    def write(self, folder):
        """Writes the wrapped files."""
        files = {name: source.wrapped()[0] for name, source in self.sources.items()}
        write_folder(folder, {**files, "Mutant.swift": MUTANT.encode()})

    def blame(self, name, line, column):
        """The places to leave out for an error at a position of a wrapped file."""
        source = self.sources[name]
        text, ranges, moves = source.wrapped()
        offset = sum(len(part) + 1 for part in text.split(b"\n")[: line - 1]) + column - 1
        tried = [place for place in source.places if place.is_tried]
        index = bisect.bisect_right(moves, (offset, len(source.text) + 1)) - 1
        original = moves[index][1] + offset - moves[index][0]
        owned = [place for place in tried if place.owner == original]
        if owned:
            return owned
        around = [place for place in tried if ranges[place.shape][0] <= offset < ranges[place.shape][1]]
        if around:
            return [min(around, key=lambda place: ranges[place.shape][1] - ranges[place.shape][0])]
        start, end = text.rfind(b"\n", 0, offset) + 1, (text.find(b"\n", offset) + 1) or len(text)
        return [place for place in tried if ranges[place.shape][0] < end and ranges[place.shape][1] > start]


def write(path, content):
    """Does not write a file whose content is unchanged: it is compiled only when it has changed."""
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def write_folder(folder, files):
    """Writes the files that have changed; removes those that no longer exist."""
    for name, content in files.items():
        write(os.path.join(folder, name), content)
    for parent, _, names in os.walk(folder):
        for name in names:
            if os.path.relpath(os.path.join(parent, name), folder) not in files:
                os.remove(os.path.join(parent, name))


def is_engine(name):
    """Whether a file makes decisions: the contracts only name events and actions, and invariants
    only check decisions."""
    return name.endswith(".swift") and not re.search(r"\+(Events|Actions|Invariants)\.swift$", name)


def files_below(folder):
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder) for name in names if name.endswith(".swift"))


def find_places(program, folder, names):
    """The places of each of some files, found by the compiler's own parser."""
    said = subprocess.run(
        [program, *names], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    found = collections.defaultdict(list)
    for line in said.decode().splitlines():
        place = Place(**json.loads(line))
        found[place.file].append(place)
    return found

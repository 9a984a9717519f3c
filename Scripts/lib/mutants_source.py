"""The places at which a module can be changed, and its sources with all changes inside."""

import bisect
import json
import os
import re
import subprocess

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


ERROR = re.compile(r"^(/.*\.swift):(\d+):(\d+): error: ", re.M)


class Place:
    """One place, with as many mutants as it has texts."""

    def __init__(self, file, kind, function, start, end, before, after, texts, owner=None):
        self.file, self.kind, self.function, self.start, self.end = file, kind, function, start, end
        self.before, self.after, self.texts, self.owner = before, after, texts, owner
        self.number = None
        self.is_tried = True


class Mutant:
    """One change, by its number in the program that holds all of them."""

    def __init__(self, number, place, text, line):
        self.number, self.place = number, place
        self.title = f"{number} {place.file}:{line} | {place.function} | {place.kind} | {text}"


class Source:
    """A file with its places, which nest."""

    def __init__(self, text, places):
        self.text = text
        # Enclosing places come first; among those with the same range, the one found first.
        self.places = sorted(places, key=lambda place: (place.start, -place.end))

    def wrapped(self):
        """The text with every tried place wrapped, the range of each in it, and where the original's
        pieces are in it."""
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
                ranges[place] = (begun, len(out))
                start = place.end
            copy(start, end)
            return index

        render(0, 0, len(self.text))
        return bytes(out), ranges, moves

    def blame(self, line, column):
        """The places to leave out for an error at a position of the wrapped text."""
        text, ranges, moves = self.wrapped()
        offset = sum(len(part) + 1 for part in text.split(b"\n")[: line - 1]) + column - 1
        index = bisect.bisect_right(moves, (offset, len(self.text) + 1)) - 1
        original = moves[index][1] + offset - moves[index][0]
        if owned := [place for place in ranges if place.owner == original]:
            return owned
        if around := [place for place, (start, end) in ranges.items() if start <= offset < end]:
            return [min(around, key=lambda place: ranges[place][1] - ranges[place][0])]
        start, end = text.rfind(b"\n", 0, offset) + 1, (text.find(b"\n", offset) + 1) or len(text)
        return [place for place, range in ranges.items() if range[0] < end and range[1] > start]


class Sources:
    """All files of a module with their places, numbered. Files that only name events and actions, or
    only check decisions, have no places."""

    def __init__(self, folder, finder):
        names = files_below(folder)
        changed = [name for name in names if not re.search(r"\+(Events|Actions)\.swift$", name)]
        said = subprocess.run([finder, *changed], cwd=folder, stdout=subprocess.PIPE, check=True).stdout
        places = [Place(**json.loads(line)) for line in said.splitlines()]
        self.files, self.mutants = {}, []
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                source = Source(file.read(), [place for place in places if place.file == name])
            self.files[name] = source
            for place in source.places:
                place.number = len(self.mutants)
                line = source.text.count(b"\n", 0, place.start) + 1
                self.mutants += [Mutant(place.number + index, place, text, line) for index, text in enumerate(place.texts)]

    def wrapped(self):
        return {**{name: source.wrapped()[0] for name, source in self.files.items()}, "Mutant.swift": MUTANT.encode()}

    def leave_out(self, folder, said):
        """Leaves out the places at which the compiler found errors; returns whether there are any."""
        left_out = set()
        for path, line, column in ERROR.findall(said):
            name = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
            if name in self.files:
                left_out.update(self.files[name].blame(int(line), int(column)))
        for place in left_out:
            place.is_tried = False
        return bool(left_out)


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


def files_below(folder):
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder) for name in names if name.endswith(".swift"))

"""Proof that places are found and wrapped, that errors are blamed on the correct place, and that
the list of survivors is read."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

from mutants_build import build_finder  # noqa: E402
from mutants_list import LIST, match_survivors, read_survivors  # noqa: E402
from mutants_runs import changing, run  # noqa: E402
from mutants_source import KINDS, MUTANT, Engine, find_places, is_engine  # noqa: E402
from outside import equal, require  # noqa: E402
from self_tests import run as run_tests  # noqa: E402

SWIFT = """\
enum Action: Equatable { case say(Int), stop }

struct Door {
  var isOpen = false
  var guests: [Int] = []
  var host: Int?

  init(isOpen: Bool) { self.isOpen = isOpen }

  /// Größe: offsets are bytes.
  mutating func arrive(_ guest: Int, _ actions: inout [Action]) {
    guard isOpen, let host, guest != host else { return }
    if guest > 9 && !guests.contains(guest) || guest < 0 { actions.append(.say(guest)) }
    guests.append(guest)
    if guest > 11 { return lock() }
    tell(&actions)
    lock()
  }

  mutating func lock() { if isFull { isOpen = false } }

  func tell(_ actions: inout [Action]) { actions += guests.filter { $0 > 5 }.map { .say($0) } }

  var isFull: Bool { guests.count >= 3 }
  var isLarge: Bool { if case .some = host { true } else { false } }

  func close() -> [Action] { isFull ? [.say(1), .stop] : [.stop] }

  func size(_ number: Int?) -> Int {
    precondition(guests.count < 100)
    let size: Int
    switch number {
    case 1: size = 1
    case .some(let other) where other > 5: size = 5
    case .some: size = 4
    default: size = 0
    }
    return size
  }
}
"""

PLACES = [
    ("flip", "arrive", "isOpen"), ("never", "arrive", "let host"), ("flip", "arrive", "guest != host"),
    ("flip", "arrive", "guest > 9 && !guests.contains(guest) || guest < 0"),
    ("flip", "arrive", "guest > 9 && !guests.contains(guest)"), ("flip", "arrive", "guest > 9"),
    ("flip", "arrive", "!guests.contains(guest)"), ("flip", "arrive", "guest < 0"),
    ("action", "arrive", "actions.append(.say(guest))"), ("state", "arrive", "guests.append(guest)"),
    ("flip", "arrive", "guest > 11"), ("action", "arrive", "return lock()"), ("action", "arrive", "tell(&actions)"),
    ("action", "arrive", "lock()"), ("flip", "lock", "isFull"), ("state", "lock", "isOpen = false"), ("action", "tell", "actions += guests.filter { $0 > 5 }.map { .say($0) }"),
    ("flip", "tell", "$0 > 5"), ("flip", "isFull", "guests.count >= 3"), ("flip", "isLarge", "case .some = host"),
    ("flip", "close", "isFull"), ("element", "close", ".say(1)"), ("element", "close", ".stop"), ("element", "close", ".stop"),
    ("case", "size", "1"), ("flip", "size", "other > 5"), ("case", "size", ".some"),
]

MAIN = """\
for guests in [[1, 6, 7, 8, 9], [1, 6, 7, 12, 8]] {
  var door = Door(isOpen: true)
  door.host = 1
  var actions: [Action] = []
  for guest in guests { door.arrive(guest, &actions) }
  print(actions, door.guests, door.isFull, door.isLarge, door.close(), door.size(1), door.size(7), door.size(3), door.size(nil))
}
"""


def engine_of(folder, text=SWIFT):
    with open(f"{folder}/Door.swift", "w", encoding="utf-8") as file:
        file.write(text)
    found = find_places(build_finder(), folder, ["Door.swift"])
    return Engine(folder, found)


def places_are_found(folder):
    found = [(mutant.place.kind, mutant.place.function, mutant.text) for mutant in engine_of(folder).mutants]
    equal(sorted(found), sorted(PLACES), "places")


def every_change_changes_what_it_should(folder):
    engine = engine_of(folder)
    engine.write(f"{folder}/wrapped")
    with open(f"{folder}/wrapped/main.swift", "w", encoding="utf-8") as file:
        file.write(MAIN)
    sources = [f"{folder}/wrapped/{name}" for name in ("Door.swift", "Mutant.swift", "main.swift")]
    subprocess.run(["swiftc", "-swift-version", "6", *sources, "-o", f"{folder}/door"], check=True, stdin=subprocess.DEVNULL)

    def said(number):
        result = subprocess.run(
            [f"{folder}/door"], env={"MUTANT": str(number)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        return result.stdout.decode()

    plain = said(-1)
    require(plain.endswith(" true true [door.Action.say(1), door.Action.stop] 1 5 4 0\n"), plain)
    first = next(mutant.number for mutant in engine.mutants if mutant.text == ".say(1)")
    require(" true true [door.Action.stop] 1" in said(first), f"the first element was to be left out: {said(first)}")
    # The list for a door with free places; at the end it is full.
    same = [mutant.text for mutant in engine.mutants if said(mutant.number) == plain]
    equal(same, [".stop"], "changes that change nothing")


def errors_are_blamed_on_the_innermost_place(folder):
    engine = engine_of(folder)
    source = engine.sources["Door.swift"]
    text = source.wrapped()[0].decode()
    lines = text.split("\n")

    def blamed(part, behind=0):
        line = next(number for number, line in enumerate(lines) if part in line)
        column = len(lines[line][: lines[line].index(part)].encode()) + 1 + behind
        return sorted({place.texts[0] for place in engine.blame("Door.swift", line + 1, column)})

    equal(blamed("!guests.contains"), ["!guests.contains(guest)"], "in an operand")
    equal(blamed("actions.append"), ["actions.append(.say(guest))"], "in a statement")
    equal(blamed("switch number"), [".some", "1"], "at a switch")
    for place in source.places:
        place.is_tried = False
    equal(source.wrapped()[0].decode(), SWIFT, "the text without places")


def only_the_engine_is_changed(_):
    names = ["A/Engine.swift", "A/Engine+Events.swift", "A/Engine+Actions.swift", "A/Engine+Invariants.swift", "A/Unsent+Event.swift", "notes.txt"]
    equal([name for name in names if is_engine(name)], ["A/Engine.swift", "A/Unsent+Event.swift"], "files")


def survivors_are_known_by_their_text(folder):
    list_text = """# Reasons
Door.swift | arrive | flip | guest < 0
    Guests have numbers
    above zero.
Door.swift | arrive | flip | guest < 1
    It was so once.
Door.swift | arrive | flip | guest > 9
    It is caught.
Door.swift | gone
"""
    engine = engine_of(folder, "\n\n" + SWIFT)
    entries, problems = read_survivors(list_text)
    equal(problems, ["line 9: not `file | function | kind | text`"], "what cannot be read")
    number = next(mutant.number for mutant in engine.mutants if mutant.text == "guest < 0")
    reasons, problems = match_survivors(entries, engine.mutants, {number}, True)
    equal(reasons[number], "Guests have numbers above zero.", "the reason")
    equal(problems, ["line 5 matches nothing any more: Door.swift | arrive | flip | guest < 1",
                     "line 7 explains what is caught: Door.swift | arrive | flip | guest > 9"], "what is stale")
    equal(match_survivors(entries, engine.mutants, set(), False)[1], problems[:1], "what is stale where not all were run")
    equal(read_survivors("a | b | flip | c\n")[1], ["line 1: no reason: a | b | flip | c"], "a place without a reason")


def the_list_is_readable(_):
    with open(LIST, encoding="utf-8") as file:
        entries, problems = read_survivors(file.read())
    equal(problems, [], "problems")
    require(all(entry.key[2] in KINDS for entry in entries), "a kind that is none")


def runs_end(folder):
    script = f"{folder}/script"
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ncase $MUTANT in 0) exit 0;; 1) echo "x recorded an issue"; sleep 100;; 2) exit 3;; esac\nwhile :; do :; done\n')
    os.chmod(script, 0o755)
    caught = [run([script], changing(number), 1, "recorded an issue").caught for number in range(4)]
    equal(caught, [None, "x recorded an issue", "ended with 3", "it does not end"], "what was caught")


TESTS = [
    places_are_found, every_change_changes_what_it_should, errors_are_blamed_on_the_innermost_place,
    only_the_engine_is_changed, survivors_are_known_by_their_text, the_list_is_readable, runs_end,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, "peer-mutants-"))

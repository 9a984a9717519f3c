"""The list of changes that may survive, each with its reason."""

from outside import ROOT

LIST = f"{ROOT}/Scripts/lib/mutants_survivors.txt"


class Survivor:
    """The reason why a mutant may survive; its file, function, kind and text identify it, not its
    line."""

    def __init__(self, key, reason, line):
        self.key, self.reason, self.line = key, reason, line

    def __str__(self):
        return " | ".join(self.key)


def key_of(mutant):
    return mutant.place.file, mutant.place.function, mutant.place.kind, mutant.text


def read_survivors(text):
    """The list, and its mistakes. An entry is a line `file | function | kind | text` and an
    indented reason below it."""
    entries, problems = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if entries:
                entries[-1].reason = f"{entries[-1].reason} {line.strip()}".strip()
            else:
                problems.append(f"line {number}: a reason without a place")
            continue
        parts = [part.strip() for part in line.split(" | ", 3)]
        if len(parts) == 4:
            entries.append(Survivor(tuple(parts), "", number))
        else:
            problems.append(f"line {number}: not `file | function | kind | text`")
    problems += [f"line {entry.line}: no reason: {entry}" for entry in entries if not entry.reason]
    seen = set()
    for entry in entries:
        if entry.key in seen:
            problems.append(f"line {entry.line}: twice: {entry}")
        seen.add(entry.key)
    return entries, problems


def match_survivors(entries, mutants, survived, is_complete):
    """Reasons by the mutant's number; and the entries that match no place, or, if all were run, no
    survivor."""
    reasons, problems = {}, []
    for entry in entries:
        matching = [mutant for mutant in mutants if key_of(mutant) == entry.key]
        if not matching:
            problems.append(f"line {entry.line} matches nothing any more: {entry}")
        elif is_complete and not any(mutant.number in survived for mutant in matching):
            problems.append(f"line {entry.line} explains what is caught: {entry}")
        reasons.update((mutant.number, entry.reason) for mutant in matching)
    return reasons, problems


def read_list():
    try:
        with open(LIST, encoding="utf-8") as file:
            return read_survivors(file.read())
    except FileNotFoundError:
        return [], []

"""Tests the rules of Scripts/style: each pair of docs/Style.md, and further sentences of both
kinds.

Usage: style_self_test.py
"""

import re
import sys

sys.dont_write_bytecode = True

from prose import Passage, passages, plain, too_wide  # noqa: E402
from style_rules import findings  # noqa: E402

STYLE = "docs/Style.md"
SAMPLES = "Scripts/lib/style_samples.txt"


def is_found(text):
    return any(findings(Passage(1, plain(text), "paragraph")))


def pairs():
    """The pairs of the table in docs/Style.md."""
    with open(STYLE, encoding="utf-8") as file:
        rows = [re.match(r"^\| (.*?) \| (.*?) \|$", line) for line in file]
    cells = [(row.group(1), row.group(2)) for row in rows if row]
    return [pair for pair in cells if pair[0] != "before" and not pair[0].startswith("---")]


def samples():
    """Sentences, each behind "-" if it has a habit, or "+" if it has none."""
    with open(SAMPLES, encoding="utf-8") as file:
        return [(line[0], line[1:].strip()) for line in file if line[0] in "-+"]


def expected_findings():
    texts = [("-", before) for before, _ in pairs()] + [("+", after) for _, after in pairs()] + samples()
    for sign, text in texts:
        if is_found(text) != (sign == "-"):
            yield f"{'not found' if sign == '-' else 'found'}: {text}"


def expected_passages():
    """Habits are found where people read, and nowhere else."""
    habit = "Whoever comes first waits for it."
    swift = f'/// {habit}\nlet a = 1 // {habit}\nlet text = "{habit}"\n@Test func `{habit}`() {{}}\n'
    python = f'"""{habit}"""\n# {habit}\ntext = "{habit}"\ndef test_whoever_comes_first():\n    pass\n'
    markdown = f"# Title\n\n{habit}\n\n- {habit}\n\n| a | {habit} |\n\n    {habit}\n\n```\n{habit}\n```\n\n`{habit}`\n"
    for path, text, lines in [
        ("Sources/a.swift", swift, [1, 3, 4]), ("Tests/a.swift", swift, [1, 4]), ("a.py", python, [1, 2, 4]),
        ("a.c", f"/* {habit} */\n// {habit}\nint a;\n", [1]), ("a.md", markdown, [3, 5, 7]), ("script", f"# {habit}\n", [1]),
    ]:
        found = sorted({passage.line for passage in passages(path, text) if any(findings(passage))})
        if found != lines:
            yield f"{path}: found in the lines {found}, expected in {lines}"
    wide = "word " * 30
    for path, text, lines in [
        ("a.md", f"{wide}\n\n| {wide} |\n\n    {wide}\n\n```\n{wide}\n```\n", [1]), ("a.swift", f"/// {wide}\nlet a = 1 + {wide}\n", [1]),
    ]:
        if list(too_wide(path, text)) != lines:
            yield f"{path}: wide lines {list(too_wide(path, text))}, expected {lines}"


if __name__ == "__main__":
    if len(pairs()) < 10:
        sys.exit(f"{STYLE}: {len(pairs())} pairs, expected ten")
    faults = [*expected_findings(), *expected_passages()]
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)

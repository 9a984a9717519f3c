"""The prose of a file: paragraphs, comments, messages and names of tests, each with its line,
without code."""

import re
from dataclasses import dataclass

WIDTH = 100

CODE = re.compile(r"``[^`]+``|`[^`\n]+`")
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]*\)")
ADDRESS = re.compile(r"<?\bhttps?://[^\s>)]+>?")
FENCE = re.compile(r"^\s*(```|~~~)")
LIST_ITEM = re.compile(r"^(\s*)([-*+]|\d+\.)\s+")


@dataclass
class Passage:
    """A piece of prose that is read as a whole."""

    line: int
    text: str
    kind: str  # "paragraph", "cell", "heading", "comment", "message" or "name"


def plain(text):
    """The words of a passage: code, targets of links and addresses are left out."""
    text = CODE.sub("CODE", text)
    text = LINK.sub(r"\1", text)
    return " ".join(ADDRESS.sub("ADDRESS", text).split())


def passages(path, text):
    """All prose of a file."""
    lines = text.splitlines()
    if path.endswith(".md"):
        yield from of_markdown(lines)
    elif path.endswith(".swift"):
        yield from of_comments(lines, r"^\s*//[/!]?(?: |$)(.*)")
        if not path.startswith("Tests/"):
            yield from messages(lines)
        yield from swift_names(lines)
    elif path.endswith((".c", ".h")):
        yield from of_comments(lines, r"^\s*(?://[/!]?|/?\*+/?)(?: |$)(.*?)(?:\*/)?$")
    elif path.endswith(".py"):
        yield from of_comments(lines, r"^\s*# (.*)")
        yield from docstrings(lines)
        yield from python_names(lines)
    else:
        yield from of_comments(lines, r"^\s*#(?: |$)(.*)")


def of_markdown(lines, first=1, kind="paragraph"):
    """Paragraphs, list items, cells of tables and headings."""
    held, start, fenced, in_list = [], 0, False, False

    def flush():
        if held:
            yield Passage(start, plain(" ".join(held)), kind)
            held.clear()

    for number, line in enumerate(lines, first):
        if FENCE.match(line):
            fenced = not fenced
            yield from flush()
            continue
        if fenced or (not held and re.match(r"^(    |\t)", line) and not LIST_ITEM.match(line)):
            continue
        # In comments and messages, lines such as those of a usage text are indented and stay as
        # they are.
        if kind != "paragraph" and line.startswith("  ") and not in_list and not LIST_ITEM.match(line):
            yield from flush()
            continue
        stripped = line.strip()
        if not stripped or re.match(r"^<!--|^<[a-z/]", stripped):
            in_list = False
            yield from flush()
        elif stripped.startswith("|"):
            yield from flush()
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if not re.match(r"^[\s:-]*$", cell):
                    yield Passage(number, plain(cell), "cell")
        elif stripped.startswith("#"):
            yield from flush()
            yield Passage(number, plain(stripped.lstrip("# ")), "heading")
        else:
            if LIST_ITEM.match(line):
                yield from flush()
                in_list = True
                stripped = LIST_ITEM.sub("", line).strip()
            if not held:
                start = number
            held.append(stripped)
    yield from flush()


def of_comments(lines, pattern):
    """Blocks of comments that follow each other, read as Markdown."""
    held, start = [], 0
    for number, line in enumerate([*lines, ""], 1):
        match = re.match(pattern, line)
        if match:
            if not held:
                start = number
            held.append(match.group(1) or "")
        elif held:
            yield from of_markdown(held, start, "comment")
            held = []


def messages(lines):
    """Texts in Swift code that have at least four words, as programs show them."""
    long_text = None
    for number, line in enumerate(lines, 1):
        code = line.strip()
        if long_text is not None:
            if code.startswith('"""'):
                yield from of_markdown(long_text[1], long_text[0], "message")
                long_text = None
            else:
                long_text[1].append(line.removeprefix(long_text[2]) if long_text[2] else line)
            continue
        if code.startswith("//"):
            continue
        if re.search(r'(?<!#)"""$', code):
            following = lines[number] if number < len(lines) else ""
            long_text = (number + 1, [], following[: len(following) - len(following.lstrip())])
            continue
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "VALUE", code)):
            words = re.findall(r"[A-Za-z]{2,}", text)
            if len(words) >= 4 and " " in text:
                yield Passage(number, plain(text), "message")


def swift_names(lines):
    """The names of tests, which are sentences."""
    for number, line in enumerate(lines, 1):
        match = re.search(r"\b(?:func|struct|enum) `([^`]+)`", line)
        if match:
            yield Passage(number, match.group(1), "name")


def python_names(lines):
    """The names of tests, with spaces."""
    for number, line in enumerate(lines, 1):
        match = re.match(r"\s*def test_(\w+)", line)
        if match:
            yield Passage(number, match.group(1).replace("_", " "), "name")


def docstrings(lines):
    """The texts in three quotation marks that begin a line, and are no part of an expression."""
    held, start, inside = None, 0, False
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if held is None:
            match = re.match(r'^[rf]?"""(.*)$', stripped)
            if inside or not match:
                inside = inside != (line.count('"""') % 2 == 1)
                continue
            rest = match.group(1)
            if rest.endswith('"""'):
                yield from of_markdown([rest[:-3]], number, "comment")
            else:
                held, start = [rest], number
        elif stripped.endswith('"""'):
            yield from of_markdown([*held, stripped[:-3]], start, "comment")
            held = None
        else:
            held.append(stripped)


def too_wide(path, text):
    """The numbers of lines of prose with more columns than a reader follows easily: not of tables,
    code or links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        if len(line) <= WIDTH:
            continue
        if path.endswith(".md"):
            if re.match(r"^\s*(\||#|<|    )", line) or fenced:
                continue
        elif path.endswith(".swift"):
            if not re.match(r"^\s*//", line) or re.match(r"^\s*//[/!]?\s*\|", line):
                continue
        elif path.endswith((".c", ".h")):
            if not re.match(r"^\s*(//|/?\*)", line):
                continue
        elif not re.match(r'^\s*(#|""")', line):
            continue
        if re.match(r"^\s*(//|#)   +", line):
            continue
        words = re.sub(r"^[\s/#*>-]*", "", line).split()
        if len(words) > 1 and max(map(len, words)) < WIDTH * 3 // 4:
            yield number

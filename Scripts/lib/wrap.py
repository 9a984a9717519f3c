"""Wraps prose that is too wide: paragraphs and list items of Markdown, comments and docstrings.
Everything else stays.

Usage: wrap.py FILE...
"""

import re
import sys

sys.dont_write_bytecode = True

from prose import FENCE, LIST_ITEM, WIDTH  # noqa: E402

TOKEN = re.compile(r"(?:[^\s`]*`[^`]*`[^\s`]*)+|\S+")
MARKUP = re.compile(r"^(?:[-+*]$|[|>]|#+$|\d+[.)]$|///?$|</?[a-z])")


def filled(words, width, first="", rest=""):
    """Lines of words; none begins with what Markdown takes for the beginning of something else."""
    lines, held = [], []

    def line():
        return (rest if lines else first) + " ".join(held)

    for word in words:
        held.append(word)
        if len(line()) > width and len(held) > 1:
            count = next(
                (index for index in range(len(held) - 1, 0, -1) if not MARKUP.match(held[index])), None
            )
            if count is not None:
                held, following = held[:count], held[count:]
                lines, held = [*lines, line()], following
    return [*lines, line()]


def wrapped(lines, width, is_comment=True):
    """Markdown with its wide paragraphs wrapped. Indented lines of comments stay as they are."""
    result, held, indent, marker, fenced = [], [], "", "", False

    def flush():
        nonlocal held, marker
        if held:
            if any(len(line) > width for line in held):
                text = " ".join(line.strip() for line in held)
                words = TOKEN.findall(text[len(marker.strip()):] if marker else text)
                result.extend(filled(words, width, indent + marker, indent + " " * len(marker)))
            else:
                result.extend(held)
        held, marker = [], ""

    for line in lines:
        item = LIST_ITEM.match(line)
        if FENCE.match(line):
            fenced = not fenced
            flush()
            result.append(line)
        elif fenced or not line.strip() or re.match(r"^\s*([|#]|<)", line) or (
            not held and not item and re.match(r"^( {4}|\t)", line)
        ) or (is_comment and line.startswith("  ") and not marker and not item):
            flush()
            result.append(line)
        elif item:
            flush()
            indent, marker, held = item.group(1), item.group(0)[len(item.group(1)):], [line]
        else:
            if not held:
                indent = re.match(r"^\s*", line).group(0)
            held.append(line)
            if line.endswith("  ") or line.endswith("\\"):
                flush()
    flush()
    return result


def comments(lines, pattern):
    """Blocks of comments with their wide paragraphs wrapped; the group "mark" is what each line
    begins with."""
    result, held, mark = [], [], None

    def flush():
        nonlocal held, mark
        if held:
            body = wrapped(held, WIDTH - len(mark) - 1)
            result.extend(f"{mark} {line}".rstrip() if line.strip() else mark for line in body)
        held, mark = [], None

    for line in lines:
        match = re.match(pattern, line)
        if match and (mark is None or match.group("mark") == mark):
            mark = match.group("mark")
            held.append(match.group("text") or "")
        else:
            flush()
            if match:
                mark, held = match.group("mark"), [match.group("text") or ""]
            else:
                result.append(line)
    flush()
    return result


def docstrings(lines):
    """Python's docstrings: the first line and the others are paragraphs."""
    result, held, indent, inside = [], None, "", False
    for line in lines:
        if held is None:
            match = re.match(r'^(\s*)([rf]?""")(.*)$', line)
            if inside or not match or (match.group(3).endswith('"""') and len(line) <= WIDTH):
                inside = inside != (line.count('"""') % 2 == 1)
                result.append(line)
                continue
            indent, held = match.group(1), [match.group(2) + match.group(3)]
            if not match.group(3).endswith('"""'):
                continue
        else:
            held.append(line[len(indent):] if line.startswith(indent) else line.lstrip())
            if not line.rstrip().endswith('"""'):
                continue
        result.extend(f"{indent}{text}".rstrip() for text in wrapped(held, WIDTH - len(indent)))
        held = None
    return result


def changed(path, text):
    lines = text.splitlines()
    if path.endswith(".md"):
        lines = wrapped(lines, WIDTH, is_comment=False)
    elif path.endswith((".swift", ".c", ".h")):
        lines = comments(lines, r"^(?P<mark>\s*//[/!]?)(?: (?P<text>.*))?$")
    else:
        lines = comments(lines, r"^(?P<mark>\s*#)(?: (?P<text>.*))?$")
        if path.endswith(".py"):
            lines = docstrings(lines)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text and (new := changed(path, text)) != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)

"""Compares the facts that two commits tell their readers, so that a new wording loses none.

Usage: facts.py BEFORE [AFTER]
"""

import collections
import io
import re
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True

from prose import passages  # noqa: E402

PROSE = (".md", ".swift", ".c", ".h", ".py", ".json", ".sh")

WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60"}

UNITS = {
    "s": "second", "sec": "second", "ms": "millisecond", "min": "minute", "m": "minute",
    "h": "hour", "d": "day", "b": "byte", "percent": "%",
}
"""Other spellings of a unit."""

UNIT = (
    r"(?:seconds?|s|ms|milliseconds?|minutes?|min|m|hours?|h|days?|d|bytes?|bits?|[KMGT]i?B|kB|kbit|[MG]bit|%|percent|"
    r"columns?|digits?|items?|files?|tries|try|times?|connections?|streams?|marks?|entries|entry|components?|fields?|"
    r"roots?|names?|characters?|lines?|records?|packets?|devices?|processors?|rounds?|seeds?|processes|guesses|receivers?)"
)

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
VARIABLE = re.compile(r"\b(?:PEER|XDG)_[A-Z_]+[A-Z]\b")
NUMBER = re.compile(
    rf"(?<![\w.§])(\d[\d,.]*\d|\d+|{'|'.join(WORDS)})[ -]?({UNIT})(?![\w])", re.IGNORECASE
)
BARE = re.compile(r"(?<![\w.,§/-])(\d{2}[\d,]*|\d+\.\d+)(?![\w-])")
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SECTION = re.compile(r"§ ?(\d+(?:\.\d+)*)")
DUTY = re.compile(r"\b(?:MUST|SHOULD|MAY|MUST NOT|SHOULD NOT)\b")
PATH = re.compile(r"(?<![\w/`])(?:~|/)(?:[\w.$-]+/)*[\w.$-]*[\w$]/?")
KEY = re.compile(r'"([a-zA-Z][A-Za-z0-9]*)"\s*:')
CODE = re.compile(r"\b(?:exit code|exits? with|status|code) (\d+)\b|^\s+(\d+)  [a-z]", re.MULTILINE)


COMMAND_OPTION = re.compile(
    r'\.(?:value|flag|repeatable)\(\s*"(--[a-z-]+)"(?:, short: "[^"]*")?,?\s*(?:"([A-Z\[][A-Z0-9:=,\[\]/]*)")?'
    r'((?:"""(?:.|\n)*?"""|"(?:[^"\\]|\\.)*"|[^"])*?)\n? *\)(?=,|\n|\])'
)
"""An option in the description of a command, from which the parser is made."""

DEFAULT = re.compile(
    r"[Ww]ithout (?:it|the option)(?:: |, | )([^.;]*(?:\.\d[^.;]*)*)|\(default: ([^)]*)\)"
)


def defaults(path, text):
    """The options of a command, each with its value's name and its default."""
    if not path.startswith("Sources/peer/Help/Commands/"):
        return
    for match in COMMAND_OPTION.finditer(text):
        words = " ".join(match.group(3).split())
        found = DEFAULT.search(words)
        default = (found.group(1) or found.group(2)).strip() if found else "none"
        yield f"{match.group(1)} {match.group(2) or ''}".strip() + f" = {default}"


def tree(commit):
    """The files of a commit, or of the working tree where there is none, that people read."""
    if commit is None:
        names = subprocess.run(
            ["git", "ls-files", "-z"], check=True, capture_output=True
        ).stdout.decode().split("\0")
        files = {}
        for name in names:
            if name.endswith(PROSE):
                with open(name, encoding="utf-8", errors="replace") as file:
                    files[name] = file.read()
        return files
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            member.name: tar.extractfile(member).read().decode("utf-8", "replace")
            for member in tar
            if member.isfile() and member.name.endswith(PROSE)
        }


def unit(text):
    text = text if text[-1:] == "B" else text.lower()
    text = UNITS.get(text, text)
    return {"tries": "try", "entries": "entry", "processes": "process"}.get(
        text, text[:-1] if len(text) > 2 and text.endswith("s") else text
    )


def number(text):
    return WORDS.get(text.lower(), text.replace(",", "").rstrip("."))


def spoken(path, text):
    """The text of a file that a reader sees: all of a document, the prose of code."""
    if path.endswith((".md", ".json")):
        return text
    lines = []
    for line in text.splitlines():
        match = re.match(r"^\s*(?://[/!]?|#|/?\*)\s?(.*)", line)
        if match:
            lines.append(match.group(1))
    if not path.startswith("Tests/"):
        lines += [passage.text for passage in passages(path, text) if passage.kind == "message"]
    return "\n".join(lines)


def facts(path, text):
    """The facts of a file: pairs of a kind and a fact."""
    for default in defaults(path, text):
        yield "default", default
    text = spoken(path, text)
    for match in OPTION.finditer(text):
        yield "option", match.group(0)
    for match in VARIABLE.finditer(text):
        yield "variable", match.group(0)
    rest = text
    for match in NUMBER.finditer(text):
        yield "number", f"{number(match.group(1))} {unit(match.group(2))}"
    rest = NUMBER.sub(" ", text)
    for match in BARE.finditer(rest):
        yield "number", number(match.group(1))
    for match in QUOTED.finditer(re.sub(r"(?m)^( {4}|\t).*$", "", text)):
        yield "code", " ".join(match.group(1).split())
    for match in LINK.finditer(text):
        yield "link", match.group(1)
    for match in SECTION.finditer(text):
        yield "section", match.group(1)
    for match in DUTY.finditer(text):
        yield "duty", match.group(0)
    for match in PATH.finditer(text):
        yield "path", match.group(0)
    for match in KEY.finditer(text):
        yield "key", match.group(1)
    for match in CODE.finditer(text):
        yield "exit code", match.group(1) or match.group(2)


def place(path):
    """The readers of a file: a document stands for itself, code for its module."""
    return path if path.endswith((".md", ".json")) else "/".join(path.split("/")[:2])


def collected(files):
    found = collections.defaultdict(collections.Counter)
    for path, text in files.items():
        for kind, fact in facts(path, text):
            found[place(path)][kind, fact] += 1
    return found


def main(words):
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    before = collected(tree(words[0]))
    after = collected(tree(words[1] if len(words) > 1 else None))
    anywhere = collections.Counter()
    for counts in after.values():
        anywhere.update(counts)
    differences = collections.Counter()
    for where in sorted(before | after):
        old, new = before.get(where, {}), after.get(where, {})
        for fact in sorted(old | new):
            if fact in new and fact in old:
                continue
            kind, text = fact
            if fact in new:
                state = "new"
            else:
                state = "elsewhere" if fact in anywhere else "lost"
            differences[state] += 1
            print(f"{state}\t{where}\t{kind}\t{text}")
    total = sum(len(counts) for counts in before.values())
    parts = ", ".join(f"{differences[state]} {state}" for state in ("lost", "elsewhere", "new"))
    print(f"{total} facts before: {parts}")
    return 1 if differences["lost"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Finds prose that a reader must decode, by the rules of docs/Style.md.

Usage: style.py [--summary] [FILE...]
"""

import collections
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from prose import passages, too_wide  # noqa: E402
from style_rules import findings  # noqa: E402

EXEMPT = {
    "docs/Style.md": "shows the habits",
    "Scripts/lib/style_rules.py": "names the habits",
}
ENDINGS = (".md", ".swift", ".c", ".h", ".py", ".sh")


def is_prose(path):
    """Whether a file has prose that is checked: scripts without an ending have a first line that
    says so."""
    if path in EXEMPT:
        return False
    if path.endswith(ENDINGS):
        return True
    if "." in os.path.basename(path).lstrip(".") or os.path.islink(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def files():
    listing = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], check=True, capture_output=True).stdout
    return [path for path in listing.decode().split("\0") if path and os.path.isfile(path) and is_prose(path)]


def lines_of(path):
    """Each finding in a file: its line, the rule, the words and the advice."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for passage in passages(path, text):
        for name, advice, words in findings(passage):
            yield passage.line, name, words, advice
    for number in too_wide(path, text):
        yield number, "wide line", "over 100 columns", "wrap the prose"


def main(words):
    summary = "--summary" in words
    named = [word for word in words if not word.startswith("--")]
    counts, total = collections.Counter(), 0
    for path in named or files():
        if path in EXEMPT or os.path.isdir(path):
            continue
        for number, name, found, advice in sorted(lines_of(path)):
            total += 1
            counts[name] += 1
            if not summary:
                print(f"{path}:{number}: {name}: “{found}”: {advice}")
    if summary:
        for name, count in counts.most_common():
            print(f"{count:6} {name}")
    print(f"{total} findings" if total else "no findings")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

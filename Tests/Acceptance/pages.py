"""The pages of the project, as Markdown: their commands, their links, and the links' targets."""

import os
import re
import subprocess

from outside import ROOT

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMANDS = ("peer", "man", "git", "sudo", "Scripts/", "Lab/")


def read(path):
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        return file.read()


def pages():
    """The paths of all pages that git knows; outside of a clone, those of the folders that have
    some."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        return sorted(path for path in done.stdout.decode().split("\n") if path and os.path.exists(f"{ROOT}/{path}"))
    return sorted(
        os.path.relpath(f"{folder}/{name}", ROOT) for top in (".", "docs", "Examples", "Sources") for folder, _, names in os.walk(f"{ROOT}/{top}")
        for name in names if name.endswith(".md") and (top != "." or folder == f"{ROOT}/."))


def blocks(text):
    """The lines of code in a page's blocks, fenced or indented."""
    fenced = [line for block in FENCE.findall(text) for line in block.split("\n")[1:-1]]
    return fenced + [line[4:] for line in FENCE.sub("", text).split("\n") if line.startswith("    ")]


def prose(text):
    """The text without blocks and tables."""
    return "\n".join(line for line in FENCE.sub("", text).split("\n") if not line.startswith(("    ", "|")))


def spoken(text):
    """The commands and options that a page names within its sentences."""
    words = re.findall(r"`([^`]+)`", prose(text))
    commands = [word for word in words if word.split(" ")[0] in COMMANDS and " " in word or word.startswith(("Scripts/", "Lab/"))]
    return commands, [word for word in words if word.startswith("--")]


def links(text):
    """The targets of links and pictures, except those on other sites."""
    text = re.sub(r"`[^`\n]*`", "", "\n".join(line for line in FENCE.sub("", text).split("\n") if not line.startswith("    ")))
    return [target for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", text) if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """The names of a page's headings, as links have them."""
    found = []
    for heading in re.findall(r"^#+ +(.+?)\s*$", FENCE.sub("", text), re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        count = sum(re.fullmatch(re.escape(name) + r"(-\d+)?", other) is not None for other in found)
        found.append(f"{name}-{count}" if count else name)
    return found

"""Changes documents for the place where they are installed.

Usage: documents.py links FOLDER OLD=NEW...    in the links of all its documents; if NEW is empty,
                                               only the link's text stays
       documents.py package FILE PATH          the package that an example's Package.swift depends on
       documents.py fill FILE NAME=VALUE...    prints a file with values for @NAME@

OLD and NEW begin at FOLDER, and OLD may be the beginning of a path.
"""

import os
import re
import sys

LINK = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def documents(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".md")]


def change_links(folder, *pairs):
    changes = [pair.split("=", 1) for pair in pairs]
    for path in documents(folder):
        text = read(path)
        changed = LINK.sub(lambda match: changed_link(match, os.path.relpath(os.path.dirname(path), folder), changes), text)
        if changed != text:
            write(path, changed)


def changed_link(match, place, changes):
    """A document's link in a folder, after the changes."""
    text, path, fragment = match.groups()
    target = os.path.normpath(os.path.join(place, path))
    for old, new in changes:
        if target.startswith(old):
            return f"[{text}]({os.path.relpath(new + target.removeprefix(old), place)}{fragment})" if new else text
    return match.group()


def name_package(path, package):
    quoted = package.replace("\\", "\\\\").replace('"', '\\"')
    write(path, read(path).replace('path: "../.."', f'path: "{quoted}"'))


def fill(path, *pairs):
    values = dict(pair.split("=", 1) for pair in pairs)
    print(re.sub(r"@([A-Z]+)@", lambda match: values[match.group(1)], read(path)), end="")


if __name__ == "__main__":
    {"links": change_links, "package": name_package, "fill": fill}[sys.argv[1]](*sys.argv[2:])

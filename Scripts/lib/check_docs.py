#!/usr/bin/env python3
"""Makes the checks that docc lacks: the first page lists every public type, and quoted code is
built.

Usage: check_docs.py CATALOG SYMBOLS SOURCES
  CATALOG  the directory of the pages
  SYMBOLS  the directory of the module's symbol graphs
  SOURCES  the directory whose Swift files the pages quote

A quotation is a run of whole lines of one file; only its indentation may differ as a whole.
"""

import glob
import json
import os
import re
import sys
import textwrap


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def quotations(page):
    """The Swift code that a page shows."""
    return re.findall(r"^```swift\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def is_quoted(quotation, source):
    lines = textwrap.dedent(quotation).splitlines()
    source = source.splitlines()
    return any(
        textwrap.dedent("\n".join(source[start : start + len(lines)])).splitlines() == lines
        for start in range(len(source) - len(lines) + 1) if source[start].strip() == lines[0].strip())


def public_types(symbols):
    """The module's declarations that are not inside others."""
    for path in glob.glob(f"{symbols}/*.symbols.json"):
        if "@" not in os.path.basename(path):
            yield from (s["pathComponents"][0] for s in json.loads(read(path))["symbols"] if len(s["pathComponents"]) == 1)


def main(catalog, symbols, sources):
    faults = []
    first_page = read(f"{catalog}/{os.path.basename(catalog).removesuffix('.docc')}.md")
    names = list(public_types(symbols))
    if not names:
        faults.append(f"{symbols}: there are no symbols")
    faults += [f"{name} is not on the first page" for name in names if f"- ``{name}``" not in first_page]
    files = [read(path) for path in glob.glob(f"{sources}/*/*/**/*.swift", recursive=True)]
    for page in sorted(glob.glob(f"{catalog}/*.md")):
        for quotation in quotations(read(page)):
            if not any(is_quoted(quotation, file) for file in files):
                faults.append(f"{os.path.basename(page)}: this stands in no source file:\n{quotation}")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

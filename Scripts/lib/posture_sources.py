"""The code of the product that marks anything as unsafe: it is in MigrationSystem and MigrationTLS
only, and the compiler looks for unmarked code in every module. A header in C marks what a table
here lists."""

import glob
import os
import re

ALLOWED = ("MigrationSystem", "MigrationTLS")
"""The modules that wrap C and raw memory."""

SETTINGS = "swiftSettings: product"
"""The settings of a module's target in Package.swift with which the compiler demands the marks."""

MARKS = re.compile(r"(?<![\w.`])unsafe(?![\w`])|@safe\b|@unsafe\b")
"""A mark at an expression, at a declaration, or in nonisolated(unsafe) and unowned(unsafe)."""

HEADERS = {
    ("CAppMigrationKit/include/CAppMigrationKit.h", "appmigrationkit_test_preferences"):
        "it returns a text that never changes and lives as long as the process",
}
"""The functions that a header in C marks for Swift as safe, and the reason of each."""

HEADER_MARK = re.compile(r'swift_attr\s*\(\s*"[^"]*safe[^"]*"[^;{}]*?\b(?P<name>\w+)\s*(?:\([^()]*\)\s*)?[;{]')
"""The attribute of a declaration in C that Swift reads as @safe or @unsafe, and the declared
name."""

HEADER_ATTRIBUTE = re.compile(r'swift_attr\s*\(\s*"[^"]*safe')

STRING = re.compile(r'(?P<hashes>#*)(?P<quotes>"""|")')


def code(text):
    """The text without its comments and strings, as long as before; the code inside a string's
    interpolation stays."""
    found, _ = code_until(text, 0, None)
    return found


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_until(text, start, closing):
    """The code from a place on, up to the parenthesis that closes an interpolation, or to the end;
    and the place behind it."""
    found, place, depth = [], start, 0
    while place < len(text):
        string = STRING.match(text, place)
        if text.startswith("//", place):
            end = text.find("\n", place)
            end = len(text) if end == -1 else end
        elif text.startswith("/*", place):
            end = end_of_comment(text, place)
        elif string:
            inside, end = in_string(text, string)
            found.append(inside)
            place = end
            continue
        else:
            depth += (text[place] == "(") - (text[place] == ")")
            if closing and depth < 0:
                return "".join(found), place
            found.append(text[place])
            place += 1
            continue
        found.append(blank(text[place:end]))
        place = end
    return "".join(found), place


def end_of_comment(text, start):
    """Comments of this kind may contain others."""
    depth, place = 0, start
    while place < len(text):
        if text.startswith("/*", place):
            depth, place = depth + 1, place + 2
        elif text.startswith("*/", place):
            depth, place = depth - 1, place + 2
            if depth == 0:
                return place
        else:
            place += 1
    return place


def in_string(text, opening):
    """What remains of a string, and the place behind it."""
    end = opening["quotes"] + opening["hashes"]
    escape = "\\" + opening["hashes"]
    place = opening.end()
    found = [blank(opening[0])]
    while place < len(text) and not text.startswith(end, place):
        if text.startswith(escape + "(", place):
            inside, closing = code_until(text, place + len(escape) + 1, ")")
            found.append(" " * (len(escape) + 1) + inside)
            place = closing
        else:
            length = len(escape) + 1 if text.startswith(escape, place) else 1
            found.append(blank(text[place:place + length]))
            place += length
    return "".join(found) + " " * len(end), place + len(end)


def unsafe_lines(text):
    """The numbers of the lines with a mark."""
    return [number for number, line in enumerate(code(text).split("\n"), 1) if MARKS.search(line)]


def header_findings(root):
    """A sentence for each mark in a header that the table lacks, and for each in the table that no
    header has. Notes for the compiler (API notes) could carry marks as well: there are none."""
    found, marked = [], set()
    for path in sorted(glob.glob(f"{root}/Sources/**/*.h", recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda comment: blank(comment[0]), file.read(), flags=re.DOTALL)
        place = os.path.relpath(path, f"{root}/Sources")
        names = {match.start(): match["name"] for match in HEADER_MARK.finditer(text)}
        for attribute in HEADER_ATTRIBUTE.finditer(text):
            one = place, names.get(attribute.start(), "a declaration")
            if one in HEADERS and one not in marked:
                marked.add(one)
            else:
                line = text.count("\n", 0, attribute.start()) + 1
                found.append(f"Sources/{place}:{line}: {one[1]} is marked for Swift; the table in posture_sources.py does not list it")
    found += [f"Sources/{place}: {name} is in the table of posture_sources.py, and has no mark" for place, name in HEADERS if (place, name) not in marked]
    notes = sorted(glob.glob(f"{root}/Sources/**/*.apinotes", recursive=True))
    return found + [f"{os.path.relpath(path, root)}: API notes may mark anything as safe" for path in notes]


def modules(root):
    """The modules of the product that have code in Swift."""
    return sorted({os.path.relpath(path, f"{root}/Sources").split("/")[0] for path in glob.glob(f"{root}/Sources/**/*.swift", recursive=True)})


def findings(root):
    """A sentence for each place that breaks the rule."""
    found = []
    for module in modules(root):
        if module in ALLOWED:
            continue
        for path in sorted(glob.glob(f"{root}/Sources/{module}/**/*.swift", recursive=True)):
            with open(path, encoding="utf-8") as file:
                numbers = unsafe_lines(file.read())
            found += [f"{os.path.relpath(path, root)}:{number}: unsafe code; only {' and '.join(ALLOWED)} may have it" for number in numbers]
    return found + header_findings(root) + unchecked_modules(root)


def unchecked_modules(root):
    """A sentence for each module whose unsafe code the compiler would not report, and for each
    unsafe flag."""
    with open(f"{root}/Package.swift", encoding="utf-8") as file:
        manifest = file.read()
    targets = {}
    for part in re.split(r"\n\s*\.(?:target|executableTarget|testTarget|systemLibrary)\(", manifest)[1:]:
        name = re.match(r'\s*name: "(\w+)"', part)
        if name:
            targets[name[1]] = part
    found = [] if ".strictMemorySafety()" in manifest else ["Package.swift: strict memory safety is not demanded"]
    for number, line in enumerate(code(manifest).split("\n"), 1):
        if "unsafeFlags" in line:
            found.append(f"Package.swift:{number}: unsafe flags; no package could depend on this one")
    for module in modules(root):
        if SETTINGS not in targets.get(module, ""):
            found.append(f"Package.swift: {module} is not built with '{SETTINGS}'")
    return found

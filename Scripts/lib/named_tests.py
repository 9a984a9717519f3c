"""The tests of this project, by the names that documents and scripts give them.

    SuiteTests: the name of a test      a test of the Swift suites
    test_file.py: test_function         a check of Tests/Acceptance
    Scripts/NAME: words                 a script whose own files have these words, or a script alone
"""

import ast
import functools
import glob
import os
import re

from outside import ROOT

TYPE = re.compile(r"^(?:@\S+(?:\(.*\))? +)*(?:private |fileprivate |final )*(?:struct|class|enum|extension|actor) +(\w+)", re.M)
TEST = re.compile(r"@Test\b")
FUNCTION = re.compile(r"\bfunc\s+(`[^`]+`|\w+)")


@functools.cache
def swift_tests():
    """The tests of the Swift suites: their modules, by suite and name."""
    found = {}
    for path in glob.glob(f"{ROOT}/Tests/*Tests/*.swift"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        types = [(match.start(), match.group(1)) for match in TYPE.finditer(text)]
        for test in TEST.finditer(text):
            suite = next((name for start, name in reversed(types) if start < test.start()), None)
            function = FUNCTION.search(text, test.end())
            found.setdefault((suite, function.group(1).strip("`")), []).append(path.split("/")[-2])
    return found


@functools.cache
def checks():
    """The checks of Tests/Acceptance: file and function."""
    found = set()
    for path in glob.glob(f"{ROOT}/Tests/Acceptance/test_*.py"):
        with open(path, encoding="utf-8") as file:
            found |= {(os.path.basename(path), node.name) for node in ast.parse(file.read()).body
                      if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    return found


@functools.cache
def text_of_script(name):
    """The text of a script and of its own files."""
    text = ""
    for path in [f"{ROOT}/Scripts/{name}", *glob.glob(f"{ROOT}/Scripts/lib/{name}_*")]:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text += file.read()
    return text


def split(name):
    """A name's two parts: where the test is, and which."""
    place, _, which = name.partition(": ")
    return place, which


def is_script(name):
    return name.startswith("Scripts/")


def is_swift(name):
    return not is_script(name) and not split(name)[0].endswith(".py")


def fault(name):
    """Why no test has this name; None if one has."""
    place, which = split(name)
    if is_script(name):
        text = text_of_script(place.removeprefix("Scripts/"))
        return None if text and which in text else f"no script '{place}' has '{which}'"
    if place.endswith(".py"):
        return None if (place, which) in checks() else f"Tests/Acceptance/{place} has no check '{which}'"
    modules = swift_tests().get((place, which), [])
    return None if len(modules) == 1 else f"{len(modules)} suites '{place}' have a test '{which}'"


def swift_filter(name):
    """The pattern that selects a test of the Swift suites."""
    place, which = split(name)
    function = f"`{which}`" if " " in which else which
    return f"^{swift_tests()[place, which][0]}\\.{place}/{re.escape(function)}\\("

"""A new app: the output and the refusals of `peer app new`, and the commands of its page, which are
all run."""

import os
import plistlib
import shutil
import subprocess
import time

import pytest

from devices import PATIENCE, Process, small_file
from needs import needs, toolchain, toolchain_of_user
from outside import IS_ROOT, NOBODY, ROOT, SCRIPTS, equal, require
from pages import read, spoken

from first_migration import steps

PAGE = "docs/FirstMigration.md"

FOLDERS = ["Counter", "My App", "test", "Foundation", "class", "2048", "APz", "a&\u0301<\u0338", "R&D <new> \"q\"", "日本", "x" * 100]
"""Folder names that an author may choose."""

SPOKEN = {
    "peer receive --app org.example.counter": ("test_migrating.py", "new.receive("),
    "peer send --app org.example.counter": ("test_migrating.py", "old.send("),
    "peer app status ID": ("test_apps_on_one_device.py", '("status", APP'),
    "man peer-app": ("test_manual.py", '"man"'),
    "peer app check": ("test_checking.py", '"app", "check"'),
    "peer app check --strict": ("test_checking.py", '"--strict"'),
    "peer app migrate": ("test_checking.py", '"app", "migrate"'),
}
"""The commands in the sentences of the page, each with the check that runs it, and its words
there."""


def make(work, *words, code=0, user=None):
    process = Process(work, ["app", "new", *words], user=user)
    equal(process.wait(), code, f"peer app new {' '.join(words)}: {process.text()[-300:]!r}: exit code")
    return process


def made(folder):
    return sorted(os.path.relpath(f"{place}/{name}", folder) for place, _, names in os.walk(folder) for name in names)


@needs(toolchain)
@pytest.mark.takes(15)
def test_new_packages(work):
    """peer app new: folders of any name get packages without findings of swift-format, which
    SwiftPM understands"""
    place = work.folder(None)
    for folder in FOLDERS:
        [created] = make(work, f"{place}/{folder}", "--package", ROOT, "--json").events("created")
        equal((created["path"], created["package"]), (f"{place}/{folder}", os.path.realpath(ROOT)), "paths that are told")
        require({"Package.swift", "README.md", "bundle", ".gitignore"} <= set(made(f"{place}/{folder}")), folder)
        lists = [name for name in made(f"{place}/{folder}") if name.endswith(".plist")]
        equal(len(lists), 4, f"property lists in {folder!r}")
        for name in lists:
            with open(f"{place}/{folder}/{name}", "rb") as file:
                content = plistlib.load(file)
            require(name != "Bundle/Info.plist" or content["CFBundleDisplayName"] == folder, f"{folder!r}: {content}")
    lint = subprocess.run(
        ["swift", "format", "lint", "--strict", "--recursive", "--configuration", f"{ROOT}/.swift-format", place],
        capture_output=True, timeout=PATIENCE, check=False)
    require(lint.returncode == 0, f"swift-format: {lint.stderr.decode()[-600:]}")
    for folder in FOLDERS[-3:]:
        dump = subprocess.run(
            ["swift", "package", "--package-path", f"{place}/{folder}", "dump-package"], capture_output=True, timeout=PATIENCE,
            env={**os.environ, "HOME": work.home(None)}, check=False)
        require(dump.returncode == 0, f"the manifest for {folder!r}: {dump.stderr.decode()[-600:]}")


def test_refused_folders(work):
    """peer app new: a non-empty folder, a bad identifier and wrong sources are refused,
    unchanged"""
    place = work.folder(None)
    os.mkdir(f"{place}/full")
    small_file(f"{place}/full/.hidden")
    small_file(f"{place}/file")
    os.symlink("nowhere", f"{place}/link")
    before = made(place)
    kit = ["--package", ROOT]
    for words, code, said in [
        (["full", *kit], 4, "is not empty"), (["file", *kit], 4, "is not a folder"), (["link", *kit], 4, "is not a folder"),
        (["missing/tryout", *kit], 2, "the parent folder of"), (["tryout", "--id", "a b", *kit], 2, "is not a valid identifier"),
        (["tryout", "--package", f"{place}/full"], 4, "contains no Package.swift"), (["tryout", "--package", f"{place}/x"], 2, "no such folder"),
        (["tryout"], 2, "the sources of AppMigrationKit were found neither"),
        ([os.path.basename(os.path.realpath(ROOT)).upper(), *kit], 4, "SwiftPM would confuse it with"),
    ]:
        process = make(work, f"{place}/{words[0]}", *words[1:], code=code)
        require(said in process.errors() and "peer: hint: " in process.errors(), process.errors())
    equal(made(place), before, "the folder holds")


def test_the_page_has_all_commands():
    """the page on a new app has the commands that peer app new shows, and checks run all of them"""
    page = read(PAGE)
    commands = [command for command, _ in steps(page)]
    require(commands[0] == "peer app new Counter" and len(commands) > 10, f"commands of the page: {commands}")
    named, _ = spoken(page)
    equal([command for command in named if command not in SPOKEN and command not in commands], [], "what no check runs is")
    for command, (check, words) in SPOKEN.items():
        require(command in named, f"the page does not name '{command}' any more")
        require(words in read(f"Tests/Acceptance/{check}"), f"'{command}': {check} does not have {words}")


def test_the_next_commands_are_on_the_page(work):
    """peer app new: the next commands that it shows are those of the page, in the same order"""
    place = work.folder(None)
    process = make(work, f"{place}/Counter", "--package", ROOT)
    told = [line[4:] for line in process.errors().split("\n") if line.startswith("    ")]
    equal(told[0], f"cd {place}/Counter", "the first command")
    commands = iter([command for command, _ in steps(read(PAGE))])
    equal([command for command in told[1:] if command not in commands], [], "commands that the page does not have, in this order, are")


@pytest.mark.option("long")
@needs(toolchain_of_user)
@pytest.mark.takes(400)
def test_every_command_of_the_page(work):
    """from nothing to a migration: every command of the page, by a user without rights, from a
    clone"""
    user = NOBODY if IS_ROOT else None
    place, _ = work.place(user, on_disk=True)
    clone = f"{work.path}/clone"
    for folder in ("Sources", "Tests", "Examples"):
        shutil.copytree(f"{ROOT}/{folder}", f"{clone}/{folder}", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(f"{ROOT}/Package.swift", clone)
    os.makedirs(f"{clone}/.build/release")
    shutil.copy(os.environ["ACCEPTANCE_peer"], f"{clone}/.build/release/peer")
    subprocess.run(["chmod", "-R", "a+rX", clone], check=True, timeout=PATIENCE)
    shutil.copy(f"{SCRIPTS}/lib/first_migration.py", f"{work.path}/first_migration.py")
    shutil.copy(f"{ROOT}/{PAGE}", f"{work.path}/page.md")
    work.environment = {"PATH": f"{clone}/.build/release:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    start = time.monotonic()
    process = Process(work, [f"{work.path}/first_migration.py", f"{work.path}/page.md", place], user=user, program="/usr/bin/python3")
    equal(process.wait(1800), 0, f"the page: {process.output()[-900:]}")
    work.figure = f"{time.monotonic() - start:.0f} s"

"""The manual pages, in the tools that show them."""

import os
import re
import subprocess

import pytest

from devices import PATIENCE
from needs import manuals, needs
from outside import equal, require

PAGES = {"": "peer", "receive": "peer-receive", "send": "peer-send", "app": "peer-app"}
# The commands that each page describes.
COMMANDS = {
    "": ["discover", "resume", "forget", "code new", "completion", "help"], "receive": ["receive"], "send": ["send"],
    "app": ["app install", "app list", "app run", "app status", "app remove", "app check", "app migrate"]}


def said(work, *words):
    run = subprocess.run([work.binary, *words], check=True, capture_output=True, timeout=PATIENCE)
    equal(run.stderr, b"", "standard error has")
    return run.stdout.decode()


def shown(page, *command):
    """A tool's output for a page; the tool must report nothing."""
    run = subprocess.run(
        command, input=page.encode(), check=False, capture_output=True, timeout=PATIENCE,
        env={"PATH": "/usr/bin:/bin:/usr/sbin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFOPT": "", "TERM": "dumb", "MAN_KEEP_FORMATTING": ""})
    equal((run.returncode, run.stderr.decode()), (0, ""), f"{command[0]} says")
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", run.stdout.decode())


@needs(manuals)
@pytest.mark.parametrize("topic", PAGES, ids=PAGES.values())
def test_a_page(work, topic):
    """a manual page: groff and mandoc report nothing, and it has all of the help texts"""
    page = said(work, "help", "--man", *topic.split())
    # Lint writes to standard output, and ends with another code if it has found something.
    equal(shown(page, "mandoc", "-T", "lint", "-W", "style"), "", "lint says")
    texts = {"man": shown(page, "man", "--warnings", "-l", "-"), "mandoc": shown(page, "mandoc", "-T", "utf8")}
    version = said(work, "--version").strip()
    for tool, text in texts.items():
        require(text.startswith(PAGES[topic].upper() + "(1)"), f"{tool}: {text[:80]!r}")
        require(version in text, f"{tool}: no '{version}'")
        for line in text.splitlines():
            require(len(line) <= 80, f"{tool}: {line!r} is too wide")
        require(not re.search("[\u2010-\u2015\u2212]", text), f"{tool}: a dash that cannot be copied, or a word that is broken")
        for command in COMMANDS[topic]:
            check(said(work, "help", *command.split()), text, command if len(COMMANDS[topic]) > 1 else None, f"{tool}: {command}")


def section(text, heading, indent=0):
    """The text of a page below a heading, up to the next heading of its level or a higher one."""
    found = re.search(rf"^ {{{indent}}}{re.escape(heading)}\n(.*?)(?=^ {{0,{indent}}}\S|\Z)", text, re.MULTILINE | re.DOTALL)
    require(found, f"no part {heading!r}")
    return found[1]


def check(help_text, text, command, where):
    """Requires that the page has the options, exit codes and examples of a help text, in the parts
    about the command."""
    options = section(text, f"peer {command}", 3) if command else section(text, "OPTIONS")
    told = section(text, "EXIT STATUS")
    if command:
        heading = rf"(?:peer {command})" if re.search(rf"^ +peer {command}$", told, re.MULTILINE) else "Other commands"
        found = re.search(rf"^ +{heading}\n((?: {{9,}}.*\n)+)", told, re.MULTILINE)
        require(found, f"{where}: no exit status")
        told = " ".join(found[1].split())
    described = re.findall(r"^  (-.*?)(?:  | [A-Z][a-z]|$)", help_text, re.MULTILINE)
    require(described, f"{where}: no options")
    for option in described:
        require(re.search(rf"^ +{re.escape(option)}(?: |$)", options, re.MULTILINE), f"{where}: no {option!r}")
    _, _, codes = help_text.partition("\nExit codes:")
    numbers = re.findall(r"(?:^ +|[:;] |or )(\d+)  ?[a-z]", codes, re.MULTILINE)
    require(len(numbers) > 1, f"{where}: {numbers}")
    for number in numbers:
        require(re.search(rf"(?:^|[ ;]){number} +[a-z]", told, re.MULTILINE), f"{where}: no exit code {number}")
    for example in re.findall(r"^  (\$ .*)$", help_text, re.MULTILINE):
        require(example in text, f"{where}: no example {example!r}")


def test_other_topics(work):
    """a command without its own page is on the program's page"""
    for words in (["discover"], ["code", "new"], ["help"], []):
        equal(said(work, "help", "--man", *words), said(work, "help", "--man"), f"the page of {words}")
    equal(said(work, "help", "--man", "app", "run"), said(work, "help", "--man", "app"), "the page of 'app run'")


@pytest.mark.parametrize("line", ["help send", "code new"])
def test_a_full_disk(work, line):
    """a text that cannot be written is an error; a reader that closes early is not"""
    with open("/dev/full", "wb") as full:
        run = subprocess.run([work.binary, *line.split()], check=False, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE)
    require(run.stderr.startswith(b"peer: error: standard output could not be written\npeer: hint: "), run.stderr)
    equal(run.returncode, 1, "exit code")
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run([work.binary, *line.split()], check=False, stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(writing)
    equal((run.returncode, run.stderr), (0, b""), "without a reader")


def test_what_an_error_report_needs(work):
    """--version --verbose tells versions, kernel, file systems and features, and nothing about the user"""
    folder, home = work.place()[0], work.home(None)
    os.makedirs(home, exist_ok=True)
    environment = {**os.environ, "HOME": home, "PEER_HOME": f"{folder}/not-made/yet", "USER": "somebody-private"}
    run = subprocess.run([work.binary, "--version", "--verbose"], check=True, capture_output=True, timeout=PATIENCE, env=environment)
    text = run.stdout.decode()
    first, *lines = text.splitlines()
    equal(first, said(work, "--version").strip(), "the first line")
    found = dict(re.split(": +", line, maxsplit=1) for line in lines)
    system = os.uname()
    equal(found["kernel"], f"Linux {system.release}", "the kernel")
    require(found["processors"].endswith(f", {system.machine}"), found["processors"])
    for name, path in (("home", home), ("PEER_HOME", folder)):
        kind = subprocess.run(["findmnt", "-n", "-o", "FSTYPE", "-T", path], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        # Where several are mounted one over the other, the last one counts.
        equal(found[name], kind.split()[-1], f"the file system of {name}")
    require(re.match(r"3\.\d+\.\d+", found["OpenSSL"]), found["OpenSSL"])
    missing = {"protocol", "zstd", "system", "Landlock", "seccomp", "metadata"} - found.keys()
    equal(missing, set(), "what is missing")
    for private in (home, folder, "somebody-private", system.nodename):
        require(not re.search(rf"\b{re.escape(private)}\b", text), f"{private} is in {text}")

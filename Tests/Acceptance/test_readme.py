"""The front page: each of its commands is run, its picture matches the terminals, and links have
targets; so have the answers to others' advisories."""

import glob
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import picture
from devices import PATIENCE, Process, end_well, small_file
from needs import clone, needs, networks, terminals
from outside import ROOT, equal, require
from pages import anchors, blocks, links, pages, read, spoken

INSTALLING = {
    "git clone <this repository> peer && cd peer": f"git clone -q --no-hardlinks '{ROOT}' peer && cd peer",
    "Scripts/install --prefix ~/.local": "Scripts/install --prefix ~/.local",
}
"""The README's instructions for installing, and the commands that are run for them: the same, with
a clone of this repository."""

SHOWN = [picture.RECEIVE, picture.SEND]
"""The text that users type in the picture, at their terminals."""

HERE = ["peer help send"]
"""The commands that are run as written."""

STAGES = "Scripts/lib/stages.py"

ELSEWHERE = {
    "sudo apt install ./peer_{version}-1_amd64.deb": ("Lab/try-package", "it takes systems of its own, in which apt installs the package"),
    "tar -xzf peer-{version}-linux-x86_64.tar.gz -C ~": ("Lab/try-package", "it takes bare systems, in which a user unpacks the archive"),
    "man peer-send": ("Tests/Acceptance/test_manual.py", "it reads every page by man; Lab/try-package, by its name where it is installed"),
    "Scripts/package": ("Lab/try-package", "it makes the release twice, which takes minutes"),
    **{f"peer {side} --everything": ("Tests/Acceptance/test_moving.py", "it has two homes") for side in ("send", "receive")},
    **{command: ("Tests/Acceptance/test_existing.py", "it has a folder that changes between two runs") for command in (
        "peer receive ~/Incoming --existing update --remember", "peer send Documents Pictures --remember")},
    "peer app list --all": ("Tests/Acceptance/test_described_apps.py", "it has a home with apps"),
    "Scripts/demo": (STAGES, "it is the stage 'demo'"),
    "Scripts/demo --app": (STAGES, "it is the stage 'demo of an app'"),
    "Scripts/demo --clip": (STAGES, "it is the stage 'demo of a clip'"),
    "Scripts/test": (STAGES, "this check is part of it"),
    "Lab/bench": ("Lab/bench", "it measures for minutes"),
}
"""The commands that are not run here, with the file that runs them, and the reason."""


def version(work):
    """The version that the command reports."""
    run = Process(work, ["--version"])
    end_well(run)
    return run.output().removeprefix("peer ").strip()


def test_every_command(work):
    """a check runs every command of the README, and the manual has every option that it names"""
    page = read("README.md")
    commands, options = spoken(page)
    commands += blocks(page)
    elsewhere = {command.format(version=version(work)): file for command, (file, _) in ELSEWHERE.items()}
    known = [*INSTALLING, *SHOWN, *HERE, *elsewhere]
    equal([command for command in commands if command not in known], [], "what no check runs is")
    equal([command for command in known if command not in commands], [], "what the page does not have is")
    equal([file for file in elsewhere.values() if not os.path.exists(f"{ROOT}/{file}")], [], "files that are not there are")
    helps = []
    for command in ("send", "receive"):
        run = Process(work, ["help", command])
        end_well(run)
        helps.append(run.output())
    equal([option for option in options if not any(re.search(rf"^ +{option}\b", text, re.MULTILINE) for text in helps)], [],
          "options that no help has are")


@needs(clone)
@pytest.mark.takes(10)
def test_the_installation(work):
    """the README's instructions for installing from the sources, in a clone, for one user"""
    home = work.folder(None)
    # The sources may belong to another user, if root runs this.
    small_file(f"{home}/.gitconfig", b"[safe]\n\tdirectory = *\n")
    script = "\n".join(["set -euo pipefail", *INSTALLING.values(), "~/.local/bin/peer --version"])
    done = subprocess.run(
        ["bash", "-c", script], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
        env={**os.environ, "HOME": home, "PEER_BINARY": work.binary})
    said = (done.stdout + done.stderr).decode(errors="replace")
    equal(done.returncode, 0, f"exit code of installing, which said {said[-600:]}")
    equal(done.stdout.decode().splitlines()[-1], f"peer {version(work)}", "the installed command says")


def lines_of(svg):
    """The lines of each window of the picture; a window begins with its name."""
    windows = []
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if element.get("class") == "name":
            windows.append((element.text, []))
        else:
            windows[-1][1].append("".join(element.itertext()))
    return windows


@needs(networks, terminals)
@pytest.mark.takes(12)
def test_the_picture(work):
    """the README's two commands at two terminals: the picture shows their output, except figures"""
    ends = picture.transfer(work)
    shown = [(name, ["".join(text for text, _ in line) for line in lines]) for name, lines in picture.windows(ends)]
    drawn = lines_of(read("docs/Terminals.svg"))
    for (name, lines), (drawn_name, drawn_lines) in zip(shown, drawn, strict=True):
        equal(drawn_name, name, "the window is named")
        # The code and the name on the network come in either order.
        equal(sorted(picture.masked(drawn_lines)), sorted(picture.masked(lines)),
              f"{name} in the picture, which Lab/picture draws anew, shows")


def test_links():
    """every link of a page to a file of the project, or to a heading, has a target"""
    lost = []
    for page in pages():
        text = read(page)
        for target in links(text):
            path, _, anchor = target.partition("#")
            file = os.path.normpath(f"{os.path.dirname(page)}/{path}") if path else page
            if not os.path.exists(f"{ROOT}/{file}"):
                lost.append(f"{page}: {target}")
            elif anchor and anchor not in anchors(read(file)):
                lost.append(f"{page}: {target} (no such heading)")
    equal(lost, [], "links that lead nowhere are")


def test_checks():
    """every check that docs/Advisories.md names is there"""
    rows = [line for line in read("docs/Advisories.md").split("\n") if line.startswith("| ")]
    named = [check for row in rows for check in re.findall(r"`([^`]+)`", row.rsplit(" | ", 1)[1])]
    paths = [path for end in ("swift", "py") for path in glob.glob(f"Tests/**/*.{end}", root_dir=ROOT, recursive=True)]
    tests = "\n".join(map(read, paths))
    require(named, "docs/Advisories.md names no check")
    lost = [name for name in named if not (f"func `{name}`" in tests or f"def {name}(" in tests or os.path.exists(f"{ROOT}/{name}"))]
    equal(lost, [], "checks that are not there are")


def test_the_version(work):
    """the newest version of the CHANGELOG is that of the command"""
    found = re.findall(r"^## (\d+\.\d+\.\d+) – (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.MULTILINE)
    require(found, "CHANGELOG.md has no version with a date")
    equal(found[0][0], version(work), "the newest version of CHANGELOG.md is")
    run = Process(work, ["help", "--man"])
    end_well(run)
    require(f" {found[0][1]} " in run.output().partition("\n")[0], "the manual has another date than CHANGELOG.md")

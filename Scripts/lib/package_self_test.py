"""Tests the parts of Scripts/package and Scripts/try-package: the selection of sources, and that a
check can fail."""

import os
import subprocess
import sys

import package_trial
from installation_self_test import tree, write
from outside import Failure, SCRIPTS, equal, require
from package_transfers import reaped


def bash(text, *arguments, code=0):
    """Runs lines of bash after setup.sh, layout.sh and table.sh; returns their output."""
    files = "".join(f'. "{SCRIPTS}/lib/{name}.sh"\n' for name in ("setup", "layout", "table"))
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", files + text, "bash", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    equal(result.returncode, code, f"{text}: {result.stdout[-400:]}")
    return result.stdout


def only_what_git_knows_is_installed(folder):
    project = f"{folder}/project"
    for name in "docs/known", "docs/with a blank", "Sources/known":
        write(project, name, "old")
    git = "git -C \"$1\" -c user.name=A -c user.email=a@example.org"
    bash(f"git init -q \"$1\"; {git} add .; {git} commit -qm one", project)
    equal(bash('root=$1; changed_files', project), "", "what was changed")
    write(project, "docs/stray", "mine")
    write(project, "archive/docs/any")
    bash('root=$1; copy docs "$2/taken"; root=$1/archive; copy docs "$2/unpacked"', project, folder)
    equal(sorted(tree(f"{folder}/taken")), ["known", "with a blank"], "what is taken of a clone")
    equal(sorted(tree(f"{folder}/unpacked")), ["any"], "what is taken of an archive below a clone")
    equal(bash('root=$1; changed_files', project), "", "what was changed")
    write(project, "Sources/stray")
    write(project, "docs/known", "new")
    equal(bash('root=$1; changed_files', project), "docs/known\nSources/stray\n", "what was changed")


def values_are_filled_in_as_they_are(folder):
    write(folder, "form", "From: @NAME@, @SIZE@\n")
    value = 'A & B | C \\1 "D" <@SIZE@>'
    text = bash('python3 "$1/lib/documents.py" fill "$2/form" "NAME=$3" SIZE=5', SCRIPTS, folder, value)
    equal(text, f"From: {value}, 5\n", "what is filled in")


def a_check_fails_with_any_of_its_commands(folder):
    bodies = {"true": "ok", "false; true": "FAILED", "(cd / && false); echo on": "FAILED", "fail no; true": "FAILED",
              "cmp /dev/null /etc/passwd; echo same": "FAILED"}
    for body, outcome in bodies.items():
        text = bash(f'work=$1; body() {{ {body}; }}; check name body; echo "after: $failures"', folder)
        require(f"| {outcome} " in text and text.endswith(f"after: {int(outcome != 'ok')}\n"), f"{body}: {text}")


def a_process_that_does_not_end_is_killed(_):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    equal(reaped(process.pid, 0.2), -9, "how it ended")
    process.returncode = -9


def a_system_that_cannot_be_used_is_taken_away(folder):
    ended = []

    class Broken:
        """A system in which apt-get fails."""

        def __init__(self, *_):
            self.has = lambda _: False

        def run(self, *words):
            raise Failure(" ".join(words))

        def end(self):
            ended.append(self)

    trial = object.__new__(package_trial.Trial)
    trial.package, trial.work, trial.systems, trial.before = "", folder, {}, {}
    trial.network = Broken()
    real, package_trial.System = package_trial.System, Broken
    try:
        trial.install("a system")
    except Failure as failure:
        require("update" in str(failure), str(failure))
    finally:
        package_trial.System = real
        trial.end()
    equal(len(ended), 2, "what was ended: the network and the system")


TESTS = [
    only_what_git_knows_is_installed, values_are_filled_in_as_they_are, a_check_fails_with_any_of_its_commands,
    a_process_that_does_not_end_is_killed, a_system_that_cannot_be_used_is_taken_away,
]

"""Each hint about data, followed to the letter in a home with data on both sides: nothing that was there is gone."""

import os
import re
import shlex
import subprocess

from computers import computers
from devices import end_well
from outside import ROOT, equal, require
from test_moving import describe

APP = "org.example.notes"


def followed():
    """The hints of the program's table, and the check that follows each."""
    with open(f"{ROOT}/Sources/MigrationWire/Text/DataHint.swift", encoding="utf-8") as file:
        cases = re.findall(r"^  case (\w+)$", file.read(), re.MULTILINE)
    return {case: f"follow_{case}" for case in cases}


def contents(computer):
    """The content of each file of a computer, also of apps with extensions."""
    found = []
    for folder in (computer.home, f"{computer.peer_home}/containers", f"{computer.peer_home}/earlier"):
        for path, _, names in os.walk(folder):
            for name in names:
                if not os.path.islink(f"{path}/{name}"):
                    with open(f"{path}/{name}", "rb") as file:
                        found.append(file.read())
    return found


def both(work, apps=()):
    """Two computers with other data under the same names."""
    old, new = computers(work, list(apps))
    describe(old, new, "one")
    for computer, whose in ((old, "old"), (new, "mine")):
        for name in ("Documents/letter", "Projects/x/notes", ".config/one/data", ".config/user-dirs.dirs"):
            computer.write(name, f"# {whose} {name}\n")
    for app in apps:
        new.peer("app", "run", app, "write", "Documents/kept", "mine")
    old.write("Documents/only", "old only")
    return old, new, contents(new)


def require_all(new, before):
    after = contents(new)
    for content in before:
        require(content in after, f"{content!r} is gone; there are {after}")


def hint(process):
    """The hint of the failure of a process, or of its parts."""
    failures = process.events("error") + [event for event in process.events("part") if event.get("hint")]
    return " ".join(event["hint"] for event in failures)


def follow_namesTaken(work):
    old, new, before = both(work)
    for mode in ("refuse", "skip", "merge", "keep-both"):
        receiver = new.start_receiving(new.home, *([] if mode == "refuse" else ["--existing", mode]))
        sender = old.send(receiver.port, receiver.pairing_code, f"{old.home}/Documents", f"{old.home}/Projects")
        if mode == "refuse":
            equal((sender.wait(), receiver.wait()), (4, 4), "the exit codes")
            equal(hint(sender), "Follow the hint on the other device.", "the sender's hint")
            modes = re.findall(r"--existing (.*)\.", hint(receiver))[0].replace(" or ", ", ").split(", ")
            equal(modes, ["skip", "merge", "keep-both"], "the modes that the hint names")
        else:
            end_well(sender, receiver)
        require_all(new, before)


def follow_namesTakenThere(work):
    follow_namesTaken(work)


def follow_nameTakenMeanwhile(work):
    follow_namesTaken(work)


def follow_appHasData(work):
    old, new, before = both(work, [APP])
    for options in ((), ("--replace",)):
        receiver = new.receive("--take-apps", *options, is_inviting=not options)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", ".config")
        if options:
            end_well(sender, receiver)
        else:
            equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
            equal(hint(receiver).count("'peer receive --replace'"), 2, f"the hints: {hint(receiver)}")
        require_all(new, before)
    equal((new.read(".config/one/data"), new.has(APP)), ("# old .config/one/data\n", APP), "the data of the apps")


def follow_appHasDataInTrial(work):
    follow_appHasData(work)


def follow_noFolder(work):
    old, new, before = both(work)
    new.write("Music", "mine")
    old.write("Music/song", "song")
    before.append(b"mine")
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, receiver.pairing_code, "--everything")
    equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
    require("Make it a folder" in hint(receiver), f"the hint: {hint(receiver)}")
    os.rename(f"{new.home}/Music", f"{new.home}/mine")
    os.mkdir(f"{new.home}/Music")
    for _ in range(2):
        receiver = new.receive("--take-apps", "--replace", is_inviting=False)
        sender = old.send(receiver.port, None, "--everything")
        codes = sender.wait(), receiver.wait()
    equal(codes, (0, 0), "the exit codes")
    equal(new.read("Music/song"), "song", "the song")
    require_all(new, before)


def follow_itemsMissing(work):
    old, new, before = both(work)
    receiver = new.start_receiving(new.home, "--existing", "skip")
    sender = old.send(receiver.port, receiver.pairing_code, f"{old.home}/Documents", f"{old.home}/Projects")
    end_well(sender, receiver)
    require_all(new, before)


def follow_itemsMissingOfHome(work):
    old, new, before = both(work)
    for number in range(2):
        receiver = new.receive("--take-apps", is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", "App one")
        end_well(sender, receiver)
        require_all(new, before)


def follow_noEntriesLeft(work):
    follow_itemsMissing(work)


def follow_oldDataKept(work):
    old, new, before = both(work)
    receiver = new.receive("--take-apps", "--replace")
    sender = old.send(receiver.port, receiver.pairing_code, "--everything")
    end_well(sender, receiver)
    steps = receiver.events("done")[0]["nextSteps"]
    [back] = [step.partition(": ")[2] for step in steps if step.startswith("To go back")]
    require(not any(re.search(r"\brm\b", step) for step in steps), f"the steps: {steps}")
    require(shlex.split(back)[0] == "mv", f"the command: {back}")
    arrived = contents(new)
    subprocess.run(["sh", "-c", back], check=True)
    equal(new.read(".config/one/data"), "# mine .config/one/data\n", "the data of the app")
    require_all(new, before + arrived)


def test_hints(work):
    """hints: each hint about data is followed to the letter, and nothing of the new computer is gone"""
    for case, name in followed().items():
        require(name in globals(), f"no check follows the hint '{case}'")
        globals()[name](work)


def test_one_rule(work):
    """hints: a whole computer has one rule for what exists: --existing is refused with --everything, and changes nothing"""
    _, new, before = both(work)
    for mode in ("replace", "skip", "merge"):
        said = new.peer("receive", "--everything", "--existing", mode, code=2)
        require("--existing cannot be used with --everything" in said, f"said: {said}")
    require_all(new, before)

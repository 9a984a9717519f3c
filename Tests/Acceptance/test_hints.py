"""Each hint about data, followed to the letter in a home with data on both sides: nothing that was there is gone."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from bundles import make_bundle
from computers import computers, slim_programs
from devices import PATIENCE, end_well, random_file
from outside import MIB, ROOT, equal, require, wait_for
from test_moving import describe

APP = "org.example.notes"


def followed():
    """The hints of the program's table."""
    with open(f"{ROOT}/Sources/MigrationWire/Text/DataHint.swift", encoding="utf-8") as file:
        return re.findall(r"^  (?:case|package static func) (\w+)(?:$|\()", file.read(), re.MULTILINE)


def contents(computer):
    """The content of each file of a computer, also of apps with extensions."""
    found = []
    for folder in (computer.home, f"{computer.peer_home}/containers", f"{computer.peer_home}/earlier"):
        for path, folders, names in os.walk(folder):
            # What has arrived in part is no data yet.
            folders[:] = [name for name in folders if not name.startswith(".peer-")]
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


def install(work, computer, app):
    computer.peer("app", "install", make_bundle(slim_programs(work), f"{work.folder(None)}/bundle", app))


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


def follow_notTaken(work):
    old, new, before = both(work)
    answers = ["y without 1\n", "all\ny\n"]
    for number, answer in enumerate(answers):
        receiver = new.start("receive", "--everything", "--listen", "127.0.0.1:0", "--json", "--ask", text=answer)
        port = wait_for("a port", PATIENCE, lambda: receiver.events("listening"))[0]["port"]
        code = wait_for("a code", PATIENCE, lambda: receiver.events("code"))[0]["code"]
        sender = old.send(port, None if number else code, "--everything", "--skip", "App one")
        if number:
            end_well(sender, receiver)
        else:
            equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
            require("answer with 'all'" in hint(receiver) and "run both commands again" in hint(sender), f"the hints: {hint(receiver)} {hint(sender)}")
        require_all(new, before)
    equal(new.read("Documents/only"), "old only", "what was refused before")


def follow_allowing(work):
    old, new, before = both(work)
    shutil.rmtree(f"{new.home}/.config/one")
    for number in range(2):
        receiver = new.receive(*(["--take-apps"] * number), is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything")
        codes = sender.wait(), receiver.wait()
        require(number or "with --take-apps" in hint(receiver), f"the hint: {hint(receiver)}")
        require_all(new, [content for content in before if b"one/data" not in content])
    equal(codes, (0, 0), "the exit codes")


def interrupted(work):
    """Both ends of a move that was cut, and the words of both."""
    old, new, before = both(work)
    random_file(f"{old.home}/Documents/large", 24 * MIB)
    receiver = new.receive("--take-apps")
    link = work.slow_link(receiver.port)
    sender = old.send(link.port, receiver.pairing_code, "--everything", "--skip", "App one")
    wait_for("some data", PATIENCE, lambda: link.passed > 4 * MIB or not sender.is_running())
    sender.signal(signal.SIGINT)
    sender.wait()
    receiver.signal(signal.SIGINT)
    receiver.wait()
    return old, new, before, sender, receiver


def again(old, new):
    receiver = new.receive("--take-apps", is_inviting=False)
    end_well(old.send(receiver.port, None, "--everything", "--skip", "App one"), receiver)


def follow_goOn(work):
    old, new, before, sender, receiver = interrupted(work)
    require("Run the same command again" in hint(sender) + hint(receiver), f"the hints: {hint(sender)} {hint(receiver)}")
    require_all(new, before)
    again(old, new)
    require_all(new, before)
    again(old, new)
    require_all(new, before)


def follow_forget(work):
    old, new, before, _, _ = interrupted(work)
    for computer in (old, new):
        kept = contents(computer)
        [listed] = [json.loads(line) for line in computer.peer("resume", "list", "--json").splitlines()]
        computer.peer("forget", listed["id"][:8])
        equal(sorted(contents(computer)), sorted(kept), "what a computer has")
    require_all(new, before)
    again(old, new)
    require_all(new, before)


def follow_putBack(work):
    old, new, before, _, _ = interrupted(work)
    os.rename(f"{old.home}/Documents", f"{old.home}/.away")
    receiver = new.receive("--take-apps", is_inviting=False)
    old.send(receiver.port, None, "--everything", "--skip", "App one").wait()
    receiver.end()
    require_all(new, before)
    os.rename(f"{old.home}/.away", f"{old.home}/Documents")
    again(old, new)
    require_all(new, before)
    equal(os.path.getsize(f"{new.home}/Documents/large"), 24 * MIB, "the file that follows")


def follow_partsFollow(work):
    old, new, before = both(work, [APP])
    new.peer("app", "remove", APP)
    before = contents(new)
    for number in range(2):
        receiver = new.receive("--take-apps", *(["--replace"] * number), is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", "App one")
        if number:
            end_well(sender, receiver)
            break
        equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
        equal(hint(sender), "Install the app there, and run both commands again.", "the sender's hint")
        require_all(new, before)
        install(work, new, APP)
    require_all(new, before)
    equal(new.has(APP), APP, "the app's document")


def follow_afterRepair(work):
    old, new, before = both(work, [APP])
    with open(old.document(APP, "behaviour"), "w", encoding="utf-8") as file:
        file.write("crash")
    for number in range(2):
        receiver = new.receive("--take-apps", "--replace", is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", "App one")
        if number:
            end_well(sender, receiver)
            break
        equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
        require("after a repair" in hint(receiver) + hint(sender), f"the hints: {hint(receiver)} {hint(sender)}")
        require_all(new, before)
        os.remove(old.document(APP, "behaviour"))
    require_all(new, before)


def follow_appInUse(work):
    old, new, before = both(work, [APP])
    app = new.start("app", "run", APP, "stay")
    wait_for("the app", PATIENCE, lambda: "here" in app.text())
    for number in range(2):
        receiver = new.receive("--take-apps", "--replace", is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", "App one")
        if number:
            end_well(sender, receiver)
            break
        equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
        require("Close the app there" in hint(sender), f"the hint: {hint(sender)}")
        require_all(new, before)
        app.end()
    require_all(new, before)


NOT_FOLLOWED = {
    "dconfMissing": "installs a package of the system", "noDesktop": "needs the session of a desktop",
    "touchedHere": "is given only behind a kill between two renames: the suite of setting aside follows it",
}
SAME = {
    "namesTakenThere": "namesTaken",
    "nameTakenMeanwhile": "namesTaken",
    "appHasDataInTrial": "appHasData",
    "noEntriesLeft": "itemsMissing",
    "notTakenThere": "notTaken",
    "runAgain": "goOn",
    "runAgainKept": "goOn",
    "newerData": "itemsMissingOfHome",
    "forgetting": "forget",
    "appMissingThere": "partsFollow",
    "partsMissing": "appHasData",
    "appInUseThere": "appInUse",
    "goingBack": "oldDataKept",
}
"""Hints that one check follows with another one: the same is to be done."""


def checks():
    """The checks, each once."""
    return [name for name in followed() if name not in NOT_FOLLOWED and name not in SAME]


@pytest.mark.parametrize("name", checks())
def test_hints(work, name):
    """hints: each hint about data is followed to the letter, and nothing of the new computer is gone"""
    globals()[f"follow_{name}"](work)


def test_one_table():
    """hints: no other file of the program advises to run the commands again, to replace, or to forget"""
    words = re.compile(r"both commands again|same command (on both devices )?again|peer receive'? (with )?--(existing|replace)|'peer forget '?\\")
    found = []
    for folder, _, names in os.walk(f"{ROOT}/Sources"):
        for name in names:
            if not name.endswith(".swift") or name == "DataHint.swift" or "/Help" in folder:
                continue
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                found += [f"{name}: {line.strip()}" for line in file if words.search(line) and not line.strip().startswith("//")]
    equal(found, [], "hints beside the table")


def test_one_rule(work):
    """hints: a whole computer has one rule for what exists: --existing is refused with --everything, and changes nothing"""
    _, new, before = both(work)
    for mode in ("replace", "skip", "merge"):
        said = new.peer("receive", "--everything", "--existing", mode, code=2)
        require("--existing cannot be used with --everything" in said, f"said: {said}")
    require_all(new, before)

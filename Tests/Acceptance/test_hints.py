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
from devices import PATIENCE, end_well, own_port, random_file
from outside import MIB, ROOT, equal, require, wait_for
from test_moving import describe

APP = "org.example.notes"

DEEP = 270
"""So many folders with long names have a path that no record holds."""


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


def commands(port, *options, sending=("--skip", "App one")):
    """The words of a receiver and of a sender for people, which no terminal asks."""
    return (["receive", "--everything", "--take-apps", *options, "--listen", f"127.0.0.1:{port}"],
            ["send", "--everything", *sending, "--to", f"127.0.0.1:{port}"])


def run(old, new, words, codes, needs_code=False):
    """Runs the words of a receiver and of a sender, and requires their exit codes; returns both, the sender first."""
    receiver = new.start(*words[0])
    wait_for("a receiver", PATIENCE, lambda: receiver.poll() or re.search(r"^Code: ", receiver.errors(), re.MULTILINE) or (
        not needs_code and "On the other device" in receiver.errors()))
    code = re.search(r"Code: (\S+)", receiver.errors()).group(1) + "\n" if needs_code else ""
    sender = old.start(*words[1], *(["--code-file", "-"] if needs_code else []), text=code)
    found = sender.wait(), receiver.wait()
    equal(found, codes, f"the exit codes of {words}, which said {sender.text()} {receiver.text()}")
    return sender, receiver


def pasted(ends):
    """The words of the command that each end shows to be pasted: the receiver's, and the sender's."""
    found = []
    for process in reversed(ends):
        lines = re.findall(r"^ +(peer (?:send|receive) .*)$", process.output(), re.MULTILINE)
        equal(len(lines), 1, f"the number of commands to paste in {process.output()}")
        found.append(shlex.split(lines[0])[1:])
    return found


def quoted(process):
    """The words of each command in quotation marks."""
    said = " ".join(process.text().split())
    return [shlex.split(words) for words in re.findall(r"'peer ([^']*)'", said)]


def paste(old, new, ends, before, times=2):
    """Pastes both commands, and looks each time at what the new computer had."""
    words = pasted(ends)
    for _ in range(times):
        run(old, new, words, (0, 0))
        require_all(new, before)


def hinder(computer, name):
    """Makes a folder that is too deep to be sent; returns what removes the cause."""
    path = f"{computer.home}/{name}/deep"
    os.makedirs(path)
    descriptor = os.open(path, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d" * 250, dir_fd=descriptor)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    return lambda: subprocess.run(["rm", "-r", path], check=True)


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
    words = commands(own_port(), sending=("--skip", ".config"))
    ends = run(old, new, words, (8, 8), needs_code=True)
    require_all(new, before)
    equal(quoted(ends[1]).count(["receive", "--everything", "--replace"]), 1, f"the hints: {ends[1].output()}")
    equal(pasted(ends[1:])[0], words[0] + ["--replace"], "the command to paste")
    run(old, new, [pasted(ends[1:])[0], words[1]], (0, 0))
    require_all(new, before)
    run(old, new, [pasted(ends[1:])[0], words[1]], (0, 0))
    require_all(new, before)
    equal((new.read(".config/one/data"), new.has(APP)), ("# old .config/one/data\n", APP), "the data of the apps")


def follow_replacing(work):
    old, new, before = both(work, [APP])
    port = own_port()
    sending = ["send", "--app", APP, "--to", f"127.0.0.1:{port}"]
    _, receiver = run(old, new, [["receive", "--app", APP, "--listen", f"127.0.0.1:{port}"], sending], (4, 4), needs_code=True)
    require_all(new, before)
    [hinted] = quoted(receiver)[-1:]
    for _ in range(2):
        run(old, new, [[*hinted, "--listen", f"127.0.0.1:{port}"], sending], (0, 0), needs_code=True)
        require_all(new, before)
    equal(new.has(APP), APP, "the app's document")


def follow_noFolder(work):
    old, new, before = both(work)
    new.write("Music", "mine")
    old.write("Music/song", "song")
    before.append(b"mine")
    ends = run(old, new, commands(own_port()), (8, 8), needs_code=True)
    require("Make it a folder" in ends[1].output(), f"the hint: {ends[1].output()}")
    os.rename(f"{new.home}/Music", f"{new.home}/mine")
    os.mkdir(f"{new.home}/Music")
    paste(old, new, ends, before)
    equal(new.read("Music/song"), "song", "the song")


def follow_otherDisk(work):
    old, new, before = both(work)
    disk = work.folder(work.memory)
    os.symlink(disk, f"{new.home}/Music")
    old.write("Music/song", "song")
    _, receiver = run(old, new, commands(own_port()), (8, 8), needs_code=True)
    require("Send this folder by itself" in " ".join(receiver.output().split()), f"the hint: {receiver.output()}")
    require_all(new, before)
    for mode in ("refuse", "skip"):
        receiver = new.start_receiving(disk, "--existing", mode)
        end_well(old.send(receiver.port, receiver.pairing_code, f"{old.home}/Music"), receiver)
        require_all(new, before)
    equal(new.read("Music/Music/song"), "song", "the song")


def follow_itemsMissing(work):
    old, new, before = both(work)
    mend = hinder(old, "Pictures")
    port = own_port()
    sending = ["send", f"{old.home}/Pictures", "--to", f"127.0.0.1:{port}"]
    sender, receiver = run(old, new, [["receive", new.home, "--listen", f"127.0.0.1:{port}"], sending], (8, 8), needs_code=True)
    require_all(new, before)
    [hinted] = quoted(sender)[-1:]
    equal(hinted, ["receive", "--existing", "skip"], f"the hint: {sender.output()}")
    mend()
    for _ in range(2):
        run(old, new, [[*hinted, new.home, "--listen", f"127.0.0.1:{port}"], sending], (0, 0), needs_code=True)
        require_all(new, before)


def follow_itemsMissingOfHome(work):
    old, new, before = both(work)
    # One part has no table, and the same next steps.
    for name in ("Documents", "Projects", ".config"):
        shutil.rmtree(f"{old.home}/{name}")
    mend = hinder(old, "Pictures")
    ends = run(old, new, commands(own_port(), sending=[]), (8, 8), needs_code=True)
    require_all(new, before)
    mend()
    old.write("Pictures/photo", "photo")
    paste(old, new, ends, before)
    equal(new.read("Pictures/photo"), "photo", "what follows")


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
    old, new, _ = both(work, [APP])
    new.peer("app", "remove", APP)
    before = contents(new)
    ends = run(old, new, commands(own_port()), (8, 8), needs_code=True)
    require("Install the app there, and run both commands again." in " ".join(ends[0].output().split()), ends[0].output())
    require_all(new, before)
    install(work, new, APP)
    # From then on, the app has data.
    paste(old, new, ends, before, times=1)
    equal(new.has(APP), APP, "the app's document")


def follow_arrivingAgain(work):
    old, new, before = both(work)
    words = commands(own_port())
    run(old, new, words, (0, 0), needs_code=True)
    for answer in ("again", "meant"):
        os.remove(f"{new.home}/Documents/only")
        _, receiver = run(old, new, words, (8, 8))
        hinted = next(found for found in quoted(receiver) if "--removed" in found)
        if answer == "meant":
            said = " ".join(receiver.output().split())
            require("start it with '--removed meant' instead" in said, f"the hint: {said}")
            hinted[-1] = "meant"
        for _ in range(2):
            run(old, new, [[*hinted, *words[0][2:]], words[1]], (0, 0))
            require_all(new, before)
            equal(new.read("Documents/only"), "old only" if answer == "again" else None, "what was removed")


def follow_savingCrontab(work):
    old, _, _ = both(work)
    old.write("crontab.old", "mine")
    before = contents(old)
    system = work.folder(work.memory)
    os.makedirs(f"{system}/usr/bin")
    with open(f"{system}/usr/bin/crontab", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ $1 = -l ] && echo '@daily backup'\n")
    os.chmod(file.name, 0o755)
    work.environment["PEER_SYSTEM"] = system
    [command] = re.findall(r"^ +(crontab .*)$", old.peer("send", "--everything", "--dry-run"), re.MULTILINE)
    for number in range(2):
        environment = {**os.environ, "HOME": old.home, "PATH": f"{system}/usr/bin:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", command], check=True, env=environment)
        require_all(old, before)
        equal(contents(old).count(b"@daily backup\n"), number + 1, "the saved jobs")


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
    "partsMissing": "itemsMissingOfHome",
    "partsReplace": "appHasData",
    "removalMeant": "arrivingAgain",
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
    words = re.compile(r"both commands again|same command (on both devices )?again|peer receive'? (with )?--(existing|replace)|'peer forget '?\\|--removed (again|meant)|crontab -l")
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

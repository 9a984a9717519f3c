"""Each hint about data, followed to the letter in a home with data on both sides: nothing that was there is gone."""

import fcntl
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
from terminal import Terminal
from test_moving import describe

APP = "org.example.notes"


def followed():
    """The hints of the program's table."""
    with open(f"{ROOT}/Sources/Transfer/MigrationWire/Text/DataHint.swift", encoding="utf-8") as file:
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


def commands(port, *options, sending=("--skip", "App one")):
    """The words of a receiver and of a sender for people, which no terminal asks."""
    return (["receive", "--everything", "--take-apps", *options, "--listen", f"127.0.0.1:{port}"],
            ["send", "--everything", *sending, "--to", f"127.0.0.1:{port}"])


def begin(old, new, words, needs_code=False):
    """Starts the words of a receiver and of a sender; returns both, the sender first."""
    receiver = new.start(*words[0])
    wait_for("a receiver", PATIENCE, lambda: receiver.poll() or re.search(r"^Code: ", receiver.errors(), re.MULTILINE) or (
        not needs_code and "On the other device" in receiver.errors()))
    code = re.search(r"Code: (\S+)", receiver.errors()).group(1) + "\n" if needs_code else ""
    return old.start(*words[1], *(["--code-file", "-"] if needs_code else []), text=code), receiver


def run(old, new, words, codes, needs_code=False):
    """Runs both until they end, and requires their exit codes."""
    sender, receiver = begin(old, new, words, needs_code)
    found = sender.wait(), receiver.wait()
    equal(found, codes, f"the exit codes of {words}, which said {sender.text()} {receiver.text()}")
    return sender, receiver


def twice(old, new, words, before, **options):
    """Runs both two times, and looks each time at what the new computer had."""
    for _ in range(2):
        run(old, new, words, (0, 0), **options)
        require_all(new, before)


def said(process):
    return " ".join(process.text().split())


def require_said(ends, *hints):
    """Each end gives its hint: the sender's comes first."""
    for process, hint in zip(ends, hints, strict=True):
        require(hint in said(process), f"{hint!r} is not in {process.text()}")


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
    return [shlex.split(words) for words in re.findall(r"'peer ([^']*)'", said(process))]


def paste(old, new, ends, before):
    """Pastes both commands two times."""
    twice(old, new, pasted(ends), before)


def hinder(work, computer, name):
    """Makes a file that cannot be read, by root either; returns what removes the cause."""
    computer.write(name, "hindered")
    os.chmod(f"{computer.home}/{name}", 0)
    if os.geteuid() == 0:
        work.within = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    return lambda: os.chmod(f"{computer.home}/{name}", 0o600)


def follow_namesTaken(work):
    old, new, before = both(work)
    port = own_port()
    words = ["receive", new.home, "--listen", f"127.0.0.1:{port}"], ["send", f"{old.home}/Documents", f"{old.home}/Projects", "--to", f"127.0.0.1:{port}"]
    ends = run(old, new, words, (4, 4), needs_code=True)
    require_said(ends, "Follow the hint on the other device.", "start 'peer receive' with --existing ")
    modes = re.search(r"--existing ([a-z, -]*)\.", said(ends[1]))[1].replace(" or ", ", ").split(", ")
    equal(modes, ["skip", "merge", "keep-both"], "the modes that the hint names")
    for mode in modes:
        twice(old, new, ([*words[0], "--existing", mode], words[1]), before, needs_code=True)


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
    ends = run(old, new, commands(own_port()), (8, 8), needs_code=True)
    require(f"'Music' is a link to '{disk}'" in said(ends[1]) and "free there" in said(ends[1]), f"the cause: {ends[1].output()}")
    require("failed: Music the other device stopped: its destination cannot be used ('Music')." in said(ends[0]), f"the sender's words: {ends[0].output()}")
    require_all(new, before)
    [command] = re.findall(r"^ +peer (receive /.*)$", ends[1].output(), re.MULTILINE)
    port = own_port()
    words = [*shlex.split(command), "--listen", f"127.0.0.1:{port}"], ["send", f"{old.home}/Music", "--to", f"127.0.0.1:{port}"]
    run(old, new, words, (0, 0), needs_code=True)
    equal(new.read("Music/Music/song"), "song", "the song")
    run(old, new, words, (4, 4), needs_code=True)
    require_all(new, before)


def follow_itemsMissing(work):
    old, new, before = both(work)
    mend = hinder(work, old, "Pictures/photo")
    port = own_port()
    sending = ["send", f"{old.home}/Pictures", "--to", f"127.0.0.1:{port}"]
    sender, receiver = run(old, new, [["receive", new.home, "--listen", f"127.0.0.1:{port}"], sending], (8, 8), needs_code=True)
    require_all(new, before)
    [hinted] = quoted(sender)[-1:]
    equal(hinted, ["receive", "--existing", "skip"], f"the hint: {sender.output()}")
    mend()
    twice(old, new, ([*hinted, new.home, "--listen", f"127.0.0.1:{port}"], sending), before, needs_code=True)
    equal(new.read("Pictures/photo"), "hindered", "what follows")


def follow_itemsMissingOfHome(work):
    for are_several in (True, False):
        old, new, before = both(work)
        # One part has no table, and the same next steps.
        for name in () if are_several else ("Documents", "Projects", ".config"):
            shutil.rmtree(f"{old.home}/{name}")
        mend = hinder(work, old, "Pictures/photo")
        ends = run(old, new, commands(own_port(), sending=["--skip", "App one"] if are_several else []), (8, 8), needs_code=True)
        require_all(new, before)
        mend()
        paste(old, new, ends, before)
        equal(new.read("Pictures/photo"), "hindered", "what follows")


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
    port = own_port()
    words = ["receive", "--everything", "--no-announce", "--listen", f"127.0.0.1:{port}"], commands(port)[1]

    def answer(line, codes, needs_code=False):
        """A person answers the receiver's question; returns both ends."""
        receiver = Terminal(work, words[0], (b"Accept this?", line.encode()), settings={**new.settings, "PEER_HOME": new.peer_home})
        code = receiver.wait_for(rb"Code: (\d{4}-\d{4})").decode() + "\n" if needs_code else receiver.wait_for(rb"--to 127") and ""
        sender = old.start(*words[1], *(["--code-file", "-"] if needs_code else []), text=code)
        wait_for("both ends", PATIENCE, lambda: sender.poll() & (not receiver.pump()))
        equal((sender.wait(), receiver.wait()), codes, f"the exit codes, which said {sender.text()} {receiver.text()}")
        require_all(new, before)
        return sender, receiver

    ends = answer("y without 1", (8, 8), needs_code=True)
    require_said(ends, "Ask the other device's user to take it, and run both commands again.", "run both commands again, and answer with 'all'")
    for _ in range(2):
        answer(re.search(r"answer with '(\w+)'", said(ends[1]))[1], (0, 0))
        equal(new.read("Documents/only"), "old only", "what was refused before")


def follow_allowing(work):
    old, new, before = both(work)
    shutil.rmtree(f"{new.home}/.config/one")
    before = contents(new)
    port = own_port()
    words = ["receive", "--everything", "--listen", f"127.0.0.1:{port}"], commands(port, sending=())[1]
    ends = run(old, new, words, (8, 8), needs_code=True)
    require_all(new, before)
    [option] = re.findall(r"Start 'peer receive' with (\S+), or at a terminal, where it asks\.", said(ends[1]))
    twice(old, new, ([*words[0], option], words[1]), before)
    equal(new.read(".config/one/data"), "# old .config/one/data\n", "the data of the app")


def cut(work, do):
    """Both ends of a move, to which something is done while data crosses, and its words."""
    old, new, before = both(work)
    random_file(f"{old.home}/Documents/large", 12 * MIB)
    port = own_port()
    link = work.slow_link(port)
    words = commands(port)[0], commands(link.port)[1]
    ends = begin(old, new, words, needs_code=True)
    wait_for("some data", PATIENCE, lambda: link.passed > 4 * MIB or not ends[0].is_running())
    do(old, ends)
    for process in ends:
        process.wait()
    require_all(new, before)
    return old, new, before, words, ends


def interrupt(_, ends):
    for process in ends:
        process.signal(signal.SIGINT)
        process.wait()


def follow_goOn(work):
    old, new, before, words, ends = cut(work, interrupt)
    require_said(ends, *["Run the same command again to go on."] * 2)
    twice(old, new, words, before)


def follow_forget(work):
    """Both give it up, and the receiver's user alone."""
    for computers in (2, 1):
        give_up(work, computers)


def give_up(work, computers):
    old, new, before, words, _ = cut(work, interrupt)
    receiver = new.start(*words[0])
    wait_for("a receiver", PATIENCE, lambda: "On the other device" in receiver.errors())
    receiver.end()
    [command] = {tuple(found) for found in quoted(receiver) if found[0] == "forget"}
    for code in (0, 2):
        new.peer(*command, code=code)
        require_all(new, before)
    if computers == 2:
        # The other computer's user gives it up, too.
        kept = contents(old)
        old.peer(*command)
        equal(sorted(contents(old)), sorted(kept), "what the old computer has")
    equal([name for name in os.listdir(new.home) if name.startswith(".peer-")], [], "what had arrived in part")
    twice(old, new, words, before)


def follow_putBack(work):
    away = lambda old, _: os.rename(f"{old.home}/Documents", f"{old.home}/.away")  # noqa: E731
    old, new, before, words, ends = cut(work, away)
    require("Put it back, and run both commands again." in said(ends[0]), f"the hint: {ends[0].text()}")
    os.rename(f"{old.home}/.away", f"{old.home}/Documents")
    twice(old, new, words, before)
    equal(os.path.getsize(f"{new.home}/Documents/large"), 12 * MIB, "the file that follows")


def follow_partsFollow(work):
    old, new, _ = both(work, [APP])
    new.peer("app", "remove", APP)
    before = contents(new)
    words = commands(own_port())
    ends = run(old, new, words, (8, 8), needs_code=True)
    require("Install the app there, and run both commands again." in " ".join(ends[0].output().split()), ends[0].output())
    require_all(new, before)
    install(work, new, APP)
    run(old, new, pasted(ends), (0, 0))
    require_all(new, before)
    equal(new.has(APP), APP, "the app's document")
    # From then on, the app has data, and that has another hint.
    before = contents(new)
    ends = run(old, new, pasted(ends), (8, 8))
    run(old, new, [pasted(ends[1:])[0], words[1]], (0, 0))
    require_all(new, before)


def follow_arrivingAgain(work):
    old, new, before = both(work)
    words = commands(own_port())
    run(old, new, words, (0, 0), needs_code=True)
    for answer in ("again", "meant"):
        os.remove(f"{new.home}/Documents/only")
        _, receiver = run(old, new, words, (8, 8))
        hinted = next(found for found in quoted(receiver) if "--removed" in found)
        if answer == "meant":
            require("start it with '--removed meant' instead" in said(receiver), f"the hint: {receiver.output()}")
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
    ends = run(old, new, commands(own_port(), "--replace"), (8, 8), needs_code=True)
    require_said(ends, *["after a repair, run the same command again on both devices."] * 2)
    require_all(new, before)
    os.remove(old.document(APP, "behaviour"))
    paste(old, new, ends, before)


def follow_appInUse(work):
    """An app of files, which is in use on either computer."""
    for number, hints in enumerate((("Close it, and run both commands again.",), ("Close the app there, and run both commands again.", "Close it, and run both commands again."))):
        old, new, before = both(work)
        user = (old, new)[number]
        for computer in (old, new):
            with open(f"{computer.peer_home}/descriptions/one.app", "a", encoding="utf-8") as file:
                file.write("[Running]\nLocks=data\n")
        words = commands(own_port(), "--replace", sending=())
        with open(f"{user.home}/.config/one/data", "r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            ends = run(old, new, words, (8, 8), needs_code=True)
        require_said(ends[:len(hints)], *hints)
        require_all(new, before)
        paste(old, new, ends, before)


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
    "partsReplaceAndItems": "appHasData",
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

"""A move that is started again after something of it has failed, has no room, or waits for a person."""

import contextlib
import fcntl
import os

import pytest

from computers import computers
from devices import PATIENCE, end_well, random_file
from disks import tell
from needs import needs, tmpfs
from outside import MIB, equal, require, wait_for
from test_moving import describe, ends


@contextlib.contextmanager
def in_use(computer, app):
    """An app of files is in use on a computer."""
    computer.write(f".config/{app}/lock", "")
    with open(f"{computer.home}/.config/{app}/lock", "r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


def running(work, app="one"):
    """Two computers that know an app, whose lock tells that it is in use."""
    old, new = computers(work, [])
    describe(old, new, app)
    for computer in (old, new):
        with open(f"{computer.peer_home}/descriptions/{app}.app", "a", encoding="utf-8") as file:
            file.write("[Running]\nLocks=lock\n")
    old.write(f".config/{app}/data", app)
    return old, new


def answering(computer, *options, text):
    """A receiver whose questions a program answers; returns it, its port and its code."""
    receiver = computer.start("receive", "--everything", "--listen", "127.0.0.1:0", "--json", "--ask", *options, text=text)
    port = wait_for("a port", PATIENCE, lambda: receiver.events("listening"))[0]["port"]
    return receiver, port, wait_for("a code", PATIENCE, lambda: receiver.events("code"))[0]["code"]


@pytest.mark.parametrize("where", ["old", "new"])
def test_after_an_app_was_in_use(work, where):
    """moving again: what changed and came since is there when a move is started again that has failed for an app in use"""
    old, new = running(work)
    old.write("Documents/letter", "first letter")
    user = old if where == "old" else new
    with in_use(user, "one"):
        receiver = new.receive("--take-apps", "--replace")
        sender = old.send(receiver.port, receiver.pairing_code, "--everything")
        equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
        equal(ends(sender)["App one"]["cause"], "appInUse", "the cause")
        equal((new.read("Documents/letter"), new.read(".config/one/data")), ("first letter", None), "what has arrived")
    old.write("Documents/letter", "second letter, longer")
    old.write("Documents/added", "added")
    receiver = new.receive("--take-apps", "--replace")
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    equal((new.read("Documents/letter"), new.read("Documents/added")), ("second letter, longer", "added"), "the documents")
    equal(new.read(".config/one/data"), "one", "the app's data")
    for computer in (old, new):
        require("no unfinished transfers" in computer.peer("resume", "list"), "a record is left")


def test_the_list_is_shown_again(work):
    """moving again: a program is asked for the choice in each run, and another choice than that of a cut move begins anew"""
    old, new = computers(work, [])
    for name, size in (("Documents/large", 24 * MIB), ("Music/song", MIB)):
        os.makedirs(f"{old.home}/{os.path.dirname(name)}", exist_ok=True)
        random_file(f"{old.home}/{name}", size)
    receiver, port, code = answering(new, text="all\n")
    link = work.slow_link(port)
    sender = old.start("send", "--everything", f"--to=127.0.0.1:{link.port}", "--json", "--ask", text=f"\n{code}\n")
    wait_for("data", PATIENCE, lambda: link.passed > 4 * MIB or not sender.is_running())
    for process in (sender, receiver):
        process.end()
    equal([(question["about"], question.get("continues")) for question in sender.events("question")], [("choice", False), ("code", None)], "the questions")
    old.write("Documents/added")
    for answer, held in (("", True), ("Music", False)):
        receiver = new.start("receive", "--everything", "--listen", f"127.0.0.1:{port}", "--json", "--ask", text="all\n")
        wait_for("a port", PATIENCE, lambda: receiver.poll() or receiver.events("listening"))
        sender = old.start("send", "--everything", f"--to=127.0.0.1:{port}", "--json", "--ask", text=f"{answer}\n")
        wait_for("data", PATIENCE, lambda: not sender.is_running() or sender.events("plan") or sender.events("offer") or sender.events("resumed"))
        if held:
            wait_for("the resumed session", PATIENCE, lambda: not sender.is_running() or sender.events("resumed"))
            for process in (sender, receiver):
                process.end()
            equal(bool(sender.events("resumed")), True, f"whether it goes on: {sender.text()[-300:]}")
        else:
            equal((sender.wait(), receiver.wait()), (0, 0), f"the exit codes: {sender.text()[-500:]} {receiver.text()[-300:]}")
        [question] = sender.events("question")
        equal((question["about"], question["continues"]), ("choice", True), "the question")
    equal((os.path.getsize(f"{new.home}/Documents/large"), new.read("Documents/added"), os.path.exists(f"{new.home}/Music/song")),
          (24 * MIB, "content\n", False), "what has arrived")
    for computer in (old, new):
        require("no unfinished transfers" in computer.peer("resume", "list"), "a record is left")


@pytest.mark.takes(4)
@needs(tmpfs)
def test_what_has_no_room(work):
    """moving: a folder without room is named with the needed and the free space before anything is taken, and the others arrive"""
    old, new = computers(work, [])
    tell("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", new.home)
    work.undone.callback(tell, "umount", "--lazy", new.home)
    for name, size in (("Documents/letter", 1000), ("Videos/film", 160 * MIB), ("Projects/code", 2000), ("Backup/disk", 140 * MIB)):
        os.makedirs(f"{old.home}/{os.path.dirname(name)}", exist_ok=True)
        random_file(f"{old.home}/{name}", size)
    receiver, port, code = answering(new, text="all\n")
    sender = old.send(port, code, "--everything")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
    [question] = receiver.events("question")
    equal(sorted(part["part"] for part in question["parts"]), ["Documents", "Projects"], "what can be taken")
    refused = {part["part"]: part for part in question["refused"]}
    equal({name: part["cause"] for name, part in refused.items()}, {"Videos": "noSpace", "Backup": "noSpace"}, "what cannot be taken")
    require(all(part["bytes"] > question["availableBytes"] > MIB for part in refused.values()), f"the figures: {question}")
    equal([os.path.getsize(f"{new.home}/{name}") for name in ("Documents/letter", "Projects/code")], [1000, 2000], "what has arrived")


@pytest.mark.takes(4)
def test_the_whole_is_the_whole(work):
    """moving: at both ends, the progress of each part is that of the whole move"""
    old, new = computers(work, [])
    describe(old, new, "one")
    sizes = {"Documents/a": 6 * MIB, "Pictures/b": 9 * MIB, ".config/one/data": 4 * MIB, "Projects/c": 5 * MIB}
    for name, size in sizes.items():
        os.makedirs(f"{old.home}/{os.path.dirname(name)}", exist_ok=True)
        random_file(f"{old.home}/{name}", size)
    receiver = new.receive("--take-apps")
    link = work.slow_link(receiver.port, 16 * MIB)
    sender = old.send(link.port, receiver.pairing_code, "--everything")
    end_well(sender, receiver)
    whole = sum(sizes.values())
    for process in (sender, receiver):
        figures = [(event["bytes"], event["totalBytes"]) for event in process.events("progress") if event["phase"] in ("sending", "receiving", "verifying", "importing")]
        require(len(figures) > 3, f"hardly any progress: {figures}")
        equal({total for _, total in figures}, {whole}, "the whole")
        require(figures == sorted(figures) and figures[-1][0] == whole, f"the bytes: {figures}")


def test_an_app_in_use_waits_for_a_person(work):
    """moving: with a person who can close it, an app in use waits on the new computer and on the old one, and nothing fails"""
    for where in ("old", "new"):
        old, new = running(work)
        old.write("Documents/letter")
        receiver, port, code = answering(new, "--replace", text="all\nall\n")
        with in_use(old if where == "old" else new, "one"):
            sender = old.start("send", "--everything", "--wait", f"--to=127.0.0.1:{port}", "--json", "--ask", text=f"\n{code}\n")
            waiting = sender if where == "old" else receiver
            [event] = wait_for("a word about the app", PATIENCE, lambda: waiting.events("appInUse") or waiting.poll())
            equal(event["app"], "App one", "the app")
            require(f"process {os.getpid()}" in event["user"], f"the program: {event}")
        equal((sender.wait(), receiver.wait()), (0, 0), f"the exit codes: {sender.text()[-300:]} {receiver.text()[-300:]}")
        equal(waiting.events("appInUse")[-1]["user"], None, "the program at the end")
        equal((new.read(".config/one/data"), new.read("Documents/letter")), ("one", "content\n"), "what has arrived")


def test_an_address_at_which_nobody_answers(work):
    """moving: an address is tried before anything is listed, and named if nothing answers"""
    old, _ = computers(work, [])
    old.write("Documents/letter")
    sender = old.start("send", "--everything", "--to=127.0.0.1:1", "--json", "--ask")
    equal((sender.wait(), sender.error()["cause"], sender.events("inventory")), (5, "unreachable", []), "the answer")

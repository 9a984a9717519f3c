"""Whole transfers, pairing, TLS, the destination, memory, and mistakes on the command line."""

import os
import re
import select
import socket
import subprocess

import pytest

from devices import PATIENCE, Receiver, end_well, mistyped, other_code, random_file, sender, small_file, transfer, with_check_digit
from needs import needs, root, terminals
from outside import GIB, IS_ROOT, MIB, NOBODY, equal, mib, require, run_script, wait_for
from terminal import Terminal

MEMORY_LIMIT = 64 << 20


@pytest.mark.parametrize("user", [
    pytest.param(None, id="as root", marks=needs(root)),
    pytest.param(NOBODY if IS_ROOT else None, id="as an unprivileged user")])
def test_a_varied_tree(work, user):
    """a varied tree"""
    # On a disk with attributes and holes.
    old, new = work.place(user, on_disk=True)
    run_script("make-tree", f"{old}/tree")
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", f"{old}/tree"], check=True)
    _, receiver, took = transfer(work, old, new, user)
    items = receiver.events("done")[0]["items"]
    work.figure = f"{items} items, {took:.2f} s"


def test_an_empty_directory(work):
    """an empty directory"""
    old, new = work.place()
    os.mkdir(f"{old}/empty")
    work.figure = f"{transfer(work, old, new)[2]:.2f} s"


def test_an_empty_file(work):
    """an empty file"""
    old, new = work.place()
    small_file(f"{old}/empty", b"")
    work.figure = f"{transfer(work, old, new)[2]:.2f} s"


def test_a_file_a_folder_and_a_dangling_link(work):
    """a file, a folder and a dangling link in one run"""
    old, new = work.place()
    small_file(f"{old}/file")
    os.mkdir(f"{old}/folder")
    os.symlink("nowhere", f"{old}/link")
    work.figure = f"{transfer(work, old, new)[2]:.2f} s"


def test_a_wrong_code_keeps_the_right_one_valid(work):
    """a wrong code: exit 3, nothing written, the right code still valid"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    wrong = sender(work, [f"{old}/file"], receiver.port, other_code(receiver.pairing_code))
    equal(wrong.wait(), 3, "exit code")
    equal(wrong.error()["message"], "The code did not match. Nothing was sent.", "message")
    receiver.still_waits()
    honest = sender(work, [f"{old}/file"], receiver.port, receiver.pairing_code)
    end_well(honest, receiver)
    run_script("check-trees", "--inside", old, new)


@needs(terminals)
def test_a_wrong_code_is_asked_again(work):
    """a wrong code at a terminal: the code is asked for again, and the right one pairs"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    person = Terminal(work, ["send", f"{old}/file", "--to", f"127.0.0.1:{receiver.port}"])
    for count, code in enumerate([other_code(receiver.pairing_code), receiver.pairing_code], 1):
        person.wait_for(rb"Code shown on [^:]*: ", count)
        person.type(code)
    equal(person.wait(), 0, f"exit code after {person.text()}")
    end_well(receiver)
    run_script("check-trees", "--inside", old, new)


def test_a_mistyped_code_sends_nothing(work):
    """a mistyped code: exit 3, nothing is sent to the other device"""
    old, _ = work.place()
    small_file(f"{old}/file")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        wrong = sender(work, [f"{old}/file"], port, mistyped(with_check_digit("4829136")))
        code = wrong.wait()
        # It has probed for a listener before it read the code.
        with listening.accept()[0] as look:
            said = look.recv(1)
        connected = bool(select.select([listening], [], [], 0.5)[0])
    equal((code, said, connected), (3, b"", False), "exit code, what was said, connected again")
    work.figure = wrong.error()["message"]


# The destination


def test_a_name_that_is_taken(work):
    """an entry of the same name: exit 4 on both sides, unchanged"""
    old, new = work.place()
    os.mkdir(f"{old}/documents")
    small_file(f"{old}/documents/new")
    os.mkdir(f"{new}/documents")
    small_file(f"{new}/documents/precious", b"precious")
    _, copy = work.place()
    subprocess.run(["cp", "-a", f"{new}/documents", copy], check=True)
    receiver = Receiver(work, new)
    sending = sender(work, [f"{old}/documents"], receiver.port, receiver.pairing_code)
    equal((sending.wait(), receiver.wait()), (4, 4), "exit codes")
    for process in (sending, receiver):
        require("documents" in process.error()["message"], f"no name: {process.error()['message']}")
    run_script("check-trees", "--inside", copy, new)
    work.figure = sending.error()["message"]


@needs(terminals)
def test_a_home(work):
    """items that begin with a dot arrive in a home with --take-apps, or if its user agrees; a
    script's receiver refuses them"""
    old, new = work.place()
    for name in (".bashrc", "plain"):
        small_file(f"{old}/{name}")
    work.environment["HOME"] = new
    receiver = Receiver(work, new)
    sending = sender(work, [f"{old}/.bashrc"], receiver.port, receiver.pairing_code)
    equal((sending.wait(), receiver.wait()), (4, 4), "exit codes")
    error = receiver.error()
    require(".bashrc may hold" in error["message"] and "--take-apps" in error["hint"], error)
    for name, options in (("plain", []), (".bashrc", ["--take-apps"])):
        receiver = Receiver(work, new, options=options)
        end_well(sender(work, [f"{old}/{name}"], receiver.port, receiver.pairing_code), receiver)
    os.remove(f"{new}/.bashrc")
    for answer, code, found in ((b"", 4, ["plain"]), (b"y", 0, [".bashrc", "plain"])):
        receiving = Terminal(work, ["receive", new, "--listen", "127.0.0.1:0"], (b"Accept this?", answer), settings={"HOME": new})
        wait_for("code", PATIENCE, lambda: receiving.pump() and re.search(rb"Code: \d{4}-\d{4}", receiving.read))
        port, shown = (re.search(what, receiving.text()).group(1) for what in (r"--to 127.0.0.1:(\d+)", r"Code: (\d{4}-\d{4})"))
        sending = sender(work, [f"{old}/.bashrc"], port, shown)
        wait_for("end of both", PATIENCE, lambda: not (sending.is_running() | receiving.pump()))
        equal((sending.wait(), receiving.wait()), (code, code), "exit codes")
        require("Apps' data, which may hold what programs run:\n 1   .bashrc" in receiving.text().replace("\r", ""), receiving.text())
        equal(sorted(os.listdir(new)), found, "the home has")


# Memory


def memory(work, make, on_disk=True):
    old, new = work.place(on_disk=on_disk)
    make(f"{old}/file")
    sending, receiver, took = transfer(work, old, new, seconds=900)
    work.figure = f"peak {mib(sending.peak)} sending, {mib(receiver.peak)} receiving, {took:.1f} s"
    require(max(sending.peak, receiver.peak) < MEMORY_LIMIT, work.figure)


@pytest.mark.takes(10)
def test_the_memory_for_random_bytes(work):
    """512 MiB of random bytes: peak memory under 64 MiB"""
    work.room_for(GIB)
    memory(work, lambda path: random_file(path, 512 * MIB), on_disk=False)


# Mistakes of the user


def mistake(process, code):
    """Requires the exit code, one sentence and one hint."""
    found = process.wait()
    lines = process.errors().splitlines()
    errors = [line for line in lines if line.startswith("peer: error: ")]
    hints = [line for line in lines if line.startswith("peer: hint: ")]
    require((found, len(errors), len(hints)) == (code, 1, 1), f"exit code {found}, not {code}; {lines}")
    return errors[0].removeprefix("peer: error: ")


def test_a_missing_source(work):
    """a missing source: exit 2"""
    old, new = work.place()
    receiver = Receiver(work, new)
    text = mistake(sender(work, [f"{old}/missing"], receiver.port, receiver.pairing_code, json_output=False), 2)
    receiver.still_waits()
    work.figure = text.replace(old, "...")

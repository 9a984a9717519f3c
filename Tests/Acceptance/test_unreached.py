"""A sender that checks whether anything listens before it asks for the code: its errors, and its
questions."""

import os
import re
import subprocess
import sys
import time

import pytest

from devices import PATIENCE, closed_port, sender, small_file
from needs import needs, root
from outside import equal, require

IN_NETWORK = """
import ctypes, os, subprocess, sys
def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "unshare")
call(ctypes.CDLL(None, use_errno=True).unshare(0x40000000))
for line in sys.argv[1].splitlines():
    subprocess.run(line.split(), check=True)
os.execv(sys.argv[2], sys.argv[2:])
"""


CABLE = ["ip link add near type veth peer name far", "ip address add 192.0.2.1/24 dev near", "ip link set near up", "ip link set far up"]
"""The commands that make a network of one cable, whose other end is unused."""


def in_network(lines, command):
    """A command in its own network, which these lines make and which ends with the program."""
    return [sys.executable, "-c", IN_NETWORK, "\n".join(["ip link set lo up", *lines]), *command]


def networks():
    """Whether a process may have its own network, with two ends of a cable."""
    command = in_network(["ip link add one type veth peer name two"], ["/bin/true"])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)
    return root() or (None if done.returncode == 0 else "no networks can be made")


def unread(work):
    """A file from which a code is never read: opening a pipe without a writer would block."""
    path = f"{work.path}/code"
    os.mkfifo(path)
    return path


def failure(code, text):
    """The error and the hint of a run that could not reach the other device."""
    equal(code, 5, f"exit code, after {text!r}")
    found = re.fullmatch(r"peer: error: (.*)\npeer: hint: (.*)\n", text)
    require(found, f"an error and a hint alone, and not {text!r}")
    return found[1], found[2]


def unreached(work, target, lines=None, options=("--code-file",)):
    """The sender's message about an address, perhaps in its own network, and the seconds until it.
    It must not read the code."""
    old, _ = work.place()
    small_file(f"{old}/file")
    command = [work.binary, "send", f"{old}/file", "--to", target, *options]
    if options:
        command.append(unread(work))
    begin = time.monotonic()
    done = subprocess.run(
        command if lines is None else in_network(lines, command), stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=PATIENCE, text=True, env={**os.environ, "HOME": work.home(None), "PEER_HOME": work.home(None) + "/peer"})
    equal(done.stdout, "", "standard output")
    return *failure(done.returncode, done.stderr), time.monotonic() - begin


@pytest.mark.parametrize("options", [pytest.param(("--code-file",), id="with a file"), pytest.param((), id="without a terminal")])
def test_nothing_listens(work, options):
    """nothing listens there: exit 5 before a code is read"""
    with closed_port() as port:
        message, hint, seconds = unreached(work, f"127.0.0.1:{port}", options=options)
        equal(message, f"nothing listens at 127.0.0.1 on port {port}", "message")
        equal(hint, "Start 'peer receive' there, or check the port.", "hint")
        require(seconds < 4, f"said after {seconds:.1f} s")
        work.figure = message


def test_json_has_only_the_error(work):
    """nothing listens there, for a program: the error is the only event"""
    old, _ = work.place()
    small_file(f"{old}/file")
    with closed_port() as port:
        sending = sender(work, [f"{old}/file"], port, None)
        equal(sending.wait(), 5, "exit code")
        equal([event["event"] for event in sending.events()], ["error"], "events")
        equal(sending.error()["kind"], "connectionLost", "kind")


@needs(networks)
@pytest.mark.takes(6)
def test_no_answer(work):
    """a device that drops packets: reported within eight seconds, with a hint at firewalls"""
    # A known neighbour that accepts packets, and an end of the cable without a reader.
    message, hint, seconds = unreached(
        work, "192.0.2.7:5000",
        [*CABLE, "ip neighbour add 192.0.2.7 lladdr 02:00:00:00:00:07 dev near"])
    equal(message, "192.0.2.7 does not answer on port 5000", "message")
    equal(
        hint, "Check the address. A firewall there may block the connection: allow TCP port 5000. "
        "A network for guests or a VPN may keep the devices apart.", "hint")
    require(seconds < 8, f"said after {seconds:.1f} s")
    work.figure = f"{message}, after {seconds:.1f} s"

"""A sender that checks whether anything listens before it asks for the code: its errors, and its
questions."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time

import pytest

from devices import PATIENCE, Process, Receiver, closed_port, end_well, sender, small_file
from needs import needs, root, terminals
from outside import equal, require, run_script
from terminal import Terminal

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


def test_a_name_is_named(work):
    """nothing listens at a name: the message has the name and the address"""
    with closed_port() as port:
        work.figure = unreached(work, f"localhost:{port}")[0]
        require(re.fullmatch(rf"nothing listens at localhost \((127\.0\.0\.1|::1)\) on port {port}", work.figure), work.figure)


def test_an_unknown_name(work):
    """an unknown name: exit 5, and the message has the name"""
    message, hint, _ = unreached(work, "no-such-device.invalid")
    require("no-such-device.invalid" in message and "Check the name" in hint, f"{message} {hint}")
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
@pytest.mark.parametrize("lines", [
    pytest.param([], id="no network at all"), pytest.param(["ip route add unreachable 192.0.2.0/24"], id="the router says so")])
def test_no_way(work, lines):
    """no network leads there: reported at once"""
    message, hint, seconds = unreached(work, "192.0.2.7", lines)
    equal(message, "no route to 192.0.2.7", "message")
    equal(hint, "Check the address, and that both devices are in the same network. "
          "A firewall may answer so too: there, allow TCP port 47470.", "hint")
    require(seconds < 4, f"said after {seconds:.1f} s")
    work.figure = f"{message}, after {seconds:.1f} s"


@needs(networks)
@pytest.mark.takes(4)
def test_no_device_has_the_address(work):
    """no device answers to ARP: reported within six seconds"""
    message, _, seconds = unreached(work, "192.0.2.7", CABLE)
    equal(message, "no route to 192.0.2.7", "message")
    require(seconds < 6, f"said after {seconds:.1f} s")
    work.figure = f"{message}, after {seconds:.1f} s"


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


@pytest.mark.takes(6)
def test_a_full_queue(work):
    """a program with a full queue of connections: silence"""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        time.sleep(0.2)
        port = listening.getsockname()[1]
        message, _, seconds = unreached(work, f"127.0.0.1:{port}")
    equal(message, f"127.0.0.1 does not answer on port {port}", "message")
    require(seconds < 8, f"said after {seconds:.1f} s")
    work.figure = f"{message}, after {seconds:.1f} s"


@needs(networks)
def test_the_most_informative_failure(work):
    """a device with several addresses: a refusal wins over a missing route, and costs no time"""
    old, _ = work.place()
    small_file(f"{old}/file")
    # Both addresses of a name, in a separate hosts file.
    hosts = f"{work.path}/hosts"
    small_file(hosts, b"2001:db8::7 twofold\n192.0.2.7 twofold\n")
    program = [
        "/bin/sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, work.binary, "send", f"{old}/file", "--to", "twofold"]
    done = subprocess.run(
        ["unshare", "--mount", *in_network(["ip address add 192.0.2.7/32 dev lo"], program)], stdin=subprocess.DEVNULL,
        capture_output=True, check=False, timeout=PATIENCE, text=True,
        env={**os.environ, "HOME": work.home(None), "PEER_HOME": work.home(None) + "/peer"})
    message, _ = failure(done.returncode, done.stderr)
    equal(message, "nothing listens at twofold (192.0.2.7) on port 47470", "message")


BOTH = """
import json, subprocess, sys, time
binary, old, new, out = sys.argv[1:]
with open(out, "w") as file:
    receiver = subprocess.Popen([binary, "receive", new, "--listen", "192.0.2.7:5000", "--json"], stdout=file)
code = None
while code is None:
    time.sleep(0.02)
    with open(out) as file:
        code = next((one["code"] for one in map(json.loads, file.read().split("\\n")[:-1]) if one["event"] == "code"), None)
begin = time.monotonic()
sender = subprocess.run([binary, "send", old, "--to", "twofold:5000", "--code-file", "-"], input=code.encode(), timeout=60)
print(sender.returncode, receiver.wait(60), time.monotonic() - begin)
"""


@needs(networks)
def test_a_silent_address_before_one_that_answers(work):
    """a device with one dead address: the other is found in a moment, and always used"""
    old, new = work.place()
    small_file(f"{old}/file")
    hosts = f"{work.path}/hosts"
    small_file(hosts, b"2001:db8::7 twofold\n192.0.2.7 twofold\n")
    program = [
        "/bin/sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, sys.executable, "-c", BOTH, work.binary,
        f"{old}/file", new, f"{work.path}/events"]
    lines = [
        "ip address add 192.0.2.7/32 dev lo", "ip link add near type veth peer name far", "ip link set near up", "ip link set far up",
        "ip address add 2001:db8::1/64 dev near nodad", "ip neighbour add 2001:db8::7 lladdr 02:00:00:00:00:07 dev near"]
    done = subprocess.run(
        ["unshare", "--mount", *in_network(lines, program)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
        timeout=PATIENCE, text=True, env={**os.environ, "HOME": work.home(None), "PEER_HOME": work.home(None) + "/peer"})
    codes, seconds = done.stdout.split()[-3:-1], float(done.stdout.split()[-1])
    equal(codes, ["0", "0"], "exit codes")
    run_script("check-trees", "--inside", old, new)
    require(seconds < 4, f"it took {seconds:.1f} s")
    work.figure = f"{seconds:.1f} s"


def test_probes_do_not_disturb_the_receiver(work):
    """three probes for a listener, then a pairing: the receiver reports none of them"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    for _ in range(3):
        sending = Process(work, ["send", f"{old}/file", "--to", f"127.0.0.1:{receiver.port}", "--code-file", f"{old}/no-such-file"])
        equal(sending.wait(), 2, "exit code without the file")
    for _ in range(20):
        socket.create_connection(("127.0.0.1", receiver.port), PATIENCE).close()
    end_well(sender(work, [f"{old}/file"], receiver.port, receiver.pairing_code), receiver)
    run_script("check-trees", "--inside", old, new)
    names = [event["event"] for event in receiver.events()]
    require(not {"wrongCode", "codesSpent", "notice"} & set(names), f"the receiver said {names}")
    equal(names.count("code"), 1, "codes")


@needs(terminals)
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_question(work, name):
    """the question for the code names the device"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    shown = "127.0.0.1" if name == "127.0.0.1" else "localhost (127.0.0.1)"
    question = f"Code shown on {shown}: "
    run = Terminal(
        work, ["send", f"{old}/file", "--to", f"{name}:{receiver.port}"], (question.encode(), receiver.pairing_code.encode()))
    equal(run.wait(), 0, f"exit code, after {run.read[-300:]!r}")
    require(question in run.text(), f"{question!r} at the terminal")
    end_well(receiver)


@needs(terminals)
def test_a_terminal_is_not_asked_in_vain(work):
    """nothing listens there: the user is not asked at the terminal"""
    old, _ = work.place()
    small_file(f"{old}/file")
    with closed_port() as port:
        run = Terminal(work, ["send", f"{old}/file", "--to", f"127.0.0.1:{port}"])
        message, _ = failure(run.wait(), run.text())
    equal(message, f"nothing listens at 127.0.0.1 on port {port}", "message")


def invitation(work, lines, *options):
    """The output of a receiver in its own network before its code."""
    _, new = work.place()
    script = '"$@" & child=$!; sleep 0.2; while ! grep -q Code: "$0"; do sleep 0.1; done; kill $child; wait $child'
    told = f"{work.path}/told-{len(options)}-{len(lines)}"
    program = ["/bin/sh", "-c", f"exec 2>\"$0\"; {script}", told, work.binary, "receive", new, *options]
    subprocess.run(
        in_network(lines, program), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=PATIENCE,
        env={**os.environ, "HOME": work.home(None), "PEER_HOME": work.home(None) + "/peer"})
    with open(told, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if " --to " in line]


NETWORK = [
    "ip link add lan type veth peer name cable", "ip link set cable up", "ip link add other type veth peer name second", "ip link set second up",
    "ip address add 10.9.0.1/24 dev other", "ip link set other up", "ip address add 192.0.2.7/24 dev lan", "ip link set lan up",
    "ip route add default via 192.0.2.1"]


@needs(networks)
def test_the_address_line(work):
    """the default route's address is shown, others with --verbose; no link-local one, no
    loopback"""
    first = "On the other device:  peer send PATH... --to 192.0.2.7"
    equal(invitation(work, NETWORK), [first], "what is shown")
    equal(invitation(work, NETWORK, "--verbose"), [first, "                  or  ... --to 10.9.0.1"], "what is shown with --verbose")
    equal(invitation(work, []), ["On the other device:  peer send PATH... --to 127.0.0.1"], "what is shown without a network")

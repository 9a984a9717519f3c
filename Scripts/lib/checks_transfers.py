"""Acceptance of whole transfers, pairing, TLS, the destination, memory, and mistakes on the command line."""

import os
import re
import select
import socket
import subprocess
import sys
import threading
import time

from checks import check
from devices import Process, Receiver, mistyped, other_code, random_file, sender, small_file, transfer, with_check_digit
from outside import GIB, IS_ROOT, MIB, NOBODY, Skip, equal, mib, require, run_script

MEMORY_LIMIT = 64 << 20


def varied(work, user):
    old, new = work.place(user)
    run_script("make-tree", f"{old}/tree")
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", f"{old}/tree"], check=True)
    _, receiver, took = transfer(work, old, new, user)
    items = receiver.events("done")[0]["items"]
    return f"{items} items, {took:.2f} s"


@check("a varied tree, as root")
def _(work):
    if not IS_ROOT:
        raise Skip("not root")
    return varied(work, None)


@check("a varied tree, as an unprivileged user")
def _(work):
    return varied(work, NOBODY if IS_ROOT else None)


@check("an empty directory")
def _(work):
    old, new = work.place()
    os.mkdir(f"{old}/empty")
    return f"{transfer(work, old, new)[2]:.2f} s"


@check("an empty file")
def _(work):
    old, new = work.place()
    small_file(f"{old}/empty", b"")
    return f"{transfer(work, old, new)[2]:.2f} s"


@check("a file, a folder and a dangling link in one run")
def _(work):
    old, new = work.place()
    small_file(f"{old}/file")
    os.mkdir(f"{old}/folder")
    os.symlink("nowhere", f"{old}/link")
    return f"{transfer(work, old, new)[2]:.2f} s"


@check("20,000 small files")
def _(work):
    old, new = work.place()
    run_script("make-tree", f"{old}/tree", "--files", "20000")
    sending, receiver, took = transfer(work, old, new)
    return f"{took:.2f} s, peak {mib(sending.peak)} sending, {mib(receiver.peak)} receiving"


@check("a wrong code: exit 3, nothing written, the right one still good")
def _(work):
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    wrong = sender(work, [f"{old}/file"], receiver.port, other_code(receiver.pairing_code))
    equal(wrong.wait(), 3, "exit code")
    equal(wrong.error()["message"], "The code did not match. Nothing was sent.", "message")
    receiver.still_waits()
    honest = sender(work, [f"{old}/file"], receiver.port, receiver.pairing_code)
    equal((honest.wait(), receiver.wait(30)), (0, 0), "exit codes of the honest send")
    run_script("check-trees", "--inside", old, new)


@check("a mistyped code: exit 3, no connection")
def _(work):
    old, _ = work.place()
    small_file(f"{old}/file")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        wrong = sender(work, [f"{old}/file"], port, mistyped(with_check_digit("4829136")))
        code = wrong.wait()
        connected = bool(select.select([listening], [], [], 0.5)[0])
    equal((code, connected), (3, False), "exit code, connected")
    return wrong.error()["message"]


@check("three wrong codes: the old right one refused, a new one shown")
def _(work):
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    code = receiver.pairing_code
    for step in (1, 2, 3):
        equal(sender(work, [f"{old}/file"], receiver.port, other_code(code, step)).wait(), 3, f"exit code of try {step}")
    fresh = receiver.event("code", 2)["code"]
    require(fresh != code, "the new code is the old one")
    equal(sender(work, [f"{old}/file"], receiver.port, code).wait(), 3, "exit code of the old right code")
    receiver.still_waits()
    equal(sender(work, [f"{old}/file"], receiver.port, fresh).wait(), 0, "exit code of the new code")
    equal(receiver.wait(30), 0, "exit code of the receiver")
    run_script("check-trees", "--inside", old, new)


# TLS


def s_client(port, arguments, linger):
    """What openssl s_client says; its input stays open until it ends by itself, or for some seconds."""
    process = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    timer = threading.Timer(linger + 10, process.kill)
    timer.start()
    try:
        limit = time.monotonic() + linger
        output = b""
        while time.monotonic() < limit:
            if select.select([process.stdout], [], [], 0.1)[0]:
                part = os.read(process.stdout.fileno(), 65536)
                if not part:
                    break
                output += part
        process.stdin.close()
        output += process.stdout.read()
        return process.wait(), output.decode(errors="replace")
    finally:
        timer.cancel()
        process.stdout.close()


@check("openssl s_client with TLS 1.2 is refused")
def _(work):
    _, new = work.place()
    receiver = Receiver(work, new)
    code, text = s_client(receiver.port, ["-tls1_2"], 5)
    require(code != 0 and "Cipher is (NONE)" in text, f"s_client ended with {code}: {text[-400:]}")
    alert = re.search(r"alert [a-z ]+", text)
    require(alert, f"no alert: {text[-400:]}")
    receiver.still_waits()
    receiver.end()
    return alert.group().strip()


@check("openssl s_client with TLS 1.3 and no certificate is refused")
def _(work):
    _, new = work.place()
    receiver = Receiver(work, new)
    begin = time.monotonic()
    code, text = s_client(receiver.port, ["-tls1_3"], 10)
    took = time.monotonic() - begin
    require("Cipher is TLS_" in text, f"no handshake at all: {text[-400:]}")
    alert = re.search(r"alert [a-z ]*certificate[a-z ]*", text)
    require(alert and code != 0 and took < 10, f"s_client ended with {code} after {took:.1f} s: {text[-400:]}")
    receiver.still_waits()
    receiver.end()
    return alert.group().strip()


@check("no NewSessionTicket, to a client with a certificate")
def _(work):
    _, new = work.place()
    key, certificate = f"{work.path}/client.key", f"{work.path}/client.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
         "-subj", "/CN=peer", "-keyout", key, "-out", certificate],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    receiver = Receiver(work, new)
    _, text = s_client(receiver.port, ["-tls1_3", "-key", key, "-cert", certificate, "-msg"], 2)
    sent = re.findall(r"^>>> .*Handshake.*, (\w+)$", text, re.MULTILINE)
    received = re.findall(r"^<<< .*Handshake.*, (\w+)$", text, re.MULTILINE)
    require("Finished" in received and "Finished" in sent and "Certificate" in sent, f"no handshake: {text[-400:]}")
    require("NewSessionTicket" not in text, "a ticket came")
    alerts = re.findall(r"^<<< .*Alert.*, (.*)$", text, re.MULTILINE)
    require(not any("fatal" in alert and "certificate" in alert for alert in alerts), f"certificate refused: {alerts}")
    receiver.still_waits()
    receiver.end()
    return "after the handshake: " + (", ".join(alerts) or "nothing")


# The destination


@check("too little space: exit 6 on both sides, with the figures")
def _(work):
    if not IS_ROOT:
        raise Skip("not root, so no small file system")
    old, new = work.place()
    random_file(f"{old}/large", 5 * MIB)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", new], stderr=subprocess.PIPE, check=False)
    if mounted.returncode != 0:
        raise Skip("no tmpfs can be mounted")
    work.mounts.append(new)
    receiver = Receiver(work, new)
    sending = sender(work, [f"{old}/large"], receiver.port, receiver.pairing_code)
    equal((sending.wait(), receiver.wait(30)), (6, 6), "exit codes")
    messages = {process.error()["message"] for process in (sending, receiver)}
    for message in messages:
        figures = re.findall(r"\d+(?:[.,]\d+)* ?(?:[kKMGT]i?)?B|\d+ bytes", message)
        require(len(figures) >= 2, f"figures missing: {message}")
    equal(os.listdir(new), [], "the destination holds")
    return " / ".join(sorted(messages))


@check("an entry of the same name: exit 4 on both sides, untouched")
def _(work):
    old, new = work.place()
    os.mkdir(f"{old}/documents")
    small_file(f"{old}/documents/new")
    os.mkdir(f"{new}/documents")
    small_file(f"{new}/documents/precious", b"precious")
    _, copy = work.place()
    subprocess.run(["cp", "-a", f"{new}/documents", copy], check=True)
    receiver = Receiver(work, new)
    sending = sender(work, [f"{old}/documents"], receiver.port, receiver.pairing_code)
    equal((sending.wait(), receiver.wait(30)), (4, 4), "exit codes")
    for process in (sending, receiver):
        require("documents" in process.error()["message"], f"no name: {process.error()['message']}")
    run_script("check-trees", "--inside", copy, new)
    return sending.error()["message"]


# Memory


def memory(work, make, seconds):
    old, new = work.place()
    make(f"{old}/file")
    try:
        sending, receiver, took = transfer(work, old, new, seconds=seconds)
        figure = f"peak {mib(sending.peak)} sending, {mib(receiver.peak)} receiving, {took:.1f} s"
        require(max(sending.peak, receiver.peak) < MEMORY_LIMIT, figure)
        return figure
    finally:
        work.drop(old)


def sparse(path):
    with open(path, "wb") as file:
        for gibibyte in range(5):
            file.seek(gibibyte * GIB)
            file.write(b"an island at %d" % gibibyte)
        file.truncate(5 * GIB)


@check("5 GiB, sparse: peak memory under 64 MiB")
def _(work):
    work.room_for(5 * GIB)
    return memory(work, sparse, 300)


@check("512 MiB of random bytes: peak memory under 64 MiB")
def _(work):
    work.room_for(GIB)
    return memory(work, lambda path: random_file(path, 512 * MIB), 300)


@check("5 GiB of random bytes: peak memory under 64 MiB")
def _(work):
    if "--big-random" not in sys.argv:
        raise Skip("only with --big-random")
    work.room_for(10 * GIB)
    return memory(work, lambda path: random_file(path, 5 * GIB), 900)


# Mistakes


def mistake(process, code):
    """Requires the exit code, one sentence and one hint."""
    found = process.wait(60)
    lines = process.errors().splitlines()
    errors = [line for line in lines if line.startswith("peer: error: ")]
    hints = [line for line in lines if line.startswith("peer: hint: ")]
    require((found, len(errors), len(hints)) == (code, 1, 1), f"exit code {found}, not {code}; {lines}")
    return errors[0].removeprefix("peer: error: ")


@check("a missing source: exit 2")
def _(work):
    old, new = work.place()
    receiver = Receiver(work, new)
    text = mistake(sender(work, [f"{old}/missing"], receiver.port, receiver.pairing_code, json_output=False), 2)
    receiver.still_waits()
    receiver.end()
    return text.replace(old, "...")


@check("an unreachable host: exit 5")
def _(work):
    old, _ = work.place()
    small_file(f"{old}/file")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    return mistake(sender(work, [f"{old}/file"], port, with_check_digit("4829136"), json_output=False), 5)


@check("a port in use: exit 1")
def _(work):
    _, new = work.place()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        return mistake(Process(work, ["receive", new, "--listen", f"127.0.0.1:{port}"]), 1)


@check("an unknown option: exit 2")
def _(work):
    old, new = work.place()
    small_file(f"{old}/file")
    mistake(Process(work, ["receive", new, "--lisen", "127.0.0.1:0"]), 2)
    return mistake(Process(work, ["send", f"{old}/file", "--to", "127.0.0.1", "--cod", "x"]), 2)

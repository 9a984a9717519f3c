"""Guesses at the code from the network: from one address, from a hundred, and from addresses that
may not pair."""

import contextlib
import os
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest

from devices import PATIENCE, Receiver, end_well, sender, small_file
from needs import needs, openssl, terminals
from outside import equal, require, run_script, wait_for
from terminal import Terminal

HELLO = bytes.fromhex("01000b") + b"PEER" + bytes([3, 3, 1, 0, 0, 0, 0])
# Any point works: this is the curve's own.
SHARE = bytes.fromhex(
    "030041046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
CONFIRMATION = bytes.fromhex("050020") + bytes(32)
MISMATCH, NOT_PAIRING, BUSY = 1, 2, 4
MOST = 99


class Guesser:
    """A client that speaks the protocol up to the confirmation, and knows no code."""

    def __init__(self, work):
        key = f"{work.path}/guesser.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
             "-keyout", key, "-out", key + ".crt"], check=True, timeout=PATIENCE, stderr=subprocess.DEVNULL)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.load_cert_chain(key + ".crt", key)

    def guess(self, port, host):
        """Guesses once, from an address of this machine; returns the reason of the refusal, or
        nothing where the connection ended."""
        with contextlib.suppress(OSError, EOFError):
            with socket.create_connection(("127.0.0.1", port), PATIENCE, (host, 0)) as plain, self.context.wrap_socket(plain) as tls:
                tls.sendall(HELLO + SHARE)
                kind, body = frame(tls)
                if kind == 0x02:
                    frame(tls)
                    tls.sendall(CONFIRMATION)
                    kind, body = frame(tls)
                return body[0] if kind == 0x0F else None
        return None

    def spend(self, port):
        """Guesses from a hundred addresses until no code is shown any more; returns the comparisons
        and the seconds."""
        begin, compared, number = time.monotonic(), 0, 0
        while compared < MOST and time.monotonic() < begin + 600:
            if self.guess(port, f"127.0.3.{number % 120 + 1}") == MISMATCH:
                compared += 1
                number += 1
            else:
                time.sleep(0.05)
        return compared, time.monotonic() - begin


def frame(tls):
    """The next frame: its type and its body."""
    header = exactly(tls, 3)
    return header[0], exactly(tls, header[1] << 8 | header[2])


def exactly(tls, count):
    data = b""
    while len(data) < count:
        part = tls.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


@needs(openssl)
def test_guesses_from_one_address(work):
    """fifteen guesses in a row from one address: the receiver continues, and another address
    pairs"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    guesser = Guesser(work)
    reasons = [guesser.guess(receiver.port, "127.0.0.2") for _ in range(15)]
    compared = reasons.count(MISMATCH)
    require(1 <= compared < 8, f"{compared} of 15 guesses were compared")
    receiver.still_waits()
    end_well(sender(work, [f"{old}/file"], receiver.port, receiver.events("code")[-1]["code"]), receiver)
    run_script("check-trees", "--inside", old, new)
    equal([event["left"] for event in receiver.events("wrongCode")], list(range(MOST - 1, MOST - 1 - compared, -1)), "left")
    work.figure = f"{compared} of 15 compared"


@needs(openssl)
def test_only_from(work):
    """--from: other addresses cannot pair and use no tries, and a named address can"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new, options=["--from", "192.0.2.0/24", "--from", "127.0.0.8/30"])
    equal(receiver.event("listening")["from"], ["192.0.2.0/24", "127.0.0.8/30"], "where senders may pair from")
    other = sender(work, [f"{old}/file"], receiver.port, receiver.pairing_code)
    equal(other.wait(), 3, "exit code from elsewhere")
    equal(other.error()["message"], "the other device is not showing a code now", "message")
    equal(receiver.event("notice")["message"], "127.0.0.1 wants to pair, and is not allowed to", "notice")
    guesser = Guesser(work)
    equal([guesser.guess(receiver.port, host) for host in ("127.0.0.7", "127.0.0.12")], [NOT_PAIRING] * 2, "elsewhere")
    equal(receiver.events("wrongCode"), [], "wrong codes")
    equal(guesser.guess(receiver.port, "127.0.0.11"), MISMATCH, "from an address that is named")
    receiver.still_waits()


def answer(run, again=False):
    """Presses Enter, repeatedly where the moment of reading is unknown; returns the code that is
    shown then."""
    pattern = rb"ode: (\d{4}-\d{4})"
    count = len(re.findall(pattern, run.read))
    run.type("")

    def found():
        run.pump()
        codes = re.findall(pattern, run.read)[count:]
        if again and not codes:
            run.type("")
            time.sleep(0.2)
        return codes

    return wait_for("a new code", PATIENCE, found)[0].decode()


@pytest.mark.option("--long")
@pytest.mark.takes(180)
@needs(openssl, terminals)
def test_ninety_nine_guesses(work):
    """99 guesses from many addresses: no code until Enter; a background job continues, without a
    terminal it ends"""
    old, new = work.place()
    small_file(f"{old}/file")
    guesser = Guesser(work)
    alone = Receiver(work, f"{new}/alone")
    front = Terminal(work, ["receive", f"{new}/front", "--listen", "127.0.0.1:0", "--ask"])
    shell = Terminal(work, ["--norc", "--noprofile", "-i"], program="/bin/bash")
    shell.type(f"{work.binary} receive {new}/back --listen 127.0.0.1:0 &")
    ports = [alone.port] + [int(run.wait_for(rb"--to 127.0.0.1:(\d+)")) for run in (front, shell)]
    for run in (front, shell):
        run.wait_for(rb"Code: \d{4}-\d{4}")
    # Input before the question is no answer.
    front.type("")
    found = {}
    threads = [threading.Thread(target=lambda port=port: found.update({port: guesser.spend(port)})) for port in ports]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        front.pump()
        shell.pump()
        time.sleep(0.1)
    equal([found[port][0] for port in ports], [MOST] * 3, "compared")
    require(min(found[port][1] for port in ports) > 120, f"spent in {found} s")

    equal(alone.wait(), 3, "exit code without a terminal")
    spent = alone.events("codesSpent")
    equal([sum(one["count"] for one in event["from"]) for event in spent], [MOST], "guesses told")
    equal(alone.error()["message"], "too many wrong codes were entered; no code is shown any more", "message")

    for run in (front, shell):
        run.wait_for(rb"Press Enter to show a new code")
    codes = front.read.count(b"ode: ")
    shell.type("echo still $((40 + 2)); jobs")
    shell.wait_for(rb"still 42")
    shell.wait_for(rb"Running +\S*peer receive")
    front.pump()
    equal((front.read.count(b"ode: "), guesser.guess(ports[1], "127.0.4.1")), (codes, NOT_PAIRING), "codes without Enter, refusal")
    shell.type("fg")
    shell.wait_for(rb"receive \S+/back \S+ \S+\r?\n")

    code = answer(front)
    sending = sender(work, [f"{old}/file"], ports[1], code)
    front.wait_for(rb"Accept this\?")
    front.type("y")
    equal(sending.wait(), 0, "exit code of the sender to the one in front")
    front.wait_for(rb"Received 1 item")
    equal(sender(work, [f"{old}/file"], ports[2], answer(shell, again=True)).wait(), 0, "exit code of the sender to the one in the back")
    shell.wait_for(rb"Received 1 item")
    equal(front.wait(), 0, "exit code at a terminal")
    work.figure = ", ".join(f"{found[port][1]:.0f} s" for port in ports)
    equal(sorted(os.listdir(new)), ["alone", "back", "front"], "destinations")

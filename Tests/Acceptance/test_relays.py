"""Relays: two devices that do not reach each other, a relay that is killed, one that lies, and
devices that misuse one."""

import contextlib
import os
import select
import signal
import socket
import struct
import threading
import time

import pytest
from computers import computers
from devices import PATIENCE, Process, Receiver, closed_port, end_well, other_code, own_port, random_file, small_file
from homes import Homes
from interop import interop
from needs import needs, routers
from outside import MIB, equal, mib, require, run_script, wait_for

if interop() is None:
    import relays


class OwnRelay(Process):
    """A relay on this machine, or in a network namespace."""

    def __init__(self, work, port=0, options=(), within=(), host="127.0.0.1"):
        self.token_file = f"{work.path}/relay.token"
        super().__init__(
            work, ["relay", "--token-file", self.token_file, "--listen", f"{host}:{port}", "--json", *options], within=within)
        listening = wait_for("the relay", PATIENCE, lambda: self.events("listening"))
        self.port = listening[0]["port"]

    @property
    def via(self):
        return ["--via", f"127.0.0.1:{self.port}", "--via-token-file", self.token_file]

    @property
    def token(self):
        with open(self.token_file, encoding="ascii") as file:
            return relays.token_of(file.read())

    def asking(self, host="127.0.0.1", token=None):
        return relays.Asking(self.port, token or self.token, f"127.0.0.1:{self.port}", host)


def send(work, sources, via, code, *options):
    return Process(
        work, ["send", *sources, *via, "--code-file", "-", "--json", *options], "" if code is None else code + "\n")


def progress(process):
    events = process.events("progress")
    return events[-1]["bytes"] if events else 0


def other_number(number):
    place, _, code = number.partition("-")
    return f"{place}-{other_code(code)}"


def test_a_transfer_through_a_relay(work):
    """a relay joins two devices: the code has a place in front, both users are told, the tree arrives"""
    old, new = work.place()
    random_file(f"{old}/big", 40 * MIB)
    for number in range(50):
        small_file(f"{old}/small-{number}", b"%d" % number)
    relay = OwnRelay(work)
    equal(os.stat(relay.token_file).st_mode & 0o777, 0o600, "the mode of the token's file")
    receiver = Receiver(work, new, options=relay.via)
    place, _, code = receiver.pairing_code.partition("-")
    require(len(place) == 3 and len(code) == 9, f"the code is {receiver.pairing_code}")
    paths = [f"{old}/{name}" for name in os.listdir(old)]
    # The code alone does not say where the receiver is.
    lost = send(work, paths, relay.via, code)
    equal((lost.wait(), "has no place in front of it" in lost.error()["message"]), (3, True), "the end without a place")
    wrong = send(work, paths, relay.via, other_number(receiver.pairing_code))
    equal((wrong.wait(), wrong.error()["message"]), (3, "The code did not match. Nothing was sent."), "the end with a wrong code")
    way = f"127.0.0.1 through 127.0.0.1:{relay.port}"
    equal(receiver.event("wrongCode")["from"], way, "the guesser's address")
    # Others may use it with its token only, and this device remembers that.
    right = send(work, paths, ["--via", f"127.0.0.1:{relay.port}"], receiver.pairing_code)
    end_well(right, receiver)
    run_script("check-trees", "--inside", old, new)
    equal(receiver.event("paired")["address"], way, "the sender's address")
    for one in (right, receiver):
        told = one.events("relayed")[0]
        equal((told["relay"], told["bytes"] >= 40 * MIB), (f"127.0.0.1:{relay.port}", True), "the relay that was told")
        names = [event["event"] for event in one.events()]
        require(names.index("relayed") < names.index("offer"), "the offer was told before the relay")
    relay.signal(signal.SIGTERM)
    equal(relay.wait(), 0, "the relay's exit code")
    last = relay.events("relay")[-1]
    require(last["bytes"] > 40 * MIB and last["joined"] >= 3 and last["places"] == 0, f"its last counters are {last}")
    require("127.0.0.1" not in relay.output().replace('"addresses":["127.0.0.1"]', ""), "the log names a device")


def test_a_token_that_a_program_answers(work):
    """a relay's token is asked for in an event, once for a device; the code that follows has a place"""
    old, new = computers(work, [])
    old.write("Documents/a")
    relay = OwnRelay(work)
    with open(relay.token_file, encoding="ascii") as file:
        token = file.read().strip()
    via = ["--json", "--ask", "--via", f"127.0.0.1:{relay.port}"]
    receiver = new.start("receive", "--everything", *via, text=f"0123\n{token}\ny\n")
    code = wait_for("a code", PATIENCE, lambda: receiver.events("code"))[0]["code"]
    sender = old.start("send", "--everything", *via, text=f"\n{token}\n{code.partition('-')[2]}\n{code}\n")
    end_well(sender, receiver)
    asked = [[(question["about"], "mistake" in question) for question in one.events("question")] for one in (receiver, sender)]
    equal(asked, [[("token", False), ("token", True), ("consent", False)],
                  [("choice", False), ("token", False), ("code", False), ("code", True)]], "the questions")
    equal(new.read("Documents/a"), "content\n", "what arrived")
    again = new.start("receive", "--everything", *via)
    wait_for("a code", PATIENCE, lambda: again.events("code"))
    again.signal(signal.SIGTERM), again.wait()
    relay.signal(signal.SIGTERM), relay.wait()


@needs(interop)
def test_a_relay_that_is_killed(work):
    """the relay is killed in mid-transfer, then both devices: they go on without a code, at a meeting"""
    total = 96 * MIB
    old, _ = work.place()
    _, new = work.place(on_disk=True)
    random_file(f"{old}/big", total)
    relay = OwnRelay(work, own_port())
    receiver = Receiver(work, new, options=relay.via)
    first = send(work, [f"{old}/big"], relay.via, receiver.pairing_code, "--limit", "40M")
    wait_for("some of it", PATIENCE, lambda: progress(first) > 8 * MIB)
    relay.signal(signal.SIGKILL)
    relay.wait()
    first.events("interrupted") or wait_for("the loss", PATIENCE, lambda: first.events("interrupted"))
    relay = OwnRelay(work, relay.port)
    # Strangers may have the place by now.
    for _ in range(8):
        relay.asking().register()
    wait_for("its return", PATIENCE, lambda: first.events("resumed"))
    held = progress(first)
    wait_for("more of it", PATIENCE, lambda: progress(first) > held + 8 * MIB)
    for process in (first, receiver):
        process.signal(signal.SIGKILL)
        process.wait()
    receiver = Receiver(work, new, options=relay.via)
    second = send(work, [f"{old}/big"], relay.via, None)
    end_well(second, receiver)
    run_script("check-trees", "--inside", old, new)
    require(second.events("done")[0]["heldBytes"] > 16 * MIB, "little was held")
    equal([event["relay"] for event in second.events("relayed")], [f"127.0.0.1:{relay.port}"], "the relay that was told")


@needs(interop)
def test_a_relay_that_lies(work):
    """a relay that cuts, delays, replays, states wrong addresses and joins the wrong devices: nothing is lost"""
    old, new = work.place()
    random_file(f"{old}/big", 4 * MIB)
    token = os.urandom(16)
    small_file(f"{work.path}/token", token.hex().encode())
    os.chmod(f"{work.path}/token", 0o600)
    relay = relays.Relay(token)
    work.undone.callback(relay.close)
    via = ["--via", f"127.0.0.1:{relay.port}", "--via-token-file", f"{work.path}/token"]
    receiver = Receiver(work, new, options=[*via, "--keep"])
    other = Receiver(work, work.place()[1], options=via)
    its_place = int(other.pairing_code.split("-")[0])
    right, strays = relay.target, []
    def astray(kind, value):
        # The first data stream, or the control connection that takes its transfer up.
        if kind == 1 or strays:
            return right(kind, value)
        strays.append(value)
        return relay.registrations[its_place]
    def spoil(number, count, data):
        # The pairing and the first stream are cut in their middle, and later ones are slow.
        if (number, count > 2 * MIB) in ((0, False), (2, True)):
            return b"" if number or count else data[:100]
        time.sleep(0.002)
        return data
    relay.passing, relay.target, relay.stated = spoil, astray, lambda address: ("203.0.113.9", 7)
    first = send(work, [f"{old}/big"], via, receiver.pairing_code)
    end_well(first)
    run_script("check-trees", "--inside", old, new)
    equal(receiver.event("paired")["address"], f"203.0.113.9 through 127.0.0.1:{relay.port}", "the address that is shown")
    require(strays, "nothing went astray")
    places = [place for number, place in relay.registrations.items() if number != its_place]
    # Recorded bytes of the sender's: no device is let in by them.
    before = len(receiver.events("paired"))
    replay(relay, places[0])
    # Another receiver in the place of the right one.
    relay.passing, relay.target = (lambda number, count, data: data), lambda kind, value: places[0]
    swapped = send(work, [f"{old}/big"], via, other.pairing_code)
    equal((swapped.wait(), swapped.error()["message"]), (3, "The code did not match. Nothing was sent."), "the swapped end")
    receiver.event("wrongCode")
    equal(len(receiver.events("paired")), before, "the devices that were let in")
    other.still_waits()


def replay(relay, receiver):
    """Joins the receiver with the recorded bytes of a pairing."""
    recorded = max(relay.heard[:3], key=len)
    caller = relays.Caller(None)
    relay.calls[caller.call] = caller
    relay.ring(receiver, caller.call, ("127.0.0.1", 1))
    require(caller.answered.wait(PATIENCE), "the receiver does not answer")
    with contextlib.suppress(OSError), caller.receiver as plain:
        plain.sendall(relays.frame(relays.JOINED, relays.place(("127.0.0.1", 1))) + recorded)
        plain.settimeout(PATIENCE)
        while plain.recv(1 << 16):
            pass
    caller.over.set()


@needs(interop)
@pytest.mark.parametrize("what", ["places", "answers", "calls", "challenges"])
def test_a_relay_that_floods(work, what):
    """a relay that sends one frame without end: a call is answered in its turn, another one ends the registration"""
    _, new = work.place()
    token = os.urandom(16)
    small_file(f"{work.path}/token", token.hex().encode())
    os.chmod(f"{work.path}/token", 0o600)
    place = relays.frame(relays.PLACE, struct.pack(">I", relays.place_of(12)))
    flood = {
        "places": place, "answers": relays.frame(relays.PONG),
        "calls": relays.frame(relays.RING, bytes(16) + relays.place(("192.0.2.7", 9))),
        "challenges": relays.frame(relays.CHALLENGE, b"PEER\1" + bytes(16))}[what] * 2048
    registered, answered = [], []

    class Calls(dict):
        def pop(self, call):
            answered.append(call)
            raise KeyError(call)

    def register(plain):
        registered.append(plain)
        plain.sendall(place)
        while True:
            plain.sendall(flood)

    relay = relays.Relay(token)
    relay.register, relay.calls = register, Calls()
    work.undone.callback(relay.close)
    receiver = Receiver(work, new, options=["--via", f"127.0.0.1:{relay.port}", "--via-token-file", f"{work.path}/token"])
    wait_for("its consequence", PATIENCE, lambda: len(answered) > 50 if what == "calls" else len(registered) > 2)
    receiver.still_waits()
    begun = time.monotonic()
    receiver.signal(signal.SIGINT)
    equal(receiver.wait(), 130, "the end")
    lines = len(receiver.events())
    require(lines <= 5 + 2 * len(registered), f"{lines} lines of {len(registered)} registrations")
    work.figure = f"{lines} lines, {mib(receiver.peak)}, the end after {time.monotonic() - begun:.2f} s"


@needs(interop)
def test_who_may_use_a_relay(work):
    """a wrong token, a missing one, one that others can read, another name: a sentence, and no code is asked for"""
    old, new = work.place()
    small_file(f"{old}/file", b"x")
    relay = OwnRelay(work)
    small_file(f"{work.path}/wrong", bytes(16).hex().encode())
    os.chmod(f"{work.path}/wrong", 0o600)
    place = ["--via", f"127.0.0.1:{relay.port}"]
    for options, code, clause in (
            ([], 2, "is not known here"), (["--via-token-file", f"{old}/file"], 2, "other users can access"),
            (["--via-token-file", f"{work.path}/none"], 2, "cannot be read"),
            (["--via-token-file", f"{work.path}/wrong"], 4, "it does not take the token")):
        run = send(work, [f"{old}/file"], [*place, *options], None)
        equal((run.wait(), clause in run.error()["message"]), (code, True), f"the end with {options}: {run.error()}")
    receiver = Receiver(work, new, options=[*place, "--via-token-file", f"{work.path}/wrong"])
    require("it does not take the token" in receiver.event("notice")["message"], "the receiver says nothing")
    equal(len(receiver.pairing_code), 9, "the digits and the dash of a code without a place")
    with closed_port() as port:
        for words, end in (
                (["--via", f"127.0.0.1:{port}", "--via-token-file", relay.token_file],
                 (5, f"nothing listens at the relay 127.0.0.1:{port} on port {port}")),
                ([*place, "--to", "127.0.0.1"], (2, "--via cannot be used with --to"))):
            run = send(work, [f"{old}/file"], words, None)
            equal((run.wait(), run.error()["message"]), end, "the end")
    named = OwnRelay(work, options=["--name", "relay.example.org"])
    kind, body = named.asking().ask(relays.REGISTER)
    equal((kind, body[0]), (relays.REFUSED, relays.TOKEN), "the answer to another name")


@needs(interop)
def test_an_honest_pair_among_others(work):
    """tokenless floods, half requests, many places and a guesser: an honest pair is served meanwhile"""
    old, new = work.place()
    small_file(f"{old}/file", b"x")
    relay = OwnRelay(work)
    receiver = Receiver(work, new, options=relay.via)
    place = int(receiver.pairing_code.partition("-")[0])
    # Kept open: half a request, nothing at all, and many places.
    held = []
    for number in range(200):
        held.append(socket.create_connection(("127.0.0.1", relay.port), PATIENCE, (f"127.0.1.{number % 100 + 1}", 0)))
        if number % 2:
            held[-1].sendall(b"\x11\x00\x50half")
    for number in range(150):
        held.append(relay.asking(f"127.0.2.{number % 50 + 1}"))
        held[-1].register()
    ended = threading.Event()
    def guess():
        while not ended.is_set():
            with contextlib.suppress(OSError, EOFError, AssertionError):
                guesser = relay.asking("127.0.3.1")
                guesser.call(place)
                guesser.plain.sendall(bytes(100))
                guesser.plain.close()
    guesser = threading.Thread(target=guess)
    guesser.start()
    begun = time.monotonic()
    honest = send(work, [f"{old}/file"], relay.via, receiver.pairing_code)
    end_well(honest, receiver)
    seconds = time.monotonic() - begun
    ended.set()
    guesser.join()
    require(seconds < 5, f"it took {seconds:.1f} s")
    # Others look for places that no device has, and are soon told to wait.
    answers = [relay.asking("127.0.4.1").call(relays.place_of(free))[1][0] for free in range(10_000, 10_006)]
    equal(answers[-1], relays.BUSY, f"the last of the answers {answers}")
    work.figure = f"{seconds:.1f} s among 350 connections"


def joined(relay):
    """Two joined connections, the caller's first."""
    waiting, caller, receiver = relay.asking(), relay.asking(), relay.asking()
    request = threading.Thread(target=caller.call, args=(waiting.register(),))
    request.start()
    kind, body = relays.read(waiting.plain)
    equal(kind, relays.RING, "the frame of a call")
    equal(receiver.answer(body[:16])[0], relays.JOINED, "the answer to the receiver")
    request.join()
    return caller.plain, receiver.plain, waiting.plain


@needs(interop)
def test_a_relay_that_is_left_alone(work):
    """a used-up volume is told behind all data; the tokens change by SIGHUP; idle calls delay no stop"""
    relay = OwnRelay(work, options=["--daily", "400k", "--places", "2"])
    caller, receiver, waiting = joined(relay)
    # The caller sends until it is told something; the receiver has read nothing yet.
    while not select.select([caller], [], [], 0)[0]:
        caller.sendall(bytes(1 << 14))
    for plain in (caller, receiver):
        last = b""
        while data := plain.recv(1 << 20):
            last = (last + data)[-10:]
        equal((last[:8], last[7]), (b"\x07\x00\x07PEER\x05", 5), "the last bytes of a connection")
    waiting.close()
    before = relay.token
    with open(relay.token_file, "w", encoding="ascii") as file:
        file.write("0123-4567-89ab-cdef-0123-4567-89ab-cdef\n")
    relay.signal(signal.SIGHUP)
    wait_for("the new token", PATIENCE, lambda: [event for event in relay.events("notice") if "read again" in event["message"]])
    equal(relay.asking(token=before).ask(relays.REGISTER)[1][0], relays.TOKEN, "the answer to the former token")
    held = joined(relay)
    time.sleep(10.5)
    places = [relay.asking(), relay.asking()]
    places[0].register()
    equal(places[1].ask(relays.REGISTER)[0], relays.REFUSED, "the answer to a third device")
    begun = time.monotonic()
    relay.signal(signal.SIGTERM)
    for plain in held[:2]:
        equal(relays.exactly(plain, 8), b"\x07\x00\x07PEER\x06", "what a device is told")
        plain.close()
    equal(relay.wait(), 0, "the relay's exit code")
    require(time.monotonic() - begun < 2, "the stop took long")


def test_a_relay_that_is_stopped(work):
    """SIGTERM: a running transfer ends well, a new one is refused, and the relay ends with 0"""
    old, new = work.place()
    random_file(f"{old}/big", 24 * MIB)
    relay = OwnRelay(work)
    receiver = Receiver(work, new, options=relay.via)
    run = send(work, [f"{old}/big"], relay.via, receiver.pairing_code, "--limit", "20M", "--streams", "2")
    wait_for("some of it", PATIENCE, lambda: progress(run) > 4 * MIB)
    relay.signal(signal.SIGTERM)
    end_well(run, receiver)
    equal(relay.wait(), 0, "the relay's exit code")
    run_script("check-trees", "--inside", old, new)


@needs(routers)
def test_two_homes_behind_routers(work):
    """two homes, and a router that changes ports, so no way from one to the other: only the relay joins them"""
    old, new = work.place()
    random_file(f"{old}/big", 8 * MIB)
    homes = Homes(work.undone, ("", "random"))
    relay = OwnRelay(work, 47471, within=homes.enter("server"), host="0.0.0.0")
    via = ["--via", "198.51.100.1", "--via-token-file", relay.token_file]
    def start(name, *words, text=""):
        return Process(work, [*words, "--json"], text, home=f"{work.path}/{name}-home", within=homes.enter(name))
    def receive():
        receiver = start("new", "receive", new, "--remember", *via)
        wait_for("a place", PATIENCE, lambda: [event for event in receiver.events("code") if len(event["code"]) > 9])
        return receiver
    receiver = receive()
    direct = start("old", "send", f"{old}/big", "--to", "198.51.100.3")
    equal(direct.wait(), 5, "the end without a relay")
    # The sender looks in its network first.
    work.environment["PEER_RELAY"] = "198.51.100.1"
    sender = start(
        "old", "send", f"{old}/big", "--via-token-file", relay.token_file, "--remember", "--code-file", "-",
        text=receiver.events("code")[-1]["code"] + "\n")
    end_well(sender, receiver)
    require(sender.events("looking"), "the sender does not look in its network")
    equal(receiver.events("paired")[0]["address"], "198.51.100.2 through 198.51.100.1", "the sender's address")
    equal((sender.events("dataConnection"), receiver.events("dataConnection")), ([], []), "the direct connections")
    # From now on they know each other, also at the relay.
    small_file(f"{old}/more", b"x")
    receiver = receive()
    known = start("old", "send", f"{old}/more", *via)
    end_well(known, receiver)
    run_script("check-trees", "--inside", old, new)
    equal(known.events("paired")[0]["known"], True, "whether the other device is known")


@needs(routers)
@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_past_the_relay(work, family):
    """routers that keep ports, or IPv6 with firewalls on both sides: after a moment the data passes the relay"""
    old, new = work.place()
    random_file(f"{old}/big", 48 * MIB)
    homes = Homes(work.undone, ("", "") if family == "IPv4" else ("random", "random"), has_ipv6=family == "IPv6")
    relay = OwnRelay(work, 47471, within=homes.enter("server"), host="0.0.0.0")
    via = ["--via", "198.51.100.1", "--via-token-file", relay.token_file]
    receiver = Process(
        work, ["receive", new, "--json", *via], home=f"{work.path}/new-home", within=homes.enter("new"))
    wait_for("a place", PATIENCE, lambda: [event for event in receiver.events("code") if len(event["code"]) > 9])
    sender = Process(
        work, ["send", f"{old}/big", "--limit", "8M", "--code-file", "-", "--json", *via],
        receiver.events("code")[-1]["code"] + "\n", home=f"{work.path}/old-home", within=homes.enter("old"))
    end_well(sender, receiver)
    run_script("check-trees", "--inside", old, new)
    for one in (sender, receiver):
        connections = [(event["connection"], event.get("family")) for event in one.events("dataConnection")]
        equal(connections, [("direct", family)], "the connections that were told")
    relay.signal(signal.SIGTERM)
    relay.wait()
    passed = relay.events("relay")[-1]["bytes"]
    require(passed < 40 * MIB, f"the relay has passed on {passed} bytes")
    work.figure = f"{passed / MIB:.1f} of 48 MiB through the relay"

"""KeyUpdates without end, in each phase of a connection, at a receiver and at a sender."""

import contextlib
import socket
import threading
import time

import wire
from attack_paired import GREETING, Tending, joined, paired
from attack_place import STATUSES, Receiver, send
from outside import MIB
from stranger import ENDS, Stranger

CONNECTIONS = 12

PHASES = ["after the handshake", "after HELLO_C", "after PAIR_A"]
"""Before READY, where a connection has ten seconds at most."""

DEADLINE = 10
FAREWELL = 2.5
"""A connection that is ended has two seconds for the last message."""

SILENCE = 15
"""After READY a connection without a frame has ended by then."""


def reach_phase(connection, phase, code, port):
    connection.connect(port)
    if phase == "after HELLO_C":
        connection.link.say_early("HELLO_C", mode=wire.PAIR, lowest=wire.SPOKEN, highest=wire.SPOKEN)
    elif phase == "after PAIR_A":
        connection.share(code)


class Beating(threading.Thread):
    """A connection that sends KeyUpdates; another one replaces it when it is dropped. Records the
    age that each reached."""

    def __init__(self, receiver, phase, seconds):
        super().__init__(daemon=True)
        self.receiver, self.phase, self.seconds = receiver, phase, seconds
        self.ages, self.count, self.begun, self.is_over = [], 0, None, False
        self.start()

    def run(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and not self.is_over and self.receiver.ended_at is None:
            one = Stranger()
            self.begun = time.monotonic()
            try:
                reach_phase(one, self.phase, self.receiver.pairing_code(), self.receiver.port)
                count, _, is_kept = one.update(max(0.1, end - time.monotonic()))
                self.count += count
                self.ages.append((time.monotonic() - self.begun, is_kept))
            except ENDS:
                self.ages.append((time.monotonic() - self.begun, False))
                time.sleep(0.05)
            finally:
                one.cut()

    def oldest(self):
        return max((age for age, _ in self.ages), default=0)


def deadlines(place, checks, seconds, connections):
    """No connection before READY becomes older than its deadline. Few connections leave each other
    time; many take all places."""
    receiver = Receiver(place)
    try:
        before = receiver.takes()["cpu"]
        beating = [Beating(receiver, PHASES[number % 3], seconds) for number in range(connections)]
        for one in beating:
            one.join(seconds + 30)
        cpu = receiver.takes()["cpu"] - before
        for phase in PHASES[:connections]:
            mine = [one for one in beating if one.phase == phase]
            oldest = max(one.oldest() for one in mine)
            count, made = sum(one.count for one in mine), sum(len(one.ages) for one in mine)
            # A form that is shorter than the deadline checks whether they are dropped because of
            # their KeyUpdates.
            is_good = oldest <= DEADLINE + FAREWELL and not any(kept for one in mine for _, kept in one.ages[:1])
            checks.tell(
                f"KeyUpdates {phase}, {len(mine)} of {connections} connections for {seconds} s", is_good,
                f"the oldest {oldest:.1f} s, {made} connections, {count / 1e6:.2f} million")
        checks.tell(f"KeyUpdates on {connections} connections in front of READY: the receiver's processor", cpu < seconds, f"{cpu:.1f} s of {seconds} s")
        require_end(checks, f"KeyUpdates on {connections} connections in front of READY: SIGTERM afterwards", receiver)
    finally:
        receiver.end()


def require_end(checks, name, run):
    code, took = run.terminate(30)
    checks.tell(name, code in STATUSES and took <= 1, f"status {code} after {took:.2f} s")


def signals(place, checks, rounds):
    """After two seconds of KeyUpdates on twelve connections one SIGTERM ends the receiver within a
    second."""
    statuses, longest, late = {}, 0.0, 0
    for _ in range(rounds):
        receiver = Receiver(place)
        beating = [Beating(receiver, PHASES[number % 3], 60) for number in range(CONNECTIONS)]
        try:
            time.sleep(2)
            code, took = receiver.terminate(5)
            if code is None:
                # The second one, like a user who waits.
                code, _ = receiver.terminate(20)
            statuses[code] = statuses.get(code, 0) + 1
            longest, late = max(longest, took), late + (took > 1)
        finally:
            for one in beating:
                one.is_over = True
            receiver.end()
            for one in beating:
                one.join(10)
    told = ", ".join(f"{code} {number} times" for code, number in sorted(statuses.items(), key=str))
    checks.tell(
        f"one SIGTERM after 2 s of KeyUpdates on {CONNECTIONS} connections, {rounds} rounds", set(statuses) <= STATUSES and not late,
        f"status {told}; the longest {longest:.2f} s, {late} beyond a second")


class Beat(threading.Thread):
    """KeyUpdates on one connection in a given phase."""

    LONGER = 30
    """They continue beyond the observed time, because a process has to end while they come."""

    def __init__(self, connection, seconds):
        super().__init__(daemon=True)
        self.connection, self.seconds, self.figures = connection, seconds, None
        self.start()
        self.join(seconds)
        self.is_kept = self.is_alive()

    def run(self):
        with contextlib.suppress(*ENDS):
            self.figures = self.connection.update(self.seconds + self.LONGER)

    def tell(self, checks, name, bound, run):
        """Whether the connection was dropped in time, and the process ended by one signal, or by
        itself."""
        count, lasted, _ = self.figures or (0, self.seconds, True)
        figure = f"kept for {self.seconds} s" if self.is_kept else f"dropped after {lasted:.1f} s and {count / 1e6:.2f} million"
        checks.tell(name, not self.is_kept and lasted <= bound, figure)
        if run.ended_at is None:
            require_end(checks, f"{name}: SIGTERM", run)
        else:
            checks.tell(f"{name}: its end", run.code in STATUSES, f"status {run.code}: {run.words()}")


def after_ready(place, checks, seconds):
    """On the control connection and on a data stream of a paired device."""
    for phase in ("on the control connection", "on a data stream"):
        receiver = Receiver(place)
        control = stream = None
        try:
            control = paired(receiver.port, receiver.pairing_code(), 10, MIB)
            if phase == "on a data stream":
                stream = joined(control, receiver.port)
                tending = Tending(control)
            Beat(stream or control, seconds).tell(checks, f"KeyUpdates {phase}", SILENCE + FAREWELL, receiver)
            if stream:
                tending.is_over = True
        finally:
            for one in (stream, control):
                if one is not None:
                    one.cut()
            receiver.end()


SENDER_PHASES = ["after the handshake", "after PAIR_B", "after pairing"]


def towards_sender(place, checks, seconds):
    """A receiver that sends KeyUpdates: the sender gives up in time, and one SIGTERM ends it
    meanwhile."""
    source = place.source(1000)
    for phase in SENDER_PHASES:
        fake, sender = Stranger(), None
        listening = socket.create_server(("127.0.0.1", 0))
        try:
            sender = send(place, [source], f"127.0.0.1:{listening.getsockname()[1]}", "0000-0000", ["--give-up-after", "1s"])
            fake.accept(listening)
            if phase == "after PAIR_B":
                fake.share("0000-0000")
            elif phase == "after pairing":
                fake.pair("0000-0000")
                fake.say("GREETING", role=wire.RECEIVER, **GREETING)
            bound = (SILENCE if phase == "after pairing" else DEADLINE) + FAREWELL
            Beat(fake, seconds).tell(checks, f"KeyUpdates towards a sender {phase}", bound, sender)
        finally:
            fake.cut()
            listening.close()
            if sender:
                sender.end()


def updates(place, checks):
    seconds = 40 if place.is_long else 3
    for connections in (2, CONNECTIONS) if place.is_long else (CONNECTIONS,):
        checks.make("KeyUpdates in front of READY", deadlines, place, checks, seconds, connections)
    checks.make("one SIGTERM under KeyUpdates", signals, place, checks, place.rounds or (100 if place.is_long else 1))
    checks.make("KeyUpdates after READY", after_ready, place, checks, seconds)
    checks.make("KeyUpdates towards a sender", towards_sender, place, checks, seconds)

"""Receivers and relays that do not know the code, and test a guess at it with each confirmation: a
code is three guesses, over all runs of the command. And strangers at a receiver's address, which see
no key of the sender."""

import contextlib
import os
import signal
import socket
import threading

import pytest

from devices import PATIENCE, Process, Receiver, end_well, random_file, sender, small_file
from interop import interop
from needs import needs
from outside import MIB, equal, require, wait_for
from strange import Together

if interop() is None:
    import guesser
    import pairing
    import relays
    import tls
    from OpenSSL import SSL
    ANSWERS = [*guesser.ANSWERS, guesser.SILENCE, guesser.CUT]
else:
    ANSWERS = []

RUNS, TRIES = 10, 3
USED_UP = "this code was tried three times from this device, and is used up"


class Trial:
    """A sender's device with a code that it uses again and again."""

    def __init__(self, work):
        self.work, self.code = work, pairing.new_code()
        small_file(f"{work.path}/file")
        self.code_file = f"{work.path}/code"
        with open(self.code_file, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.code + "\n")

    def receiver(self, answers, guesses=None):
        return self.work.undone.enter_context(contextlib.closing(guesser.FalseReceiver(answers, guesses)))

    def send(self, *way, is_typed=False, place=None):
        """Starts a sender, with its code from a file, or from its input with a place in front of it."""
        where = "-" if is_typed or place else self.code_file
        text = f"{place}-{self.code}\n" if place else f"{self.code}\n"
        return Process(self.work, ["send", f"{self.work.path}/file", *way, "--code-file", where, "--json"], text if where == "-" else "")

    def run(self, false, number=0):
        """Runs the command once, to its end."""
        sending = self.send("--to", f"127.0.0.1:{false.port}", is_typed=number % 2)
        sending.wait()
        return sending

    def ten_runs(self, answers):
        """Runs the command ten times; each of the first runs tests one guess, and no later one connects."""
        false = self.receiver(answers)
        for number in range(RUNS):
            sending = self.run(false, number)
            equal(len(false.tested), min(number + 1, TRIES), f"guesses behind run {number + 1} and the answers {answers}")
            require(sending.code not in (0, 10), f"run {number + 1} ended with {sending.code} behind the answers {answers}")
            if number >= TRIES:
                equal((sending.code, sending.error()["message"]), (3, USED_UP), f"the end of run {number + 1}")
        equal(false.dialled, TRIES, "connections to pair")
        return len(false.tested)


@pytest.mark.takes(25)
@needs(interop)
def test_a_code_is_three_guesses(work, trials):
    """a false receiver tests guesses, with each answer behind the confirmation: three in ten runs, one a run"""
    groups = [ANSWERS[at:at + TRIES] for at in range(0, len(ANSWERS), TRIES)]
    own = [Trial(trials()) for _ in groups]
    done = Together({f"the answers {group}": lambda one=one, group=group: one.ten_runs(group) for one, group in zip(own, groups)})
    equal(set(done.found.values()), {TRIES}, "guesses of a code")
    work.figure = f"{TRIES} guesses in {RUNS} runs, behind each of {len(ANSWERS)} answers"


@needs(interop)
def test_guesses_through_relays_and_at_once(work):
    """one guess directly, then ten senders at once through two false relays: three guesses in all"""
    trial = Trial(work)
    false = trial.receiver([guesser.CUT])
    trial.run(false)
    token = os.urandom(16)
    token_file = f"{work.path}/token"
    with open(token_file, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(token.hex() + "\n")
    ways = []
    for _ in range(2):
        relay = work.undone.enter_context(contextlib.closing(guesser.FalseRelay(token, false)))
        ways.append(["--via", f"127.0.0.1:{relay.port}", "--via-token-file", token_file])
    senders = [trial.send(*ways[number % 2], place=relays.place_of(57)) for number in range(RUNS)]
    equal({one.wait() for one in senders}, {3}, "exit codes")
    equal(len(false.tested), TRIES, "guesses in all")
    work.figure = f"{len(false.tested)} of {RUNS + 1} runs tested a guess"


@needs(interop)
def test_a_code_that_was_guessed_at_still_pairs(work):
    """two guesses at a code leave the receiver that shows it one try; pairing gives that one back"""
    trial = Trial(work)
    _, new = work.place()
    false = trial.receiver([guesser.CUT])
    for _ in range(2):
        trial.run(false)
    for number in range(2):
        # With --code-file a code is for one receiver.
        receiver = Receiver(work, f"{new}/{number}", options=["--code-file", trial.code_file], is_inviting=False)
        end_well(trial.send("--to", f"127.0.0.1:{receiver.port}"), receiver)
    trial.run(false)
    equal((trial.run(false).error()["message"], len(false.tested)), (USED_UP, TRIES), "the end of the next run, and the guesses")


class StrangerServer(threading.Thread):
    """A TLS server at a port, which wants certificates and keeps those that it sees."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", port))
        self.context = tls.context(tls.Identity())
        self.certificates, self.hellos = [], 0
        self.context.set_verify(SSL.VERIFY_PEER, lambda _, certificate, *more: self.certificates.append(certificate) or True)
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                plain = self.listening.accept()[0]
                plain.settimeout(None)
                one = SSL.Connection(self.context, plain)
                one.set_accept_state()
                with contextlib.suppress(SSL.Error), plain:
                    try:
                        one.do_handshake()
                        one.recv(1)
                    finally:
                        self.hellos += one.client_random() != bytes(32)

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()


@needs(interop)
def test_a_stranger_sees_no_key(work):
    """a sender that resumes meets another device at the receiver's address, and shows it no certificate"""
    old, new = work.place()
    random_file(f"{old}/file", 8 * MIB)
    receiver = Receiver(work, new)
    first = Process(work, ["send", f"{old}/file", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--limit", "2M"],
                    receiver.pairing_code + "\n")
    wait_for("progress", PATIENCE, lambda: any(event["bytes"] > 0 for event in first.events("progress")))
    for one in (first, receiver):
        one.signal(signal.SIGKILL)
        one.wait()
    stranger = work.undone.enter_context(contextlib.closing(StrangerServer(receiver.port)))
    again = sender(work, [f"{old}/file"], receiver.port, None)
    require(again.wait() != 0, "the sender has sent something to a stranger")
    wait_for("the stranger's word on it", PATIENCE, lambda: stranger.hellos > 0)
    equal(len(stranger.certificates), 0, "certificates that the stranger saw")
    back = Receiver(work, new, port=0, is_inviting=False)
    end_well(sender(work, [f"{old}/file"], back.port, None), back)

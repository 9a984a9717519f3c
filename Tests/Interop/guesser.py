"""A false receiver (Protocol.md §4.3, §4.4): it does not know the code, and tests a guess at it with
each confirmation that it gets. And a relay that gives the calls of senders to it.

It answers each confirmation in one of the ways that the protocol has, so that the sender may come
again with the same code.
"""

import socket
import threading

import channel
import pairing
import relays
import tls
import wire
from forms import Violation

ABORTS = {f"ABORT {reason}": wire.early_frame("ABORT", reason=reason) for reason in (1, 2, 3, 6, 7)}
ANSWERS = {
    **ABORTS, "ABORT 4": wire.early_frame("ABORT", reason=wire.BUSY, wait=0, place=0),
    "ABORT 4, later": wire.early_frame("ABORT", reason=wire.BUSY, wait=1, place=1),
    "ABORT 4, never": wire.early_frame("ABORT", reason=wire.BUSY, wait=2, place=0),
    "ABORT 4 alone": bytes([0x0F, 0, 1, wire.BUSY]),
    "ABORT 5": wire.early_frame("ABORT", reason=wire.VERSION, lowest=wire.SPOKEN, highest=wire.SPOKEN),
    "a wrong CONF_B": wire.early_frame("CONF_B", mac=bytes(32)), "a frame of no type": bytes([0x55, 0, 0]), "nothing": b""}
"""What it says behind a confirmation, by names; then the connection ends with close_notify."""
SILENCE, CUT = "silence", "a cut"


class FalseReceiver(threading.Thread):
    """Takes senders one after the other, and tests a guess at the code of each."""

    def __init__(self, answers, guesses=None):
        super().__init__(daemon=True)
        self.answers, self.guesses = list(answers), guesses
        """The names of its answers, one after the other and again from the first; and codes to guess, the
        same way, or new ones."""
        self.identity, self.listening = tls.Identity(), socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.dialled = 0
        """How many connections have named the mode to pair."""
        self.tested = []
        """Each guess that it has tested, and whether it was right."""
        self.start()

    def close(self):
        # Closing alone ends no wait.
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()

    def run(self):
        while True:
            try:
                plain = self.listening.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            link = channel.Channel(plain, self.identity, True)
            self.test(link)
        except (channel.Cut, channel.Ended, channel.Silent, channel.Aborted, Violation, AttributeError, OSError):
            plain.close()

    def test(self, link):
        """Lets the sender prove its code, and compares the proof with that of a guess."""
        said = link.hear_early("HELLO_C", seconds=20)
        hello = wire.early_frame(said.name, **said)
        self.dialled += 1
        number = len(self.tested)
        guess = self.guesses[number % len(self.guesses)] if self.guesses else pairing.new_code()
        exchange, share = pairing.Exchange(False, pairing.digits_of(guess)), link.hear_early("PAIR_A", seconds=20).point
        answer = wire.early_frame("HELLO_S", version=wire.SPOKEN, mode=said.mode)
        link.write(answer + wire.early_frame("PAIR_B", point=exchange.share))
        keys = exchange.keys(
            share, pairing.identity("client", link.peer, link.exported),
            pairing.identity("server", self.identity.fingerprint, link.exported), pairing.hellos(hello, answer))
        proof = link.hear_early("CONF_A", seconds=20).mac
        self.tested.append((guess, proof == keys.conf_a))
        if proof == keys.conf_a:
            # It could pair now.
            link.say_early("CONF_B", mac=keys.conf_b)
            link.hear_early("READY", seconds=20)
            link.cut()
            return
        way = self.answers[number % len(self.answers)]
        if way == SILENCE:
            link.hear_early("READY", seconds=60)
        elif way == CUT:
            link.cut()
        else:
            if ANSWERS[way]:
                link.write(ANSWERS[way])
            link.close()


class FalseRelay(relays.Relay):
    """A relay that joins each sender, at any place, with a false receiver."""

    def __init__(self, token, receiver):
        self.receiver = receiver
        super().__init__(token)

    def target(self, kind, value):
        return self.receiver

    def join(self, plain, address, target):
        caller = relays.Caller(plain)
        caller.receiver = socket.create_connection(("127.0.0.1", target.port), 20)
        with self.lock:
            number = len(self.heard)
            self.heard.append(b"")
        plain.sendall(relays.frame(relays.JOINED, relays.place(address)))
        self.pass_on(number, caller)

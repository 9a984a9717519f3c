"""Helpers of the checks that run the second implementation (Tests/Interop) against the program."""

import contextlib
import os
import sys

from devices import PATIENCE
from outside import ROOT, equal, require

sys.path.insert(0, f"{ROOT}/Tests/Interop")
try:
    import channel
    import receiver as receiving
    import sender as sending
    LACKING = None
except ImportError as error:
    LACKING = f"{error.name} is missing here: python3-openssl, python3-cryptography and python3-zstandard"


VECTORS = f"{ROOT}/Tests/MigrationWireTests/Vectors"


def violations():
    """The frames that a decoder refuses, by the names of the mistakes; a VERDICT comes with its PLAN."""
    found = {}
    with open(f"{VECTORS}/violations.txt", encoding="utf-8") as file:
        for name, _, text in [line.partition(" = ") for line in file if not line.startswith("#")]:
            tokens = [token.partition("*") for token in text.split()]
            data = b"".join(bytes.fromhex(content) * int(count or 1) for content, _, count in tokens)
            found[name] = []
            while data:
                size = 5 + int.from_bytes(data[1:5], "big")
                found[name].append(data[:size])
                data = data[size:]
    return found


def interop():
    """The Debian packages of the second implementation that are missing here."""
    return LACKING


def paired(receiver, sources, options=None, **values):
    """The second implementation's sender, paired with a receiver of the program."""
    made = sending.Sender(sources, options or sending.Options(**values))
    made.pair(("127.0.0.1", receiver.port), receiver.pairing_code)
    return made


def to_data(sender):
    """Takes a session to where data may be sent."""
    sender.greet()
    sender.plan()
    require(sender.offer(), "the OFFER was answered with DONE")
    sender.ledger()
    sender.open()
    return sender


@contextlib.contextmanager
def listening(into, **values):
    """The second implementation's receiver."""
    made = receiving.Receiver(into, options=receiving.Options(**values))
    try:
        yield made
    finally:
        made.close()


def close_of(action):
    """The CLOSE with which the other end ends a session during an action."""
    try:
        action()
    except channel.Closed as error:
        return error.said
    raise AssertionError("no CLOSE came")


def roots(old):
    return [f"{old}/{name}" for name in sorted(os.listdir(old))]


def ended(process, code, seconds=PATIENCE):
    equal(process.wait(seconds), code, f"exit code of '{process.name()}': {process.text()[-400:]}")

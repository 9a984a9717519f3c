"""A device that pairs correctly, and then sends what an attack wants."""

import threading
import time

import wire
from outside import Failure
from stranger import ENDS, Stranger

GREETING = {"label": "hostile", "software": "attack", "features": 0}


def paired(port, code, items, count):
    """A sender's connection that offers so many items and bytes, and has read the ledger; then
    streams may join."""
    control = Stranger().connect(port)
    control.pair(code)
    control.say("GREETING", role=wire.SENDER, **GREETING)
    control.say("PLAN", parts=[{"kind": wire.FOLDERS, "name": "root", "roots": [(wire.DIRECTORY, b"root")], "sources": [bytes(8)]}], flags=0)
    control.verdict = heard(control, "VERDICT")
    control.say("OFFER", part=0, items=items, bytes=count, allocated=count, flags=0)
    heard(control, "ACCEPT")
    heard(control, "HELD_END")
    return control


def joined(control, port):
    """A data stream of the same device."""
    stream = Stranger(control).connect(port)
    stream.enter(wire.JOIN)
    stream.say("JOIN", session=control.verdict.session, stream=0, replaces=wire.NONE)
    return stream


def heard(control, name, seconds=30):
    """The next message of a name; answers requests meanwhile."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        said = control.read(1)
        if said and said.name == "PING":
            control.say("PONG", token=said.token)
        elif said and said.name in (name, "CLOSE"):
            if said.name != name:
                raise Failure(str(said))
            return said
    raise Failure(f"no {name} within {seconds} s")


class Tending(threading.Thread):
    """Keeps a control connection alive, and records how it ends."""

    def __init__(self, control):
        super().__init__(daemon=True)
        self.control, self.word, self.is_over = control, None, False
        self.start()

    def run(self):
        last = 0.0
        try:
            while not self.is_over:
                said = self.control.read(0.2)
                if said and said.name == "CLOSE":
                    self.word = f"CLOSE {said.code}: {said.message}"
                    return
                if time.monotonic() - last > 3:
                    last = time.monotonic()
                    self.control.say("PING", token=0)
        except ENDS as end:
            self.word = str(end)

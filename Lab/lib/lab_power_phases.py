"""The phases of a transfer in which Lab/power cuts the power, by the events of both
ends."""

import time

RECEIVING, VERIFYING, IMPORTING, DONE = "receiving", "verifying", "importing", "done"
SENDING, FINISHING, SENT = "sending", "finishing", "sent"
PHASES = RECEIVING, VERIFYING, IMPORTING, DONE, SENDING, FINISHING, SENT
"""Where the machine may be at a cut: the first four as the receiver, the others as the sender."""

PLANS = (
    [RECEIVING], [SENDING], [RECEIVING, VERIFYING], [IMPORTING], [SENDING, FINISHING], [DONE], [RECEIVING, RECEIVING], [VERIFYING],
    [SENDING], [IMPORTING, DONE], [FINISHING], [RECEIVING, IMPORTING], [SENT])
"""The phases of the cuts of a round; rounds take these in turn."""


class Phase:
    """Where the transfer is, and since when, by the events of both ends."""

    typical = {VERIFYING: 0.8, IMPORTING: 0.6, DONE: 0.3, FINISHING: 1.2, SENT: 0.3}
    """How long the phases took last, in seconds."""

    def __init__(self, is_sending):
        self.names = PHASES[4:] if is_sending else PHASES[:4]
        self.name, self.since, self.share = None, 0, 0.0

    def enter(self, name):
        if self.name is not None and self.names.index(name) <= self.names.index(self.name):
            return
        if self.name in Phase.typical:
            Phase.typical[self.name] = 0.5 * Phase.typical[self.name] + 0.5 * (time.monotonic() - self.since)
        self.name, self.since = name, time.monotonic()

    def hear(self, role, event):
        name, progress = event["event"], event.get("phase")
        if progress in ("sending", "receiving") and event.get("bytes") and event.get("totalBytes"):
            self.enter(self.names[0])
            self.share = event["bytes"] / event["totalBytes"]
        elif name == "finishing" or name == "staged" or progress == "verifying":
            self.enter(self.names[1])
        elif name == "importing" and self.names[2] == IMPORTING:
            self.enter(IMPORTING)
        elif name == "done" and role == ("sender" if self.names[2] == SENT else "receiver"):
            self.enter(self.names[-1])

    def reaches(self, wanted):
        return self.name is not None and self.names.index(self.name) >= self.names.index(wanted)

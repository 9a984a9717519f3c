"""One transfer of Lab/network: `peer send` and `peer receive` in the devices of a place."""

import signal
import time

from lab_cases import events_of, last
from lab_network_place import DATA
from outside import require

PATIENCE = 400
"""How many seconds a transfer may take without any sign of its end: a guard against hangs."""

LAST_WORD = 100
"""How many seconds the receiver may take after the sender's end: if the receipt was lost, it waits
for the sender for 60 s."""


class Trial:
    """A transfer of one case in a place that is laid for it."""

    def __init__(self, place, case, number):
        self.place, self.case = place, case
        self.folder = f"{DATA}/trial-{number}"
        self.source = place.payload(case.size)
        for device in place.sender, place.receiver:
            device.shell(f"mkdir -p {self.folder}/arrived")

    # Both ends

    def receive(self, *options):
        self.receiver = self.place.receiver.begin(
            f"{DATA}/peer", "receive", f"{self.folder}/arrived", "--json", *options, PEER_HOME=f"{self.folder}/receiver", HOME="/root")
        return self.receiver

    def send(self, *options, code=""):
        self.sender = self.place.sender.begin(
            f"{DATA}/peer", "send", self.source, "--json", *(["--code-file", "-"] if code else []), *options,
            text=f"{code}\n" if code else "", PEER_HOME=f"{self.folder}/sender", HOME="/root")
        self.senders.append(self.sender)
        return self.sender

    def code(self):
        """The code, once the receiver waits and has told its network."""
        code = self.receiver.wait_line(lambda line: '"code"' in line and events_of([line])[0].get("code"), 60)
        require(isinstance(code, str), f"the receiver shows no code: {self.receiver.words()}")
        return code

    def target(self):
        """The sender's option for the way to the receiver."""
        to = self.case.to
        return ["--to", self.place.addresses.get(to, to)] if to else []

    # What happens meanwhile

    def wait_for_bytes(self, fraction):
        """Waits until this part of the data has been sent."""
        goal = fraction * self.case.size
        found = self.sender.wait_line(
            lambda line: '"progress"' in line and (events_of([line]) or [{}])[0].get("bytes", 0) >= goal, PATIENCE)
        require(found, f"nothing is in the middle: {self.sender.words()}")

    def must_be_sending(self):
        """Requires that the disturbance came before the end of the data."""
        phases = [event["phase"] for event in events_of(self.sender.lines) if event["event"] == "progress"]
        require(phases[-1:] == ["sending"], f"it came too late: {phases[-1:]}")

    def reconnections(self):
        """How often the transfer was interrupted, and by what."""
        return [event.get("reason", "?") for sender in self.senders for event in events_of(sender.lines) if event["event"] == "interrupted"]

    # The whole

    def run(self):
        """Transfers and judges; returns the seconds from the pairing to the sender's end."""
        self.senders = []
        self.receive()
        code = self.code()
        if self.case.before:
            self.case.before(self)
        self.send(*self.target(), code=code)
        require(self.sender.wait_line(lambda line: '"paired"' in line, 60), f"not paired: {self.words()}")
        begun = time.monotonic()
        if self.case.during:
            self.case.during(self)
        sender = self.sender.wait(PATIENCE)
        seconds = time.monotonic() - begun
        receiver = self.receiver.wait(LAST_WORD)
        require((sender, receiver) == (0, 0), f"sender {sender}, receiver {receiver}: {self.words()}")
        self.judge()
        return seconds

    def words(self):
        parts = []
        for name, end in ("sender", self.sender), ("receiver", self.receiver):
            error = last(events_of(end.lines), "error")
            parts.append(f"{name}: {error['message'] if error else end.words()}")
        return "; ".join([*parts, *self.reconnections()])

    def judge(self):
        """Compares the received tree with the payload, which the receiver's machine made itself."""
        name = self.source.rsplit("/", 1)[1]
        self.place.receiver.machine.run(
            "python3", f"{DATA}/tools/check-trees", f"{self.source}", f"{self.folder}/arrived/{name}", seconds=300)

    def stop(self):
        """Ends both ends, and removes their files."""
        for end in [*getattr(self, "senders", []), getattr(self, "receiver", None)]:
            if end is not None and end.status is None:
                end.signal(signal.SIGKILL)
                end.wait(30)
        for machine in self.place.machines:
            machine.shell(f"rm -rf {self.folder}", 120)

    def log(self, folder):
        """Writes the events of both ends."""
        for name, ends in ("sender", getattr(self, "senders", [])), ("receiver", [self.receiver] if hasattr(self, "receiver") else []):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8", errors="surrogateescape") as file:
                for end in ends:
                    file.writelines(f"{line}\n" for line in end.lines)
                    file.write(end.errors)



"""Rounds of a soak with an app's data: it moves between two devices again and again."""

import os
import random
import signal
import sys

from attack_place import Run
from outside import MIB, ROOT, equal, require, run_script, wait_for
from relay import Relay, free_port

sys.path.append(f"{ROOT}/Tests/Acceptance")

from bundles import ID, make_bundle  # noqa: E402

IMPORT_FAILED = 7
"""The exit code of both ends after an importer's error (Protocol.md §10)."""

FILES, SIZE = 40, 50_000
"""The app's data: how many files, and how large they are."""


class Apps:
    """Two devices with the same app. The data of the first goes to the second, and replaces the
    data there."""

    def __init__(self, place, programs, draw):
        self.place, self.random = place, draw
        self.bundle = make_bundle(programs, f"{place.folder()}/{ID}", ID)
        self.old, self.new = self.device(), self.device()
        self.port = free_port(draw)
        self.relay = Relay(self.port, 100 * MIB, draw=random.Random(draw.random()))
        self.relay.start()
        self.kinds = {
            name.removeprefix("do_").replace("_", " "): getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def device(self):
        """A device's folder: its PEER_HOME is `peer` in it."""
        home = self.place.folder()
        self.install(home)
        return home

    def install(self, home):
        run = Run(self.place, ["app", "install", self.bundle], home=home)
        equal(run.wait(), 0, f"exit code of the installation, which says '{run.words()}'")
        run.end()

    @staticmethod
    def documents(home):
        return f"{home}/peer/containers/{ID}/Documents"

    def write(self, **more):
        """Other data in the old device's container."""
        run_folder = self.documents(self.old)
        os.makedirs(run_folder, exist_ok=True)
        for name in os.listdir(run_folder):
            os.remove(f"{run_folder}/{name}")
        contents = {f"file{number}": self.random.randbytes(SIZE) for number in range(FILES)}
        for name, content in {**contents, **more}.items():
            with open(f"{run_folder}/{name}", "wb") as file:
                file.write(content)

    def receive(self, code=True, options=()):
        receiver = self.place.start(
            ["receive", "--app", ID, "--replace", "--listen", f"127.0.0.1:{self.port}", "--no-announce", "--json", *options],
            home=self.new)
        if code:
            require(receiver.wait_event("code"), f"the app's receiver shows no code: {receiver.code} {receiver.words()}")
        return receiver

    def send(self, receiver=None):
        code = receiver.last("code")["code"] if receiver else ""
        return self.place.start(
            ["send", "--app", ID, "--to", f"127.0.0.1:{self.relay.port}", "--code-file", "-", "--json", "--give-up-after", "60"],
            text=code + "\n", home=self.old)

    def end(self, sender, receiver, code=0):
        for role, run in (("sender", sender), ("receiver", receiver)):
            found = run.wait()
            run.end()
            equal(found, code, f"exit code of the app's {role}, which says '{run.words()}'")

    def received(self):
        """The names of the files that the new device's app has."""
        folder = self.documents(self.new)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def arrived(self):
        run_script("check-trees", "--inside", self.documents(self.old), self.documents(self.new))

    def begin(self):
        """A transfer in its middle."""
        self.write()
        self.relay.rate = MIB
        receiver, before = self.receive(), self.relay.passed
        sender = self.send(receiver)
        size = self.random.uniform(0.1, 0.7) * FILES * SIZE
        wait_for("the middle", 60, lambda: self.relay.passed - before > size or sender.ended_at is not None)
        return sender, receiver

    def finish(self, sender, receiver):
        self.relay.rate = 100 * MIB
        self.end(sender, receiver)
        self.arrived()

    # Kinds of rounds

    def do_app(self):
        self.write()
        receiver = self.receive()
        self.finish(self.send(receiver), receiver)

    def do_app_with_cuts(self):
        sender, receiver = self.begin()
        self.relay.do(self.relay.cut, 0, self.random.random() < 0.5)
        self.finish(sender, receiver)

    def do_app_with_kills(self):
        """One side is killed, and both commands run again."""
        sender, receiver = self.begin()
        victim, other = self.random.choice([(sender, receiver), (receiver, sender)])
        victim.signal(signal.SIGKILL)
        victim.wait()
        victim.end()
        if victim is sender:
            return self.finish(self.send(), other)
        return self.finish(other, self.receive(code=False))

    def do_app_with_failing_importer(self):
        """The importer throws: the receiver puts back what the app had, and keeps the received
        data. With other data at the source, the same commands succeed."""
        self.write(behaviour=b"throw", kept=b"kept")
        before = self.received()
        receiver = self.receive()
        sender = self.send(receiver)
        self.end(sender, receiver, IMPORT_FAILED)
        equal(self.received(), before, "the app's files after a failed import")
        self.write()
        receiver = self.receive(code=False)
        self.finish(self.send(), receiver)

    def close(self):
        self.relay.close()

"""Rounds of a soak with folders: each is one transfer to the standing receiver, with one kind of
fault."""

import contextlib
import os
import random
import signal
import socket
import time

import soak_alone
import wire
from attack_multicast import GROUP, PORT, answer, noise, question
from attack_place import Run
from chaos_round import Plan, Round
from chaos_runs import remembered
from chaos_tally import Tally
from outside import equal, require
from soak_sending import FAST, SCALE, SLOW, Sending
from stranger import ENDS, Stranger

INTERRUPTED, REFUSED, WRONG_CODE, NO_ROOM = 130, 4, 3, 6


class Folders(Sending):
    """The kinds of rounds, by their names. A round that this system does not allow becomes another
    one, and returns its kind."""

    def __init__(self, place, receiver, draw):
        super().__init__(place, receiver, draw)
        self.kinds = {
            name.removeprefix("do_").replace("_", " "): getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def do_plain(self, home=None):
        self.relay.rate = FAST
        path, home = self.tree(), home or self.home()
        self.finish(path, home, self.send(path, home))

    def do_cuts(self):
        path, home, run, before = self.begin(0.1)
        for share in sorted(self.random.uniform(0.1, 0.9) for _ in range(self.random.randrange(1, 4))):
            self.wait_for_share(run, before, share)
            self.relay.do(self.relay.cut, self.random.choice([0, 0, 1]), self.random.random() < 0.5)
            if self.random.random() < 0.3:
                self.relay.do(self.relay.refuse, 0.3)
        self.finish(path, home, run)

    def do_corrupted(self):
        path, home, run, _ = self.begin()
        self.relay.do(self.relay.spoil, self.random.choice([0, 1]))
        self.finish(path, home, run)

    def do_stalled(self):
        path, home, run, _ = self.begin()
        self.relay.do(self.relay.stall, self.random.uniform(0.3, 1.5))
        self.finish(path, home, run)

    def do_half_open(self):
        """The sender is killed, and the receiver does not learn of it."""
        path, home, run, _ = self.begin()
        self.relay.do(self.relay.open_half)
        run.signal(signal.SIGKILL)
        self.require_code(run, 128 + signal.SIGKILL)
        self.again(path, home)

    def do_killed(self):
        path, home, _, _ = self.begin(signal_number=signal.SIGKILL)
        self.again(path, home)

    def do_interrupted(self):
        path, home, run, _ = self.begin(signal_number=signal.SIGINT)
        require(run.code in (INTERRUPTED, 0), f"the interrupted sender ended with {run.code}")
        if run.code == 0:
            return self.finish(path, home, run)
        return self.again(path, home)

    def do_away(self):
        """The sender comes back after the receiver has given up, and after another transfer."""
        begun = time.monotonic()
        path, home, _, _ = self.begin(signal_number=signal.SIGKILL)
        require(self.receiver.wait_event("error", after=begun), "the receiver does not say that the sender is away")
        self.do_plain(self.place.folder())
        self.again(path, home)

    def do_forgotten(self):
        """Both devices discard an unfinished transfer."""
        begun = time.monotonic()
        path, home, _, _ = self.begin(signal_number=signal.SIGKILL)
        require(self.receiver.wait_event("error", after=begun), "the receiver does not say that the sender is away")
        for one in (self.receiver.home, home):
            for name in remembered(f"{one}/peer"):
                self.require_code(Run(self.place, ["forget", name.split("-")[0], "--json"], home=one), 0)
        self.spare.append(path)
        self.leave(home)

    def do_unheard(self):
        """The connection breaks between the receiver's end and the sender's."""
        begun = time.monotonic()
        path, home, run, _ = self.begin(0.6)
        if self.receiver.wait_event("importing", after=begun, seconds=10):
            self.relay.do(self.relay.stall, 10)
        self.receiver.wait_event("done", after=begun, seconds=5)
        self.relay.do(self.relay.cut, 0, True)
        self.relay.do(lambda: setattr(self.relay, "stalled_until", 0.0))
        self.finish(path, home, run)

    def do_wrong_code(self):
        path, home = self.tree(), self.place.folder()
        self.require_code(self.send(path, home, code=self.other_code()), WRONG_CODE)
        # A wrong code delays the next one of its network.
        time.sleep(1.1)
        self.finish(path, home, self.send(path, home))

    def do_taken_name(self):
        path, home = self.tree(), self.home()
        taken = f"{self.receiver.destination}/{os.path.basename(path)}"
        os.mkdir(taken)
        self.require_code(self.send(path, home), REFUSED)
        os.rmdir(taken)
        self.finish(path, home, self.send(path, home))

    def do_no_room(self):
        """The receiver's disk becomes full in the middle."""
        folder = self.receiver.destination
        if not os.path.ismount(folder):
            require(not soak_alone.is_alone(), "the standing receiver has no disk of its own")
            self.do_plain()
            return "plain"
        path, home, run, _ = self.begin(self.random.uniform(0.1, 0.3))
        ballast = f"{folder}/ballast"
        try:
            with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            self.require_code(run, NO_ROOM)
        finally:
            os.remove(ballast)
        return self.again(path, home)

    def do_strangers(self):
        """Connections that are useless, and devices that lie; then an honest transfer."""
        for _ in range(20):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.receiver.port), 5) as one:
                one.sendall(self.random.choice([b"", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\n\r\n", self.random.randbytes(500)]))
        silent = [socket.create_connection(("127.0.0.1", self.receiver.port), 5) for _ in range(10)]
        known, code = Stranger(), self.other_code()
        for step in (lambda one: one.pair(code), lambda one: one.enter(wire.RESUME), lambda one: one.enter(wire.JOIN)):
            self.lie(known, step)
        # A wrong code delays the next one of its network.
        time.sleep(1.1)
        begun = time.monotonic()
        code = self.receiver.pairing_code()
        self.lie(known, lambda one: one.pair(code), wire.frame_of(0x77, self.random.randbytes(100)))
        require(self.receiver.wait_event("code", after=begun), "no other code follows a device that paired and lied")
        for one in silent:
            one.close()
        self.do_plain()

    def lie(self, known, step, content=b""):
        """One connection of a hostile device: its first step, and the bytes that it sends then."""
        one = Stranger(known)
        with contextlib.suppress(*ENDS):
            one.connect(self.receiver.port)
            step(one)
            one.send(content)
            one.read(0.5)
        one.cut()

    def do_found(self):
        """Packets of multicast DNS, a search, and a sender that finds the receiver."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for _ in range(300):
                number = self.random.randrange(1 << 32)
                with contextlib.suppress(OSError):
                    one.sendto(self.random.choice([question, answer, noise])(number), (GROUP, PORT))
        path, home = self.tree(), self.place.folder()
        if not self.is_found(home):
            # A network that is not the run's own may let no devices find each other.
            require(not soak_alone.is_alone(), "a search does not find the standing receiver")
            self.finish(path, home, self.send(path, home))
            return "plain"
        run = self.place.start(
            ["send", path, "--code-file", "-", "--json"], text=self.receiver.pairing_code() + "\n", home=home)
        return self.finish(path, home, run)

    def is_found(self, home):
        """Whether a search finds the standing receiver, with more time for a busy machine."""
        for seconds in ("1", "5"):
            search = Run(self.place, ["discover", "--for", seconds, "--json"], home=home)
            equal(search.wait(), 0, "exit code of the search")
            labels = [event.get("label") for event in search.events]
            search.end()
            if "standing" in labels:
                return True
        return False

    def do_chaos(self):
        """A round of chaos: a receiver and a sender of their own, both of which are killed."""
        one = Round(
            self.place.path, f"chaos-{self.number}-{time.monotonic_ns()}", self.random.random(), Tally(),
            plan=Plan(random.Random(self.random.random()), 2, 2), rate=SLOW, scale=2 * SCALE)
        try:
            one.run()
        finally:
            self.place.drop(one.place)


"""The processes that live as long as a soak: a receiver that stays, both ends of one long transfer,
and an app with its broker."""

import contextlib
import os
import random
import signal
import subprocess
import threading

from attack_place import PATIENCE, Run
from outside import MIB, Failure, require, wait_for
from relay import Relay, free_port
from soak_leftovers import processes

MOST_EVENTS = 300
"""How many events of a standing process this script keeps."""

GIVE_UP = 2
"""How many seconds the standing receiver waits for a sender that was cut off."""


class Standing(Run):
    """A standing process; of its events only the last ones are kept, and none of progress."""

    def hear(self, line):
        if b'"event":"progress"' in line:
            return
        super().hear(line)
        del self.events[:-MOST_EVENTS]

    def stop(self):
        """SIGTERM; returns whether it ended as that asks, and the exit code."""
        code, _ = self.terminate(30)
        return code == 143, code


class StandingReceiver(Standing):
    """`peer receive --keep`, behind a relay."""

    def __init__(self, place, draw, folder):
        self.destination = folder
        self.port = free_port(draw)
        super().__init__(place, [
            "receive", folder, "--keep", "--listen", str(self.port), "--label", "standing", "--give-up-after", str(GIVE_UP),
            "--json"])
        require(self.wait_event("code"), f"the receiver shows no code: {self.code} {self.words()}")
        self.relay = Relay(self.port, 100 * MIB, draw=random.Random(draw.random()))
        self.relay.start()

    def pairing_code(self):
        """The code of the next transfer, once the receiver waits for one."""
        def ready():
            with self.change:
                names = [event["event"] for event in self.events]
            last = max((place for place, name in enumerate(names) if name in ("code", "paired")), default=-1)
            require(self.ended_at is None, f"the standing receiver ended with {self.code}: {self.words()}")
            return last >= 0 and names[last] == "code"

        wait_for("the receiver's next code", PATIENCE, ready)
        return self.last("code")["code"]

    def close(self):
        self.relay.close()


class LongTransfer:
    """One transfer that lasts longer than the run, and loses its connections again and again."""

    MOST = 2048 * MIB
    """The most bytes of its file."""

    def __init__(self, place, draw, seconds):
        rate = int(min(0.5 * MIB, self.MOST / (2 * seconds)))
        source, destination = place.folder(), place.folder()
        with open(f"{source}/content", "wb") as file:
            for _ in range(int(rate * seconds * 2 / MIB) + 1):
                file.write(draw.randbytes(MIB))
        port = free_port(draw)
        self.receiver = Standing(place, ["receive", destination, "--listen", f"127.0.0.1:{port}", "--no-announce", "--json"])
        code = self.receiver.wait_event("code")
        require(code, f"the receiver of the long transfer shows no code: {self.receiver.words()}")
        self.relay = Relay(port, 100 * MIB, draw=random.Random(draw.random()))
        self.relay.start()
        self.sender = Standing(
            place, ["send", f"{source}/content", "--to", f"127.0.0.1:{self.relay.port}", "--limit", str(rate), "--compress", "never",
                    "--code-file", "-", "--json"], text=code["code"] + "\n")
        require(self.sender.wait_event("paired"), f"the long transfer does not begin: {self.sender.words()}")
        self.random = random.Random(draw.random())
        self.cuts = 0

    def disturb(self):
        """Cuts its connections, all or one."""
        self.cuts += self.relay.do(self.relay.cut, self.random.choice([0, 1]), self.random.random() < 0.5)

    def require_going(self):
        for role, run in (("sender", self.sender), ("receiver", self.receiver)):
            require(run.ended_at is None, f"the {role} of the long transfer ended with {run.code}: {run.words()}")

    def close(self):
        self.relay.close()


def broker_among(found, others):
    """The number of the app's broker: `peer` becomes the app, and the broker is another new process
    of that name."""
    number = next((number for number, (_, _, command) in sorted(found.items()) if number not in others and command.startswith("peer")), None)
    require(number, "the app with credentials has no broker")
    return number


class StandingApp(threading.Thread):
    """An app that keeps, reads, changes and removes credentials all the time, through its
    broker."""

    PAUSE = 0.1

    def __init__(self, place, home, identifier, peer):
        super().__init__(name="credentials", daemon=True)
        before = set(processes())
        self.home = home
        self.popen = subprocess.Popen(
            [peer, "app", "run", identifier, "credentials"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
            env={**os.environ, "HOME": home, "PEER_HOME": f"{home}/peer"})
        place.processes.append(self)
        self.is_over = threading.Event()
        self.failure, self.asked = None, 0
        self.ask("add account=first secret=hidden", "add 0")
        self.broker = broker_among(processes(), {*before, self.popen.pid})
        self.start()

    def ask(self, line, expected):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        answer = self.popen.stdout.readline().strip()
        self.asked += 1
        require(answer == expected, f"the app's '{line}': {answer!r}, not {expected!r}")

    def run(self):
        number = 0
        try:
            while not self.is_over.wait(self.PAUSE):
                number += 1
                self.ask(f"add account=one{number} secret=hidden{number}", "add 0")
                self.ask(f"copy account=one{number}", f"copy 0 -/one{number}/hidden{number}")
                self.ask(f"update account=one{number} : secret=other", "update 0")
                self.ask(f"delete account=one{number}", "delete 0")
                self.ask(f"copy account=one{number}", "copy -25300")
        except (Failure, OSError, ValueError) as failure:
            self.failure = str(failure)

    def require_going(self):
        require(self.failure is None and self.popen.poll() is None, f"the app with credentials: {self.failure}")

    def stop(self):
        """The end of its input ends it; returns whether that was in order, and the exit code."""
        self.is_over.set()
        self.join(10)
        with contextlib.suppress(OSError):
            self.popen.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(30)
        return self.popen.returncode == 0, self.popen.returncode

    def end(self):
        self.is_over.set()
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
            self.popen.wait()

"""Sends real trees between real processes that are killed, over connections that break.

Usage: Lab/chaos [--rounds N] [--seed N] [--plans | --standing] [--keep]
  --rounds N  how many transfers (default: 20); each takes about ten seconds
  --seed N    the seed of the trees and the faults (default: 1); the moments vary all the same
  --plans     each round moves a home (--everything) of folders, apps of files and apps with extensions
  --standing  one `receive --keep` takes all of them and only senders die: its memory, descriptors and
              threads in the last third are at most 5 % above those of the second third
  --keep      keeps the folder of the rounds, and names it

A sender reaches its receiver only by a relay, which is slow enough for the transfer to last. Faults
come at any moment until the sender says that all is done: either side is ended by a signal and started
again by the same command, or stopped for a while; connections are cut, spoilt, stalled, left half open
or refused.

A round is good if both sides end with exit code 0 within a bound, only those that were ended have
another, both name the same numbers, the trees are equal, and nothing staged and no unfinished transfer
is left. PEER_BINARY names the program, and PEER_PROGRAMS the folder with TestApp and TestAppExtension;
else they are built. Exit codes: 0 if all is so, 1 otherwise, 2 if nothing could run.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..", place) for place in ("Scripts/lib", "Tests/Acceptance")]

from bundles import make_bundle  # noqa: E402
from outside import MIB, Failure, build, check_line, equal, find_binary, remove, require, run_script, terminated, wait_for  # noqa: E402
from relay import Relay, free_port  # noqa: E402

BOUND = 150
"""Within how many seconds a round must end; a receiver that is done waits 60 s for a sender that was
not told."""

AWAY = "100"
"""How many seconds the sides wait for each other: longer than any fault lasts."""

SIGNAL_BOUND = 5
"""Within how many seconds a process ends after a signal."""

MOST_RUNS = 40
"""How often a side is started in a round."""

POLITE = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
"""Signals upon which a side ends in order, with its exit code."""

ENDING = {**POLITE, **{number: -number for number in (signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1)}}

FAULTS = {"kill sender": 4, "kill receiver": 4, "stop sender": 1, "stop receiver": 1, "cut all": 4, "cut one": 2, "spoil": 2, "stall": 2,
          "half-open": 1, "refuse": 1}
"""How often each fault comes."""

FOLDERS = ["Documents", "Music", "Projects"]
DESCRIBED = [f"described{number}" for number in range(8)]
APPS = ["org.example.app0", "org.example.app1"]
PLACES = [*FOLDERS, *(f".config/{name}" for name in DESCRIBED)]


class Run:
    """One run of the program; its events are read as they come."""

    def __init__(self, arguments, home, user_home, log, text=""):
        self.events, self.struck, self.log = [], {}, log
        self.bytes, self.done = 0, None
        with open(f"{log}.err", "ab") as errors:
            self.popen = subprocess.Popen(
                [Round.binary, *arguments, "--json", "--give-up-after", AWAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, "HOME": user_home, "PEER_HOME": home})
        with contextlib.suppress(BrokenPipeError), self.popen.stdin:
            self.popen.stdin.write(text.encode())
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with self.popen.stdout, open(f"{self.log}.out", "ab") as log:
            for line in self.popen.stdout:
                log.write(line)
                # One that was ended may leave half a line.
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    if event["event"] == "progress":
                        self.bytes = event["bytes"]
                        continue
                    self.events.append(event)
                    self.done = event if event["event"] == "done" else self.done

    def last(self, name):
        return next((event for event in reversed(self.events) if event["event"] == name), None)

    def code(self):
        """The exit code, once everything that it said is read."""
        code = self.popen.poll()
        if code is None:
            late = [number.name for number, moment in self.struck.items() if time.monotonic() > moment + SIGNAL_BOUND]
            require(not late, f"it still runs {SIGNAL_BOUND} s after {late}: {self.log}")
            return None
        self.reader.join(5)
        return code

    def strike(self, number):
        if self.popen.poll() is None:
            if number in ENDING:
                self.struck[number] = time.monotonic()
                self.popen.send_signal(signal.SIGCONT)
            self.popen.send_signal(number)

    def is_expected(self, code):
        """A program that has just been started watches for no signal yet."""
        return any(code in (ENDING[number], -number) for number in self.struck)

    def end(self):
        self.popen.kill()
        self.popen.wait(10)
        self.reader.join(5)


class Round:
    """One transfer of a folder."""

    binary = None
    receive, send = [], []

    def __init__(self, place, draw, standing=None):
        self.place, self.random, self.faults = place, draw, collections.Counter()
        self.old, self.new = f"{place}/old", f"{place}/new"
        self.homes = {"sender": f"{place}/home-sender", "receiver": f"{place}/home-receiver"}
        for path in (place, self.old, self.new, *self.homes.values()):
            os.mkdir(path, 0o700)
        self.runs = {"sender": [], "receiver": [standing] if standing else []}
        self.standing, self.due = standing, {}
        self.user_homes = self.homes
        self.make()
        self.port = standing.last("listening")["port"] if standing else free_port(draw)
        self.relay = Relay(self.port, draw.uniform(8, 14) * MIB, draw=draw)

    def make(self):
        """A tree of every kind of item, and random bytes in small and large files."""
        run_script("make-tree", f"{self.old}/varied", "--files", "300")
        for size, count in ((700, 600), (20_000, 100), (MIB, 10), (20 * MIB, 2)):
            os.mkdir(f"{self.old}/{size}")
            for number in range(count):
                with open(f"{self.old}/{size}/{number}", "wb") as file:
                    file.write(self.random.randbytes(size))
        self.receive = ["receive", self.new]
        self.send = ["send", *(f"{self.old}/{name}" for name in sorted(os.listdir(self.old)))]

    # Both sides

    def last(self, role):
        return self.runs[role][-1] if self.runs[role] else None

    def unfinished(self, role):
        """The transfers that a side remembers."""
        done = subprocess.run(
            [self.binary, "resume", "list", "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=True,
            env={**os.environ, "HOME": self.user_homes[role], "PEER_HOME": self.homes[role]})
        return done.stdout.splitlines()

    def has_data(self):
        return any(run.bytes > 0 for run in self.runs["sender"])

    def start(self, role):
        """Starts a side; a sender that has no transfer yet waits for the code that is shown."""
        text, words = "", [*self.receive, "--listen", f"127.0.0.1:{self.port}"]
        if role == "sender":
            words = [*self.send, "--to", f"127.0.0.1:{self.relay.port}", "--code-file", "-"]
            if not self.has_data() and not self.unfinished(role):
                shown = self.last("receiver").last("code")
                if shown is None or self.last("receiver").last("paired") and not self.standing:
                    self.due[role] = time.monotonic() + 0.1
                    return
                text = shown["code"] + "\n"
        require(len(self.runs[role]) < MOST_RUNS, f"the {role} was started {MOST_RUNS} times")
        self.runs[role].append(Run(words, self.homes[role], self.user_homes[role], f"{self.place}/{role}", text))

    def is_told(self, role):
        return any(run.done for run in self.runs[role])

    def has_ended(self, role):
        """Whether a side need not run again: one that was ended may have been told before, or have
        forgotten a transfer that both had finished."""
        run = self.last(role)
        code = run and run.code()
        if code is None:
            return False
        if code == 0:
            require(run.events[-1]["event"] == "done", f"the {role} ended with 0 and without 'done'")
            return True
        is_over = self.is_told("receiver") and not self.unfinished(role)
        return bool(run.struck) and (self.is_told(role) or is_over if role == "sender" else self.has_ended("sender") and is_over)

    def look(self):
        """Judges what has ended, and starts it again; whether all is over."""
        now = time.monotonic()
        for role in ("receiver", "sender"):
            run = self.last(role)
            if role in self.due:
                if now >= self.due[role]:
                    del self.due[role]
                    self.start(role)
                continue
            code = run.code() if run else None
            if code is None or self.has_ended(role):
                continue
            is_unpaired = role == "sender" and code in (3, 5) and not self.has_data()
            others = self.runs["receiver" if role == "sender" else "sender"]
            is_told = code == 5 and any(number in POLITE for other in others for number in other.struck)
            require(run.is_expected(code) or is_unpaired or is_told, f"the {role} ended with {code} by itself: {(run.last('error') or {}).get('message')}")
            self.due[role] = now + self.random.choice([0.02, 0.2, 1.5]) * self.random.random()
        if not self.has_ended("sender"):
            receiver = self.last("receiver")
            if receiver.code() == 0 and "receiver" not in self.due:
                # It could not know that the sender was not told; started again, it answers.
                self.due["receiver"] = now + 5
            return False
        if self.standing or self.has_ended("receiver"):
            return True
        # The sender knows that all is done, and the receiver may not learn that: its user ends it.
        self.told_at = getattr(self, "told_at", now)
        if now > self.told_at + 4 and self.is_told("receiver"):
            self.last("receiver").strike(signal.SIGINT)
        return False

    # Faults

    def strike(self):
        kind = self.random.choices(list(FAULTS), list(FAULTS.values()))[0]
        what, _, role = kind.partition(" ")
        do, draw = self.relay.do, self.random
        if role in self.runs:
            run = self.last(role)
            if run is None or run.popen.poll() is not None or role == "receiver" and self.standing:
                return
            run.strike(signal.SIGSTOP if what == "stop" else draw.choice(list(ENDING)))
            if what == "stop":
                threading.Timer(draw.uniform(0.1, 3), run.strike, [signal.SIGCONT]).start()
        elif what == "cut":
            do(self.relay.cut, 0 if role == "all" else 1, draw.random() < 0.5)
        elif what == "spoil":
            do(self.relay.spoil, draw.randrange(2))
        elif what == "half-open":
            do(self.relay.open_half)
        else:
            do(self.relay.stall if what == "stall" else self.relay.refuse, draw.uniform(0.1, 1.5))
        self.faults[kind] += 1

    # The whole

    def run(self):
        self.relay.start()
        try:
            if not self.standing:
                self.start("receiver")
            wait_for("the code", 30, lambda: self.last("receiver").last("code"))
            self.start("sender")
            limit, next_fault, left = time.monotonic() + BOUND, time.monotonic() + self.random.uniform(0.1, 1), self.random.randrange(6, 14)
            while not self.look():
                require(time.monotonic() < limit, f"not over within {BOUND} s")
                if left and not self.is_told("sender") and time.monotonic() > next_fault:
                    self.strike()
                    # Many are close to each other.
                    next_fault, left = time.monotonic() + self.random.choice([0.05, 0.5, 1.5]) * self.random.random(), left - 1
                time.sleep(0.01)
            self.judge()
        finally:
            for runs in self.runs.values():
                for run in runs:
                    if run is not self.standing:
                        run.end()
            self.relay.close()

    def judge(self):
        for role in self.homes:
            if not (role == "receiver" and self.standing):
                equal(self.unfinished(role), [], f"what the {role} remembers")
        totals = {(run.done["items"], run.done["bytes"]) for runs in self.runs.values() for run in runs if run.done}
        require(len(totals) == 1 or self.__class__ is Plans, f"the sides disagree on what was transferred: {totals}")
        equal([name for name in os.listdir(self.new) if name.startswith(".peer")], [], "what is left of the staging")
        for words in self.compared():
            run_script("check-trees", *words)

    def compared(self):
        """What must be equal, in the words of check-trees."""
        return [["--inside", self.old, self.new]]


class Plans(Round):
    """One move of a home."""

    programs = None
    receive, send = ["receive", "--everything", "--take-apps"], ["send", "--everything"]

    def make(self):
        """A part of a tree in each place, and apps that both homes have."""
        self.user_homes = {"sender": self.old, "receiver": self.new}
        home = self.homes["sender"]
        os.mkdir(f"{home}/descriptions")
        for number, place in enumerate(PLACES):
            os.makedirs(f"{self.old}/{place}", 0o755)
            for name in range(40):
                with open(f"{self.old}/{place}/{name}", "wb") as file:
                    file.write(self.random.randbytes(200_000 if number % 3 else 1000))
        for name in DESCRIBED:
            with open(f"{home}/descriptions/{name}.app", "w", encoding="utf-8") as file:
                file.write(f"[Application]\nId={name}\nName={name}\n[Data]\nconfig=config/{name}\n")
        for app in APPS:
            bundle = make_bundle(self.programs, f"{self.place}/bundle", app)
            self.peer("app", "install", bundle)
            shutil.rmtree(bundle)
        os.rmdir(self.homes["receiver"])
        shutil.copytree(home, self.homes["receiver"], symlinks=True)
        for app in APPS:
            self.peer("app", "run", app, "write", "Documents/kept", app)
            with open(self.document("sender", app), "wb") as file:
                file.write(self.random.randbytes(2 * MIB))

    def compared(self):
        return [[f"{self.old}/{place}", f"{self.new}/{place}"] for place in PLACES]

    def document(self, role, app):
        return f"{self.homes[role]}/containers/{app}/Documents/large"

    def peer(self, *words):
        done = subprocess.run(
            [self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False,
            env={**os.environ, "HOME": self.old, "PEER_HOME": self.homes["sender"]})
        equal(done.returncode, 0, f"peer {' '.join(words)}: {done.stderr[-300:]!r}")

    def judge(self):
        failed = [event for runs in self.runs.values() for run in runs for event in run.events if event["event"] == "part" and event["state"] == "failed"]
        equal(failed, [], "parts that failed")
        equal((sorted(os.listdir(self.new)), sorted(os.listdir(f"{self.new}/.config"))), (sorted([".config", *FOLDERS]), DESCRIBED), "the new home")
        super().judge()
        for app in APPS:
            contents = [open(self.document(role, app), "rb").read() for role in self.homes]
            require(contents[0] == contents[1], f"the document of {app} differs")
            equal(os.listdir(f"{self.homes['receiver']}/staging/{app}"), [], f"the staging of {app}")


def sample(process):
    """The anonymous memory in KiB, the threads and the descriptors of a process."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        words = dict(line.split(":", 1) for line in file)
    return int(words["RssAnon"].split()[0]), int(words["Threads"]), len(os.listdir(f"/proc/{process}/fd"))


def is_flat(samples):
    """Whether the last third is at most 5 % above the second one; prints both."""
    third, good = len(samples) // 3, True
    for name, values in zip(("KiB of anonymous memory", "threads", "descriptors"), zip(*samples)):
        before, after = statistics.median(values[third:2 * third]), statistics.median(values[-third:])
        print(check_line(name, "ok" if after <= 1.05 * before else "FAILED", f"{before:.0f}, then {after:.0f}"))
        good &= after <= 1.05 * before
    return good


def rounds(place, options):
    """Whether all were good."""
    kind, failed, faults, samples, standing = Plans if options.plans else Round, 0, collections.Counter(), [], None
    if options.standing:
        os.mkdir(f"{place}/arrived")
        standing = Run(["receive", f"{place}/arrived", "--keep", "--listen", "127.0.0.1:0"], f"{place}/home", place, f"{place}/standing")
        wait_for("the code", 30, lambda: standing.last("code"))
    try:
        for number in range(1, options.rounds + 1):
            begun, problem = time.monotonic(), None
            one = kind(f"{place}/{number}", random.Random(f"{options.seed}/{number}"), standing)
            if standing:
                os.rmdir(one.new)
                one.new, standing.done = f"{place}/arrived", None
            try:
                one.run()
            except (Failure, OSError) as failure:
                problem, failed = str(failure), failed + 1
            faults += one.faults
            print(check_line(f"round {number}", "FAILED" if problem else "ok",
                             f"{time.monotonic() - begun:.1f} s, {one.faults.total()} faults{f': {problem}; see {one.place}' if problem else ''}"), flush=True)
            if standing:
                for name in os.listdir(one.new):
                    remove(f"{one.new}/{name}")
                samples.append(sample(standing.popen.pid))
            if not problem:
                remove(one.place)
        print(f"{options.rounds} rounds, {failed} failed; {', '.join(f'{count} {name}' for name, count in sorted(faults.items()))}")
        return (not standing or is_flat(samples)) and not failed
    finally:
        if standing:
            standing.end()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("Usage: ")[2], add_help=False)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    for name in ("--plans", "--standing", "--keep"):
        parser.add_argument(name, action="store_true")
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__.strip())
        return 0
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, terminated)
    # A shell's background job ignores it, and so would the sides.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # A side that SIGQUIT ends leaves no image of its memory.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Round.binary = find_binary("chaos")
    if options.plans:
        Plans.programs = os.environ.get("PEER_PROGRAMS") or os.path.dirname([build(name) or "" for name in ("TestApp", "TestAppExtension")][0])
    if Round.binary is None or Plans.programs == "":
        print("chaos: there is nothing to run", file=sys.stderr)
        return 2
    place, is_good = tempfile.mkdtemp(prefix="peer-chaos-"), False
    try:
        is_good = rounds(place, options)
        return 0 if is_good else 1
    finally:
        if options.keep or not is_good:
            print(f"chaos: kept: {place}")
        else:
            remove(place)


if __name__ == "__main__":
    sys.exit(main())

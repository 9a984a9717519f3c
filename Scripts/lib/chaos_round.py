"""One round of chaos: a transfer, and its faults."""

import heapq
import itertools
import json
import os
import queue
import random
import signal
import time

from chaos_runs import Run, remembered
from chaos_tally import ANSWERING, CUTS, FINISHING, IMPORTING, KILLS, LATE, PHASES, TRANSFERRING, WAITING
from chaos_trees import make_tree
from outside import MIB, Failure, require, run_script
from relay import Relay, free_port


MOST_RUNS = 40
"""How often one side is started in a round at most."""

AWAY = 100
"""How many seconds the two sides wait for each other: longer than any fault lasts."""

BOUND = 150
"""Within how many seconds a round must end. A receiver that is done waits 60 s for a sender that
was not told."""

SIGNAL_BOUND = 5
"""Within how many seconds a process ends after a signal that ends it."""

NUDGES = ["stop sender", "stop receiver", "pipe sender", "pipe receiver"]
"""Faults that end nothing: SIGSTOP with SIGCONT after it, and SIGPIPE."""


class Plan:
    """The faults of a round, drawn before it begins."""

    def __init__(self, draw, kills=0, cuts=0, nudges=0):
        self.random = draw
        self.early = []  # While content is under way.
        self.waiting = []  # While a side is away: kills only, for there is nothing to cut.
        self.late = []  # After that, in the order of the phases.
        self.before = None  # Before the first acknowledgement: not counted.
        for _ in range(kills):
            kind = draw.choice(KILLS)
            phase = draw.choices(PHASES, [36, 15, 22, 13, 14])[0]
            self.add(phase, kind)
        for _ in range(cuts):
            kind = draw.choices(CUTS, [45, 25, 24, 6])[0]
            phase = draw.choices(PHASES[:4], [56, 13, 18, 13])[0]
            self.add(phase, kind)
        if kills or cuts:
            if draw.random() < 0.5:
                self.early.append("stall")
            if draw.random() < 0.03:
                self.early.append("long stall")
            if draw.random() < 0.2:
                self.before = draw.choice(KILLS + ["cut all"])
        self.early += [draw.choice(NUDGES) for _ in range(nudges)]
        draw.shuffle(self.early)
        # A cut needs both sides, so most cuts come before the kills of their phase.
        self.late.sort(key=lambda fault: (LATE.index(fault[0]), fault[1] in KILLS, draw.random()))

    def add(self, phase, kind):
        if phase == TRANSFERRING:
            self.early.append(kind)
        elif phase == WAITING:
            self.waiting.append(kind)
        else:
            self.late.append((phase, kind))


class Round:
    """One transfer, with its faults."""

    has_lingered = False
    """Whether a receiver has waited until its end for a sender that knows the result; once is
    enough."""

    signals = [signal.SIGKILL]
    """The signals that kill a side; one is drawn for each kill."""

    def __init__(self, place, name, seed, tally, plan=None, rate=None, bound=BOUND, scale=1.0):
        self.random = random.Random(f"{seed}/{name}")
        self.name, self.tally, self.bound, self.scale = name, tally, bound, scale
        self.place = f"{place}/{name}"
        self.old, self.new = f"{self.place}/old", f"{self.place}/new"
        self.homes = {"sender": f"{self.place}/home-sender", "receiver": f"{self.place}/home-receiver"}
        os.mkdir(self.place, 0o700)
        for path in (self.new, *self.homes.values()):
            os.mkdir(path, 0o755)
        self.user_homes = self.homes
        self.make()
        self.plan = plan or Plan(self.random)
        self.happenings = queue.SimpleQueue()
        self.timers, self.order = [], itertools.count()
        self.log = open(f"{self.place}/faults.log", "w", encoding="utf-8", buffering=1)
        self.begun = time.monotonic()
        self.port = free_port(self.random)
        self.relay = Relay(self.port, rate or 100 * MIB, draw=random.Random(f"{seed}/{name}/relay"), tell=self.tell)
        self.runs = {"sender": [], "receiver": []}
        self.restarts = set()
        self.code = None  # What the receiver shows.
        self.code_wanted = None
        self.faults = []  # Moment, phase, kind.
        self.first_acknowledged = self.done_at = None
        self.is_up = False  # A session goes on, as far as can be seen.
        self.receiver_phase = None  # One of the late phases, while the receiver is in it.
        self.phase_begun = {}
        self.disturbed = set()
        self.progress = (0, 1)
        self.threshold = None
        self.late_armed = False
        self.dismissed = False
        self.has_lingered = False
        self.corrupting = False
        self.interruptions = 0

    def make(self):
        """Makes what is sent."""
        make_tree(self.old, self.random, self.scale)

    # Time and reports

    def tell(self, what, value):
        self.happenings.put((what, value))

    def after(self, seconds, function, *arguments):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.order), function, arguments))

    def note(self, text):
        self.log.write(f"{time.monotonic() - self.begun:9.4f} {text}\n")

    # Running

    def run(self):
        """Runs the round; raises a Failure with the error."""
        self.relay.start()
        try:
            self.start("receiver")
            limit = time.monotonic() + self.bound
            while not self.is_over():
                if time.monotonic() > limit:
                    self.tally.hangs += 1
                    raise Failure(f"hangs: not over within {self.bound} s; {self.situation()}")
                self.step()
            self.settle()
        finally:
            for side in self.runs.values():
                for run in side:
                    run.end()
            self.relay.close()
            self.tally.passed += self.relay.passed
            self.count()
            self.log.close()

    def step(self):
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            _, _, function, arguments = heapq.heappop(self.timers)
            function(*arguments)
        wait = 0.02 if not self.timers else max(0.0, min(0.02, self.timers[0][0] - time.monotonic()))
        try:
            what, value = self.happenings.get(timeout=wait)
        except queue.Empty:
            pass
        else:
            if what == "event":
                self.heard(*value)
            elif what == "ended":
                self.ended(value)
            elif what == "corrupted":
                self.corrupting = False
                self.fell("corrupt", value)
            else:
                run, line = value
                raise Failure(f"{run.role} {run.number} wrote what is no event: {line!r}")
        self.consider_early()

    def situation(self):
        sides = []
        for role, runs in self.runs.items():
            run = runs[-1] if runs else None
            state = "never ran" if run is None else "runs" if run.is_running() else f"ended with {run.code}"
            sides.append(f"the {role} ({len(runs)} runs) {state}")
        return f"{' and '.join(sides)}; phase {self.phase()}, {self.progress[0]} of {self.progress[1]} bytes"

    def last(self, role):
        return self.runs[role][-1] if self.runs[role] else None

    def start(self, role, although_over=False):
        self.restarts.discard(role)
        run = self.last(role)
        if run is not None and run.is_running() or self.has_ended(role) and not although_over:
            return
        require(len(self.runs[role]) < MOST_RUNS, f"the {role} was started {MOST_RUNS} times")
        text = ""
        arguments = self.words(role)
        if role == "receiver":
            arguments += ["--listen", f"127.0.0.1:{self.port}"]
        else:
            arguments += ["--to", f"127.0.0.1:{self.relay.port}", "--code-file", "-"]
            if self.is_unpaired() and not remembered(self.homes["sender"]):
                if self.code is None:
                    return self.wait_for_code()
                text = self.code + "\n"
        arguments += ["--json", "--give-up-after", str(AWAY)]
        number = len(self.runs[role]) + 1
        self.note(f"start {role} {number}{' with the code' if text else ''}")
        self.runs[role].append(
            Run(self.place, number, role, arguments, self.homes[role], text, self.tell, self.user_homes[role]))
        self.note(f"  {role} {number}: process {self.last(role).popen.pid}")

    def is_unpaired(self):
        """Whether a sender may need a code: it is for a transfer without received data."""
        return self.first_acknowledged is None

    def words(self, role):
        """The first words of the command of a side."""
        if role == "receiver":
            return ["receive", self.new]
        return ["send", *[f"{self.old}/{name}" for name in sorted(os.listdir(self.old))]]

    def wait_for_code(self):
        """The pairing failed before anything had arrived, and the sender's user waits for another
        code."""
        self.code_wanted = self.code_wanted or time.monotonic()
        waited = time.monotonic() - self.code_wanted
        require(
            waited < 10,
            f"the receiver shows no other code within 10 s after a pairing that came to nothing; {self.situation()}")
        self.restarts.add("sender")
        self.after(0.05, self.start, "sender")

    @staticmethod
    def other(role):
        return "receiver" if role == "sender" else "sender"

    def start_later(self, role):
        if role not in self.restarts:
            self.restarts.add(role)
            pause = self.random.uniform(0.02, 0.5) if self.random.random() < 0.9 else self.random.uniform(0.5, 2)
            self.after(pause, self.start, role)

    # The end of the round

    def has_ended(self, role):
        """Whether nothing more needs to be started of a side.

        A side has ended with exit code 0. A side that was killed after its end has also ended,
        because it has nothing left to do. A sender has forgotten the transfer, which it does only
        after the report that all is done. A receiver after its sender remembers nothing, or that it
        is done.
        """
        run = self.last(role)
        if run is None or run.is_running() or run.code is None:
            return False
        if run.code == 0:
            return True
        if role == "sender":
            return run.kills > 0 and self.first_acknowledged is not None and (
                run.is_told() or not remembered(self.homes["sender"]) and self.receiver_is_done())
        if self.dismissed and run.code == 130:
            return True
        return run.kills > 0 and self.has_ended("sender") and all(remembered(self.homes["receiver"]).values())

    def receiver_is_done(self):
        return any(run.is_told() for run in self.runs["receiver"])

    def is_over(self):
        run = self.last("receiver")
        if not self.has_ended("sender"):
            if run is not None and run.code == 0 and time.monotonic() > run.ended_at + 5:
                self.call_back_receiver()
            return False
        if run.is_running():
            self.dismiss_later()
            return False
        return self.has_ended("receiver")

    def call_back_receiver(self):
        """The receiver has ended with 0 while the sender does not know it: when started again, it
        must be able to answer."""
        require(
            remembered(self.homes["receiver"]),
            "the receiver ended with 0 and remembers nothing, but the sender was never told and still remembers "
            f"{list(remembered(self.homes['sender']))}; nobody can tell it any more; {self.situation()}")
        self.start("receiver", although_over=True)

    def dismiss_later(self):
        """The sender knows that all is done, and the receiver could not learn that: its user ends
        it.

        A receiver that is done and waits for the sender then ends with 0. A receiver that was
        started again after the end only waits for another sender, and is interrupted.
        """
        if not self.dismissed:
            self.dismissed = True
            self.after(4, self.dismiss)

    def dismiss(self):
        run = self.last("receiver")
        if not run.is_running():
            return
        entries = remembered(self.homes["receiver"])
        if not all(entries.values()) or not self.receiver_is_done():
            return  # It is not done at all, which is a hang.
        if run.is_told() and not Round.has_lingered:
            Round.has_lingered = True  # Once in all rounds it may wait as long as it wants to.
            self.note("the receiver lingers")
            self.dismissed = False
            self.after(70, setattr, self, "dismissed", False)
            self.dismissed = True
            return
        self.note("the receiver is interrupted: the sender knows already")
        run.popen.send_signal(signal.SIGINT)

    # The reports of the sides

    def heard(self, run, event):
        name, role, at = event["event"], run.role, event["at"]
        if name != "progress":
            shown = {key: value for key, value in event.items() if key not in ("roots", "at", "addresses")}
            self.note(f"  {role} {run.number}: {json.dumps(shown)[:300]}")
        if run is not self.last(role):
            return
        if run.kills:
            if name == "done" and role == "sender":
                self.done_at = min(self.done_at or at, at)
            return
        if name == "code":
            self.code, self.code_wanted = event["code"], None
            if not self.runs["sender"]:
                self.start("sender")
        elif name in ("paired", "resumed"):
            if name == "paired" and role == "receiver":
                self.code = None
            if role == "sender" and name == "resumed":
                self.is_up = True
                self.threshold = None
            if name == "paired" and role == "sender":
                self.is_up = True
                self.fault_before()
        elif name == "interrupted":
            self.is_up = False
        elif name == "progress":
            if event["bytes"] > 0 and self.first_acknowledged is None:
                self.first_acknowledged = at
                self.note("first acknowledgement")
            self.progress = max(self.progress[0], event["bytes"]), event["totalBytes"] or event["bytes"]
            if event["phase"] == "verifying" and self.receiver_phase is None:
                self.enter(FINISHING, at)
        elif name == "importing":
            self.enter(IMPORTING, at)
        elif name == "done":
            if role == "receiver":
                self.enter(ANSWERING, at)
            else:
                self.done_at = min(self.done_at or at, at)
                self.leave(at)
        elif name == "unsent":
            raise Failure(f"the {role} says that it could not send something: {json.dumps(event)[:300]}")

    def ended(self, run):
        self.note(f"{run.role} {run.number} ended with {run.code}")
        if run is not self.last(run.role):
            return
        if run.kills and run.code != 0 and run.code in run.expected():
            waited = run.ended_at - run.struck[-1][1]
            self.tally.longest_end = max(self.tally.longest_end, waited)
            require(waited <= SIGNAL_BOUND, f"{run.role} {run.number} ended {waited:.1f} s after the signal")
        elif run.code == 5 and any(other.is_interrupted() for other in self.runs[self.other(run.role)]):
            self.note("the other side's user has ended it")
        elif run.code == 0:
            names = [event["event"] for event in run.ends]
            require(names[-1:] == ["done"], f"{run.role} {run.number} ended with 0 and without 'done': {names}")
        elif self.dismissed and run.role == "receiver" and run.code == 130:
            pass
        elif run.role == "sender" and (
                self.is_unpaired() and run.code == 3 or self.first_acknowledged is None and run.code == 5):
            # Not paired yet, or not recognized: its user reads the code that is shown now.
            self.note("its user enters the code again")
        else:
            error = run.ends[-1] if run.ends else {}
            raise Failure(
                f"{run.role} {run.number} ended with {run.code} by itself: {error.get('message', '')!r}; "
                f"{self.situation()}")
        if run.role == "receiver" and run.code != 0:
            self.leave(time.monotonic(), whole=False)
            self.code = None
        if run.code != 0:
            self.is_up = False
        if not self.has_ended(run.role):
            self.start_later(run.role)

    # Phases

    def enter(self, phase, at):
        if self.receiver_phase == phase:
            return
        self.leave(at)
        self.receiver_phase = phase
        self.phase_begun[phase] = at
        self.note(f"phase {phase}")
        self.arm_late()
        is_answer_meant = any(wanted == ANSWERING for wanted, _ in self.plan.late)
        if phase == IMPORTING and is_answer_meant and self.random.random() < 0.7:
            # Otherwise the answer would arrive before any fault.
            self.fell("stall", f"{self.stall(self.tally.length(IMPORTING) + self.random.uniform(0.02, 0.3)):.3f} s")

    def leave(self, at, whole=True):
        phase = self.receiver_phase
        if phase is not None and whole and phase not in self.disturbed:
            self.tally.lengths[phase].append(at - self.phase_begun[phase])
        self.disturbed.discard(phase)
        self.receiver_phase = None

    def phase(self):
        if self.receiver_phase is not None:
            return self.receiver_phase
        sides = [self.last(role) for role in self.runs]
        if not self.is_up or not all(run is not None and run.is_running() for run in sides):
            return WAITING
        return TRANSFERRING

    # Faults

    def consider_early(self):
        """Triggers a fault when enough has passed since the last one."""
        if self.first_acknowledged is None or not self.is_up or self.receiver_phase is not None or not self.plan.early:
            return
        if self.threshold is None:
            done, total = self.progress
            share = max(total - done, 4 * MIB * self.scale) / (len(self.plan.early) + 1)
            self.threshold = self.relay.passed + share * self.random.uniform(0.2, 0.9)
        if self.relay.passed >= self.threshold and not self.corrupting:
            self.threshold = None
            self.strike(self.plan.early.pop())

    def arm_late(self):
        """Sets a moment for the next late fault, if its phase has begun."""
        if self.late_armed or not self.plan.late or self.receiver_phase is None:
            return
        wanted = LATE.index(self.plan.late[0][0])
        if LATE.index(self.receiver_phase) < wanted:
            return
        self.late_armed = True
        if self.receiver_phase == ANSWERING:
            # About when the answer gets through.
            rest = max(0.0, self.relay.stalled_until - time.monotonic())
            pause = self.random.choice([self.random.uniform(0, rest), rest + self.random.uniform(-0.002, 0.006)])
        else:
            pause = self.random.uniform(0, 0.9) * self.tally.length(self.receiver_phase)
        self.after(max(0.0, pause), self.strike_late)

    def strike_late(self):
        self.late_armed = False
        if self.receiver_phase is None:
            return  # Its phase was broken off and comes again.
        if not self.plan.late or LATE.index(self.receiver_phase) < LATE.index(self.plan.late[0][0]):
            return
        self.disturbed.add(self.receiver_phase)
        self.strike(self.plan.late.pop(0)[1])
        self.arm_late()

    def fault_before(self):
        """A fault that comes too early to count."""
        if self.plan.before is not None:
            self.after(self.random.uniform(0, 0.06), self.strike, self.plan.before)
            self.plan.before = None

    def strike(self, kind):
        if self.done_at is not None:
            return
        if kind in KILLS:
            self.kill(kind)
        elif kind in NUDGES:
            self.nudge(*kind.split())
        elif kind == "cut all":
            by_reset = self.random.random() < 0.5
            number = self.relay.do(self.relay.cut, 0, by_reset)
            self.fell(kind, f"{number} by {'RST' if by_reset else 'FIN'}", number)
            self.is_up = self.is_up and not number
            if self.random.random() < 0.2:
                seconds = self.random.uniform(0.1, 1)
                self.relay.do(self.relay.refuse, seconds)
                self.fell("refuse", f"{seconds:.2f} s")
        elif kind == "cut one":
            by_reset = self.random.random() < 0.5
            number = self.relay.do(self.relay.cut, 1, by_reset)
            self.fell(kind, "by RST" if by_reset else "by FIN", number)
        elif kind == "corrupt":
            if self.relay.do(self.relay.spoil, self.random.choices([0, 1], [65, 35])[0]):
                self.corrupting = True  # It falls when the next bytes come.
            else:
                self.fell(kind, "nothing", 0)
        elif kind == "half-open":
            number = self.relay.do(self.relay.open_half)
            self.fell(kind, str(number), number)
            # Neither side notices before 15 s have passed, unless the sender is started again.
            after = self.random.choices(["kill sender", "kill receiver", None], [75, 10, 15])[0]
            if after:
                self.after(self.random.uniform(0.05, 1), self.strike, after)
        elif kind == "stall":
            self.fell(kind, f"{self.stall(self.random.choice([0.1, 0.3, 1]) * self.random.uniform(0.5, 1.5)):.3f} s")
        elif kind == "long stall":
            self.fell(kind, f"{self.stall(self.random.uniform(16, 18)):.3f} s")
        while self.plan.waiting and self.phase() == WAITING:
            self.after(self.random.uniform(0, 0.25), self.strike, self.plan.waiting.pop())

    def stall(self, seconds):
        self.relay.do(self.relay.stall, seconds)
        return seconds

    def kill(self, kind):
        role = kind.removeprefix("kill ")
        run = self.last(role)
        if run is None or not run.is_running():
            role = self.other(role)
            run = self.last(role)
        if run is None or not run.is_running():
            return
        phase, moment = self.phase(), time.monotonic()
        number = self.random.choice(self.signals)
        if run.strike(number):
            self.tally.signals[number.name, role] += 1
            self.fell(f"kill {role}", f"{role} {run.number}, {number.name}", phase=phase, moment=moment)
            self.is_up = False
            if role == "receiver" and self.receiver_phase is not None:
                self.leave(moment, whole=False)

    def nudge(self, kind, role):
        """A signal that ends nothing."""
        run = self.last(role)
        number = signal.SIGPIPE if kind == "pipe" else signal.SIGSTOP
        if run is None or not run.strike(number):
            return
        self.tally.signals[number.name, role] += 1
        self.note(f"FAULT {number.name} ({role} {run.number}) while {self.phase()}")
        if kind == "stop":
            self.after(self.random.uniform(0.1, 3), run.strike, signal.SIGCONT)

    def fell(self, kind, detail, number=1, phase=None, moment=None):
        moment = moment or time.monotonic()
        phase = phase or self.phase()
        self.note(f"FAULT {kind} ({detail}) while {phase}")
        if number:
            self.faults.append((moment, phase, kind))
            if kind in KILLS + CUTS + ["long stall"]:
                self.interruptions += 1

    def count(self):
        """Decides which faults count: those between the first acknowledgement and the end, less a
        margin for reading lines."""
        for moment, phase, kind in self.faults:
            counts = self.first_acknowledged is not None and moment >= self.first_acknowledged and (
                self.done_at is None or moment < self.done_at - 0.005)
            self.tally.faults[phase, kind, counts] += 1

    # Afterwards

    def settle(self):
        """Both sides have ended: checks their reports and their remains."""
        for runs in self.runs.values():
            for run in runs:
                run.reader.join(5)
        dones = {
            role: [event for run in runs for event in run.ends if event["event"] == "done"]
            for role, runs in self.runs.items()
        }
        # One that was killed when its sender knew already has no reason to say it.
        require(dones["receiver"] or self.last("receiver").kills, "the receiver never said 'done'")
        self.compare_ends(dones)
        for runs in self.runs.values():
            for run in runs:
                if run.code == 0:
                    last = list(run.events)[-1]["event"]
                    require(last == "done", f"'done' is not the last event of {run.role} {run.number}, but '{last}'")
                    require(len(run.ends) == 1, f"{run.role} {run.number} said 'done' {len(run.ends)} times")
        self.inspect()

    def compare_ends(self, dones):
        totals = {(event["items"], event["bytes"]) for events in dones.values() for event in events}
        require(len(totals) == 1, f"the two sides disagree on what was transferred: {sorted(totals)}")

    def inspect(self):
        """Compares the present files with the expected ones."""
        for role, home in self.homes.items():
            unfinished = [name for name, is_tombstone in remembered(home).items() if not is_tombstone]
            require(not unfinished, f"the {role} still remembers an unfinished transfer: {unfinished}")
        left = [name for name in os.listdir(self.new) if name.startswith(".peer")]
        require(not left, f"the destination still holds {left}")
        self.compare()

    def compare(self):
        try:
            run_script("check-trees", "--inside", self.old, self.new)
        except Failure:
            self.tally.differences += 1
            raise

"""One round of Lab/power: a transfer during which the machine loses its power, once or
twice."""

import hashlib
import os
import random
import shutil
import subprocess
import time

from lab_machine import PORT, free_port
from lab_power_ends import Inside, Outside, interrupt, wait_event
from lab_power_phases import DONE, PHASES, SENT, Phase
from lab_power_place import BINARY, DISK, SOURCES, Difference
from lab_power_trees import IMAGES, KEPT, roots
from outside import Failure, equal, require, run_script, tool, wait_for

BOUND = 900
"""How many seconds a round may take: a guard against hangs."""

PYTHON = "/usr/bin/python3"
"""The system's, which has the packages of the second implementation."""

PATIENCE = 0.3
"""How many seconds a cut waits for a write that is not flushed."""

GIVE_UP, RATE, LIMIT, UPDATE_LIMIT = "600", 7 << 20, "7M", "2M"


class Round:
    """One transfer on a place, with its cuts."""

    def __init__(self, place, number, seed, plan, log):
        self.place, self.number, self.seed, self.plan, self.log = place, number, seed, list(plan), log
        self.random = random.Random(f"{seed}/{number}")
        self.is_sending = plan[0] in PHASES[4:]
        self.is_witnessed = not self.is_sending and self.random.random() < 0.6
        self.is_merging = not self.is_sending and self.random.random() < 0.35
        self.is_updating = not self.is_sending and not self.is_witnessed and self.random.random() < 0.5
        """Whether it is a later pass, after one without a cut, of files in which blocks have changed."""
        self.phase, self.cuts, self.lost = Phase(self.is_sending), [], 0
        self.runs = {"sender": [], "receiver": []}
        self.folder = f"{place.work}/rounds/{place.kind}-{number}"
        os.makedirs(self.folder)
        self.inner = f"{DISK}/round-{number}"
        self.has_arrived = False
        """Whether the receiver has data, so that no code may be needed any more."""
        self.has_forgotten = False
        """Whether the sender had told its result and forgotten the transfer, and what it told was lost with the machine."""
        self.port = free_port()
        self.begun = time.monotonic()

    def note(self, text):
        self.log.write(f"{self.place.kind} {self.number} {time.monotonic() - self.begun:8.3f} {text}\n")
        self.log.flush()

    # Running

    def run(self):
        self.note(f"plan {self.plan}, {'witness' if self.is_witnessed else 'peer'} outside{', merging' if self.is_merging else ''}{', updating' if self.is_updating else ''}")
        try:
            if self.place.machine is None:
                self.place.start()
            self.prepare()
            if self.is_updating:
                self.first_pass()
            self.start("receiver")
            code = wait_event(self.runs["receiver"][-1], "code", 120)["code"]
            self.start("sender", code=None if self.is_updating else code)
            self.plan_cut()
            limit = time.monotonic() + BOUND
            while not self.is_over():
                require(time.monotonic() < limit, f"not over within {BOUND} s: {self.situation()}")
                self.step()
                time.sleep(0.004)
            self.judge()
        finally:
            for runs in self.runs.values():
                for run in runs:
                    run.end()
        self.remove()

    def prepare(self):
        machine, inner = self.place.machine, self.inner
        script = f"mkdir -p {inner}/new {inner}/home; cp -a '{SOURCES}/sent/{KEPT}' {inner}/new/; cp -a {SOURCES}/beside {inner}/beside;"
        if self.is_merging:
            # Some of the items are there already, with older contents.
            script += (f"cp -a {SOURCES}/sent/files {SOURCES}/sent/deep {inner}/new/; cd {inner}/new;"
                       "for n in files/00* deep/deeper/0 deep/1; do echo older >$n; done; touch -d 2001-01-01 files deep;")
        machine.shell(script + "sync")
        os.makedirs(f"{self.folder}/new")
        shutil.copy2(f"{self.place.work}/sources/sent/{KEPT}", f"{self.folder}/new")

    def first_pass(self):
        """Sends everything in its state before, and then changes it."""
        self.copy_sources("before")
        self.start("receiver")
        self.start("sender", code=wait_event(self.runs["receiver"][-1], "code", 120)["code"])
        for role, [run] in self.runs.items():
            wait_for(f"the first pass of the {role}", 120, lambda run=run: run.code() is not None)
            run.news()
            require(run.code() == 0, run.words())
            run.is_settled = True
        self.has_arrived = True
        for runs in self.runs.values():
            runs.clear()
        self.sums = self.image_sums()
        self.copy_sources("after")

    def copy_sources(self, state):
        """What an updating round sends; the files keep their names and get new content."""
        sources, target = f"{self.place.work}/sources", f"{self.folder}/sources"
        if state == "before":
            os.mkdir(target)
            subprocess.run(["cp", "-a", f"{sources}/updated", f"{target}/sent"], check=True)
        subprocess.run(["cp", "-a", f"{sources}/{state}/{IMAGES}", f"{target}/sent"], check=True)

    def image_sums(self):
        """What the large files at the destination have, by name."""
        lines = self.place.machine.shell(f"cd {self.inner}/new/{IMAGES} && sha256sum *").splitlines()
        return {name: value for value, name in (line.split() for line in lines)}

    def judge_images(self):
        """Requires each large file as it was or as it will be, and nothing between."""
        for name, value in self.image_sums().items():
            with open(f"{self.place.work}/sources/after/{IMAGES}/{name}", "rb") as file:
                wanted = hashlib.sha256(file.read()).hexdigest()
            if value not in (self.sums[name], wanted):
                raise Difference(f"{name} is a mixture after the cut")

    def words(self, role):
        """The command of one end."""
        is_inside = self.is_inside(role)
        if role == "receiver":
            where = f"{self.inner}/new" if is_inside else f"{self.folder}/new"
            listen = str(PORT) if is_inside else f"127.0.0.1:{self.port}"
            existing = ["--existing", "replace"] if self.is_merging else []
            if self.is_updating:
                existing = ["--existing", "update", "--remember"]
            return ["receive", where, "--listen", listen, "--json", "--give-up-after", GIVE_UP, *existing]
        sources = [path if not is_inside else path.replace(f"{self.place.work}/sources", SOURCES, 1) for path in roots(f"{self.place.work}/sources")]
        if self.is_updating:
            return ["send", *roots(f"{self.folder}/sources"), "--to", f"127.0.0.1:{self.place.port}", "--code-file", "-", "--json",
                    "--give-up-after", GIVE_UP, "--remember", *(["--limit", UPDATE_LIMIT] if self.has_arrived else [])]
        to = f"10.0.2.2:{self.port}" if is_inside else f"127.0.0.1:{self.place.port}"
        return ["send", *sources, "--to", to, "--code-file", "-", "--json", "--give-up-after", GIVE_UP, "--limit", LIMIT]

    def is_inside(self, role):
        return (role == "sender") == self.is_sending

    def start(self, role, code=None):
        runs = self.runs[role]
        number = len(runs) + 1
        require(number < 12, f"the {role} was started {number - 1} times: {runs[-1].words() if runs else ''}")
        text = f"{code}\n" if code else ""
        self.note(f"start {role} {number}{' with a code' if code else ''}")
        if self.is_inside(role):
            runs.append(Inside(role, number, self.place.machine, [BINARY, *self.words(role)], f"{self.inner}/home", text))
            return
        words = [f"{self.place.work}/program/bin/peer", *self.words(role)]
        if role == "sender" and self.is_witnessed:
            words = [PYTHON, tool("lab_power_witness.py"), "--to", f"127.0.0.1:{self.place.port}", "--rate", str(RATE),
                     *roots(f"{self.place.work}/sources")]
        runs.append(Outside(role, number, words, f"{self.folder}/{role}-{number}.json", f"{self.folder}/home-{role}", text))

    def situation(self):
        return "; ".join(runs[-1].words() if runs else f"no {role}" for role, runs in self.runs.items()) + f"; phase {self.phase.name}"

    # Events

    def step(self):
        for role, runs in self.runs.items():
            if not runs:
                continue
            run = runs[-1]
            code = run.code()
            for event in run.news():
                self.hear(role, event)
            if code is not None and not run.is_settled:
                run.is_settled = True
                self.note(f"{run.words()}")
                self.ended(role, run, code)
        if self.plan and self.is_due():
            self.due = self.due or time.monotonic()
            # A cut shows most while the disk has writes to lose.
            if self.place.disk.cache.writes or time.monotonic() > self.due + PATIENCE:
                self.cut()

    def hear(self, role, event):
        if event["event"] != "progress":
            self.note(f"  {role}: " + str({key: value for key, value in event.items() if key not in ("at", "roots", "addresses")})[:200])
        self.phase.hear(role, event)
        if event.get("phase") in ("sending", "receiving") and event["bytes"] > 0:
            self.has_arrived = True
        if event["event"] == "missing":
            raise Difference(f"acknowledged as durable and missing: {event['path']} {event['reason']}")

    def ended(self, role, run, code):
        if code == 0 or code == 130 and role == "receiver":
            return
        other = self.runs["receiver" if role == "sender" else "sender"]
        if role == "sender" and not self.has_arrived and code in (3, 5) and not self.is_witnessed:
            # Its user reads the code that is shown now.
            self.start("sender", code=wait_event(other[-1], "code", 120)["code"])
            return
        if role == "sender" and self.is_sending and self.cuts and code == 5 and other[-1].code() == 0 and not run.last("connecting"):
            # The receiver has RECEIPT, and this sender's disk has no record: with one, it would go on.
            self.note("what the sender told was lost with the machine")
            self.has_forgotten = True
            return
        raise Difference(f"{run.words()}; {self.situation()}") if self.cuts else Failure(run.words())

    def is_done(self, role):
        return any(run.last("done") for run in self.runs[role])

    def is_over(self):
        """Whether both ends know the result, and nothing has to run any more."""
        if self.plan or not (self.is_done("sender") or self.has_forgotten):
            return False
        sender, receiver = self.runs["sender"][-1], self.runs["receiver"][-1]
        if sender.code() is None:
            return False
        if receiver.code() is None:
            if time.monotonic() > self.phase.since + 4 and not receiver.is_interrupted:
                receiver.is_interrupted = True
                self.note("the receiver is interrupted: the sender knows already")
                interrupt(receiver)
            return False
        return True

    # Cuts

    def plan_cut(self):
        if self.plan:
            self.share = self.random.uniform(0.03, 0.97)
            if self.cuts:
                self.share = self.phase.share + (1 - self.phase.share) * self.random.random()
            self.delay, self.at, self.due = self.random.random(), None, None

    def is_due(self):
        """Whether the moment of the next cut has come."""
        wanted, phase = self.plan[0], self.phase
        if not phase.reaches(wanted):
            return False
        if phase.name == phase.names[0]:
            if phase.share >= self.share and self.at is None:
                self.at = time.monotonic() + 0.3 * self.delay
            return self.at is not None and time.monotonic() >= self.at
        length = 0 if phase.name != wanted else Phase.typical[wanted]
        return time.monotonic() >= phase.since + self.delay * length

    def cut(self):
        self.plan.pop(0)
        counts = self.place.cut(f"{self.seed}/{self.number}/{len(self.cuts)}")
        role = "sender" if self.is_sending else "receiver"
        inside = self.runs[role][-1]
        for event in inside.news():
            self.hear(role, event)
        inside.end()
        inside.is_settled = True
        self.cuts.append(self.phase.name)
        self.lost += counts[1] + counts[2]
        self.note(f"CUT while {self.phase.name} at {self.phase.share:.2f}: {counts[0]} writes kept, {counts[1]} torn, {counts[2]} dropped")
        other = "receiver" if self.is_sending else "sender"
        if self.runs[other][-1].code() is None and not self.is_witnessed and self.random.random() < 0.5:
            self.note(f"the {other} is killed too")
            for event in self.runs[other][-1].news():
                self.hear(other, event)
            self.runs[other][-1].end()
            self.runs[other][-1].is_settled = True
        if self.plan and self.phase.reaches(DONE if not self.is_sending else SENT):
            self.plan.clear()
        self.place.start()
        if self.is_updating:
            self.judge_images()
        for event in self.runs[other][-1].news():
            self.hear(other, event)
        self.come_back(role, other)
        # The next session begins anew.
        self.phase = Phase(self.is_sending) if not self.is_done("receiver") else self.phase
        self.phase.since = time.monotonic()
        self.plan_cut()

    def come_back(self, role, other):
        """Starts the ends that must run again, by the same commands."""
        if self.runs[other][-1].is_settled and self.runs[other][-1].code() != 0:
            self.start(other)
        if self.is_sending:
            if not self.is_done("sender"):
                code = None
                if not self.has_arrived:
                    last = self.runs["receiver"][-1].last("code")
                    code = last and last["code"]
                self.start("sender", code=code)
            return
        if self.is_done("sender"):
            # The sender knows that all is durable, so nothing may depend on another run, except
            # that it removes the rest of the staging.
            self.judge_trees()
        self.start("receiver")

    # Judgement

    def judge(self):
        self.judge_trees()
        new = f"{self.inner}/new"
        left = os.listdir(f"{self.folder}/new") if self.is_sending else self.place.machine.shell(f"ls -A {new}").splitlines()
        unfinished = self.place.machine.shell(f"PEER_HOME={self.inner}/home {BINARY} resume list --json")
        try:
            equal([name for name in left if name.startswith(".peer")], [], "the rest of the staging")
            equal(unfinished, "", "the transfers that are unfinished in the machine")
        except Failure as failure:
            raise Difference(str(failure)) from None
        self.note("equal")

    def judge_trees(self):
        """Requires that everything has arrived, and nothing beside it has changed."""
        try:
            if self.is_sending:
                run_script("check-trees", "--inside", f"{self.place.work}/sources/sent", f"{self.folder}/new")
            else:
                self.place.check_trees("updated" if self.is_updating else "sent", f"{self.inner}/new")
            self.place.check_trees("beside", f"{self.inner}/beside")
            self.place.check_trees("beside", f"{DISK}/beside")
        except Failure as failure:
            raise Difference(str(failure)) from None

    def remove(self):
        self.place.machine.shell(f"rm -rf {self.inner}; sync")
        shutil.rmtree(self.folder)

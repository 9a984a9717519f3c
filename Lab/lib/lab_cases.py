"""The cases for every file system of Lab/files: `peer send` outside, `peer receive` in the
machine."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from disk_cases import counted, head, losses, not_stored, row
from lab_disks import DESTINATION
from lab_machine import PORT, Machine
from lab_sources import CHANGED, GONE, OLD_TIME, make_sources
from outside import Failure, Skip, check_line, equal, require, tool

PATIENCE = 400
"""How many seconds a transfer or a judgement may take: a guard against hangs. The machine is slow,
and slower when others use this one: on 9p each name of a path 200 directories deep is looked up
anew."""

SOURCES = "/mnt/sources"
"""Where the sent data is in the machine, on a disk of its own."""


def events_of(lines):
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def last(events, name):
    return next((event for event in reversed(events) if event["event"] == name), None)


class Transfer:
    """One transfer: the exit codes and the output of both ends. A sender that never started has no
    code."""

    def __init__(self, sender, receiver, sent, received, seconds):
        self.sender, self.receiver, self.sent, self.received, self.seconds = sender, receiver, sent, received, seconds

    def words(self):
        parts = [f"sender {self.sender}, receiver {self.receiver}"]
        for name, events in ("sender", self.sent), ("receiver", self.received):
            error = last(events, "error")
            if error:
                parts.append(f"{name}: {error['message']}")
        return "; ".join(parts)

    def must_end(self, *codes):
        require(self.sender in codes and self.receiver == self.sender, f"{self.words()}, and not {' or '.join(map(str, codes))}")

    def named(self):
        """The items that were not stored, by reason; both ends must agree, with their exit codes
        too."""
        named = not_stored(self.sent)
        equal(not_stored(self.received), named, "what the ends say was not stored")
        self.must_end(8 if named else 0)
        return named


class Trial:
    """One file system in its own machine."""

    def __init__(self, disk, machine, work, binary):
        self.disk, self.machine, self.work, self.binary = disk, machine, work, binary
        self.count = 0

    def destination(self, name):
        """A new folder on the disk."""
        path = f"{DESTINATION}/{name}"
        self.machine.run("mkdir", "-p", path)
        return path

    def home(self):
        self.count += 1
        path = f"{self.work}/homes/{self.count}"
        os.makedirs(path, exist_ok=True)
        return self.count, path

    # Transfers

    def receive(self, destination, number, *options):
        return self.machine.begin(
            "/lab/peer", "receive", destination, "--listen", str(PORT), "--json", *options,
            PEER_HOME=f"/tmp/home-{number}", HOME="/root")

    def send(self, source, home, *options):
        self.events_path = f"{self.work}/sender.json"
        with open(self.events_path, "wb") as out, open(f"{self.work}/sender.log", "wb") as errors:
            return subprocess.Popen(
                [self.binary, "send", source, "--to", f"127.0.0.1:{self.machine.port}", "--code-file", "-", "--json", *options],
                stdin=subprocess.PIPE, stdout=out, stderr=errors, env={**os.environ, "PEER_HOME": home, "HOME": home})

    def sent(self):
        with open(self.events_path, "rb") as file:
            return events_of(file)

    def transfer(self, name, destination, *options, sending=()):
        """Sends a source; both ends must end. The options are the receiver's, except those of
        `sending`."""
        number, home = self.home()
        begun = time.monotonic()
        receiver = self.receive(destination, number, *options)
        code = receiver.wait_line(lambda line: "code" in line and events_of([line])[0].get("code"), 60)
        if not isinstance(code, str):
            receiver.signal(signal.SIGKILL)
            return Transfer(None, receiver.wait(20), [], events_of(receiver.lines), 0)
        sender = self.send(f"{self.work}/sources/{name}/{name}", home, *sending)
        try:
            sender.communicate(f"{code}\n".encode(), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            sender.kill()
            sender.wait(10)
            raise Failure(f"the sender does not end: {receiver.words()}") from None
        return self.ended(sender, receiver, begun)

    def ended(self, sender, receiver, begun):
        try:
            status = receiver.wait(60)
        except Failure:
            receiver.signal(signal.SIGTERM)
            receiver.wait(20)
            raise
        finally:
            with open(f"{self.work}/receiver.json", "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(f"{line}\n" for line in receiver.lines)
        code = sender.returncode
        return Transfer(code if code >= 0 else 128 - code, status, self.sent(), events_of(receiver.lines), time.monotonic() - begun)

    # Judgement, in the machine

    ENDS = "/lab/sender.json", "/lab/receiver.json"

    def judge(self, name, destination, with_events=False):
        """Compares a source with a destination, as far as the disk can hold it; returns the judge's
        output."""
        ends = self.ENDS if with_events else ()
        return self.judged("trees", f"{SOURCES}/{name}", destination, f"{DESTINATION}/scratch", *ends)

    def judged(self, *words):
        return self.machine.run("python3", "/lab/tools/lab_judge.py", *words, seconds=PATIENCE)

    # The cases

    def plain(self):
        destination = self.destination("plain")
        transfer = self.transfer("plain", destination)
        transfer.must_end(0)
        self.machine.drop_caches()
        self.judge("plain", destination)
        return f"{transfer.seconds:.1f} s"

    def again(self):
        transfer = self.transfer("plain", self.destination("plain"))
        transfer.must_end(4)
        self.judge("plain", f"{DESTINATION}/plain")
        return "refused"

    def skip(self):
        """Only missing files are sent, and present ones stay unchanged."""
        destination = self.destination("plain")
        transfer = self.transfer("plain", destination, "--existing", "skip")
        transfer.must_end(0)
        done = last(transfer.sent, "done")
        equal(done["differing"], 0, "what a second run finds different")
        require(done["sentBytes"] < 2000, f"{done['sentBytes']} bytes are sent again")
        self.machine.drop_caches()
        self.judge("plain", destination)
        self.change(destination)
        self.machine.run("rm", f"{destination}/plain/{GONE}")
        transfer = self.transfer("plain", destination, "--existing", "skip")
        transfer.must_end(0)
        equal(last(transfer.sent, "done")["differing"], 1, "what was changed there and is left alone")
        # A folder that was there keeps its own time, and this one has got a file.
        moment = os.stat(f"{self.work}/sources/plain/plain/Notes").st_mtime_ns
        self.machine.run("python3", "-c", f"import os,sys; os.utime(sys.argv[1], ns=({moment}, {moment}))", f"{destination}/plain/Notes")
        self.machine.drop_caches()
        self.judge("changed", destination)
        return f"{done['present']} items were there; then 1 file was sent and 1 left alone"

    def change(self, destination):
        self.machine.run(
            "python3", "-c",
            "import os,sys; p=sys.argv[1]; b=os.stat(os.path.dirname(p)); open(p,'wb').write(b'written here\\n');"
            f"os.utime(p,ns=({OLD_TIME},{OLD_TIME})); os.utime(os.path.dirname(p),ns=(b.st_atime_ns,b.st_mtime_ns))",
            f"{destination}/plain/{CHANGED}")

    def keep_both(self):
        destination = self.destination("both")
        self.transfer("plain", destination).must_end(0)
        self.transfer("plain", destination, "--existing", "keep-both").must_end(0)
        self.machine.drop_caches()
        self.judge("twice", destination)
        return "both are there"

    def replace(self):
        destination = self.destination("plain")
        self.change(destination)
        transfer = self.transfer("plain", destination, "--existing", "replace", sending=["--compress", "always"])
        transfer.must_end(0)
        require(last(transfer.sent, "done")["savedBytes"] > 0, "nothing was compressed: libzstd is not found in the machine")
        self.machine.drop_caches()
        self.judge("plain", destination)
        return f"{last(transfer.sent, 'done')['sentBytes']} bytes sent"

    def pairs(self):
        """Names that fold: of each pair both arrive, or one, and the other is named."""
        destination = self.destination("pairs")
        named = self.transfer("pairs", destination).named()
        self.judged("pairs", destination, *self.ENDS)
        return f"not stored: {counted(list(named.values()))}"

    def merged_pairs(self):
        """The same onto a folder that has some of them."""
        figures = []
        for mode in "skip", "replace", "keep-both":
            destination = self.destination(f"pairs {mode}")
            self.judged("some", destination)
            named = self.transfer("pairs", destination, "--existing", mode).named()
            if mode == "keep-both":
                self.judged("pairs", destination, *self.ENDS, "pairs (2)")
            else:
                self.judged("merged", destination, *self.ENDS, mode)
            figures.append(f"{mode}: not stored: {counted(list(named.values()))}")
        return "; ".join(figures)

    def tree(self):
        """All kinds of items of make-tree; those that the disk cannot hold are named, and the rest
        arrives."""
        destination = self.destination("tree")
        transfer = self.transfer("tree", destination)
        self.named = transfer.named()
        self.lost = losses(transfer.received)
        self.disk.remount(self.machine)
        self.judge("tree", destination, with_events=True)
        return f"not stored: {counted(list(self.named.values()))}"

    def killed(self):
        """Both ends are killed in the middle of the same tree and started again; the list is the
        same."""
        destination = self.destination("killed")
        number, home = self.home()
        source = f"{self.work}/sources/tree/tree"
        receiver = self.receive(destination, number)
        code = receiver.wait_line(lambda line: "code" in line and events_of([line])[0].get("code"), 60)
        require(isinstance(code, str), f"the receiver shows no code: {receiver.words()}")
        sender = self.send(source, home, "--limit", "1M")
        sender.stdin.write(f"{code}\n".encode())
        sender.stdin.close()
        held = receiver.wait_line(lambda line: '"progress"' in line and events_of([line])[0].get("items", 0) > 150, 60)
        sender.kill()
        receiver.signal(signal.SIGKILL)
        sender.wait(20)
        receiver.wait(20)
        require(held, f"nothing is in the middle: {receiver.words()}")
        begun = time.monotonic()
        receiver = self.receive(destination, number)
        require(receiver.wait_line(lambda line: '"listening"' in line, 60), f"the receiver does not listen: {receiver.words()}")
        sender = self.send(source, home)
        try:
            sender.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            sender.kill()
            sender.wait(10)
            raise Failure(f"the sender does not end: {receiver.words()}") from None
        transfer = self.ended(sender, receiver, begun)
        named = transfer.named()
        self.judge("tree", destination, with_events=True)
        require(last(transfer.received, "resumed"), "nothing was resumed")
        if hasattr(self, "named"):
            equal(sorted(named.values()), sorted(self.named.values()), "reasons after both were killed")
        return f"held {last(transfer.received, 'resumed')['heldBytes']} bytes"

    def large(self):
        """A file that is too large for the disk is named, and its neighbours arrive."""
        destination = self.destination("large")
        transfer = self.transfer("large", destination)
        equal(transfer.named(), {b"large/film": "tooLarge"}, "what was not stored")
        return self.judge("large", destination, with_events=True)


STEPS = {
    "plain": Trial.plain, "again": Trial.again, "skip": Trial.skip, "keep-both": Trial.keep_both, "replace": Trial.replace,
    "names that fold": Trial.pairs, "names that fold, some there": Trial.merged_pairs, "tree": Trial.tree, "killed in the middle": Trial.killed, "large": Trial.large,
}


class Lab:
    """One run of Lab/files: its folder, its checks and its table."""

    def __init__(self, parts, binary, work, is_kept):
        self.parts, self.work, self.is_kept = parts, work, is_kept
        self.binary = f"{work}/peer"
        self.failed = False
        self.rows = []
        shutil.copy(binary, self.binary)
        make_sources(f"{work}/sources")
        os.makedirs(f"{work}/tools")
        self.sources = f"{work}/sources.img"
        with open(self.sources, "wb") as file:
            file.truncate(1 << 30)
        for name in "make-tree", "check-trees", "disk_cases.py", "disk_trial.py", "lab_judge.py", "lab_sources.py":
            shutil.copy(tool(name), f"{work}/tools")

    def say(self, name, outcome, figure=""):
        self.failed = self.failed or outcome == "FAILED"
        text = re.sub(r"(.)\1{20,}", r"\1\1\1…", " ".join(str(figure).split()))
        print(check_line(name, outcome, text[:600]), flush=True)

    def check(self, disk):
        """All cases with one file system, in its own machine, which is removed at the end."""
        images = disk.images(self.work)
        machine = None
        begun = time.monotonic()
        try:
            machine = Machine(self.parts, self.work, [*images, self.sources], disk.shares(self.work), seconds=2400)
            disk.prepare(machine)
            self.prepare_sources(machine, f"/dev/vd{'abc'[len(images)]}")
            self.try_all(Trial(disk, machine, self.work, self.binary))
        except Skip as skip:
            self.say(disk.name, "skipped", skip)
        except (Failure, OSError) as failure:
            self.say(disk.name, "FAILED", failure)
        finally:
            if machine is not None:
                machine.end()
            if not self.is_kept:
                for path in images:
                    os.remove(path)
        print(f"lab: {disk.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)

    @staticmethod
    def prepare_sources(machine, device):
        """Mounts the disk with the sources; the first machine makes it."""
        machine.load("ext4")
        machine.shell(
            f"mkdir -p {SOURCES}; if ! mount -t ext4 -o ro {device} {SOURCES} 2>/dev/null; then mkfs.ext4 -q {device};"
            f"mount -t ext4 {device} {SOURCES}; python3 /lab/tools/lab_sources.py {SOURCES}; mount -o remount,ro {SOURCES}; fi", 400)

    def try_all(self, trial):
        outcomes = {}
        for name, step in STEPS.items():
            if name == "large" and trial.disk.largest is None:
                continue
            if name in ("again", "skip", "replace") and outcomes["plain"] != "arrives":
                self.say(f"{trial.disk.name}: {name}", "skipped", "plain did not arrive")
                continue
            try:
                self.say(f"{trial.disk.name}: {name}", "ok", step(trial))
                outcomes[name] = "arrives"
            except Failure as failure:
                self.say(f"{trial.disk.name}: {name}", "FAILED", failure)
                outcomes[name] = "fails"
        is_told = outcomes.get("tree") == "arrives"
        self.rows.append(row(
            trial.disk.name, outcomes["plain"], *((counted(list(trial.named.values())), trial.lost) if is_told else ("fails", "fails"))))

    def table(self):
        return "\n".join([*head(), *self.rows])

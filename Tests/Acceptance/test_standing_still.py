"""A disk that stands still: the connection stays alive, others are answered, each end can be ended, and nothing is lost."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from attack_hostile import CLOSE, FILE, Gone, Hostile, data, record, text_of
from devices import PATIENCE, Receiver, Work, end_well, other_code, random_file, sender, small_file
from disks import own_mounts
from needs import QUIET, disk_image, fuse, needs, strangers
from outside import MIB, Failure, equal, require, run_script, wait_for
from standing_disk import StandingDisk
from strange import RECEIPT, StrangeReceiver, StrangeSender, Together

PROMPT, SOON = 1.0, 2.0
"""How long a PING may go unanswered, and how long an end that is told to end may take, in seconds."""

BUSY, WRONG = "abort 4", "abort 1"
INTERRUPTED = 2


@pytest.fixture(name="trials")
def several(work):
    """Makes places for trials that go on at a time, each with folders and a home of its own."""
    own_mounts()
    made = []

    def new():
        made.append(Work(work.programs, work.is_long))
        # What they said is shown where one fails.
        made[-1].processes = work.processes
        return made[-1]

    yield new
    for one in made:
        one.clean()


def length(work):
    """How long the disk stands still: longer than every bound but that of silence, or far beyond that one."""
    return 60 if work.is_long else 6


class FrozenDisk:
    """An image with ext4, frozen by the kernel; thawed whatever becomes of this process."""

    def __init__(self, work):
        base = work.folder(None)
        self.folder, image = f"{base}/mounted", f"{base}/image"
        os.mkdir(self.folder)
        with open(image, "wb") as file:
            file.truncate(128 * MIB)
        equal(subprocess.run(["mkfs.ext4", "-q", "-F", image], **QUIET).returncode, 0, "exit code of mkfs.ext4")
        work.mount(self.folder, "-o", "loop", image)
        self.thawing = None
        work.undone.callback(self.go_on)

    def place(self, name):
        os.mkdir(f"{self.folder}/{name}")
        return f"{self.folder}/{name}"

    def stand(self, _=None):
        # It ends with this process at the latest.
        self.thawing = subprocess.Popen(["sh", "-c", 'cat; fsfreeze -u "$0"', self.folder], stdin=subprocess.PIPE)
        equal(subprocess.run(["fsfreeze", "-f", self.folder], **QUIET).returncode, 0, "exit code of fsfreeze")

    def wait(self):
        """Nothing tells that something waits for it."""
        time.sleep(0.3)

    def go_on(self):
        if self.thawing:
            self.thawing.stdin.close()
            self.thawing.wait()
            self.thawing = None


# A receiver


class Reception:
    """A receiver, a strange sender, and a disk that stands still from a step on."""

    STEPS = ("offer", "beginning", "rest", "finish")

    def __init__(self, place, work, step, operation=None, options=(), has_store=False, is_there=False, kind=StandingDisk):
        self.place, self.step, self.operation = place, step, operation
        self.disk = kind(work)
        self.destination = work.place()[1] if has_store else self.disk.place("new")
        if has_store:
            work.environment["PEER_HOME"] = self.disk.place("home")
            os.chmod(work.environment["PEER_HOME"], 0o700)
        self.receiver = Receiver(work, self.destination, options=options)
        self.sender = StrangeSender(place, self.receiver.port)
        if is_there:
            os.mkdir(f"{self.destination}/tree")
            for name, content in self.sender.files.items():
                small_file(f"{self.destination}/tree/{os.fsdecode(name)}", content)
        self.sender.pair(self.receiver.pairing_code)

    # Steps of the sender: what it says, and what it hears

    def say(self, step):
        if step == "offer":
            self.sender.offer()
        elif step == "beginning":
            self.sender.stream.send(self.sender.joining() + b"".join(self.sender.beginning()))
        elif step == "rest":
            self.sender.stream.send(b"".join(self.sender.rest()))
        else:
            self.sender.finish()

    def hear(self, step):
        if step == "offer":
            self.sender.hear_ledger()
            self.sender.connect_stream()
        elif step in ("beginning", "rest"):
            self.sender.hear_written()
        else:
            self.sender.hear_done()

    def begin(self):
        """Everything up to the step, and what is said in it while the disk stands still."""
        for step in self.STEPS[:self.STEPS.index(self.step)]:
            self.say(step)
            self.hear(step)
        self.disk.stand(self.operation)
        self.say(self.step)
        self.disk.wait()

    # What is promised

    def stands(self, seconds):
        """Watches while the disk stands still; the slowest answer to a PING."""
        begun, told = time.monotonic(), self.told()
        equal(answer(self.place, self.receiver.port, self.receiver.pairing_code), BUSY, "what another sender is told")
        require(time.monotonic() - begun < SOON, f"another sender waited {time.monotonic() - begun:.1f} s")
        time.sleep(max(0, begun + seconds - time.monotonic()))
        slowest = self.sender.control.slowest(begun)
        require(slowest < PROMPT, f"a PING went unanswered for {slowest:.1f} s")
        require(self.sender.control.ended is None, f"the connection ended: {self.sender.control.ended}")
        if self.step in ("beginning", "rest"):
            require(self.told() - told > seconds / 2, f"progress was told {self.told() - told} times in {seconds} s")
        return slowest

    def told(self):
        return len(self.receiver.events("progress"))

    def goes_on(self, seconds):
        """The disk goes on, and what was sent arrives."""
        self.begin()
        slowest = self.stands(seconds)
        self.disk.go_on()
        for step in self.STEPS[self.STEPS.index(self.step):]:
            if step != self.step:
                self.say(step)
            self.hear(step)
        equal(self.receiver.wait(), 0, "exit code")
        equal(self.receiver.events("interrupted"), [], "interruptions")
        self.sender.arrived(self.destination)
        return slowest

    def is_ended(self, signals=1, is_killable=True):
        """SIGTERM while the disk stands still: the sender is told, and the program ends; after how many seconds."""
        self.begin()
        begun = time.monotonic()
        for _ in range(signals):
            self.receiver.signal(signal.SIGTERM)
            time.sleep(0.1)
        if signals == 1:
            told = text_of(self.sender.control.hear(CLOSE, SOON))
            equal(int.from_bytes(told[1], "big"), INTERRUPTED, "code of CLOSE")
        if not is_killable:
            # The kernel ends a process when its last thread has come out of the disk.
            wait_for("end of the first thread", SOON, lambda: has_ended(self.receiver.pid))
            took = time.monotonic() - begun
            self.disk.go_on()
        equal(self.receiver.wait(SOON), 143, "exit code")
        return time.monotonic() - begun if is_killable else took


def has_ended(process):
    """Whether a process has said that it ends, though threads of it still wait for the disk."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"
    return True


def answer(place, port, code):
    """What another sender is told that wants to pair."""
    other = Hostile(place)
    try:
        other.connect("127.0.0.1", port).ask(f"pair {code}")
        return "paired"
    except Gone as gone:
        return str(gone)
    finally:
        other.end()


def shown(found):
    return f"PONG after {1000 * max(found.values()):.0f} ms at most"


RECEPTIONS = {
    "the offer is judged": {"step": "offer"},
    "the staging area is made": {"step": "offer", "operation": "make a directory"},
    "the destination is listed": {"step": "offer", "operation": "list", "options": ["--existing", "skip"], "is_there": True},
    "the store is written": {"step": "offer", "has_store": True},
    "a folder is made": {"step": "beginning", "operation": "make a directory"},
    "a file is made": {"step": "beginning", "operation": "create"},
    "what an older state left is removed": {"step": "rest", "operation": "remove"},
    "data is written": {"step": "rest", "operation": "write"},
    "a sync goes on": {"step": "rest", "operation": "sync"},
    "all has arrived": {"step": "finish"},
    "the store is written behind that": {"step": "finish", "has_store": True},
}


@pytest.mark.takes(14)
@needs(fuse, strangers)
def test_a_receiver_on_a_disk_that_stands_still(work, trials, place):
    """the receiver's disk stands still, in each phase: PING is answered, others are turned away, and then everything arrives"""
    receptions = {name: (trials(), values) for name, values in RECEPTIONS.items()}
    done = Together({
        name: lambda own=own, values=values: Reception(place, own, **values).goes_on(length(work))
        for name, (own, values) in receptions.items()})
    work.figure = shown(done.found)


@pytest.mark.takes(5)
@needs(fuse, strangers)
def test_a_receiver_that_is_ended_while_its_disk_stands_still(work, trials, place):
    """SIGTERM while the receiver's disk stands still, in each phase: it says so to the sender and ends"""
    def trial(name):
        # An import that has begun is brought to its end, unless there is a second signal.
        return Reception(place, trials(), **RECEPTIONS[name]).is_ended(2 if RECEPTIONS[name]["step"] == "finish" else 1)

    done = Together({name: lambda name=name: trial(name) for name in RECEPTIONS})
    work.figure = f"after {max(done.found.values()):.1f} s at most"


@pytest.mark.takes(4)
@needs(fuse, strangers)
def test_a_receiver_whose_sender_leaves_while_its_disk_stands_still(work, place):
    """a sender leaves an offer that the disk holds up: the receiver judges codes, and the next one is received"""
    own_mounts()
    first = Reception(place, work, "offer")
    first.begin()
    first.sender.hostile.end()
    code = first.receiver.event("code", 2)["code"]
    begun = time.monotonic()
    equal(answer(place, first.receiver.port, other_code(code)), WRONG, "what a wrong code is told")
    # A wrong code holds up the next one of its network.
    time.sleep(1.1)
    second = StrangeSender(place, first.receiver.port)
    second.pair(code)
    took = time.monotonic() - begun
    second.offer()
    time.sleep(1)
    slowest = second.control.slowest(begun)
    require(slowest < PROMPT, f"a PING went unanswered for {slowest:.1f} s")
    first.disk.go_on()
    first.sender = second
    for step in first.STEPS:
        if step != "offer":
            first.say(step)
        first.hear(step)
    equal(first.receiver.wait(), 0, "exit code")
    second.arrived(first.destination)
    work.figure = f"paired after {took:.1f} s"


@pytest.mark.takes(14)
@needs(disk_image, strangers)
def test_a_receiver_on_a_disk_that_is_frozen(work, trials, place):
    """the kernel freezes the receiver's disk: PING is answered, and SIGTERM is told at once"""
    goes_on, ends = trials(), trials()
    done = Together({
        "data is written": lambda: Reception(place, goes_on, "rest", kind=FrozenDisk).goes_on(length(work)),
        "SIGTERM": lambda: Reception(place, ends, "rest", kind=FrozenDisk).is_ended(is_killable=False)})
    work.figure = f"PONG after {1000 * done.found['data is written']:.0f} ms at most, ended after {done.found['SIGTERM']:.1f} s"


# A sender


class Sending:
    """A sender, a strange receiver, and a disk that stands still from a step on."""

    def __init__(self, place, work, step):
        self.step = step
        self.disk = StandingDisk(work)
        has_store = step in ("accept", "finish", "done")
        old = work.place()[0] if has_store else self.disk.place("old")
        for number in range(20):
            random_file(f"{old}/file {number}", 50_000)
        if has_store:
            work.environment["PEER_HOME"] = self.disk.place("home")
            os.chmod(work.environment["PEER_HOME"], 0o700)
        self.receiver = StrangeReceiver(place)
        self.taken = None
        if step == "walk":
            # What it looks at before it connects is no part of the walk.
            self.disk.stand("list", is_alone=True)
        self.sender = sender(work, [old], self.receiver.port, self.receiver.CODE)
        self.receiver.pair()

    def begin(self):
        """Everything up to the step, at which the disk stands still."""
        if self.step == "export":
            self.disk.stand("read")
        elif self.step == "accept":
            self.disk.stand()
        if self.step != "walk":
            self.receiver.accept()
        if self.step in ("finish", "done"):
            self.receiver.take_stream()
            if self.step == "finish":
                self.disk.stand()
            self.receiver.take()
            if self.step == "done":
                self.receiver.hear_finish()
                self.disk.stand()
                self.receiver.say_done()
        elif self.step != "walk":
            self.taken = self.receiver.begin_taking()
        self.disk.wait()

    def stands(self, seconds):
        begun = time.monotonic()
        time.sleep(seconds)
        slowest = self.receiver.control.slowest(begun)
        require(slowest < PROMPT, f"a PING went unanswered for {slowest:.1f} s")
        require(self.receiver.control.ended is None, f"the connection ended: {self.receiver.control.ended}")
        return slowest

    def goes_on(self, seconds):
        self.begin()
        slowest = self.stands(seconds)
        self.disk.go_on()
        if self.step == "walk":
            self.receiver.accept()
            self.taken = self.receiver.begin_taking()
        if self.taken:
            self.taken()
        if self.step != "done":
            self.receiver.hear_finish()
            self.receiver.say_done()
        self.receiver.control.hear(RECEIPT)
        equal(self.sender.wait(), 0, "exit code")
        equal(self.sender.events("interrupted"), [], "interruptions")
        equal(self.receiver.frames > 0, True, "whether data came")
        return slowest

    def is_ended(self):
        self.begin()
        begun = time.monotonic()
        self.sender.signal(signal.SIGTERM)
        told = text_of(self.receiver.control.hear(CLOSE, SOON))
        equal(int.from_bytes(told[1], "big"), INTERRUPTED, "code of CLOSE")
        equal(self.sender.wait(SOON), 143, "exit code")
        return time.monotonic() - begun


SENDINGS = {
    "the walk": "walk", "the export": "export", "the transfer is noted": "accept", "the end of the data is noted": "finish",
    "DONE is noted": "done"}


@pytest.mark.takes(14)
@needs(fuse, strangers)
def test_a_sender_on_a_disk_that_stands_still(work, trials, place):
    """the sender's disk stands still, in each phase: PING is answered, and then everything is sent"""
    own = {name: trials() for name in SENDINGS}
    done = Together({
        name: lambda name=name, step=step: Sending(place, own[name], step).goes_on(length(work)) for name, step in SENDINGS.items()})
    work.figure = shown(done.found)


@pytest.mark.takes(5)
@needs(fuse, strangers)
def test_a_sender_that_is_ended_while_its_disk_stands_still(work, trials, place):
    """SIGTERM while the sender's disk stands still, in each phase: it says so to the receiver and ends"""
    done = Together({name: lambda step=step: Sending(place, trials(), step).is_ended() for name, step in SENDINGS.items() if step != "done"})
    work.figure = f"after {max(done.found.values()):.1f} s at most"


# Both


def both(work, has_destination):
    """A transfer whose source or destination stands still in the middle."""
    disk = StandingDisk(work)
    old, new = work.place()
    if has_destination:
        new = disk.place("new")
    else:
        old = disk.place("old")
    random_file(f"{old}/large", 32 * MIB)
    for number in range(100):
        small_file(f"{old}/small-{number}", b"%d" % number)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, 24 * MIB)
    sending = sender(work, [f"{old}/{name}" for name in sorted(os.listdir(old))], link.port, receiver.pairing_code)

    def arrived():
        found = receiver.events("progress")
        return found and found[-1]["bytes"] > 8 * MIB

    wait_for("a quarter of the transfer", PATIENCE, lambda: arrived() or sending.poll() or receiver.poll())
    disk.stand()
    disk.wait()
    time.sleep(length(work))
    disk.go_on()
    end_well(sending, receiver)
    equal((sending.events("interrupted"), receiver.events("interrupted")), ([], []), "interruptions")
    run_script("check-trees", "--inside", old, new)


@pytest.mark.takes(16)
@needs(fuse)
def test_a_transfer_whose_disk_stands_still(work, trials):
    """the disk of one end stands still in the middle of a transfer: no interruption, both end well, trees are equal"""
    Together({name: lambda own=trials(), is_new=is_new: both(own, is_new) for name, is_new in (("source", False), ("destination", True))})


# A long ledger

ITEMS = 1_000_000


@pytest.mark.option("--long")
@pytest.mark.takes(150)
@needs(strangers)
def test_a_ledger_of_a_million_items(work, place):
    """a million items are told: PING is answered meanwhile, memory is bounded, and SIGTERM ends the receiver"""
    new = work.place()[1]
    receiver = Receiver(work, new)
    strange = StrangeSender(place, receiver.port, files={})
    strange.pair(receiver.pairing_code)
    strange.offer(ITEMS)
    strange.hear_ledger()
    strange.connect_stream()
    strange.stream.send(strange.joining())
    fill(strange)
    before = peak(receiver)
    strange.control.close()
    strange.stream.end()
    # It takes 10 MiB a second: what is queued in front of an answer is waited for.
    strange.prepare = [f"narrow {64 << 10}"]
    strange.come_back(pause=0.1)
    begun = time.monotonic()
    strange.offer(ITEMS)
    strange.hear_ledger()
    took, slowest = time.monotonic() - begun, strange.control.slowest(begun)
    memory = peak(receiver) - before
    strange.control.close()
    # It reads nothing of it.
    strange.come_back()
    strange.control.is_over = True
    strange.control.join()
    strange.offer(ITEMS)
    time.sleep(0.5)
    begun = time.monotonic()
    receiver.signal(signal.SIGTERM)
    equal(receiver.wait(SOON), 143, "exit code")
    ended = time.monotonic() - begun
    work.figure = (
        f"told in {took:.1f} s, PONG after {1000 * slowest:.0f} ms at most, {memory / MIB:.0f} MiB more than the {before / MIB:.0f} at most"
        f" before, ended after {ended:.1f} s")
    require(slowest < PROMPT and memory < 64 * MIB, work.figure)


def fill(strange, at_a_time=10_000):
    """Sends a million empty files, and waits until all are acknowledged."""
    for sequence, first in enumerate(range(0, ITEMS, at_a_time)):
        strange.stream.send(data(sequence, b"".join(
            record(b"tree/%07d" % number, FILE, number) for number in range(first, first + at_a_time))))
        wait_until_written(strange.stream, sequence + 1)


def wait_until_written(stream, count):
    written = 0
    while written < count:
        found = stream.read(PATIENCE)
        require(found, "nothing is acknowledged")
        written = int.from_bytes(found[1][:8], "big")


def peak(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

"""Floods of connections, and an honest sender during and after them."""

import subprocess
import time

from attack_place import PORT, Failure, Network, Receiver, Watch, send
from outside import MIB, check_line


class Flood:
    """A kind of flood, and its addresses: `others` and `many` are addresses other than the
    sender's, `own` is the sender's."""

    def __init__(self, name, kind, origin, hold=64, rate=0, limit=0):
        self.name, self.kind, self.origin = name, kind, origin
        self.hold, self.rate, self.limit = hold, rate, limit

    def title(self):
        return f"{self.name}, {ORIGINS[self.origin]}"

    def pairing_bound(self):
        """In how many seconds a sender must be paired."""
        return 30 if self.origin == "own" else 5

    def return_bound(self):
        return 30 if self.origin == "own" else 10


ORIGINS = {
    "other": "one address", "many": f"{Network.MANY} addresses", "own": "the sender's address", "nobody": "forged addresses",
    "far": f"{Network.ALL:,} addresses far away", "network": "one /64 far away"}

KINDS = [
    ("one byte a second", "trickle", {"hold": 64}),
    ("connected and silent", "silent", {"hold": 64}),
    ("silent after TLS", "tls", {"hold": 32}),
    ("silent after PAIR_A", "share", {"hold": 32}),
    ("connect and close, 30/s", "close", {"hold": 8, "rate": 30}),
    ("connect and close, at full rate", "close", {"hold": 128}),
    ("one burst of 145", "close", {"hold": 145, "rate": 1_000_000, "limit": 145}),
    ("one burst of 1,000", "silent", {"hold": 1000, "rate": 1_000_000, "limit": 1000}),
    ("2 that dial again", "silent", {"hold": 2}),
    ("8 that dial again", "silent", {"hold": 8}),
    ("200 that dial again", "silent", {"hold": 200}),
]

LONG = [Flood("half-open", "syn", "nobody", rate=5000), *(
    Flood(name, kind, origin, **options) for name, kind, options in KINDS for origin in ("other", "many", "own")), *(
    Flood(name, kind, origin, **options) for name, kind, options in KINDS[-1:] + KINDS[5:6] + KINDS[3:4]
    for origin in ("far", "network"))]

SHORT = [flood for flood in LONG if flood.title() in (
    "connect and close, at full rate, one address", "8 that dial again, 200 addresses", "silent after TLS, the sender's address")]


class Running:
    """A running flood."""

    def __init__(self, place, flood, port=PORT):
        network = place.namespaces()
        within = "sender" if flood.origin == "own" else "attacker"
        target = Network.RECEIVER_6 if flood.origin == "network" else Network.RECEIVER
        sources = {
            "other": [Network.ATTACKERS, "1"], "many": [Network.ATTACKERS, str(Network.MANY)], "own": [],
            "nobody": [Network.NOBODY, "200"], "far": [Network.FAR, str(Network.ALL)],
            "network": [Network.FAR_6, "1000000000"]}[flood.origin]
        self.begun = time.monotonic()
        self.popen = subprocess.Popen(
            [*network.enter(within), place.program("flood"), flood.kind, target, str(port), str(flood.hold),
             str(flood.rate), str(flood.limit), *sources], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        place.processes.append(self)
        self.place = place
        self.figures = None

    def end(self):
        """Ends it in any state."""
        if self in self.place.processes:
            self.place.processes.remove(self)
            self.popen.kill()
            self.popen.communicate(timeout=30)

    def stop(self):
        """Stops it; returns how many connections were established, and their results."""
        if self.figures is None:
            out, _ = self.popen.communicate(timeout=30)
            self.end()
            took = time.monotonic() - self.begun
            try:
                begun, connected, dropped, refused, shaken = map(int, out.split())
            except ValueError:
                raise Failure(f"the flood ended by itself: {self.popen.returncode}") from None
            self.figures = {
                "begun": begun, "connected": connected, "dropped": dropped, "refused": refused, "shaken": shaken, "took": took}
        return self.figures


def receiver(place):
    return Receiver(place, within=place.namespaces().enter("receiver"), listen=str(PORT))


def honest(place, path, code, options=(), home=None):
    return send(place, [path], f"{Network.RECEIVER}:{PORT}", code, options, place.namespaces().enter("sender"), home)


class Checks:
    """Prints lines, and records whether all passed."""

    def __init__(self):
        self.failed = 0

    def tell(self, name, is_good, figure):
        self.failed += not is_good
        print(check_line(f"{name:88}", "ok" if is_good else "FAILED", figure), flush=True)

    def make(self, name, action, *arguments):
        """Makes checks; an error that prevents them is a failure of its own."""
        try:
            action(*arguments)
        except Failure as failure:
            self.tell(name, False, str(failure))

    def skip(self, name, why):
        print(check_line(f"{name:88}", "skipped", why), flush=True)


def reach(run, events, bound):
    """Seconds from a sender's start to the first of some events, and the outcome; waits a while
    beyond the bound."""
    limit = run.begun + bound + 5
    while time.monotonic() < limit and run.ended_at is None:
        for name in events:
            event = run.find(name)
            if event:
                return event["at"] - run.begun, None
        time.sleep(0.01)
    for name in events:
        if run.find(name):
            return run.find(name)["at"] - run.begun, None
    took = (run.ended_at or time.monotonic()) - run.begun
    return took, f"ended with {run.code}: {run.words()}" if run.ended_at is not None else "not yet"


def tell_reach(checks, name, result, bound):
    took, problem = result
    checks.tell(name, problem is None and took <= bound, f"{took:.2f} s of {bound} s" + (f", {problem}" if problem else ""))
    return problem is None


def under(place, checks, flood):
    """Pairs while the flood runs, breaks the transfer, comes back while it runs, and 2 s after
    it."""
    title, source = flood.title(), place.source(64 * MIB)
    one = receiver(place)
    running = Running(place, flood)
    try:
        # Long enough that connections pile up behind a limit for each second.
        time.sleep(3 if place.is_long else 1.5)
        first = honest(place, source, one.pairing_code(), ["--limit", "4M"])
        is_paired = tell_reach(checks, f"{title}: pairing meanwhile", reach(first, ["paired"], flood.pairing_bound()), flood.pairing_bound())
        if not is_paired:
            first.end()
            running.stop()
            one.end()
            # Paired without a flood, so that a sender can come back.
            one = receiver(place)
            first = honest(place, source, one.pairing_code(), ["--limit", "4M"])
            reach(first, ["paired"], 20)
            running = Running(place, flood)
        first.wait_event("progress", 5)
        begin_again(first, one)
        bound = flood.return_bound()
        second = honest(place, source, None, ["--limit", "4M"], first.home)
        tell_reach(checks, f"{title}: coming back meanwhile", reach(second, ["resumed", "done"], bound), bound)
        begin_again(second, one)
        figures = running.stop()
        time.sleep(2)
        third = honest(place, source, None, home=first.home)
        tell_reach(checks, f"{title}: coming back 2 s after", reach(third, ["resumed", "done"], bound), bound)
        codes = third.wait(30), one.wait(30)
        rate = figures["connected"] / figures["took"]
        checks.tell(f"{title}: the transfer arrives", codes == (0, 0), f"exit codes {codes[0]} and {codes[1]}, {rate:.0f} connects/s")
        third.end()
    finally:
        running.end()
        one.end()


def begin_again(run, one):
    """Breaks a transfer: the sender is killed."""
    run.popen.kill()
    run.wait()
    run.end()
    if one.ended_at is not None:
        raise Failure(f"the receiver ended with {one.code}: {one.words()}")
    one.wait_event("interrupted", 3)


def after(place, checks, flood, seconds):
    """The cost of a flood for the receiver, its remains after 2 s, and a pairing then."""
    title = flood.title()
    one = receiver(place)
    try:
        time.sleep(0.2)
        before = one.takes()
        watch = Watch(one)
        running = Running(place, flood)
        time.sleep(seconds)
        half_open = one.half_open()
        figures = running.stop()
        spent = one.takes()["cpu"] - before["cpu"]
        watch.is_over.set()
        time.sleep(2)
        most, left = watch.end(), one.takes()
        events = figures["connected"] or figures["begun"]
        per_thousand = 1000 * spent / max(1, events)
        checks.tell(
            f"{title}: CPU", True, f"{per_thousand:.3f} s a 1,000 connects ({events:,} in {figures['took']:.1f} s, {spent:.2f} s, "
            f"{figures['shaken']} through TLS, {figures['dropped']} dropped, {half_open} half open at the end)")
        checks.tell(
            f"{title}: descriptors and threads are back", left["descriptors"] <= before["descriptors"] and left["threads"] <= before["threads"],
            "; ".join(f"{key}: {before[key]}, at most {most[key]}, then {left[key]}" for key in ("descriptors", "threads")))
        checks.tell(
            f"{title}: memory is back", left["memory"] <= before["memory"] + 8 * MIB,
            f"{before['memory'] / MIB:.1f} MiB, at most {most['memory'] / MIB:.1f}, then {left['memory'] / MIB:.1f}")
        sender = honest(place, place.source(1000), one.pairing_code())
        is_paired = tell_reach(checks, f"{title}: pairing 2 s after", reach(sender, ["paired"], flood.pairing_bound()), flood.pairing_bound())
        if is_paired:
            codes = sender.wait(30), one.wait(30)
            checks.tell(f"{title}: that transfer arrives", codes == (0, 0), f"exit codes {codes[0]} and {codes[1]}")
        sender.end()
    finally:
        one.end()


def floods(place, checks, only=""):
    place.namespaces()
    chosen = [flood for flood in (LONG if place.is_long else SHORT) if only in flood.title()]
    for flood in chosen:
        checks.make(flood.title(), under, place, checks, flood)
        if place.is_long or flood.kind == "close":
            checks.make(flood.title(), after, place, checks, flood, 5 if place.is_long else 2)

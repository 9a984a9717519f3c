"""A transfer between two Debian systems, in a network of its own, and the key exchange of its
connections."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from outside import ROOT, Failure, equal, require, run_script

SECONDS = 120


class Lines:
    """A process whose lines are kept; waiting for a line has a bound."""

    def __init__(self, words, **options):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, errors="replace", **options)
        self.lines, self.change, self.ended = [], threading.Condition(), False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.change:
                self.lines.append(line.rstrip("\n"))
                self.change.notify_all()
        with self.change:
            self.ended = True
            self.change.notify_all()

    def find(self, what, choose):
        """The first value of a line that is not None."""
        def first():
            return next((value for value in map(choose, list(self.lines)) if value is not None), None)

        with self.change:
            self.change.wait_for(lambda: first() is not None or self.ended, SECONDS)
            value = first()
        if value is None:
            raise Failure(f"{what} was not seen: {' '.join(self.lines)[-400:]}")
        return value

    def wait(self):
        code = self.process.wait(SECONDS)
        self.reader.join(SECONDS)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def reaped(process, seconds=10):
    """The exit code of a child that has to end by itself by now; it is killed if it does not."""
    limit = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > limit:
            os.kill(process, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        time.sleep(0.01)


def event(name):
    """Chooses an event of `--json` by its name."""
    def choose(line):
        found = json.loads(line)
        return found if found.get("event") == name else None
    return choose


def transfer(sender, receiver, network, number):
    """Sends a difficult tree from one system to the other; the set of key exchange groups that were
    used."""
    source, target = (f"{system.root}/tmp/{kind}-{number}" for system, kind in ((sender, "from"), (receiver, "to")))
    os.makedirs(source)
    os.makedirs(target)
    run_script("make-tree", f"{source}/tree")
    running = []

    def start(words, **options):
        running.append(Lines(words, **options))
        return running[-1]

    try:
        inside = receiver.words(["peer", "receive", f"/tmp/to-{number}", "--listen", "127.0.0.1:0", "--no-announce", "--json"], network)
        receiving = start(inside, stdin=subprocess.DEVNULL, env=receiver.environment)
        port = receiving.find("a port", event("listening"))["port"]
        code = receiving.find("a code", event("code"))["code"]
        relay = start(["nsenter", f"--net={network}", sys.executable, "-B", f"{ROOT}/Lab/lib/key_exchange.py", str(port)])
        way = relay.find("the relay's port", lambda line: line)
        inside = sender.words(["peer", "send", f"/tmp/from-{number}/tree", "--to", f"127.0.0.1:{way}", "--code-file", "-", "--json"], network)
        sending = start(inside, stdin=subprocess.PIPE, env=sender.environment)
        sending.process.stdin.write(f"{code}\n")
        sending.process.stdin.close()
        codes = sending.wait(), receiving.wait()
        equal(codes, (0, 0), f"exit codes of sender and receiver: {sending.lines[-1:]} {receiving.lines[-1:]}")
        run_script("check-trees", f"{source}/tree", f"{target}/tree")
        groups = set(relay.lines[1:])
        require(groups, "no handshake was seen")
        return groups
    finally:
        for one in running:
            one.end()
        for place in source, target:
            shutil.rmtree(place, ignore_errors=True)

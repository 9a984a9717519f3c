"""Sends to one standing receiver from many devices at once, each in a network namespace of its own.

Usage: Lab/senders PEER [--count N] [--size MIB] [--at-once N]
  PEER        the program
  --count N   how many senders there are (default: 20)
  --size MIB  how much each sends (default: 16)
  --at-once N how many are served at the same time (default: 1)

Each device pairs first, one after the other. Then all send at once: one is stopped in the middle,
one is killed, and a stranger has a wrong code. All others have to be done; the stopped one goes on
when it is continued, and the killed one when it is started again. Prints a line for each, with the
seconds. Needs root. Exits 0 if all this is so.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TAG = f"peer-senders-{os.getpid()}"
ADDRESS = "10.77.0.1"


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=20)


class Place:
    """A device: its namespace, its home, its events."""

    def __init__(self, work, number):
        self.number, self.space, self.path = number, f"{TAG}-{number}", f"{work}/{number}"
        os.mkdir(self.path)
        ip("netns", "add", self.space)
        ip("link", "add", f"n{number}", "netns", f"{TAG}-0", "type", "veth", "peer", "name", "net", "netns", self.space)
        ip("-n", self.space, "addr", "add", f"10.77.0.{number + 1}/16", "dev", "net")
        for space, link in ((self.space, "net"), (self.space, "lo"), (f"{TAG}-0", f"n{number}")):
            ip("-n", space, "link", "set", link, "up")
        if number:
            ip("-n", f"{TAG}-0", "link", "set", f"n{number}", "master", "switch")

    def start(self, peer, *arguments, code=None):
        """Runs the program here."""
        self.began = time.monotonic()
        with open(f"{self.path}/events", "ab") as events:
            self.run = subprocess.Popen(
                ["ip", "netns", "exec", self.space, peer, *arguments, "--json"], stdin=subprocess.PIPE, stdout=events,
                stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.path, "PEER_HOME": f"{self.path}/home"})
        self.run.stdin.write(b"" if code is None else f"{code}\n".encode())
        self.run.stdin.close()
        return self

    def events(self, kind):
        """Its events of a kind so far."""
        with open(f"{self.path}/events", encoding="utf-8") as file:
            return [event for event in (json.loads(line) for line in file if line.endswith("\n")) if event["event"] == kind]

    def end(self, patience=900):
        """Waits for its end; says the code and the seconds."""
        return self.run.wait(patience), time.monotonic() - self.began


def wait_for(condition, patience=60):
    """Waits until something is so."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > deadline:
            sys.exit("senders: it takes too long")
        time.sleep(0.02)
    return found


def campaign(peer, count, size, at_once, work, places):
    """Returns whether all is as it should be."""
    ip("netns", "add", f"{TAG}-0")
    ip("-n", f"{TAG}-0", "link", "add", "switch", "type", "bridge")
    ip("-n", f"{TAG}-0", "link", "set", "switch", "up")
    ip("-n", f"{TAG}-0", "addr", "add", f"{ADDRESS}/16", "dev", "switch")
    ip("-n", f"{TAG}-0", "link", "set", "lo", "up")
    os.mkdir(f"{work}/receiver")
    receiver = Place.__new__(Place)
    receiver.space, receiver.path = f"{TAG}-0", f"{work}/receiver"
    places.append(receiver.start(peer, "receive", f"{work}/incoming", "--keep", "--at-once", str(at_once), "--remember", "--into",
                                 "{device}", "--no-announce"))
    senders = [Place(work, number) for number in range(1, count + 1)]
    places += senders
    remember = ["--to", ADDRESS, "--remember", "--code-file", "-"]
    for number, one in enumerate(senders):
        os.mkdir(f"{one.path}/Documents")
        with open(f"{one.path}/first", "wb") as file:
            file.write(b"%d" % number)
        with open(f"{one.path}/Documents/data", "wb") as file:
            file.write(os.urandom(size << 20))
        if number != 2:
            codes = wait_for(lambda want=number - (number > 2): receiver.events("code")[want:])
            one.start(peer, "send", f"{one.path}/first", *remember, code=codes[0]["code"])
            if one.end()[0] != 0:
                sys.exit(f"senders: device {one.number} does not pair")
    stopped, killed, wrong = senders[0], senders[1], senders[2]
    begin = time.monotonic()
    for one in (stopped, killed):
        one.start(peer, "send", f"{one.path}/Documents", *remember, "--limit", "4M")
        wait_for(lambda one=one: any(event["bytes"] > 0 for event in one.events("progress") if event["totalBytes"] > 1 << 20), 300)
        if one is killed:
            killed.run.send_signal(signal.SIGKILL)
            killed.run.wait()
            continue
        stopped.run.send_signal(signal.SIGSTOP)
        # The others wait until it gives way.
        for other in [wrong, *senders[3:]]:
            other.start(peer, "send", f"{other.path}/Documents", *remember, code="0000-0000" if other is wrong else None)
    results = {one.number: one.end() for one in [wrong, *senders[3:]]}
    print(f"all others: {time.monotonic() - begin:.0f} s")
    stopped.run.send_signal(signal.SIGCONT)
    results[stopped.number] = stopped.end()
    killed.start(peer, "send", f"{killed.path}/Documents", *remember)
    results[killed.number] = killed.end()
    for number, (code, seconds) in sorted(results.items()):
        print(f"device {number}: {code} after {seconds:.1f} s")
    receiver.run.terminate()
    arrived = sum(os.path.getsize(f"{folder}/Documents/data") == size << 20
                  for folder in (entry.path for entry in os.scandir(f"{work}/incoming") if not entry.name.startswith("."))
                  if os.path.exists(f"{folder}/Documents/data"))
    print(f"arrived: {arrived} of {count - 1}; the receiver ended with {receiver.end()[0]}")
    return arrived == count - 1 and all((code == 0) == (number != wrong.number) for number, (code, _) in results.items())


def main():
    """Runs the campaign, and removes its traces."""
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1].split("\n\n", maxsplit=1)[0])
    parser.add_argument("peer")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=1)
    options = parser.parse_args()
    places = []
    with tempfile.TemporaryDirectory(prefix="peer-senders-") as work:
        os.chmod(work, 0o755)
        try:
            return 0 if campaign(os.path.abspath(options.peer), options.count, options.size, options.at_once, work, places) else 1
        finally:
            for place in places:
                if getattr(place, "run", None) and place.run.poll() is None:
                    place.run.kill()
                    place.run.wait()
            for number in range(options.count + 1):
                subprocess.run(["ip", "netns", "del", f"{TAG}-{number}"], check=False, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())

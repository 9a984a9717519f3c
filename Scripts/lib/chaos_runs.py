"""Runs of the command in a round of chaos, and the records that they leave behind."""

import collections
import json
import os
import signal
import subprocess
import threading
import time

from outside import require


# The records of the two sides


def remembered(home):
    """The transfers that a PEER_HOME remembers: the names of their folders, and whether each is a
    tombstone.

    The state is a line, then fields, then a checksum. Field 14 lists the parts; field 8 of each is
    its DONE.
    """
    found = {}
    folder = f"{home}/transfers"
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        try:
            with open(f"{folder}/{name}/state", "rb") as file:
                data = file.read()
        except FileNotFoundError:
            found[name] = False
            continue
        magic = b"peer transfer 3\n"
        require(data.startswith(magic), f"what is remembered as {name} has another format")
        parts = fields(data[len(magic):-16])[14]
        found[name] = True
        while parts:
            length = int.from_bytes(parts[:4])
            found[name] &= 8 in fields(parts[4:4 + length])
            parts = parts[4 + length:]
    return found


def fields(data):
    """The values of fields, which have a tag and a length each, by their tags."""
    found, place = {}, 0
    while place < len(data):
        tag, size = data[place], 1 << (data[place + 1] >> 6)
        length = int.from_bytes(data[place + 1:place + 1 + size]) & (1 << 8 * size - 2) - 1
        place += 1 + size
        found[tag] = data[place:place + length]
        place += length
    return found


# Processes


POLITE = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
"""The signals upon which a side ends in order, and the exit codes."""

ENDING = {**POLITE, **{number: -number for number in (signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1)}}
"""The signals that end a side, and what its end is then."""


class Run:
    """One run of the command. Its lines are read as they come, kept in a file, and passed to the
    round."""

    binary = None
    running = set()

    def __init__(self, place, number, role, arguments, home, text, tell, user_home):
        self.role, self.number, self.arguments = role, number, arguments
        self.out_path, self.err_path = f"{place}/{role}-{number}.out", f"{place}/{role}-{number}.err"
        self.events = collections.deque(maxlen=200)
        self.ends = []  # The events that end a run.
        self.code = self.ended_at = None
        self.kills = 0
        self.struck = []  # The signals that were sent, and when.
        self.begun = time.monotonic()
        with open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                [Run.binary, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, cwd=place,
                env={**os.environ, "HOME": user_home, "PEER_HOME": home})
        Run.running.add(self)
        try:
            self.popen.stdin.write(text.encode())
            self.popen.stdin.close()
        except BrokenPipeError:
            pass
        self.reader = threading.Thread(target=self.read, args=(tell,), daemon=True)
        self.reader.start()

    def read(self, tell):
        with open(self.out_path, "wb") as log, self.popen.stdout as out:
            for line in out:
                moment = time.monotonic()
                log.write(line if len(line) < 2000 else line[:2000] + b"...\n")
                try:
                    event = json.loads(line)
                    event["event"]
                except (ValueError, KeyError, TypeError):
                    # A killed run may leave half a line behind.
                    if not self.kills or line.endswith(b"\n"):
                        tell("broken line", (self, line[:200]))
                    continue
                event["at"] = moment
                if len(line) < 2000:
                    self.events.append(event)
                if event["event"] in ("done", "error"):
                    self.ends.append(event)
                tell("event", (self, event))
        code = self.popen.wait()
        self.ended_at = time.monotonic()
        self.code = code
        Run.running.discard(self)
        tell("ended", self)

    def is_running(self):
        return self.code is None and self.popen.returncode is None

    def strike(self, number):
        """Sends it a signal; returns whether it was running."""
        if self.popen.poll() is not None:
            return False
        if number in ENDING:
            self.kills += 1
            self.struck.append((number, time.monotonic()))
        self.popen.send_signal(number)
        return True

    def expected(self):
        """The ends that the signals may have led to; a program that has just been started watches for
        none yet."""
        return {end for number, _ in self.struck for end in (ENDING[number], -number)}

    def is_interrupted(self):
        """Whether its user has ended it in order, which the other side is told."""
        return any(number in POLITE for number, _ in self.struck)

    def is_told(self):
        """Whether it has reported that all is done."""
        return any(event["event"] == "done" for event in self.ends)

    def last_words(self):
        with open(self.out_path, "rb") as out, open(self.err_path, "rb") as err:
            lines = [line[:300] for line in out.read().splitlines()[-6:] + err.read().splitlines()[-4:]]
        return [line.decode(errors="replace") for line in lines]

    def end(self):
        for number, seconds in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
            if self.popen.poll() is None:
                self.popen.send_signal(number)
                self.popen.send_signal(signal.SIGCONT)
                self.reader.join(seconds)

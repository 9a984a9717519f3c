"""The two ends of a transfer in a round of Lab/power: one in the machine, one outside."""

import contextlib
import json
import os
import signal
import subprocess
import time

from outside import require


class End:
    """One run of a command that prints events. `number` counts the runs of one role."""

    def __init__(self, role, number):
        self.role, self.number = role, number
        self.events = []
        self.is_settled = self.is_interrupted = False

    def hear(self, line):
        """The event in a line, if it is whole; a killed run may leave half a line."""
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            event["at"] = time.monotonic()
            self.events.append(event)
            return [event]
        return []

    def last(self, name):
        return next((event for event in reversed(self.events) if event["event"] == name), None)

    def words(self):
        error = self.last("error")
        return f"{self.role} {self.number} ended with {self.code()}" + (f": {error['message']}" if error else "")


class Inside(End):
    """A command in the machine, which may be cut off."""

    def __init__(self, role, number, machine, words, home, text=""):
        super().__init__(role, number)
        self.machine, self.read, self.is_cut = machine, 0, False
        self.command = machine.begin(*words, text=text, PEER_HOME=home, HOME=home)

    def news(self):
        lines = self.command.lines
        found = []
        while self.read < len(lines):
            found += self.hear(lines[self.read])
            self.read += 1
        return found

    def code(self):
        return "cut" if self.is_cut else self.command.status

    def signal(self, number):
        self.command.signal(number)

    def end(self):
        """It has ended with its machine."""
        self.is_cut = True


class Outside(End):
    """A process of this machine."""

    def __init__(self, role, number, words, path, home, text=""):
        super().__init__(role, number)
        self.rest = b""
        os.makedirs(home, exist_ok=True)
        with open(path, "wb") as out, open(f"{path}.errors", "wb") as errors:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=out, stderr=errors, env={**os.environ, "PEER_HOME": home, "HOME": home})
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(text.encode())
            self.process.stdin.close()
        self.output = open(path, "rb")

    def news(self):
        if self.output.closed:
            return []
        *lines, self.rest = (self.rest + self.output.read()).split(b"\n")
        return [event for line in lines for event in self.hear(line)]

    def code(self):
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self.output.close()


def wait_event(end, name, seconds):
    """The first event of a name."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        is_over = end.code() is not None
        end.news()
        found = next((event for event in end.events if event["event"] == name), None)
        if found is not None or is_over:
            break
        time.sleep(0.01)
    require(found is not None, f"no '{name}' within {seconds} s; {end.words()}")
    return found


def interrupt(end):
    end.signal(signal.SIGINT)

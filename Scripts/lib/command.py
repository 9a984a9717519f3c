"""One command with its output and its end; one that hangs tells where, and is ended with all that
it started in its session."""

import os
import select
import signal
import subprocess
import threading

GRACE = 10
"""How many seconds a request to end, and a kill, may take."""


class Command:
    """A command in a session of its own. Only `result` reads its exit code, so that until then no
    other process gets its number."""

    def __init__(self, words, environment):
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, env=environment)
        self.hung = []
        self.reaping = threading.Lock()
        self.ended, self.given_up = threading.Event(), threading.Event()

    def lines(self):
        """The lines of its output, until nothing has it open for writing any more."""
        output, rest = self.process.stdout, b""
        while not self.given_up.is_set():
            if not select.select([output], [], [], 1)[0]:
                continue
            piece = os.read(output.fileno(), 1 << 16)
            if not piece:
                break
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        if rest:
            yield rest.decode(errors="replace")

    def result(self):
        """Its exit code, and the seconds of processor time of it and of all children that it has
        waited for. Called once, after the lines."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        with self.reaping:
            _, status, usage = os.wait4(self.process.pid, 0)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.ended.set()
        self.process.stdout.close()
        return self.process.returncode, usage.ru_utime + usage.ru_stime

    def hang(self):
        """Notes where it hangs, and ends it."""
        self.hung = ["it did not end; at that time ran:", *running(self.process.pid)]
        self.end()

    def end(self):
        """Ends it: first with a request, then by force; at last its output counts as ended, too."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.reaping:
                if self.ended.is_set():
                    return
                os.killpg(self.process.pid, number)
            if self.ended.wait(GRACE):
                return
        self.given_up.set()


def running(process):
    """A line for each process of a tree: its number, name and state, and where in the kernel its
    threads wait."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = parent_of(name)
            children.setdefault(parent, []).append(int(name))
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop(0)
        found.append(f"  {described(one)}")
        waiting += sorted(children.get(one, []))
    return found


def parent_of(process):
    fields = text_of(f"/proc/{process}/stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else None


def described(process):
    head, _, tail = text_of(f"/proc/{process}/stat").rpartition(")")
    if not tail:
        return f"{process}: ended"
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        threads = []
    places = [text_of(f"/proc/{process}/task/{thread}/wchan") or "?" for thread in threads]
    counts = ", ".join(f"{places.count(place)} in {place}" for place in sorted(set(places)))
    return f"{process}: {head.partition('(')[2]}, state {tail.split()[0]}, threads: {counts or 'none'}"


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

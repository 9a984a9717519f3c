"""Reads the resources of long-lived processes from /proc, again and again, into a CSV file."""

import contextlib
import csv
import os
import threading
import time

from soak_judge import Sample

INTERVAL = 3.0
"""How many seconds there are between two samples of a process."""


def read(process, name, at, is_judged):
    """A sample of a process; None if it has ended."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file)
        if status["State"].split()[0] in "ZX" or "VmRSS" not in status:
            return None
    except (OSError, ValueError):
        return None
    exact = {}
    # The kernel walks the pages for this file; the numbers in `status` are behind by some pages.
    with contextlib.suppress(OSError), open(f"/proc/{process}/smaps_rollup", encoding="ascii", errors="replace") as file:
        exact = {line.split(":")[0]: int(line.split()[1]) << 10 for line in list(file)[1:]}
    descriptors = None
    with contextlib.suppress(OSError):
        descriptors = len(os.listdir(f"/proc/{process}/fd"))
    kilobytes = {key: int(status[key].split()[0]) << 10 for key in ("VmRSS", "RssAnon")}
    return Sample(
        at, name, exact.get("Anonymous", kilobytes["RssAnon"]), exact.get("Pss"), exact.get("Rss", kilobytes["VmRSS"]),
        descriptors, int(status["Threads"]), is_judged)


class Sampler(threading.Thread):
    """Samples processes every few seconds, and when a round has ended."""

    def __init__(self, path, begun):
        super().__init__(name="sampler", daemon=True)
        self.begun, self.samples = begun, []
        self.processes = {}
        """The number of each process by its name, and whether only its samples between two rounds
        are judged, since it does other things during a round."""
        self.rounds = 0
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.file = open(path, "w", encoding="ascii", newline="")
        self.table = csv.writer(self.file)
        self.table.writerow([*Sample._fields, "rounds"])

    def add(self, name, process, rests=False):
        self.processes[name] = process, rests

    def run(self):
        while not self.is_over.wait(INTERVAL):
            self.look(False)

    def look(self, is_between):
        """Samples everything; `is_between` says that no round is under way."""
        with self.lock:
            for name, (process, rests) in list(self.processes.items()):
                if is_between and not rests:
                    continue
                sample = read(process, name, time.monotonic() - self.begun, is_between or not rests)
                if sample is not None:
                    self.samples.append(sample)
                    self.table.writerow([*sample._replace(at=round(sample.at, 1)), self.rounds])
            self.file.flush()

    def settle(self, seconds=3.0):
        """After a round: waits until descriptors and threads stay the same, and samples."""
        limit, seen = time.monotonic() + seconds, []
        while time.monotonic() < limit:
            seen.append([
                (len(os.listdir(f"/proc/{process}/fd")), len(os.listdir(f"/proc/{process}/task")))
                for process, rests in self.processes.values() if rests and os.path.isdir(f"/proc/{process}/fd")])
            if len(seen) > 5 and all(one == seen[-1] for one in seen[-5:]):
                break
            time.sleep(0.05)
        self.rounds += 1
        self.look(True)

    def close(self):
        self.is_over.set()
        if self.is_alive():
            self.join(10)
        self.file.close()

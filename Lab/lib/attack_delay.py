"""The time that a process loses because other processes use this machine's processors."""

import contextlib
import glob
import os


class Delay:
    """The time that a process has lost since this value was made.

    It is the time in which the process's thread that waited most for a processor waited for one,
    times the share of other processes in the work of the processors meanwhile. A thread that waits
    behind the process's own threads thus has lost nothing, and neither has one that sleeps.
    """

    MOST = 3.0
    """How many seconds may be lost at most, on the busiest machine too."""

    def __init__(self, pid):
        self.pid = pid
        self.queued = self.begun = self.queues()
        self.busy = self.own = self.seconds = 0.0
        # The process may have ended already.
        with contextlib.suppress(OSError):
            self.busy, self.own = self.works()

    def look(self):
        """Measures anew, as long as the process runs: what happens after the last look is not
        lost."""
        with contextlib.suppress(OSError):
            queued = self.queues()
            busy, own = self.works()
            self.queued = {**self.queued, **queued}
            waited = max((total - self.begun.get(thread, 0) for thread, total in self.queued.items()), default=0.0)
            self.seconds = lost(waited, busy - self.busy, own - self.own)

    def queues(self):
        """How many seconds each of its threads has waited for a processor so far."""
        found = {}
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                found[path] = int(file.read().split()[1]) / 1e9
        return found

    def works(self):
        """The seconds for which all processors have worked so far, and for which they have worked
        for the process. The process's are read last, so that they are not too few."""
        ticks = os.sysconf("SC_CLK_TCK")
        with open("/proc/stat", encoding="ascii") as file:
            # Their order: user, nice, system, idle, waiting for disks, interrupts (two), stolen.
            busy = [int(word) for word in file.readline().split()[1:9]]
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            own = file.read().rpartition(")")[2].split()[11:13]
        return (sum(busy) - busy[3] - busy[4]) / ticks, sum(map(int, own)) / ticks


def lost(waited, busy, own):
    """The lost seconds of a process that waited for so long, while the processors worked for so
    many seconds, and for so many for itself."""
    share = max(0.0, busy - own) / busy if busy > 0 else 0.0
    return min(waited * share, Delay.MOST)

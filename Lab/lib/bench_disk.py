"""A disk that waits: a folder behind it answers, but opening, reading and creating take a while, as
on a server.

Any number of requests may wait at the same time. It is the hanging disk of the acceptance checks,
and continues by itself.

Usage: bench_disk.py DEVICE FOLDER
"""

import collections
import contextlib
import os
import select
import subprocess
import sys
import time

sys.path += [f"{os.path.dirname(os.path.abspath(__file__))}/../../{place}" for place in ("Scripts/lib", "Tests/Acceptance")]

from outside import ROOT, require  # noqa: E402
from forgetful_disk import HEADER, LARGEST_WRITE, call  # noqa: E402
from standing_disk import INTERRUPT, OPERATIONS, Standing  # noqa: E402

SECONDS = 0.002
OPEN = 14
AWAITED = {OPEN, *OPERATIONS["read"], *OPERATIONS["create"]}


def can_mount():
    """Whether this process may mount a file system that a process serves."""
    asked = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False)
    return os.path.exists("/dev/fuse") and asked.returncode == 0


@contextlib.contextmanager
def waiting_disk(place, behind):
    """Mounted at a folder of the same name; yields that folder's path."""
    require(can_mount(), "a disk that waits takes /dev/fuse, and root who may mount it")
    folder = f"{place.fresh('mounted')}/{os.path.basename(behind)}"
    os.mkdir(folder)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    call("mount", b"waiting", folder.encode(), b"fuse", 0, f"fd={device},rootmode=40000,user_id=0,group_id=0".encode())
    server = subprocess.Popen([sys.executable, "-B", __file__, str(device), behind], pass_fds=[device])
    os.close(device)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
        server.kill()
        server.wait()


class Waiting(Standing):
    def serve(self):
        os.set_blocking(self.device, False)
        due = collections.deque()
        while True:
            select.select([self.device], [], [], max(0, due[0][0] - time.monotonic()) if due else None)
            while due and due[0][0] <= time.monotonic():
                self.take(due.popleft()[1])
            try:
                request = os.read(self.device, LARGEST_WRITE + 4096)
            except (BlockingIOError, InterruptedError, FileNotFoundError):
                continue
            except OSError:
                return
            operation = HEADER.unpack_from(request)[1]
            if operation in AWAITED:
                due.append((time.monotonic() + SECONDS, request))
            elif operation != INTERRUPT:
                self.take(request)


if __name__ == "__main__":
    Waiting(int(sys.argv[1]), None, sys.argv[2]).serve()

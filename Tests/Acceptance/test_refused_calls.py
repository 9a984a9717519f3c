"""The command where the kernel, or a container, refuses a system call."""

import errno
import os
import subprocess
import sys

from devices import small_file, transfer
from outside import equal
from surroundings import refusing

OPENAT2 = 437

# Succeeds if the call is refused with the given error.
PROBE = f"""
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
result = libc.syscall({OPENAT2}, -100, b".", ctypes.create_string_buffer(24), 24)
sys.exit(0 if result == -1 and ctypes.get_errno() == int(sys.argv[1]) else 1)
"""


def test_openat2_is_refused(work):
    """a kernel without openat2, a container that refuses it: everything arrives all the same"""
    for error in (errno.ENOSYS, errno.EPERM):
        work.within = refusing(work, [OPENAT2], error)
        equal(subprocess.run([*work.within, sys.executable, "-c", PROBE, str(error)], check=False).returncode, 0, "the probe")
        old, new = work.place()
        for path in ("a/b/c", "a/b/d", "a/e", "f"):
            os.makedirs(os.path.dirname(f"{old}/root/{path}"), exist_ok=True)
            small_file(f"{old}/root/{path}", path.encode())
        os.symlink("../../..", f"{old}/root/a/out")
        os.link(f"{old}/root/f", f"{old}/root/a/b/hard")
        transfer(work, old, new)

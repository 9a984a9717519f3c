"""The command where the kernel, or a container, refuses a system call."""

import errno
import os
import subprocess
import sys

from devices import small_file, transfer
from outside import equal

OPENAT2 = 437

# Refuses one call to itself and its children, like a container's filter, and becomes the command.
LAUNCHER = """#!{python}
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def instruction(code, true, false, value):
    return struct.pack("HBBI", code, true, false, value)
program = instruction(0x20, 0, 0, 0) + instruction(0x15, 0, 1, {call}) + instruction(0x06, 0, 0, 0x50000 | {error}) \\
    + instruction(0x06, 0, 0, 0x7fff0000)
text = ctypes.create_string_buffer(program)
header = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0):
    sys.exit("the filter cannot be set")
if sys.argv[1:] == ["probe"]:
    sys.exit(0 if libc.syscall({call}, -100, b".", header, 24) == -1 and ctypes.get_errno() == {error} else 1)
os.execv({binary!r}, ["peer", *sys.argv[1:]])
"""


def refusing(work, error):
    """A command that runs peer without openat2."""
    path = f"{work.path}/without-openat2-{error}"
    small_file(path, LAUNCHER.format(python=sys.executable, call=OPENAT2, error=error, binary=f"{work.programs}/peer").encode())
    os.chmod(path, 0o755)
    equal(subprocess.run([path, "probe"], check=False).returncode, 0, "exit code of the probe")
    return path


def test_openat2_is_refused(work):
    """a kernel without openat2, a container that refuses it: everything arrives all the same"""
    for error in (errno.ENOSYS, errno.EPERM):
        work.binary = refusing(work, error)
        old, new = work.place()
        for path in ("a/b/c", "a/b/d", "a/e", "f"):
            os.makedirs(os.path.dirname(f"{old}/root/{path}"), exist_ok=True)
            small_file(f"{old}/root/{path}", path.encode())
        os.symlink("../../..", f"{old}/root/a/out")
        os.link(f"{old}/root/f", f"{old}/root/a/b/hard")
        transfer(work, old, new)

"""Surroundings of a process that keep something from it: commands that start another command there.

A check sets `work.within` to one of them.
"""

import errno
import os
import platform
import shutil
import sys

import pytest

from devices import small_file
from needs import needs, root
from outside import NOBODY

# Refuses some calls to itself and its children, like a container's filter, and becomes the command.
LAUNCHER = """#!{python}
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def instruction(code, true, false, value):
    return struct.pack("HBBI", code, true, false, value)
program = instruction(0x20, 0, 0, 0) + b"".join(
    instruction(0x15, 0, 1, call) + instruction(0x06, 0, 0, 0x50000 | {error}) for call in {calls})
program += instruction(0x06, 0, 0, 0x7fff0000)
text = ctypes.create_string_buffer(program)
header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0):
    sys.exit("the filter cannot be set")
os.execv(sys.argv[1], sys.argv[1:])
"""

# Becomes the command in a root that is no mount, in which the kernel refuses changes of mounts.
ENTER = """set -e
root=ROOT-$$
mkdir "$root"
for place in /*; do
  if [ -L "$place" ]; then cp -P "$place" "$root"
  elif [ -d "$place" ]; then
    mkdir "$root$place"
    case $root in "$place"/*) how=--bind ;; *) how=--rbind ;; esac
    mount $how "$place" "$root$place"
  fi
done
exec chroot "$root" "$@"
"""

CALLS = {
    "x86_64": {"mount": 165, "unshare": 272},
    "aarch64": {"mount": 40, "unshare": 97},
}


def refusing(work, calls, error=errno.EPERM):
    """Without some calls, given by their numbers."""
    path = f"{work.path}/without-{'-'.join(map(str, calls))}-{error}"
    small_file(path, LAUNCHER.format(python=sys.executable, calls=calls, error=error).encode())
    os.chmod(path, 0o755)
    return [path]


def container(work):
    """Without mounts and namespaces, as in most containers."""
    calls = CALLS[platform.machine()]
    return refusing(work, [calls["mount"], calls["unshare"], 428, 429, 442])


def chroot(work):
    """In a chroot; only for root. Each process has its own, with the same files."""
    script = f"{work.path}/enter"
    small_file(script, ENTER.replace("ROOT", f"{work.path}/root").encode())
    return ["unshare", "--mount", "--propagation", "private", "sh", script]


def without_program(name):
    """Without a program of the system: nothing can be started at its path."""
    more = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *more, "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', shutil.which(name)]


PLACES = [
    pytest.param(None, None, id="here"),
    pytest.param(NOBODY, None, id="as an unprivileged user", marks=needs(root)),
    pytest.param(None, container, id="without mounts and namespaces"),
    pytest.param(NOBODY, container, id="as an unprivileged user without mounts and namespaces", marks=needs(root)),
    pytest.param(None, chroot, id="in a chroot", marks=needs(root)),
    pytest.param(NOBODY, chroot, id="as an unprivileged user in a chroot", marks=needs(root)),
]
"""Users and their surroundings, as arguments of a check."""

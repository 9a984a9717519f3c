"""Runs a script again with its own processes, temporary folders and network, so that everything
that appears there is from that run."""

import os
import shutil
import subprocess
import sys

from outside import IS_ROOT, ROOT
from soak_leftovers import TEMPORARY

MARK = "PEER_SOAK_ALONE"

WORDS = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--net", "--propagation", "private"]

INIT = '"$@"; exit $?'
"""The first process of the run: a shell, which waits for processes that have lost their parent."""


def is_alone():
    return MARK in os.environ


def set_up():
    """Installs the missing tools, where this process may."""
    subprocess.run(
        ["bash", "-c", '. "$1/Scripts/lib/setup.sh"; set_up_alone', "bash", ROOT], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)


def begin(path):
    """Starts the script at the path again, alone; returns its exit code, or None if that is not
    possible here."""
    set_up()
    words = ["unshare", *([] if IS_ROOT else ["--user", "--map-root-user"]), *WORDS]
    if not shutil.which("unshare") or not shutil.which("ip"):
        return None
    if subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=False, stderr=subprocess.DEVNULL).returncode:
        return None
    return subprocess.run(
        [*words, "bash", "-c", INIT, "bash", sys.executable, path, *sys.argv[1:]], check=False,
        env={**os.environ, MARK: "1"}).returncode


def furnish(kept):
    """Gives this process its temporary folders and its network, with one interface besides the
    loopback. A folder that holds a kept file is left alone. Returns the folders that are its
    own."""
    own = []
    for folder in TEMPORARY:
        if os.path.isdir(folder) and not any(f"{os.path.realpath(path)}/".startswith(f"{folder}/") for path in [ROOT, *kept]):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,exec", "tmpfs", folder], check=True)
            own.append(folder)
    for line in ("link set lo up", "link add net type veth peer name cable", "addr add 10.99.0.1/24 dev net",
                 "link set cable up", "link set net up"):
        subprocess.run(["ip", *line.split()], check=True)
    return own

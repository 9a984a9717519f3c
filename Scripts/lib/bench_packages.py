"""What a bench compares with and looks through, installed where it is missing."""

import contextlib
import os
import shutil
import subprocess

from outside import ROOT, require

NEEDED = {
    "rsync": {"rsync": "rsync", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "sshd": "openssh-server"},
    "tar": {"tar": "tar", "socat": "socat"},
    "valgrind": {"valgrind": "valgrind"},
    "strace": {"strace": "strace"},
}
"""The commands of each, and the Debian packages that they come in."""

POLICY = "/usr/sbin/policy-rc.d"


def missing(name):
    """The packages that are not here."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    return {package for command, package in NEEDED[name].items() if not shutil.which(command, path=path)}


def provide(names):
    """Installs what is missing, and says so."""
    packages = sorted(set().union(*map(missing, names)) if names else ())
    if not packages:
        return
    with no_services():
        result = subprocess.run(
            ["bash", "-c", '. "$1/Scripts/lib/setup.sh"; shift; install_packages "$@"', "bash", ROOT, *packages],
            stdin=subprocess.DEVNULL, check=False)
    require(result.returncode == 0, f"{', '.join(packages)} could not be installed; --against leaves others out")


@contextlib.contextmanager
def no_services():
    """Meanwhile an installed server is not started as a service of the machine, where root can say so."""
    if os.geteuid() != 0 or os.path.exists(POLICY):
        yield
        return
    with open(POLICY, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(POLICY, 0o755)
    try:
        yield
    finally:
        os.unlink(POLICY)

"""What a bench compares with and looks through, installed where it is missing."""

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

INSTALL = """
. "$0/Scripts/lib/setup.sh"
policy=/usr/sbin/policy-rc.d
# Meanwhile an installed server is not started as a service of the machine, where root can say so.
if [ -w /usr/sbin ] && [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod +x "$policy"
  trap 'rm "$policy"' EXIT
fi
install_packages "$@"
"""


def missing(name):
    """The packages that are not here."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    return {package for command, package in NEEDED[name].items() if not shutil.which(command, path=path)}


def provide(names):
    """Installs what is missing, and says so."""
    packages = sorted(set().union(*map(missing, names)))
    if packages:
        result = subprocess.run(["bash", "-c", INSTALL, ROOT, *packages], stdin=subprocess.DEVNULL, check=False)
        require(result.returncode == 0, f"{', '.join(packages)} could not be installed; --against leaves others out")

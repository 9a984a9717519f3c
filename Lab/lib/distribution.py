"""Builds and tests the project in Debian's unstable suite, with what that suite has; prints a line
for each check.

Usage: distribution.py   as root, in a mount namespace of its own
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from outside import ROOT, Failure, check_line, require  # noqa: E402
from package_systems import FOLDER, Network, System, make_root_with, run  # noqa: E402
from package_transfers import transfer  # noqa: E402

SUITE = "sid"
PACKAGES = ["build-essential", "git", "libssl-dev", "openssl", "python3-pytest", "swiftlang"]
"""What the suite's minimum lacks for a build and its tests."""

BUILDER = "builder"
"""A user without rights."""

SECONDS = 7200
"""How long one step may take: a guard against hangs."""


class Trial:
    """The steps, of which each needs the one before."""

    def __init__(self, work):
        self.work, self.network, self.system = work, Network(), None

    def check(self, name, body):
        begun = time.monotonic()
        try:
            outcome, figure = "ok", body()
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            outcome, figure = "FAILED", str(failure)
        print(check_line(name, outcome, f"{time.monotonic() - begun:.0f} s: {figure}"), flush=True)
        return outcome == "ok"

    def run(self):
        return (
            self.check("a root of the suite, with its packages", self.make)
            and self.check("a release, without rights and without a network", self.build)
            and self.check("a folder moves between two processes of it", self.move)
            and self.check("Scripts/test, without rights and without a network", self.test))

    def make(self):
        lower = make_root_with(SUITE, PACKAGES, "swift")
        self.system = System(SUITE, self.work, lower)
        run(["mount", "--rbind", "/dev", f"{self.system.root}/dev"])
        self.system.run("useradd", "--create-home", BUILDER)
        run(["git", "clone", "-q", "--no-hardlinks", ROOT, f"{self.system.root}/home/{BUILDER}/peer"])
        self.system.run("chown", "-R", f"{BUILDER}:", f"/home/{BUILDER}")
        words = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", "swiftlang", "libssl-dev"]
        return self.system.run(*words).strip(", ")

    def as_builder(self, command):
        """The words of a command of the user's, in the clone."""
        user = ["setpriv", f"--reuid={BUILDER}", f"--regid={BUILDER}", "--init-groups", "env", "-i", f"HOME=/home/{BUILDER}",
                "PATH=/usr/bin:/bin", "LANG=C.UTF-8"]
        return self.system.words([*user, "bash", "-euc", f'cd "$HOME/peer"; {command}'], self.network.path)

    def build(self):
        run(self.as_builder(". Scripts/lib/setup.sh; find_swift; build_release --product peer"), SECONDS)
        program = f"/home/{BUILDER}/peer/.build/release-static/release/peer"
        self.system.run("install", "-s", program, "/usr/bin/peer")
        return f"{os.path.getsize(f'{self.system.root}/usr/bin/peer')} bytes without symbols"

    def move(self):
        return ", ".join(sorted(transfer(self.system, self.system, self.network.path, 1)))

    def test(self):
        stages = subprocess.Popen(self.as_builder("PEER_WHOLE_MODULES=1 Scripts/test"), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                  stdout=subprocess.PIPE, text=True, errors="replace")
        count = 0
        for line in stages.stdout:
            print(f"  {line}", end="", flush=True)
            count += " | ok " in line
        require(stages.wait() == 0, "it did not pass")
        return f"{count} stages passed"

    def end(self):
        if self.system:
            self.system.end()
        self.network.end()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    work = tempfile.mkdtemp(prefix="distribution-", dir=FOLDER)
    trial = Trial(work)
    try:
        return 0 if trial.run() else 1
    finally:
        trial.end()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

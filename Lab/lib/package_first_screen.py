"""Follows the README's first screen to the letter in two fresh systems, with a stopwatch: the package
is installed in both, and the two commands are typed at two terminals.

Usage: package_first_screen.py PACKAGE   as root, in a mount namespace of its own
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [f"{os.path.dirname(os.path.abspath(__file__))}/../../{place}" for place in ("Scripts/lib", "Tests/Acceptance")]

from outside import Failure, check_line, equal, require  # noqa: E402
from package_apps import Home  # noqa: E402
from package_systems import FOLDER, Network, make_root, run  # noqa: E402
from package_transfers import reaped  # noqa: E402
from pages import blocks, read  # noqa: E402

SECONDS = 60
RECEIVE, SEND = "peer receive --everything", "peer send --everything"
LAN = ["ip link add lan type veth peer name wall", "ip address add 192.0.2.7/24 dev lan", "ip link set lan up", "ip link set wall up",
       "ip route add default dev lan"]


class Terminal:
    """A command at a terminal."""

    def __init__(self, words):
        self.words, self.shown = words, b""
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execvp(words[0], words)

    def until(self, pattern):
        """The first group of a pattern, as soon as it is shown."""
        limit = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.shown)):
            ready, _, _ = select.select([self.file], [], [], max(0, limit - time.monotonic()))
            try:
                data = os.read(self.file, 4096) if ready else b""
            except OSError:  # The other end was closed.
                data = b""
            if not data:
                raise Failure(f"{self.words[-1]}: not seen: {pattern!r} in {self.shown[-400:]!r}")
            self.shown += data
        return found[1] if found.groups() else found[0]

    def type(self, text):
        os.write(self.file, text)

    def end(self, code):
        """Reads to the end, and requires an exit code."""
        try:
            while data := os.read(self.file, 4096):
                self.shown += data
        except OSError:
            pass
        os.close(self.file)
        equal(reaped(self.process), code, f"{self.words[-1]}, which showed {self.shown[-400:]!r}: exit code")


def follow(package, work):
    page = read("README.md")
    moving = blocks(page[page.index("## Move to a new computer"):page.index("## Send files")])
    equal([line for line in moving if line], [RECEIVE, SEND], "the commands of a move are")
    require(f"sudo apt install ./{os.path.basename(package)}" in blocks(page), f"the README does not install {os.path.basename(package)}")
    begin = time.monotonic()
    old, new = homes = [Home(name, user, make_root(codename), work, package) for name, user, codename in (("old", "anna", "bookworm"), ("new", "bert", "trixie"))]
    installed = time.monotonic()
    network, terminals = Network(), []
    try:
        for line in LAN:
            run(["nsenter", f"--net={network.path}", *line.split()])
        old.shell("mkdir Documents Pictures; echo letter > Documents/letter; head -c 5000000 /dev/urandom > Pictures/picture")
        receiver = Terminal(new.words(f"exec {RECEIVE}", network.path))
        sender = Terminal(old.words(f"exec {SEND}", network.path))
        terminals += [receiver, sender]
        sender.until(rb"or Enter: ")
        sender.type(b"\n")
        code = receiver.until(rb"Code: (\d{4}-\d{4})")
        sender.until(rb"Code shown on ")
        sender.type(code + b"\n")
        receiver.until(rb"Accept this\?")
        receiver.type(b"y\n")
        for terminal in terminals:
            terminal.end(0)
            require(b"did not arrive" not in terminal.shown, "a part did not arrive")
        ended = time.monotonic()
        for name in ("Documents/letter", "Pictures/picture"):
            contents = [open(f"{home.system.root}/home/{home.user}/{name}", "rb").read() for home in homes]
            require(contents[0] == contents[1], f"{name} differs")
    finally:
        network.end()
        for home in homes:
            home.close()
            home.system.end()
    return f"installed in both after {installed - begin:.0f} s, everything moved {ended - installed:.0f} s later; typed: two commands, Enter, a code, y"


def main(package):
    os.makedirs(FOLDER, exist_ok=True)
    work = tempfile.mkdtemp(prefix="first-", dir=FOLDER)
    try:
        print(check_line("the README's first screen", "ok", follow(os.path.abspath(package), work)))
        return 0
    except (Failure, OSError, subprocess.SubprocessError) as failure:
        print(check_line("the README's first screen", "FAILED", str(failure)))
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

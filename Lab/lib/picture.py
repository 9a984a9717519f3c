"""A transfer between two devices, each with its own network namespace, host name and terminal, and
its picture.

Usage: picture.py PEER FILE
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [f"{ROOT}/Tests/Acceptance", f"{ROOT}/Scripts/lib"]

from devices import Work, random_file  # noqa: E402
from networks import Network  # noqa: E402
from outside import MIB, require, run_script  # noqa: E402
from picture_drawing import drawing  # noqa: E402
from screen import Screen  # noqa: E402
from terminal import Terminal  # noqa: E402

RECEIVE, SEND = "peer receive ~/Incoming", "peer send Documents Pictures"
"""The commands that the users of the new and of the old device type."""

TITLE = "A transfer with peer, in two terminals"
DESCRIPTION = (
    f"On new-laptop '{RECEIVE}' shows an address and a code of eight digits. On old-laptop '{SEND}' finds new-laptop, "
    "asks for the code, and sends; both say in the end how much has arrived.")


class Shown:
    """A shell at a terminal of a device, and its screen."""

    def __init__(self, work, device, address):
        self.name, self.home = device.name, work.folder(None)
        device.ip("addr", "add", f"{address}/24", "dev", "net")
        device.ip("route", "add", "default", "via", "192.0.2.1")
        self.screen, self.shown = Screen(), 0
        begin = f'echo {self.name} > /proc/sys/kernel/hostname && cd "$HOME" && exec bash --norc --noprofile --noediting -i'
        self.terminal = Terminal(
            work, [*device.enter[1:], "unshare", "--uts", "sh", "-c", begin], program="/usr/bin/nsenter",
            settings={"HOME": self.home, "PEER_HOME": f"{self.home}/peer", "PS1": "$ ", "PATH": f"{work.programs}:{os.environ['PATH']}"})
        self.wait_for(r"\$ $")

    def wait_for(self, pattern):
        """Waits until the new part of the screen matches a pattern; returns the match."""
        found = self.terminal.wait_for(pattern.encode())
        self.screen.feed(self.terminal.read[self.shown:].decode())
        self.shown = len(self.terminal.read)
        return found.decode()

    def type(self, text):
        self.screen.typed(text)
        self.terminal.type(text)


def trees(home):
    """Folders like a user's."""
    for folder, ending, count, size in (("Documents", "pdf", 40, MIB), ("Pictures", "jpg", 60, 6 * MIB)):
        os.mkdir(f"{home}/{folder}")
        for number in range(1, count + 1):
            random_file(f"{home}/{folder}/{number:03d}.{ending}", size)


def transfer(work):
    """Lets one device send to the other; returns their names and screens, the receiver's first."""
    network = Network(work, "old-laptop", "new-laptop", has_v4=False)
    old, new = Shown(work, network["old-laptop"], "192.0.2.5"), Shown(work, network["new-laptop"], "192.0.2.7")
    trees(old.home)
    new.type(RECEIVE)
    code = new.wait_for(r"Code: (\d{4}-\d{4}) ")
    old.type(SEND)
    old.wait_for(r"Code shown on .*: ")
    old.type(code)
    for end in (old, new):
        end.wait_for(r"(?s)(?:Sent|Received) \d.*\$ $")
    for folder in ("Documents", "Pictures"):
        run_script("check-trees", f"{old.home}/{folder}", f"{new.home}/Incoming/{folder}")
    return [(end.name, end.screen) for end in (new, old)]


def windows(ends):
    """The name and the lines of each window, without the prompt that waits for the next command."""
    for name, screen in ends:
        require(screen.text()[-1] == "$ ", f"{name} shows {screen.text()[-1]!r} at its end")
        yield name, list(screen.runs())[:-1]


def masked(lines):
    """Lines in which one character replaces every figure that may differ in another run: the code,
    sizes and times, but no address."""
    return [re.sub(r"\d{4}-\d{4}|(?<=\()[0-9a-f]{4}(?=\))|(?<![\d.])\d+(\.\d+)? ([kMGT]?B|s)\b", "#", line).rstrip() for line in lines]


def main(peer, path):
    work = Work(os.path.dirname(os.path.abspath(peer)))
    try:
        ends = transfer(work)
    finally:
        work.clean()
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawing(TITLE, DESCRIPTION, windows(ends)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

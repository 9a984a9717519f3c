"""A terminal with a run of the command, and the output that is allowed there."""

import os
import pty
import re
import unicodedata

from devices import PATIENCE
from outside import require, wait_for

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# The command's own control sequences: to the start of the line, and erase it; or to the first line of a
# table, which is written anew line by line.
OWN = re.compile(r"\r\x1b\[2K|\r\x1b\[\d+A|\x1b\[[KJ]")


def clean(text, where):
    """Requires that nothing in a text can control a terminal."""
    for line in text.split("\n"):
        for character in line:
            require(unicodedata.category(character) not in INVISIBLE, f"{where}: U+{ord(character):04X} in {line!r}")


class Terminal:
    """One run of the command, or of another program, at a new terminal, with all its output."""

    def __init__(self, work, arguments, *typed, program=None, settings=None):
        """`typed` are questions, each with its answer; `settings` are additional environment
        variables."""
        self.read = b""
        self.typed = list(typed)
        self.arguments = arguments
        pid, self.descriptor = pty.fork()
        if pid == 0:
            home = work.home(None)
            environment = {
                **os.environ, "HOME": home, "PEER_HOME": home + "/peer", "LC_ALL": "C.UTF-8", "COLUMNS": "200", **(settings or {})}
            os.chdir(work.path)
            os.execve(program or work.binary, [program or work.binary, *arguments], environment)
        self.pid, self.code = pid, None
        os.set_blocking(self.descriptor, False)
        work.undone.callback(self.end)

    def pump(self):
        """Reads the new output, and answers the next question; returns whether the command still
        runs."""
        try:
            while part := os.read(self.descriptor, 65536):
                self.read += part
        except BlockingIOError:
            pass
        except OSError:
            if self.code is None:
                self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.typed and self.typed[0][0] in self.read:
            os.write(self.descriptor, self.typed.pop(0)[1] + b"\n")
        return self.code is None

    def type(self, line):
        os.write(self.descriptor, line.encode() + b"\n")

    def wait_for(self, pattern, count=1):
        """Waits until a pattern was written so often; returns the last match."""
        def found():
            self.pump()
            matches = re.findall(pattern, self.read)
            return matches[count - 1:count]

        return wait_for(f"{pattern!r} at the terminal, after {self.read[-300:]!r}", PATIENCE, found)[0]

    def wait(self):
        wait_for(f"end of 'peer {self.arguments[0]}' at a terminal", PATIENCE, lambda: not self.pump())
        return self.code

    def text(self):
        """The output, which must be clean."""
        text = self.read.decode("utf-8", "strict").replace("\r\n", "\n")
        clean(OWN.sub("\n", text), f"the terminal of 'peer {self.arguments[0]}'")
        return text

    def end(self):
        if self.code is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)

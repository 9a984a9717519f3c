"""Runs the README's first example as printed there, both ends at this machine's one address, with
`peer` found in PATH.

Usage: install_example.py   in a network namespace of its own, as a user whose HOME it may write to
"""

import os
import pty
import re
import select
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from outside import Failure, require, run_script  # noqa: E402
from package_transfers import Lines, reaped  # noqa: E402

SECONDS = 60


def typed(words, prompt, answer, folder):
    """Runs a command at a terminal and answers its questions; returns the terminal's text. The
    command must end with 0."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvp(words[0], words)
    shown, limit, is_answered = b"", time.monotonic() + SECONDS, False
    try:
        while True:
            ready, _, _ = select.select([terminal], [], [], max(0, limit - time.monotonic()))
            if not ready:
                raise Failure(f"{' '.join(words)}: still running: {shown[-300:]!r}")
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break  # The other end was closed.
            shown += data
            if not is_answered and prompt in shown:
                os.write(terminal, answer)
                is_answered = True
    finally:
        os.close(terminal)
        code = reaped(process)
    text = shown.decode(errors="replace")
    require(code == 0, f"{' '.join(words)} ended with {code}: {text[-400:]}")
    return text


def main():
    old = os.path.expanduser("~/old-computer")
    for name in "Documents", "Pictures":
        os.makedirs(f"{old}/{name}")
        with open(f"{old}/{name}/of {name}", "wb") as file:
            file.write(os.urandom(1 << 20))
    receiving = Lines(["bash", "-c", "exec peer receive ~/Incoming"], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        code = receiving.find("a code", lambda line: (re.findall(r"^Code: (\d{4}-\d{4})", line) or [None])[0])
        shown = typed(["peer", "send", "Documents", "Pictures"], b"Code shown on", f"{code}\n".encode(), old)
        require(receiving.wait() == 0, f"the receiver failed: {receiving.lines[-3:]}")
    finally:
        receiving.end()
    for name in "Documents", "Pictures":
        run_script("check-trees", f"{old}/{name}", os.path.expanduser(f"~/Incoming/{name}"))
    print(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown.strip().splitlines()[-1]))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(failure)
        sys.exit(1)

"""Opens the menu's entry of a package under a bare X server, as a user without rights, and closes the
browser; prints a line for each check.

Usage: package_desktop.py PACKAGE   as root, in a network namespace with loopback
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from outside import Failure, check_line, require, wait_for  # noqa: E402

NOBODY = 61234
SECONDS = 60
TITLE = "Which computer is this?"


def ended(words, **options):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False, **options)
    require(done.returncode == 0, f"{words[0]} ended with {done.returncode}: {done.stdout.decode(errors='replace')[-300:]}")
    return done.stdout.decode(errors="replace")


class Desktop:
    """An X server without a window manager, and a user at it."""

    def __init__(self, package, work):
        ended(["dpkg-deb", "-x", package, f"{work}/system"])
        self.work, self.entry = work, f"{work}/system/usr/share/applications/peer.desktop"
        os.mkdir(f"{work}/home")
        os.chown(f"{work}/home", NOBODY, NOBODY)
        reading, writing = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"], pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as number:
            display = number.readline().strip()
        require(display, "the X server does not start")
        self.environment = {
            "HOME": f"{work}/home", "DISPLAY": f":{display}", "PATH": f"{work}/system/usr/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "XDG_DATA_DIRS": f"{work}/system/usr/share:/usr/share", "BROWSER": "chromium --no-first-run %s"}

    def user(self, *words):
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", "-i", *(f"{name}={value}" for name, value in self.environment.items()), *words]

    def windows(self):
        found = re.findall(rf'(0x[0-9a-f]+) "([^"]*{re.escape(TITLE)}[^"]*)"', ended(["xwininfo", "-root", "-tree"], env=self.environment))
        return [number for number, _ in found]

    def assistant(self):
        """The number of the assistant's process, if it runs."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                if os.stat(f"/proc/{name}").st_uid == NOBODY and file.read().split(b"\0")[:2] == [b"peer", b"assistant"]:
                    return name
        return None

    def end(self):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == NOBODY:
                    os.kill(int(name), signal.SIGKILL)
        self.server.terminate()
        self.server.wait()


def validates(desktop):
    said = ended(["desktop-file-validate", desktop.entry])
    require(not said, said)


def opens(desktop):
    begin = time.monotonic()
    # What it starts keeps its standard output.
    with open(f"{desktop.work}/log", "wb") as log:
        subprocess.run(desktop.user("gio", "launch", desktop.entry), stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=SECONDS, check=True)
    try:
        wait_for("the page's window", SECONDS, desktop.windows)
    except Failure as failure:
        with open(f"{desktop.work}/log", encoding="utf-8", errors="replace") as log:
            raise Failure(f"{failure}: {log.read()[-300:]}") from None
    require(desktop.assistant(), "the assistant does not run")
    return f"the page is there after {time.monotonic() - begin:.1f} s"


def closes(desktop):
    [window, *_] = desktop.windows()
    ended(["xdotool", "windowkill", window], env=desktop.environment)
    begin = time.monotonic()
    wait_for("the assistant's end", SECONDS, lambda: not desktop.assistant())
    return f"the assistant ends {time.monotonic() - begin:.0f} s after the window"


def main(package):
    work, failures = tempfile.mkdtemp(prefix="peer-desktop-"), 0
    os.chmod(work, 0o755)
    desktop = Desktop(package, work)
    try:
        for name, check in (("the menu's entry is valid", validates), ("it opens the page in a browser", opens), ("the assistant ends with it", closes)):
            try:
                print(check_line(name, "ok", check(desktop) or ""), flush=True)
            except (Failure, OSError, subprocess.SubprocessError) as failure:
                failures += 1
                print(check_line(name, "FAILED", str(failure)), flush=True)
                break
    finally:
        desktop.end()
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

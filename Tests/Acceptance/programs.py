"""An app whose program is a script that speaks to its broker in bytes, and the script's answers
while it runs."""

import json
import os
import plistlib
import select
import signal
import subprocess
import sys

from devices import PATIENCE
from outside import ROOT, Failure, wait_for

APP = "org.example.book"
CLIP = f"{APP}.clip"
OTHER = "org.example.other"
GROUP = f"group.{APP}"
# An interpreter that every user may run.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def make_program(path, identifier, entitlements=None):
    """A bundle without an extension."""
    os.makedirs(path)
    with open(f"{ROOT}/Tests/Acceptance/credential_client.py", encoding="utf-8") as source:
        text = source.read()
    with open(f"{path}/program", "w", encoding="utf-8") as file:
        file.write(f"#!{PYTHON} -IS\n{text}")
    os.chmod(f"{path}/program", 0o755)
    lists = {
        "Info.plist": {
            "CFBundleIdentifier": identifier, "CFBundleShortVersionString": "1.0", "CFBundleExecutable": "program"},
        "Entitlements.plist": entitlements or {},
    }
    for name, content in lists.items():
        with open(f"{path}/{name}", "wb") as file:
            plistlib.dump(content, file)
    subprocess.run(["chmod", "-R", "a+rX", path], check=True)
    return path


class Place:
    """A home of a user, with a PEER_HOME in it."""

    def __init__(self, work, user=None):
        self.work = work
        self.user = user
        self.folder = f"{work.path}/{next(work.numbers)}"
        self.real_home = f"{self.folder}/home"
        self.home = f"{self.real_home}/peer"
        self.keys = f"{self.real_home}/.local/state/peer/keys"
        os.mkdir(self.folder, 0o755)
        os.mkdir(self.real_home, 0o700)
        if user is not None:
            os.chown(self.real_home, user, user)
        groups = {"com.apple.security.application-groups": [GROUP]}
        self.bundles = {
            APP: {"com.apple.developer.associated-appclip-app-identifiers": [CLIP], **groups},
            CLIP: {"com.apple.developer.parent-application-identifiers": [APP], **groups},
            OTHER: {},
        }
        for identifier, entitlements in self.bundles.items():
            make_program(f"{self.folder}/{identifier}", identifier, entitlements)

    def start(self, *arguments, within=(), **options):
        """A command of this user's, as a process with pipes."""
        rights = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        environment = {
            name: value for name, value in os.environ.items() if name not in ("XDG_STATE_HOME", "XDG_DATA_HOME")}
        return subprocess.Popen(
            [*within, self.work.binary, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=options.pop("cwd", "/"), env={**environment, "HOME": self.real_home, "PEER_HOME": self.home},
            **rights, **options)

    def peer(self, *arguments, code=0):
        """Runs a command until it ends; returns its output."""
        with self.start(*arguments) as process:
            output, errors = process.communicate(timeout=PATIENCE)
        if process.returncode != code:
            raise Failure(f"'peer {' '.join(arguments)}' ended with {process.returncode}: {errors.strip()[-300:]}")
        return output + errors

    def install(self, identifier):
        return self.peer("app", "install", f"{self.folder}/{identifier}")

    def run(self, identifier, **options):
        """A running app; the check ends it."""
        return self.work.undone.enter_context(Running(self, identifier, **options))

    def once(self, identifier, *expressions):
        """Starts an app, asks it, and ends it; returns the last answer."""
        with Running(self, identifier) as app:
            return [app(expression) for expression in expressions][-1]


class Running:
    """A running app. Called with an expression, it returns the value."""

    def __init__(self, place, identifier, **options):
        self.place = place
        # This word distinguishes its command line from others.
        self.mark = f"mark-{os.getpid()}-{next(place.work.numbers)}"
        self.process = place.start("app", "run", identifier, self.mark, **options)

    def __call__(self, expression):
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise Failure(f"no answer to {expression} within {PATIENCE} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"the app ended: {self.process.stderr.read()[-300:]}")
        return json.loads(line)

    def broker(self):
        """The process number of the broker; nothing if there is none."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/comm", encoding="utf-8") as file:
                    if file.read().strip() != "peer-broker":
                        continue
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    if self.mark in file.read() and state(name) != "Z":
                        return int(name)
            except OSError:
                continue
        return None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def end(self):
        """Ends it, and waits until its broker has ended as well."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        wait_for("the broker's end", PATIENCE, lambda: not self.broker())
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            if self.process.poll() is None:
                self.kill()
            self.process.stdout.close()
            self.process.stderr.close()


def state(process):
    """The letter of a process's state."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]

"""Two computers with homes and apps, between which everything moves."""

import os
import shutil
import subprocess

from bundles import make_bundle
from devices import Process, Waiting
from outside import Failure, remove


class Computer:
    """A home, and a PEER_HOME in which apps are installed."""

    def __init__(self, work, folder):
        self.work = work
        self.home = f"{folder}/home"
        self.peer_home = f"{folder}/peer"
        self.settings = {"HOME": self.home}
        """Environment variables of its processes."""
        os.mkdir(self.home, 0o700)

    def start(self, *arguments, text=""):
        return Process(self.work, list(arguments), text, home=self.peer_home, settings=self.settings)

    def peer(self, *arguments, code=0):
        """Runs a command until it ends; returns its output."""
        process = self.start(*arguments)
        found = process.wait()
        if found != code:
            raise Failure(f"'peer {' '.join(arguments)}' ended with {found}: {process.text().strip()[-300:]}")
        return process.text().strip()

    def receive(self, *options, port=0, is_inviting=True):
        return Waiting(self.work, ["--everything", *options], None, port, self.peer_home, is_inviting, self.settings)

    def send(self, port, code, *words):
        """Without a code, the sender must not need one."""
        return self.start(
            "send", *words, "--to", f"127.0.0.1:{port}", "--code-file", "-", "--json",
            text="" if code is None else code + "\n")

    def write(self, name, content="content\n"):
        """Writes a file of the home."""
        path = f"{self.home}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name):
        """A file of the home; None if it is not there."""
        try:
            with open(f"{self.home}/{name}", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def document(self, app, name="kept"):
        """The path of a document of an app."""
        return f"{self.peer_home}/containers/{app}/Documents/{name}"

    def has(self, app, name="kept"):
        """A document of an app; None if it is not there."""
        try:
            with open(self.document(app, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None


def slim_programs(work):
    """A folder with the test app's programs without their symbols: each installation is a copy."""
    folder = work.folder(work.memory)
    for name in ("TestApp", "TestAppExtension"):
        shutil.copy(f"{work.programs}/{name}", folder)
        if shutil.which("strip"):
            subprocess.run(["strip", f"{folder}/{name}"], check=True)
    return folder


def computers(work, apps):
    """Two computers with these apps; on the old one, each has a document with its name."""
    programs = slim_programs(work)
    folders = work.place()
    old = Computer(work, folders[0])
    for app in apps:
        bundle = make_bundle(programs, f"{folders[0]}/bundle", app)
        old.peer("app", "install", bundle)
        remove(bundle)
    new = Computer(work, folders[1])
    if apps:
        shutil.copytree(old.peer_home, new.peer_home, symlinks=True)
    for app in apps:
        old.peer("app", "run", app, "write", "Documents/kept", app)
    return old, new

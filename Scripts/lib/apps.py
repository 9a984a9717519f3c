"""The app that the checks migrate: its bundle, the two devices that have it, and what it shows."""

import os
import plistlib
import shutil
import subprocess

from devices import Process, Waiting
from outside import Failure, build, equal, require

ID = "org.example.test"
GROUP = "group.org.example.test"
PROGRAMS = {}


def program(name):
    """The path of one of the test app's programs, built when it is needed first."""
    if name not in PROGRAMS:
        path = build(name)
        require(path, f"{name} could not be built")
        PROGRAMS[name] = path
    return PROGRAMS[name]


def make_bundle(path, identifier=ID, version="1.0", change=None):
    """Puts a bundle together. `change` gets the property lists, by file, and may spoil them."""
    extension = "Extensions/Migration.appex"
    os.makedirs(f"{path}/{extension}")
    shutil.copy(program("TestApp"), f"{path}/TestApp")
    shutil.copy(program("TestAppExtension"), f"{path}/{extension}/TestAppExtension")
    groups = {"com.apple.security.application-groups": [GROUP]}
    lists = {
        "Info.plist": {
            "CFBundleIdentifier": identifier, "CFBundleShortVersionString": version, "CFBundleExecutable": "TestApp"},
        "Entitlements.plist": dict(groups),
        f"{extension}/Info.plist": {
            "CFBundleIdentifier": f"{identifier}.migration", "CFBundleExecutable": "TestAppExtension",
            "EXAppExtensionAttributes": {"EXExtensionPointIdentifier": "com.apple.app-migration"}},
        f"{extension}/Entitlements.plist": {
            "com.apple.developer.app-migration.data-container-access": [identifier], **groups},
    }
    if change:
        change(lists)
    for name, content in lists.items():
        with open(f"{path}/{name}", "wb") as file:
            plistlib.dump(content, file)
    subprocess.run(["chmod", "-R", "a+rX", path], check=True)
    return path


class Device:
    """A PEER_HOME in which the test app is installed."""

    def __init__(self, work, folder, user=None, identifier=ID, change=None):
        self.work = work
        self.user = user
        self.identifier = identifier
        self.home = f"{folder}/home"
        bundle = make_bundle(f"{folder}/bundle-{identifier}", identifier, change=change)
        self.peer("app", "install", bundle)

    def start(self, *arguments, text=""):
        return Process(self.work, list(arguments), text, self.user, self.home)

    def peer(self, *arguments, code=0):
        """Runs a command to its end; what it said on standard output."""
        process = self.start(*arguments)
        found = process.wait(30)
        if found != code:
            raise Failure(f"'peer {' '.join(arguments)}' ended with {found}: {process.text().strip()[-300:]}")
        with open(process.out_path, encoding="utf-8") as out:
            return out.read().strip() if code == 0 else process.errors()

    def run(self, *words):
        """What the app says when it is run with these words."""
        return self.peer("app", "run", self.identifier, *words)

    def write(self, **files):
        """Puts files into the app's Documents, by the app itself."""
        for name, content in files.items():
            self.run("write", f"Documents/{name}", content)

    def container(self, path=""):
        return f"{self.home}/containers/{self.identifier}/{path}"

    def group(self, path=""):
        return f"{self.home}/groups/{GROUP}/{path}"

    def documents(self):
        """The app's files, by name."""
        found = {}
        for folder, _, names in os.walk(self.container("Documents")):
            for name in names:
                with open(f"{folder}/{name}", "rb") as file:
                    found[os.path.relpath(f"{folder}/{name}", self.container("Documents"))] = file.read()
        return found

    def receive(self, *options, port=0):
        return Waiting(self.work, ["--app", self.identifier, *options], self.user, port, self.home)

    def send(self, port, code, *options):
        return self.start(
            "send", "--app", self.identifier, "--to", f"127.0.0.1:{port}", "--code-file", "-", "--json", *options,
            text="" if code is None else code + "\n")


def devices(work, user=None, **files):
    """Two devices, the old one with data."""
    old_folder, new_folder = work.place(user)
    old, new = Device(work, old_folder, user), Device(work, new_folder, user)
    old.write(**{"kept": "what was written", **files})
    with open(old.group("shared"), "w", encoding="utf-8") as file:
        file.write("shared")
    if user is not None:
        os.chown(old.group("shared"), user, user)
    return old, new


def move(old, new, *receiving, sending=(), codes=(0, 0), port=None):
    """One migration to its end: the sender and the receiver. `port` is that of something in between."""
    receiver = new.receive(*receiving)
    sender = old.send(port(receiver.port) if port else receiver.port, receiver.pairing_code, *sending)
    found = sender.wait(90), receiver.wait(30) if codes[1] is not None else None
    if found != codes:
        raise Failure(f"exit codes {found}, not {codes}: {sender.text()[-300:]} {receiver.text()[-300:]}")
    return sender, receiver


def said(process):
    """The lines that the extension wrote."""
    return [event["line"] for event in process.events("extensionOutput")]


def untouched(device):
    """Requires that no importer has run."""
    equal(device.documents(), {}, "the container holds")
    equal(device.run("status"), "none", "the status at first launch")

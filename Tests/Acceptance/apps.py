"""The app that the checks migrate: its bundle, the two devices that have it, and its output."""

import os

from bundles import GROUP, ID, make_bundle
from devices import Process, Waiting, end_well
from outside import Failure, equal, remove


class Device:
    """A PEER_HOME in which the test app is installed."""

    def __init__(self, work, folder, user=None, identifier=ID, program="TestAppExtension", info=None):
        self.work = work
        self.user = user
        self.identifier = identifier
        self.home = f"{folder}/home"
        bundle = make_bundle(work.programs, f"{folder}/bundle-{identifier}", identifier, program, info)
        self.peer("app", "install", bundle)
        # The installed copy and the bundle are both large.
        remove(bundle)

    def start(self, *arguments, text=""):
        return Process(self.work, list(arguments), text, self.user, self.home)

    def peer(self, *arguments, code=0):
        """Runs a command until it ends; returns its standard output."""
        process = self.start(*arguments)
        found = process.wait()
        if found != code:
            raise Failure(f"'peer {' '.join(arguments)}' ended with {found}: {process.text().strip()[-300:]}")
        return process.output().strip() if code == 0 else process.errors()

    def run(self, *words):
        """The app's output when it is run with these words."""
        return self.peer("app", "run", self.identifier, *words)

    def write(self, **files):
        """Has the app write files into its Documents."""
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

    def receive(self, *options, port=0, is_inviting=True):
        return Waiting(self.work, ["--app", self.identifier, *options], self.user, port, self.home, is_inviting)

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
    """Runs one migration until it ends; returns the sender and the receiver. `port` is that of a
    relay between them."""
    receiver = new.receive(*receiving)
    sender = old.send(port(receiver.port) if port else receiver.port, receiver.pairing_code, *sending)
    found = sender.wait(), receiver.wait()
    if found != codes:
        raise Failure(f"exit codes {found}, not {codes}: {sender.text()[-300:]} {receiver.text()[-300:]}")
    return sender, receiver


def send_again(old, new, *receiving):
    """Continues a migration without a code, successfully; returns the sender."""
    receiver = new.receive(*receiving)
    sender = old.send(receiver.port, None)
    end_well(sender, receiver)
    return sender


def said(process):
    """The lines that the extension wrote."""
    return [event["line"] for event in process.events("extensionOutput")]


def untouched(device):
    """Requires that no importer has run."""
    equal(device.documents(), {}, "the container holds")
    equal(device.run("status"), "none", "the status at first launch")


def complaints(process):
    """The notices of a device, such as one about a lack of confinement."""
    return [event["message"] for event in process.events("notice") + process.events("unconfined")]

"""Apps on one device: installed, run, interrupted, removed."""

import os
import plistlib
import random
import signal

from devices import Process
from outside import equal, require

APP = "org.example.notes"
GROUP = "group.notes"
POINT = "com.apple.app-migration"
ACCESS = "com.apple.developer.app-migration.data-container-access"
GROUPS = "com.apple.security.application-groups"


def properties(path, values):
    with open(path, "wb") as file:
        plistlib.dump(values, file, fmt=random.choice([plistlib.FMT_XML, plistlib.FMT_BINARY]))


def program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def make_bundle(path, text="", version="1.0"):
    """A bundle whose app is a shell script."""
    folder = f"{path}/Extensions/Migration.appex"
    os.makedirs(folder)
    names = {"CFBundleIdentifier": APP, "CFBundleShortVersionString": version, "CFBundleExecutable": "Notes"}
    properties(f"{path}/Info.plist", names)
    properties(f"{path}/Entitlements.plist", {GROUPS: [GROUP]})
    properties(f"{folder}/Info.plist", {
        "CFBundleIdentifier": f"{APP}.migration", "CFBundleExecutable": "Migration",
        "EXAppExtensionAttributes": {"EXExtensionPointIdentifier": POINT}})
    properties(f"{folder}/Entitlements.plist", {ACCESS: [APP], GROUPS: [GROUP]})
    program(f"{path}/Notes", text)
    program(f"{folder}/Migration", "")


class Device:
    """A device with the app installed, and the data it keeps."""

    def __init__(self, work, text):
        self.work = work
        self.folder, _ = work.place()
        self.home = work.home(None) + "/peer"
        self.container = f"{self.home}/containers/{APP}"
        make_bundle(f"{self.folder}/one", text)
        self.install("one")

    def start(self, *arguments):
        return Process(self.work, ["app", *arguments])

    def run(self, *arguments, code=0):
        process = self.start(*arguments)
        equal(process.wait(), code, f"peer app {' '.join(arguments)}: {process.text()[-300:]!r}: exit code")
        return process

    def install(self, name):
        [installed] = self.run("install", f"{self.folder}/{name}", "--json").events("installed")
        equal(installed["id"], APP, "the app that was installed")

    def state(self):
        [state] = self.run("list", "--json").events("app")
        return state

    def close(self):
        [removed] = self.run("remove", APP, "--json").events("removed")
        equal(removed["id"], APP, "the app that was removed")
        self.work.drop(self.folder)


def test_an_interrupted_import_is_undone(work):
    """an interrupted import is undone before the app starts"""
    device = Device(work, 'ls "$HOME/Documents"\n')
    os.makedirs(f"{device.home}/imports", exist_ok=True)
    os.makedirs(f"{device.container}/Documents", exist_ok=True)
    with open(f"{device.container}/Documents/half", "w", encoding="utf-8") as file:
        file.write("half")
    with open(f"{device.home}/imports/{APP}.mark", "w", encoding="utf-8") as file:
        file.write("0" * 32 + "\n")
    equal(device.state()["unfinished"], "interrupted", "the import")
    process = device.run("run", APP)
    require("half" not in process.text() and "has been undone" in process.errors(), process.text())
    state = device.state()
    equal((state["unfinished"], state["lastImport"], state["failure"]["domain"]),
          (None, "failed", "PeerMigrationErrorDomain"), "the status")
    [cleared] = device.run("status", APP, "--clear", "--json").events("appStatus")
    equal((cleared["lastImport"], cleared["cleared"]), ("failed", True), "the cleared status")
    equal(device.state()["lastImport"], "none", "the status afterwards")
    device.close()


def test_an_apps_surroundings(work):
    """an app gets its arguments as they are, its signals as usual and no PEER_HOME, and peer exits with its code"""
    device = Device(work, (
        'cd "$HOME/Documents"; grep SigIgn /proc/self/status > signals; echo "${PEER_HOME-none}" > home\n'
        'for word; do echo "$word" >> words; done; exit 42\n'))
    words = ["--help", "--", "a b", "", "--json", "ä"]
    device.run("run", APP, *words, code=42)
    found = {}
    for name in ("words", "home", "signals"):
        with open(f"{device.container}/Documents/{name}", encoding="utf-8") as file:
            found[name] = file.read()
    equal(found["words"], "".join(word + "\n" for word in words), "the app's words")
    equal(found["home"], "none\n", "PEER_HOME")
    equal(int(found["signals"].split()[1], 16) >> (signal.SIGPIPE - 1) & 1, 0, "whether SIGPIPE is ignored")
    device.close()

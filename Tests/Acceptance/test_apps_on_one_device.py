"""Apps on one device: installed, run, interrupted, removed."""

import json
import os
import plistlib
import random
import signal
import time

import pytest

from devices import PATIENCE, Process, small_file
from outside import equal, require, wait_for

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


def test_an_apps_surroundings(work):
    """an app gets its arguments, its environment and its container, and peer exits with its code"""
    text = (
        'cd "$HOME/Documents"; env > env; grep SigIgn /proc/self/status > signals\n'
        'for word; do echo "$word" >> words; done; exit 42\n')
    device = Device(work, text)
    words = ["--help", "--", "a b", "", "--json", "ä"]
    device.run("run", APP, *words, code=42)
    documents = f"{device.container}/Documents"
    with open(f"{documents}/words", encoding="utf-8") as file:
        equal(file.read(), "".join(word + "\n" for word in words), "the app's words")
    with open(f"{documents}/env", encoding="utf-8") as file:
        variables = dict(line.split("=", 1) for line in file.read().splitlines() if "=" in line)
    equal(variables["HOME"], device.container, "HOME")
    equal(variables["TMPDIR"], f"{device.container}/tmp", "TMPDIR")
    require("PEER_HOME" not in variables, "PEER_HOME is handed on")
    told = json.loads(variables["PEER_APP"])
    equal(told["container"], device.container, "the container in PEER_APP")
    equal(told["groups"], {GROUP: f"{device.home}/groups/{GROUP}"}, "the groups in PEER_APP")
    require("channel" not in told, "an app has no channel")
    equal(sorted(os.listdir(device.container)), [".config", "Documents", "Library", "tmp"], "the container")
    with open(f"{documents}/signals", encoding="utf-8") as file:
        equal(int(file.read().split()[1], 16) >> (signal.SIGPIPE - 1) & 1, 0, "whether SIGPIPE is ignored")
    device.close()


def test_an_app_that_runs_stays(work):
    """an app that runs is neither replaced nor removed, and can run more than once"""
    device = Device(work, 'touch "$HOME/$1"; while [ ! -e "$HOME/stop" ]; do sleep 0.02; done\n')
    make_bundle(f"{device.folder}/two", version="2.0")
    apps = [device.start("run", APP, name) for name in ("first", "second")]
    for name in ("first", "second"):
        wait_for("the app", PATIENCE, lambda name=name: os.path.exists(f"{device.container}/{name}"))
    state = device.state()
    equal(state["use"], "running", "use")
    require(state["process"] in [app.pid for app in apps], f"process {state['process']}")
    for refused in (["install", f"{device.folder}/two"], ["remove", APP]):
        text = device.run(*refused, code=4).errors()
        require(f"the app {APP} is running (process " in text and "hint: Close it first." in text, text)
    # The lock belongs to the app and its children: killing the app releases it.
    apps[0].signal(signal.SIGKILL)
    apps[0].wait()
    small_file(f"{device.container}/stop")
    equal(apps[1].wait(), 0, "exit code of the app")
    wait_for("free lock", PATIENCE, lambda: device.state()["use"] is None)
    device.install("two")
    equal(device.state()["version"], "2.0", "version")
    device.close()


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


@pytest.mark.takes(5)
def test_a_killed_installation(work):
    """an installation killed at any time leaves the old version or the new one"""
    device = Device(work, "exit 7\n")
    make_bundle(f"{device.folder}/two", "exit 8\n", version="2.0")
    for number in range(200):
        with open(f"{device.folder}/two/file-{number}", "wb") as file:
            file.write(os.urandom(50_000))
    begin = time.monotonic()
    device.install("two")
    whole = time.monotonic() - begin
    device.install("one")
    versions = set()
    for number in range(20):
        process = device.start("install", f"{device.folder}/{'two' if number % 2 == 0 else 'one'}")
        time.sleep(random.uniform(0, whole))
        process.signal(signal.SIGKILL)
        process.wait()
        version = device.state()["version"]
        device.run("run", APP, code=7 if version == "1.0" else 8)
        versions.add(version)
    device.install("one")
    equal(os.listdir(f"{device.home}/apps"), [APP], "what is left")
    device.close()
    work.figure = f"20 kills within {whole:.2f} s"

"""Clips: the small edition of an app, which the full app replaces, with all that they share."""

import hashlib
import os
import shutil
import subprocess
import sys

import pytest

from apps import Device
from bundles import CLIP, GROUP, ID, PARENT, make_bundle, make_clip, make_full_app
from devices import PATIENCE, Process
from killed_at import KILLED
from needs import needs, root, tracing
from outside import NOBODY, ROOT, equal, remove, require, wait_for

NAME = f"{ID}.clip"
THIRD = "org.example.third"
GROUPS = "com.apple.security.application-groups"


class Clips(Device):
    """A device without installed apps."""

    def __init__(self, work, user=None):
        folder, _ = work.place(user)
        self.work, self.user, self.folder, self.identifier = work, user, folder, ID
        self.home = f"{folder}/home"
        self.made = 0

    def bundle(self, make, *arguments, **more):
        """A new bundle's path."""
        self.made += 1
        return make(self.work.programs, f"{self.folder}/bundle-{self.made}", *arguments, **more)

    def install(self, make, *arguments, code=0, **more):
        """Installs a bundle; returns the event, or the error."""
        path = self.bundle(make, *arguments, **more)
        process = self.start("app", "install", path, *(["--json"] if code == 0 else []))
        equal(process.wait(), code, f"peer app install: {process.text()[-400:]!r}: exit code")
        remove(path)
        return process.events("installed")[0] if code == 0 else process.errors()

    def clip_says(self, *words):
        """The output of the clip, or of the app that has replaced it; and peer's own output."""
        process = self.start("app", "run", NAME, *words)
        equal(process.wait(), 0, f"peer app run: {process.text()[-300:]!r}: exit code")
        return process.output().strip(), process.errors()

    def listed(self):
        """The installed bundles, by identifier."""
        process = self.start("app", "list", "--json")
        equal(process.wait(), 0, "peer app list: exit code")
        return {event["id"]: event for event in process.events("app")}

    def digest(self, place=f"groups/{GROUP}"):
        """Everything in a directory: paths, modes and contents."""
        found = hashlib.sha256()
        for folder, folders, names in os.walk(f"{self.home}/{place}"):
            folders.sort()
            for name in sorted(names):
                path = f"{folder}/{name}"
                found.update(f"{os.path.relpath(path, self.home)} {os.lstat(path).st_mode}\n".encode())
                with open(path, "rb") as file:
                    found.update(file.read())
        return found.hexdigest()


@pytest.mark.takes(6)
@pytest.mark.parametrize("user", [None, pytest.param(NOBODY, marks=needs(root))], ids=["this user", "nobody"])
def test_a_clip_becomes_its_app(work, user):
    """clips: an app replaces its clip; their shared files stay byte for byte, and a start of the
    clip starts the app"""
    device = Clips(work, user)
    equal(device.install(make_clip)["clipOf"], ID, "the app of the clip")
    device.clip_says("set", GROUP, "draft", "from the clip")
    device.clip_says("write", "Documents/own", "the clip's own")
    group = device.clip_says("group")[0]
    device.clip_says("write", "../../groups/" + GROUP + "/photo", "shared")
    require(os.path.exists(f"{device.home}/containers/{NAME}/Documents/own"), "the clip's own file is missing")
    state = device.listed()[NAME]
    equal((state["clipOf"], state["clip"], state["hasExtension"]), (ID, None, False), "the clip in the list")
    require(f"clip of {ID}" in device.peer("app", "list"), "a person is not told that it is a clip")
    require(f"clip of {ID}" in device.peer("app", "status", NAME), "the status does not say that it is a clip")
    before = device.digest()

    installed = device.install(make_full_app)
    equal((installed["replacedClip"], installed["removedGroups"], installed["clip"], installed["hasExtension"]),
          (NAME, [], NAME, True), "what was installed")
    equal(device.digest(), before, "the group")
    require(not os.path.exists(f"{device.home}/containers/{NAME}"), "the clip's container is still there")
    equal(list(device.listed()), [ID], "what is installed")
    said, note = device.clip_says("get", GROUP, "draft")
    equal(said, "from the clip", "what the app reads of the clip")
    require(f"note: the app {ID} has replaced its clip {NAME}, and is started instead" in note, note)
    equal(device.run("group"), group, "the group's directory")
    for command in ("status", "remove"):
        refusal = device.peer("app", command, NAME, code=2)
        require(f"its app {ID} has replaced it" in refusal and f"hint: Name '{ID}'." in refusal, refusal)
    equal(device.install(make_full_app)["replacedClip"], None, "the clip that another version replaces")
    device.peer("app", "remove", ID)
    equal(os.listdir(f"{device.home}/groups"), [], "groups that are left")


def test_messages_to_a_person(work):
    """clips: an installation's output, and a group that only the clip lists is removed with it"""
    device = Clips(work)
    device.install(make_clip, groups=[GROUP, "group.small"])
    for group in (GROUP, "group.small"):
        device.clip_says("set", group, "key", "value")
    path = device.bundle(make_full_app)
    process = device.start("app", "install", path)
    equal(process.wait(), 0, "exit code")
    require(f"It has replaced its clip {NAME}; the clip's own data is removed.\n" in process.errors()
            and "The group group.small, which only the clip listed, is removed too.\n" in process.errors(),
            process.errors())
    equal(sorted(os.listdir(f"{device.home}/groups")), [f".{GROUP}.owner", GROUP], "what is left of groups")


@pytest.mark.takes(5)
def test_a_third_app_never_gets_the_group(work):
    """clips: no third app gets the group of a clip and its app: before the app comes, after it, or
    by an update"""
    device = Clips(work)
    device.install(make_bundle, THIRD, groups=[])
    device.install(make_clip)
    device.clip_says("set", GROUP, "draft", "for two")
    before = device.digest()
    for remover in (NAME, ID):
        refusal = device.install(make_bundle, THIRD, code=4)
        require(f"Entitlements.plist': {GROUPS}: the group '{GROUP}' belongs to the app {ID} and its clip {NAME}" in refusal
                and f"'peer app remove {remover}'" in refusal, refusal)
        require("belongs to the app" in device.install(make_bundle, "org.example.fourth", code=4), "a new app")
        if remover == NAME:
            device.install(make_full_app)
    equal(device.digest(), before, "the group")
    device.peer("app", "remove", ID)
    device.install(make_bundle, THIRD)
    equal(device.peer("app", "run", THIRD, "get", GROUP, "draft"), "nothing", "what the third app reads")
    refusal = device.install(make_clip, code=4)
    require(f"the group '{GROUP}' is listed by {THIRD} already" in refusal and f"'peer app remove {THIRD}'" in refusal, refusal)


def two_entries(programs, path, **more):
    return make_bundle(programs, path, NAME, entitlements={PARENT: [ID, "org.example"]}, has_extension=False, **more)


def with_extension(programs, path, **more):
    return make_bundle(programs, path, NAME, entitlements={PARENT: [ID]}, **more)


def no_clip(programs, path, **more):
    return make_bundle(programs, path, ID, **more)


REFUSALS = {
    "two entries": (None, two_entries, f"'Entitlements.plist': {PARENT}: it has 2 entries", "exactly one identifier"),
    "a clip with an extension": (None, with_extension, "'Extensions/Migration.appex': a clip has no extension", "Take it out"),
    "a clip that its app does not name": (
        no_clip, make_clip, f"'Entitlements.plist': {PARENT}: the app {ID} is installed, and does not name {NAME} as its clip",
        f"'peer app remove {ID}'"),
    "an app that does not name its clip": (
        make_clip, no_clip, f"'Entitlements.plist': {CLIP}: the clip {NAME} is installed and names {ID} as its app, which does not name it as its clip",
        f"'peer app remove {NAME}'"),
    "a clip while its app is there": (
        make_full_app, make_clip, f"'Entitlements.plist': {PARENT}: its app {ID} is installed, and replaces the clip",
        f"'peer app remove {ID}'"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_incompatible_bundles(work, name):
    """clips: incompatible bundles are refused with the file, its key, the reason and a hint"""
    first, second, reason, hint = REFUSALS[name]
    device = Clips(work)
    if first is not None:
        device.install(first)
    before = device.listed()
    refusal = device.install(second, code=4)
    require(f"the bundle is invalid: {reason}" in refusal and hint in refusal.split("hint: ")[1], refusal)
    equal(device.listed(), before, "what is installed")


def test_a_clip_that_runs(work):
    """clips: a running clip is not replaced, and is replaced once it has ended"""
    device = Clips(work)
    device.install(make_clip)
    running = device.start("app", "run", NAME, "stay")
    wait_for("the clip", PATIENCE, lambda: "here" in running.output())
    refusal = device.install(make_full_app, code=4)
    require(f"'Entitlements.plist': {CLIP}: the clip {NAME} is running (process {running.pid})" in refusal
            and "hint: Close it first." in refusal, refusal)
    equal(list(device.listed()), [NAME], "what is installed")
    running.end()
    wait_for("free lock", PATIENCE, lambda: device.listed()[NAME]["use"] is None)
    equal(device.install(make_full_app)["replacedClip"], NAME, "the clip that was replaced")


def test_bundles_that_do_not_migrate(work):
    """clips: neither clips nor apps without a migration extension migrate, and peer says so"""
    device = Clips(work)
    commands = [
        ["receive", "--app", None, "--listen", "127.0.0.1:0"], ["send", "--app", None, "--to", "127.0.0.1:1"],
        ["app", "migrate", None, "--to", "/nowhere"],
    ]

    def refused(name, bundle, *words):
        commands[2][-1] = bundle
        for command in commands:
            text = device.peer(*[word or name for word in command], code=4)
            require(all(word in text for word in words), f"{command}: {text}")

    clip = device.bundle(make_clip)
    device.peer("app", "install", clip)
    text = device.peer("app", "check", clip)
    require(f"It is the clip of {ID}, and has no extension to try." in text and f"There are no errors in {NAME}." in text, text)
    refused(NAME, clip, f"'Entitlements.plist': {PARENT}: it is the clip of {ID}", f"hint: Install the full app, '{ID}'")
    text = device.peer("receive", "--app", ID, "--listen", "127.0.0.1:0", code=2)
    require(f"no app '{ID}' is installed" in text and f"hint: Its clip is installed, {NAME}: 'peer app install'" in text, text)

    app = device.bundle(make_full_app, has_extension=False)
    process = device.start("app", "install", app)
    equal(process.wait(), 0, "exit code")
    require("note: the app has no migration extension: its data cannot be migrated" in process.errors(), process.errors())
    equal(device.listed()[ID]["hasExtension"], False, "hasExtension")
    [found] = (process := ended(device.start("app", "check", app, "--json"))).events("bundle")
    equal((found["hasExtension"], found["data"], found["clip"]), (False, None, NAME), "what the check found")
    equal([event["message"] for event in process.events("notice")],
          ["the app has no migration extension: its data cannot be migrated"], "notices")
    refused(ID, app, "'Extensions': the app has no migration extension", "hint: Install an edition of the app that has one")
    for command in commands[:2]:
        text = device.peer(*[word or NAME for word in command], code=4)
        require(f"hint: The full app has replaced it: name '{ID}'." in text, text)


def ended(process, code=0):
    equal(process.wait(), code, f"'{process.name()}': {process.text()[-300:]!r}: exit code")
    return process


class Killed:
    """A home with a clip, made again and again, in which installations of its app are killed."""

    def __init__(self, work):
        self.device = Clips(work)
        # Small, because it is copied often: a program of one line.
        small = f"{self.device.folder}/small"
        os.makedirs(small)
        with open(f"{small}/TestApp", "w", encoding="ascii") as file:
            file.write('#!/bin/sh\necho "$HOME"\n')
        os.chmod(f"{small}/TestApp", 0o755)
        shutil.copy(f"{small}/TestApp", f"{small}/TestAppExtension")
        self.clip, self.app = (make(small, f"{self.device.folder}/{make.__name__}") for make in (make_clip, make_full_app))
        self.device.peer("app", "install", self.clip)
        self.device.peer("app", "run", NAME)
        self.own = f"{self.device.home}/containers/{NAME}/Documents/own"
        self.shared = f"{self.device.home}/groups/{GROUP}/shared"
        for path in (self.own, self.shared):
            with open(path, "w", encoding="ascii") as file:
                file.write("kept")
        self.template = f"{self.device.folder}/template"
        shutil.copytree(self.device.home, self.template, symlinks=True)

    def begin(self):
        shutil.rmtree(self.device.home)
        shutil.copytree(self.template, self.device.home, symlinks=True)

    def install(self, limit):
        """Installs the app, killed before the change with that number; returns whether that change
        came."""
        found = subprocess.run(
            [sys.executable, "-I", f"{ROOT}/Tests/Acceptance/killed_at.py", str(limit), self.device.work.binary, "app", "install", self.app],
            env={**os.environ, "PEER_HOME": self.device.home}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=PATIENCE, check=False)
        require(found.returncode in (0, KILLED), f"killed_at.py: {found.returncode}: {found.stderr[-300:]!r}")
        return found.returncode == KILLED

    def is_there(self, name):
        return os.path.exists(f"{self.device.home}/apps/{name}")

    def settle(self, first):
        """Does one thing after the crash, and requires a consistent state."""
        is_app = self.is_there(ID)
        process = ended(self.device.start("app", *{
            "run": ["run", NAME], "list": ["list"], "install": ["install", self.clip]}[first]), 4 if first == "install" and is_app else 0)
        if first == "run":
            equal(process.output().strip(), f"{self.device.home}/containers/{ID if is_app else NAME}", "the container of what was run")
        equal(self.is_there(NAME), not is_app, "whether the clip is there")
        equal(os.path.exists(self.own), not is_app, "whether the clip's own data is there")
        require(os.path.exists(self.shared), "the group's data is gone")
        with open(f"{self.device.home}/groups/.{GROUP}.owner", encoding="ascii") as file:
            equal(file.read(), f"{ID} {NAME}\n", "whom the group belongs to")
        equal(list(self.device.listed()), [ID if is_app else NAME], "what is installed")


@needs(tracing)
@pytest.mark.takes(30)
def test_a_killed_replacement(work):
    """clips: an installation killed before any change leaves the clip or the app, whole after the
    next command, and the group"""
    killed = Killed(work)
    commands = ["run", "list", "install"]
    number, both = 0, 0
    while True:
        number += 1
        killed.begin()
        is_killed = killed.install(number)
        # The critical changes begin once the app is there; until then one command each time.
        is_app = killed.is_there(ID)
        both += is_app and killed.is_there(NAME)
        for again, first in enumerate(commands if is_app else commands[number % 3:][:1]):
            if again:
                killed.begin()
                killed.install(number)
            killed.settle(first)
        if not is_killed:
            break
    require(both >= 1, "no kill came between publishing the app and removing the clip")
    require(number > 20, f"only {number} changes")
    work.figure = f"{number - 1} kills, {both} between publishing and removing"

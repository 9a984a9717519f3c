"""Clips: the small edition of an app, which the full app replaces, with all that they share."""

import hashlib
import os

import pytest

from apps import Device
from bundles import CLIP, GROUP, ID, PARENT, make_bundle, make_clip, make_full_app
from needs import needs, root
from outside import NOBODY, equal, remove, require

NAME = f"{ID}.clip"


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

"""The secrets that apps have stored: the commands for them, and the uselessness of copies."""

import json
import os
import shutil

import pytest

import events
from devices import PATIENCE
from outside import IS_ROOT, NOBODY, equal, require
from programs import APP, CLIP, OTHER, Place

OWNER = f"{APP}@clip"
SECRET = "the-secret-of-robin-0xC0FFEE"
SUCCESS, NOT_AVAILABLE, DAMAGED = 0, -25291, -26275

each_user = pytest.mark.parametrize(
    "user", [None, *([pytest.param(NOBODY, id="unprivileged")] if IS_ROOT else [])], ids=lambda user: "this user" if user is None else None)


class Device(Place):
    """A PEER_HOME, and the output of `peer` about a program in it."""

    def __init__(self, work, user=None, *identifiers):
        super().__init__(work, user)
        for identifier in identifiers:
            self.install(identifier)

    def events(self, *arguments, code=0):
        """The output of a command with --json. The check fails if an event does not follow the schema."""
        with self.start(*arguments, "--json") as process:
            output, errors = process.communicate(timeout=PATIENCE)
        equal(process.returncode, code, f"{arguments}: exit code ({errors[-200:]})")
        found = [json.loads(line) for line in output.splitlines()]
        equal([wrong for wrong in map(events.mistake, found) if wrong], [], "mistakes in events")
        return found

    def listed(self, *arguments):
        """The owner, class, label and problem of each credential."""
        return [
            (event["owner"], event["class"], event["label"], event["problem"] is not None)
            for event in self.events("credentials", "list", *arguments)]

    def files(self):
        """Every file in PEER_HOME with its content; no links."""
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                # A preferences link may lead nowhere yet.
                if os.path.islink(f"{folder}/{name}"):
                    continue
                with open(f"{folder}/{name}", "rb") as file:
                    found[f"{folder}/{name}"] = file.read()
        return found

    def key(self):
        [name] = os.listdir(self.keys)
        return f"{self.keys}/{name}"


@each_user
def test_credentials_outlive_the_app(work, user):
    """credentials: listed without a secret, they outlive their app until they are removed"""
    device = Device(work, user, APP)
    [installed] = device.events("app", "install", f"{device.folder}/{OTHER}")
    equal(installed["earlierCredentials"], False, "whether there were credentials before")
    equal(device.once(APP, f"add('{SECRET}', account='Robin', label='Sign-in')", "add('b', account='b', label='b')"), SUCCESS, "added")
    listed = [(APP, "genericPassword", "Sign-in", False), (APP, "genericPassword", "b", False)]
    equal(sorted(device.listed()), listed, "the list")
    equal((device.listed(OTHER), sorted(device.listed(APP))), ([], listed), "the lists of an app")
    text = device.peer("credentials", "list")
    require("password" in text and "Sign-in" in text and SECRET not in text and "Robin" not in text, text)
    for path, content in device.files().items():
        require(SECRET.encode() not in content and b"Sign-in" not in content, f"{path} holds it in the open")
    require(f"'peer credentials remove' removes those of {APP}" in device.peer("app", "remove", APP), "it does not say that they stay")
    equal(sorted(device.listed()), listed, "the list when the app is gone")
    [installed] = device.events("app", "install", f"{device.folder}/{APP}")
    equal(installed["earlierCredentials"], True, "whether there are credentials of an earlier installation")
    [updated] = device.events("app", "install", f"{device.folder}/{APP}")
    equal(updated["earlierCredentials"], False, "an update is no new installation")
    equal(device.once(APP, "copy(account='Robin')"), [SUCCESS, [APP, "Sign-in", "Robin", SECRET]], "what the app finds")
    [removed] = device.events("credentials", "remove", APP, "--label", "b")
    equal((removed["owner"], removed["label"], removed["count"]), (APP, "b", 1), "what was removed")
    require("with the label 'b'" in device.peer("credentials", "remove", APP, "--label", "b", code=2), "the label is not named")
    [removed] = device.events("app", "remove", APP, "--credentials")
    equal(removed["credentials"], "removed", "what became of them")
    equal((device.listed(), os.listdir(f"{device.home}/credentials")), ([], [".store"]), "what is left")
    [removed] = device.events("app", "remove", OTHER)
    equal(removed["credentials"], "none", "an app without credentials")


@each_user
def test_a_copy_of_peer_home(work, user):
    """credentials: a copy of PEER_HOME, beside it or elsewhere, reveals nothing and accepts nothing
    new"""
    device = Device(work, user, APP)
    equal(device.once(APP, f"add('{SECRET}', account='Robin')"), SUCCESS, "added")
    with open(device.key(), "rb") as file:
        key = file.read()[4:36]
    require(all(key not in content for content in device.files().values()), "the key is in PEER_HOME")
    original = device.home
    elsewhere = Place(work, user)
    for target in (f"{device.real_home}/copy", elsewhere.home):
        shutil.copytree(original, target, symlinks=True)
        if user is not None:
            for folder, folders, names in os.walk(target):
                for name in (".", *folders, *names):
                    os.chown(f"{folder}/{name}", user, user, follow_symlinks=False)
    for copy in (f"{device.real_home}/copy", elsewhere.home):
        if copy == elsewhere.home:
            device.real_home, device.keys = elsewhere.real_home, elsewhere.keys
        device.home = copy
        before = device.files()
        equal(device.listed(), [(APP, None, None, True)], "the list of a copy")
        require("peer: note: the key of the credentials" in device.peer("credentials", "list"), "it is not said why")
        for request in ("copy()", "add('x', account='x')", "copy(account='none')"):
            answer = device.once(APP, request)
            equal(answer[0] if isinstance(answer, list) else answer, NOT_AVAILABLE, request)
        after = device.files()
        equal({path: content for path, content in after.items() if "/credentials/" in path},
              {path: content for path, content in before.items() if "/credentials/" in path}, "the copy's credentials")
        device.events("credentials", "remove", APP, "--label", "x", code=1)
        [removed] = device.events("credentials", "remove", APP)
        equal(removed["count"], 1, "what was removed")


@each_user
def test_accounts(work, user):
    """accounts: recorded for an installed app or clip, revocable also later, and visible to the
    app"""
    device = Device(work, user, CLIP)
    state = "user('001')"
    equal(device.once(CLIP, state), ["account", None], "before")
    [account] = device.events("account", "authorize", "001", "--app", CLIP)
    equal((account["owner"], account["user"], account["state"]), (OWNER, "001", "authorized"), "the record")
    equal(device.once(CLIP, state), ["account", 1], "what the clip is told")
    require(APP in device.peer("account", "authorize", "001", "--app", APP, code=2), "the app is not named")
    device.install(APP)
    equal(device.once(APP, state), ["account", 1], "what the clip's app is told")
    device.events("account", "revoke", "001", "--app", APP)
    equal(device.once(APP, state), ["account", 0], "the app's own record counts first")
    [revoked] = device.events("account", "revoke", "001", "--app", CLIP)
    equal(revoked["owner"], OWNER, "a clip that is gone has a record")
    device.peer("account", "revoke", "002", "--app", CLIP, code=2)
    found = [(event["owner"], event["user"], event["state"]) for event in device.events("account", "list")]
    equal(found, [(APP, "001", "revoked"), (OWNER, "001", "revoked")], "the list")
    with open(f"{device.home}/accounts/{APP}", "a", encoding="utf-8") as file:
        file.write("half")
    equal([event["event"] for event in device.events("account", "list")], ["account", "damaged"], "a damaged record")
    equal(device.once(APP, state), [DAMAGED], "what the app is told of it")

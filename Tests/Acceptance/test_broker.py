"""The broker of an app's credentials, and a clip's view of files outside its own."""

import contextlib
import os
import shutil
import signal
import subprocess

import pytest

from devices import PATIENCE
from needs import needs, own_mounts, own_mounts_of_nobody, root
from outside import IS_ROOT, NOBODY, equal, require, wait_for
from programs import APP, CLIP, GROUP, OTHER, Place

SUCCESS, PARAMETER, NOT_AVAILABLE, DUPLICATE, NOT_FOUND = 0, -50, -25291, -25299, -25300
SECRET = "the-secret-of-robin-0xC0FFEE"

each_user = pytest.mark.parametrize(
    "user", [None, *([pytest.param(NOBODY, id="unprivileged")] if IS_ROOT else [])], ids=lambda user: "this user" if user is None else None)
each_user_with_mounts = pytest.mark.parametrize("user", [
    pytest.param(None, id="this user", marks=needs(own_mounts)),
    *([pytest.param(NOBODY, id="unprivileged", marks=needs(own_mounts_of_nobody))] if IS_ROOT else [])])


def place(work, user=None, *identifiers):
    """A PEER_HOME with some apps."""
    made = Place(work, user)
    for identifier in identifiers or (APP,):
        made.install(identifier)
    return made


def descriptors(process):
    """A process's open descriptors, by number."""
    found = {}
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/{process}/fd/{name}")
    return found


# The process


@each_user
def test_the_brokers_process(work, user):
    """broker: it shares nothing with the app, is not its child, and leaves no core after a crash"""
    app = place(work, user).run(APP)
    equal(app("add('s', account='Robin')"), SUCCESS, "a first item")
    equal(app("attempt(os.waitpid, -1, 0)"), os.strerror(10), "what the app has for children")
    broker = wait_for("the broker", PATIENCE, app.broker)
    require(os.getsid(broker) not in (os.getsid(app.process.pid), os.getsid(0)), "it shares a session")
    with open(f"/proc/{broker}/limits", encoding="utf-8") as file:
        core = next(line.split() for line in file if line.startswith("Max core file size"))
    equal(core[4:6], ["0", "0"], "the limits of a core")
    equal(os.stat(f"/proc/{broker}/environ").st_uid, 0, "the owner of what tells of its memory")
    if IS_ROOT:
        with open(f"/proc/{broker}/status", encoding="utf-8") as file:
            parent = next(int(line.split()[1]) for line in file if line.startswith("PPid"))
        require(parent != app.process.pid, "it is a child of the app")
        # The socket of an answer closes a moment after the answer.
        wait_for("a broker with one socket", PATIENCE, lambda: str(descriptors(broker)).count("'socket:") == 1)
        found = descriptors(broker)
        equal([found[number] for number in range(3)], ["/dev/null"] * 3, "its standard descriptors")
        require(not any("/locks/" in name for name in found.values()), f"it has a lock: {found}")
        equal(os.readlink(f"/proc/{broker}/cwd"), "/", "its directory")
    equal(app.end(), 0, "the app's exit code")


@each_user
def test_a_program_that_the_app_starts(work, user):
    """broker: a program that the app starts has the lock, as documented, and not the socket"""
    home = Place(work, user)
    bundle = f"{home.folder}/{APP}"
    shutil.copy(f"{work.programs}/TestApp", f"{bundle}/program")
    home.install(APP)
    with home.start("app", "run", APP, "credentials") as app:
        output, errors = app.communicate(
            f"add account=Robin secret={SECRET}\ncopy account=Robin\nchildren\nhelper /bin/sleep 60\nupdate account=Robin "
            f": secret=other\ncopy one\ndelete account=Robin\ncopy\nuser Robin\n",
            timeout=PATIENCE)
    answers = dict(enumerate(output.splitlines()))
    helper = int(answers[3].split()[1])
    try:
        equal([*answers.values()], [
            "add 0", f"copy 0 -/Robin/{SECRET}", "children none", f"helper {helper}", "update 0", "copy 0 -/Robin/other",
            "delete 0", f"copy {NOT_FOUND}", "user notFound"], f"what the app said ({errors[-300:]})")
        found = descriptors(helper)
        require(not any(name.startswith("socket:") for name in found.values()), f"it has a socket: {found}")
        require(any("/locks/" in name for name in found.values()), f"it has no lock: {found}")
    finally:
        os.kill(helper, signal.SIGKILL)


# Packets at the broker


# Where the secret is


@each_user
def test_no_secret_leaks(work, user):
    """broker: no command line, environment, file of PEER_HOME or of the keys, or core has a
    secret"""
    home = place(work, user)
    app = home.run(APP)
    equal(app(f"add('{SECRET}', account='Robin')"), SUCCESS, "the item")
    equal(app("copy(account='Robin')")[1][3], SECRET, "the secret")
    broker = wait_for("the broker", PATIENCE, app.broker)
    for process in (broker, app.process.pid):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(PermissionError), open(f"/proc/{process}/{name}", "rb") as file:
                require(SECRET.encode() not in file.read(), f"/proc/{process}/{name} has it")
    if user is not None:
        equal(home_of(user, f"/proc/{broker}/mem"), "Permission denied", "the broker's memory, by a program of the same user")
    os.kill(broker, signal.SIGABRT)
    wait_for("the broker's end", PATIENCE, lambda: not app.broker())
    count = 0
    for folder in (home.real_home, "/"):
        for path, folders, names in os.walk(folder):
            if folder == "/":
                folders.clear()
                names = [name for name in names if "core" in name]
            for name in names:
                with contextlib.suppress(OSError), open(f"{path}/{name}", "rb") as file:
                    count += 1
                    require(SECRET.encode() not in file.read(), f"{path}/{name} has it")
    require(count > 5, f"only {count} files were searched")


def home_of(user, path):
    """The error that a user's program gets when it opens a file."""
    process = subprocess.run(
        ["/bin/cat", path], user=user, group=user, extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"LC_ALL": "C"}, timeout=PATIENCE, check=False)
    return process.stderr.strip().rpartition(": ")[2]


# Clips


@each_user_with_mounts
def test_a_clips_view(work, user):
    """clip: it and its programs see only its own part of PEER_HOME, and the user's other files"""
    home = place(work, user, OTHER, CLIP)
    home.once(OTHER, "add('s', account='Robin')", "attempt(open, environment('HOME') + '/Documents/kept', 'w')")
    home.once(CLIP, f"add('{SECRET}', account='Robin')")
    stored = [f"{path}/{name}" for path, _, names in os.walk(f"{home.home}/credentials") for name in names]
    require(len(stored) >= 3, f"stored: {stored}")
    clip = home.run(CLIP, cwd=f"{home.home}/containers/{OTHER}")
    equal(clip(f"sorted(os.listdir('{home.home}'))"), ["apps", "containers", "groups"], "PEER_HOME")
    for folder, own in (("apps", CLIP), ("containers", CLIP), ("groups", GROUP)):
        equal(clip(f"os.listdir('{home.home}/{folder}')"), [own], folder)
    for path in (*stored, f"{home.home}/containers/{OTHER}/Documents/kept"):
        require(os.path.exists(path), f"there is no {path}")
        equal(clip(f"attempt(open, '{path}')"), os.strerror(2), f"opening {path}")
    equal(clip(f"os.listdir('{home.keys}')"), [], "the keys")
    equal(clip("os.getcwd()"), "/", "its directory, which was another app's container")
    equal(clip("attempt(os.open, '..', 0)") is not None, True, "the directory above")
    equal(clip(f"os.popen('ls {home.home}/containers').read()"), f"{CLIP}\n", "what a program of the clip's sees")
    # Writing where nothing is kept fails, so no data is lost.
    equal(clip(f"attempt(open, '{home.home}/containers/{OTHER}', 'w')"), os.strerror(30), "making another's container")
    for path in (f"{home.real_home}/by-the-clip", f"{home.home}/groups/{GROUP}/by-the-clip",
                 f"{home.home}/containers/{CLIP}/by-the-clip"):
        equal(clip(f"attempt(open, '{path}', 'w')"), "done", f"making {path}")
        require(os.path.exists(path), f"{path} was not made")
    equal(clip("add('s', account='another')"), SUCCESS, "an item of the clip's, while it sees no file of it")
    equal(clip("os.getuid()"), os.geteuid() if user is None else user, "its user")


@needs(root)
def test_a_clip_without_mounts_of_its_own(work):
    """clip: it starts, with a note, where it cannot have its own mounts"""
    home = place(work, None, CLIP)
    none = 'for what in mnt user; do echo 0 >/proc/sys/user/max_${what}_namespaces; done; exec "$@"'
    clip = home.run(CLIP, within=["unshare", "--user", "--map-root-user", "bash", "-c", none, "bash"])
    equal(clip("add('s', account='Robin')"), SUCCESS, "an item")
    require("credentials" in clip(f"os.listdir('{home.home}')"), "it sees only what is its own")
    clip.process.stdin.close()
    clip.process.wait(PATIENCE)
    errors = clip.process.stderr.read()
    require(errors.startswith("peer: note: ") and CLIP in errors and home.home in errors, f"the note: {errors}")


@each_user_with_mounts
def test_a_clip_and_its_app(work, user):
    """clip: its app can use its items and its user's authorization, and never the reverse"""
    home = place(work, user, CLIP)
    equal(home.once(CLIP, "add('of the clip', account='Robin', label='clip')"), SUCCESS, "the clip's item")
    home.install(APP)
    app = home.run(APP)
    equal(app("copy()"), [SUCCESS, [CLIP, "clip", "Robin", "of the clip"]], "what the app finds")
    equal(app("add('of the app', account='Robin', label='app')"), SUCCESS, "the same account, of another owner")
    both = [SUCCESS, [APP, "app", "Robin", "of the app"], [CLIP, "clip", "Robin", "of the clip"]]
    equal(app("copy(account='Robin')"), both, "both copies")
    equal(app("copy(limit=1)"), both[:2], "one of them")
    equal(app("update('changed', account='Robin')"), SUCCESS, "a change")
    equal(app("copy()")[2], both[2], "the clip's item, which only the clip changes")
    app.end()
    home.peer("app", "remove", APP)
    home.install(CLIP)
    clip = home.run(CLIP)
    equal(clip("copy(label='app')"), [NOT_FOUND], "the app's item, for the clip")
    equal(clip("copy()"), [SUCCESS, both[2]], "what the clip finds")
    equal(clip(f"do(copying(group='{APP}'))"), [-34018], "what the clip finds under the app's name")
    clip.end()
    home.install(APP)
    app = home.run(APP)
    equal([item[1] for item in app("copy()")[1:]], ["app", "clip"], "the labels of both")
    equal(app("delete(label='clip')"), SUCCESS, "deleting the other")
    equal([item[1] for item in app("copy()")[1:]], ["app"], "what is left")
    app.end()
    home.install(OTHER)
    equal(home.once(OTHER, "copy()"), [NOT_FOUND], "what a third app finds")

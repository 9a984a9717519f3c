"""Installs small trees where directories are missing, blocked, or another user's, and during
another installation."""

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys

import installation
from installation_self_test import refused, small_stage, tree, write
from outside import IS_ROOT, NOBODY, SCRIPTS, Skip, equal, require

PROGRAM = f"{SCRIPTS}/lib/installation.py"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def what_is_no_directory_ends_it_before_it_begins(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    write(stage, "share/man/man1/peer.1", "new")
    for place in "share/man", "share":
        write(prefix, place)
        refused(prefix, stage, f"{prefix}/{place} is not a directory")
        shutil.rmtree(prefix)
    # A file that came later, in the place of a directory, does not prevent the removal of the rest.
    installation.install(prefix, stage)
    shutil.rmtree(f"{prefix}/share/man")
    write(prefix, "share/man", "a file")
    installation.uninstall(prefix)
    equal(tree(prefix), {"share": None, "share/man": b"a file"}, "what is left")


def folders_above_a_prefix_are_made_and_go(folder):
    stage, prefix = small_stage(folder), f"{folder}/a/b/c"
    old = os.umask(0o077)
    try:
        installation.install(prefix, stage)
    finally:
        os.umask(old)
    equal([mode(f"{folder}/{path}") for path in ("a", "a/b", "a/b/c")], [0o755] * 3, "the modes")
    installation.install(prefix, stage)
    write(folder, "a/other")
    installation.uninstall(prefix)
    equal(os.listdir(f"{folder}/a"), ["other"], "what is left")
    os.unlink(f"{folder}/a/other")
    installation.install(prefix, stage)
    installation.uninstall(prefix)
    require(os.path.isdir(f"{folder}/a") and not os.path.exists(f"{folder}/a/b"), "what was there before went, or the rest did not")


@contextlib.contextmanager
def environment(**values):
    old = dict(os.environ)
    os.environ.pop("XDG_DATA_HOME", None)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(old)


def what_peer_remembers_is_for_its_owner_alone(folder):
    stage = small_stage(folder)
    cases = [("home/.local", 0o700, {}), ("home/shared", 0o755, {}), ("data", 0o700, {"XDG_DATA_HOME": f"{folder}/data/share"}),
             ("home/.local", 0o755, {"XDG_DATA_HOME": f"{folder}/data/share"})]
    for place, expected, values in cases:
        with environment(HOME=f"{folder}/home", **values):
            installation.install(f"{folder}/{place}", stage)
            equal(mode(f"{folder}/{place}/share/peer"), expected, f"the mode in {place} with {values}")
            installation.uninstall(f"{folder}/{place}")


def only_what_root_can_mend_is_done_as_root(folder):
    if not IS_ROOT:
        raise Skip("not root: every folder is this user's")
    os.chmod(folder, 0o755)
    for name in "installation.py", "manifest.py", "places.py":
        shutil.copy(f"{SCRIPTS}/lib/{name}", folder)
    write(folder, "home/file")
    os.makedirs(f"{folder}/others/bin", 0o755)
    os.chown(f"{folder}/others", 12345, 12345)
    installation.install(f"{folder}/there", small_stage(folder))
    cases = [
        ("install", "prefix", 3, f"{folder} cannot be written by this user"), ("uninstall", "there", 3, "cannot be written by this user"),
        ("install", "home/file", 1, "is not a directory"), ("install", "others", 1, "cannot be written by this user"),
        ("install", "home/.local", 1, "though it is in your home"), ("uninstall", "prefix", 1, "nothing was installed"),
    ]
    for action, place, code, sentence in cases:
        result = subprocess.run(
            ["python3", "-B", f"{folder}/installation.py", "check", action, f"{folder}/{place}"], stderr=subprocess.PIPE, text=True,
            user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", env={**os.environ, "HOME": f"{folder}/home"}, check=False, timeout=60)
        equal(result.returncode, code, f"{action} {place}: {result.stderr}")
        require(sentence in result.stderr and "\nhint: " in result.stderr, f"{action} {place}: {result.stderr}")


def sudo_is_started_where_it_helps(folder):
    if not IS_ROOT or subprocess.run(["test", "-r", PROGRAM], user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode != 0:
        raise Skip("not root, or the project is for root alone")
    os.chmod(folder, 0o755)
    write(folder, "tools/sudo", "#!/bin/sh\necho by sudo: >&2\n", 0o755)
    os.chmod(f"{folder}/tools", 0o755)
    installation.install(f"{folder}/there", small_stage(folder))
    for place, is_wanted in ("there", True), ("not there", False):
        result = subprocess.run(
            [f"{SCRIPTS}/install", "--uninstall", "--prefix", f"{folder}/{place}"], stderr=subprocess.PIPE, text=True, user=NOBODY,
            group=NOBODY, extra_groups=[], cwd="/", check=False, timeout=60, stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": f"{folder}/home", "PATH": f"{folder}/tools:{os.environ['PATH']}"})
        equal(("by sudo" in result.stderr, result.returncode), (is_wanted, 0 if is_wanted else 1), f"{place}: {result.stderr}")


def one_waits_for_another_and_can_be_interrupted(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    installation.install(prefix, stage)
    held = os.open(prefix, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        for number in signal.SIGINT, signal.SIGTERM, None:
            process = subprocess.Popen(
                [sys.executable, "-B", PROGRAM, "install", prefix, stage], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            try:
                first = process.stderr.readline()
                require("Another installation" in first, f"it does not wait: {first}")
                if number is None:
                    fcntl.flock(held, fcntl.LOCK_UN)
                else:
                    process.send_signal(number)
                said = process.communicate(timeout=30)[1]
            finally:
                process.kill()
                process.wait()
            equal(process.returncode, 128 + number if number else 0, said)
            require(not number or (said.startswith("error: interrupted") and said.count("\n") == 2), said)
    finally:
        os.close(held)


TESTS = [
    what_is_no_directory_ends_it_before_it_begins, folders_above_a_prefix_are_made_and_go, what_peer_remembers_is_for_its_owner_alone,
    only_what_root_can_mend_is_done_as_root, sudo_is_started_where_it_helps, one_waits_for_another_and_can_be_interrupted,
]

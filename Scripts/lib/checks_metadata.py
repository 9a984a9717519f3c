"""Acceptance of what belongs to files beside their content: owners, set-id bits, attributes, lists, hard links."""

import os
import subprocess

from checks import check
from devices import Receiver, sender, small_file, transfer
from outside import IS_ROOT, NOBODY, Skip, equal, require, run_script


def losses(process):
    return {loss["kind"]: loss["count"] for loss in process.events("done")[0]["losses"]}


def send(work, old, new, sending=(), receiving=(), user=None):
    """Sends everything in one folder to another, with options on either side; what was lost."""
    receiver = Receiver(work, new, user, options=receiving)
    sources = [f"{old}/{name}" for name in sorted(os.listdir(old))]
    process = sender(work, [*sending, *sources], receiver.port, receiver.pairing_code, user)
    codes = process.wait(120), receiver.wait(30)
    require(codes == (0, 0), f"exit codes {codes}: {process.text()[-300:]} {receiver.text()[-300:]}")
    equal(losses(process), losses(receiver), "what the sender heard of losses")
    return losses(receiver)


def owned_tree(work):
    """A tree in which owners and set-id bits differ from file to file."""
    if not IS_ROOT:
        raise Skip("not root")
    old, new = work.place()
    run_script("make-tree", f"{old}/tree")
    number = 0
    for directory, _, _, descriptor in os.fwalk(os.fsencode(f"{old}/tree"), topdown=False):
        for name in os.listdir(descriptor):
            number += 1
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode & 0o7777
            os.chown(name, 10_000 + number % 7, 20_000 + number % 5, dir_fd=descriptor, follow_symlinks=False)
            if number % 11 == 0 and not os.path.islink(f"/proc/self/fd/{descriptor}/{name}"):
                os.chmod(name, mode | 0o2000, dir_fd=descriptor)
    return old, new


@check("owners, set-id bits, attributes, lists and hard links, as root")
def _(work):
    old, new = owned_tree(work)
    equal(send(work, old, new, ["--owners"], ["--owners", "--set-id-bits"]), {}, "losses")
    return run_script("check-trees", "--inside", "--owners", old, new)


@check("attributes, lists and hard links, as an unprivileged user")
def _(work):
    user = NOBODY if IS_ROOT else None
    old, new = work.place(user)
    run_script("make-tree", f"{old}/tree")
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", f"{old}/tree"], check=True)
    equal(send(work, old, new, user=user), {}, "losses")
    return run_script("check-trees", "--inside", old, new)


@check("owners that nobody here may set are counted, and all arrives")
def _(work):
    if not IS_ROOT:
        raise Skip("not root")
    old, new = work.place(NOBODY)
    for number in range(3):
        small_file(f"{old}/{number}")
        os.chown(f"{old}/{number}", 1, 1)
    equal(send(work, old, new, ["--owners"], ["--owners"], NOBODY), {"owner": 3}, "losses")
    run_script("check-trees", "--inside", old, new)


@check("attributes for which the destination has no room are counted")
def _(work):
    if not os.path.isdir("/dev/shm"):
        raise Skip("no second file system")
    old, new = work.place()
    small_file(f"{old}/file")
    try:
        os.setxattr(f"{old}/file", "user.large", bytes(60_000))
        raise Skip("the file system takes everything")
    except OSError:
        pass
    source = work.shared_memory()
    small_file(f"{source}/file")
    small_file(f"{source}/other")
    try:
        os.setxattr(f"{source}/file", "user.large", bytes(60_000))
    except OSError:
        raise Skip("no file system takes that much") from None
    equal(send(work, source, new), {"attribute": 1}, "losses")
    equal(sorted(os.listdir(new)), ["file", "other"], "the destination")

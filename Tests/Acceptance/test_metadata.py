"""The metadata of files: owners, set-id bits, attributes, lists, hard links."""

import os
import struct
import subprocess

from devices import Receiver, end_well, sender, small_file
from needs import attributes, file_system_for_large_attributes, needs, root
from outside import IS_ROOT, NOBODY, equal, run_script


def losses(process):
    return {loss["kind"]: loss["count"] for loss in process.events("done")[0]["losses"]}


def send(work, old, new, sending=(), receiving=(), user=None):
    """Sends everything in one folder to another, with options on either side; returns the
    losses."""
    receiver = Receiver(work, new, user, options=receiving)
    sources = [f"{old}/{name}" for name in sorted(os.listdir(old))]
    process = sender(work, [*sending, *sources], receiver.port, receiver.pairing_code, user)
    end_well(process, receiver)
    equal(losses(process), losses(receiver), "what the sender heard of losses")
    return losses(receiver)


def owned_tree(work):
    """A tree in which owners and set-id bits differ from file to file."""
    old, new = work.place(on_disk=True)
    run_script("make-tree", f"{old}/tree")
    number = 0
    for _, _, _, descriptor in os.fwalk(os.fsencode(f"{old}/tree"), topdown=False):
        for name in os.listdir(descriptor):
            number += 1
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode & 0o7777
            os.chown(name, 10_000 + number % 7, 20_000 + number % 5, dir_fd=descriptor, follow_symlinks=False)
            if number % 11 == 0 and not os.path.islink(f"/proc/self/fd/{descriptor}/{name}"):
                os.chmod(name, mode | 0o2000, dir_fd=descriptor)
    entries = [(1, 7, -1), (2, 4, 1234), (4, 5, -1), (8, 1, 5678), (16, 7, -1), (32, 0, -1)]
    listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(f"{old}/tree/attributes", "system.posix_acl_access", listed)
    return old, new


@needs(root, attributes)
def test_all_metadata_as_root(work):
    """owners, set-id bits, attributes, lists and hard links, as root"""
    old, new = owned_tree(work)
    equal(send(work, old, new, ["--owners"], ["--owners", "--set-id-bits"]), {}, "losses")
    work.figure = run_script("check-trees", "--inside", "--owners", old, new)


@needs(attributes)
def test_metadata_as_an_unprivileged_user(work):
    """attributes, lists and hard links, as an unprivileged user"""
    user = NOBODY if IS_ROOT else None
    old, new = work.place(user, on_disk=True)
    run_script("make-tree", f"{old}/tree")
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", f"{old}/tree"], check=True)
    equal(send(work, old, new, user=user), {}, "losses")
    work.figure = run_script("check-trees", "--inside", old, new)


@needs(root)
def test_owners_that_cannot_be_set_are_counted(work):
    """owners that this user cannot set are counted, and all files arrive"""
    old, new = work.place(NOBODY)
    for number in range(3):
        small_file(f"{old}/{number}")
        os.chown(f"{old}/{number}", 1, 1)
    equal(send(work, old, new, ["--owners"], ["--owners"], NOBODY), {"owner": 3}, "losses")
    run_script("check-trees", "--inside", old, new)


@needs(file_system_for_large_attributes)
def test_attributes_without_room_are_counted(work):
    """attributes without room at the destination are counted"""
    source = work.folder("/dev/shm")
    _, new = work.place(on_disk=True)
    small_file(f"{source}/file")
    small_file(f"{source}/other")
    os.setxattr(f"{source}/file", "user.large", bytes(60_000))
    equal(send(work, source, new), {"attribute": 1}, "losses")
    equal(sorted(os.listdir(new)), ["file", "other"], "the destination")

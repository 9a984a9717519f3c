"""The metadata of files: owners, set-id bits, attributes, lists, hard links."""

import glob
import os
import struct
import subprocess

import pytest

from devices import PATIENCE, Process, Receiver, end_well, random_file, sender, small_file
from needs import attributes, file_system_for_large_attributes, needs, own_mounts, root
from outside import IS_ROOT, MIB, NOBODY, ROOT, equal, run_script, wait_for


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


@needs(root, attributes, own_mounts)
def test_owners_by_name(work):
    """--owners: the script for homes of docs/Administrators.md, as root, between two devices whose
    users have other numbers: owners, access lists and set-group-id bits arrive by name"""
    old, new = work.place(on_disk=True)
    os.chmod(new, 0o755)
    names = [f"home{number}" for number in range(10)]
    before = {name: 70_000 + number for number, name in enumerate(names)}
    after = {name: 80_009 - number for number, name in enumerate(names) if number != 8}

    def device(users, folder):
        """What begins a command on a device with these users and groups of the same numbers."""
        files = []
        for kind, line in (("passwd", "{0}:x:{1}:{1}::{2}/{0}:/bin/sh\n"), ("group", "{0}:x:{1}:{0}\n")):
            files.append(f"{work.path}/{kind}-{len(os.listdir(work.path))}")
            rest = "".join(line for line in open(f"/etc/{kind}", encoding="utf-8") if not line.startswith("home"))
            small_file(files[-1], (rest + "".join(line.format(name, number, folder) for name, number in users.items())).encode())
        begin = 'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && shift 2 && exec "$@"'
        return ["unshare", "-m", "sh", "-c", begin, "sh", *files]

    def acl(users, name, other):
        entries = [(1, 7, -1), (2, 5, users.get(other, before[other])), (4, 5, -1), (8, 7, users.get(name, before[name])), (16, 7, -1), (32, 0, -1)]
        return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)

    for number, name in enumerate(names):
        os.makedirs(f"{old}/{name}/shared")
        small_file(f"{old}/{name}/shared/file")
        os.symlink("file", f"{old}/{name}/shared/link")
        for path in ("", "/shared", "/shared/file", "/shared/link"):
            os.chown(f"{old}/{name}{path}", before[name], before[names[number - 1]], follow_symlinks=False)
        os.chmod(f"{old}/{name}/shared", 0o2770)
        for kind, path in (("access", "/shared/file"), ("access", "/shared"), ("default", "/shared")):
            os.setxattr(f"{old}/{name}{path}", f"system.posix_acl_{kind}", acl(before, name, names[number - 1]))
    with open(f"{ROOT}/docs/Administrators.md", encoding="utf-8") as file:
        small_file(f"{work.path}/send-homes", file.read().split("```bash\n")[2].split("```")[0].encode())
    small_file(f"{work.path}/map", b"# home8 has no account here\nuser home8 home9\n")
    os.mkdir(f"{work.path}/bin")
    os.symlink(work.binary, f"{work.path}/bin/peer")
    receiver = Process(work, ["receive", new, "--owners", "--set-id-bits", "--owner-map", f"{work.path}/map", "--listen", "127.0.0.1:0", "--json"],
                       within=device(after, new))
    wait_for("a code", PATIENCE, lambda: receiver.events("code"))
    small_file(f"{work.path}/code", receiver.events("code")[0]["code"].encode())
    script = subprocess.run(
        [*device(before, old), "bash", f"{work.path}/send-homes", f"127.0.0.1:{receiver.events('listening')[0]['port']}",
         f"{work.path}/code", *names], env={**os.environ, "PATH": f"{work.path}/bin:{os.environ['PATH']}", "HOME": work.path, "PEER_HOME": f"{work.path}/sender"},
        capture_output=True, timeout=PATIENCE, check=False)
    equal((script.returncode, receiver.wait()), (0, 0), f"exit codes: {script.stderr[-300:]}")
    # The group home8 is unknown and has no rule: its number is kept, of one home and in two lists.
    equal(losses(receiver), {"ownerName": 6}, "losses")
    users = {**after, "home8": after["home9"]}
    groups = {**after, "home8": before["home8"]}
    for number, name in enumerate(names):
        for path in ("", "/shared", "/shared/file", "/shared/link"):
            there = os.lstat(f"{new}/{name}{path}")
            equal((there.st_uid, there.st_gid), (users[name], groups[names[number - 1]]), f"the owner of {name}{path}")
        equal(os.stat(f"{new}/{name}/shared").st_mode & 0o7777, 0o2770, f"the mode of {name}/shared")
        for kind, path in (("access", "/shared/file"), ("access", "/shared"), ("default", "/shared")):
            found = os.getxattr(f"{new}/{name}{path}", f"system.posix_acl_{kind}")
            entries = {(tag, number) for tag, _, number in struct.iter_unpack("<HHi", found[4:]) if tag in (2, 8)}
            equal(entries, {(2, users[names[number - 1]]), (8, groups[name])}, f"the {kind} list of {name}{path}")


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


@pytest.mark.takes(3)
def test_files_are_read_again(work):
    """--verify: a file that was changed on the disk after it arrived is not stored, and both devices
    name it and exit 8"""
    old, new = work.place()
    os.mkdir(f"{old}/tree")
    small_file(f"{old}/tree/spoilt", b"as it was sent")
    small_file(f"{old}/tree/whole", b"as it was sent")
    random_file(f"{old}/tree/big", 6 * MIB)
    receiver = Receiver(work, new, options=["--verify"])
    sending = sender(work, [f"{old}/tree", "--limit", "3M"], receiver.port, receiver.pairing_code)
    staged = wait_for("the file in staging", PATIENCE, lambda: glob.glob(f"{new}/.peer-*/tree/tree/spoilt"))[0]
    wait_for("its content", PATIENCE, lambda: os.path.getsize(staged))
    with open(staged, "r+b") as file:
        file.write(b"AS")
    equal((sending.wait(), receiver.wait()), (8, 8), f"exit codes: {sending.text()[-300:]} {receiver.text()[-300:]}")
    for process in (sending, receiver):
        named = [(event["path"], event["reason"]) for event in process.events("notStored")]
        equal(named, [("tree/spoilt", "differs")], f"what {process.name()} names")
    equal(sorted(os.listdir(f"{new}/tree")), ["big", "whole"], "what arrived")

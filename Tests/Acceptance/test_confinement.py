"""The confinement of a receiver, and of an app's extension."""

import contextlib
import os
import signal

import pytest

from apps import complaints, devices, move as move_app, said
from devices import Receiver, end_well, sender, small_file
from forgetful_disk import ForgetfulDisk, wait_until_there
from needs import fuse, landlock, needs
from outside import equal, require, run_script
from surroundings import PLACES


def move(work, new):
    """Sends a folder there; returns the receiver, and the folder's content."""
    old, _ = work.place()
    os.makedirs(f"{old}/tree/deep")
    for number in range(20):
        small_file(f"{old}/tree/deep/{number}", b"%d" % number * 1000)
    receiver = Receiver(work, new)
    end_well(sender(work, [f"{old}/tree"], receiver.port, receiver.pairing_code), receiver)
    run_script("check-trees", "--inside", old, new)
    return receiver


@needs(landlock)
def test_an_ordinary_disk(work):
    """an ordinary disk: the receiver is confined, and its test leaves nothing behind"""
    _, new = work.place()
    receiver = move(work, new)
    equal([len(receiver.events(name)) for name in ("confined", "unconfined")], [1, 0], "events")
    equal(os.listdir(new), ["tree"], "the destination")


@needs(landlock)
@pytest.mark.parametrize("options", [[], ["--owners"]], ids=["usual", "owners"])
def test_other_programs(work, options):
    """the receiver's calls are filtered, and it cannot gain rights"""
    _, new = work.place()
    receiver = Receiver(work, new, options=options)
    with open(f"/proc/{receiver.pid}/status", encoding="ascii") as file:
        facts = dict(line.split(":\t") for line in file.read().splitlines() if ":\t" in line)
    equal([facts["Seccomp"], facts["Seccomp_filters"], facts["NoNewPrivs"]], ["2", "1", "1"], "the kernel's facts")
    equal(receiver.events("notice"), [], "notices")
    receiver.signal(signal.SIGINT)
    receiver.wait()


@pytest.mark.takes(5)
@needs(landlock, fuse)
def test_a_disk_that_forgets_its_inodes(work):
    """a disk with a new inode at each look, like 9p: everything arrives, and peer reports no
    confinement"""
    behind, folder = work.place()
    disk = work.undone.enter_context(contextlib.closing(ForgetfulDisk(behind, folder)))
    wait_until_there(disk.folder)
    os.mkdir(f"{folder}/new")
    receiver = move(work, f"{folder}/new")
    equal(receiver.events("confined"), [], "confinements")
    told = receiver.event("unconfined")
    equal(told["directories"], [{"path": f"{folder}/new"}], "directories")
    require("Landlock" in told["message"], f"it does not say why: {told}")
    equal(os.listdir(f"{behind}/new"), ["tree"], "the destination")


# An app


@needs(landlock)
@pytest.mark.parametrize("user,place", PLACES)
def test_an_apps_receiver_and_extension(work, user, place):
    """app: the receiver is confined to PEER_HOME, and its extension and the sender's much
    further"""
    if place:
        work.within = place(work)
    old, new = devices(work, user, behaviour="look", export="look")
    secret = f"{work.path}/secret"
    small_file(secret, b"secret")
    os.chmod(secret, 0o644)
    if user is not None:
        os.chown(secret, user, user)
    sender, receiver = move_app(old, new, "--option", f"path={secret}")
    equal(
        [line for line in said(sender) if line.endswith(("refused", "REFUSED", "done", "DONE"))],
        ["read outside: refused", "list outside: refused", "append outside: refused", "write inside: refused",
         "mode outside: refused", "write scratch: done", "mode in scratch: done", "socket: refused", "process: refused"],
        "the exporter")
    equal(
        said(receiver)[1:],
        ["read outside: refused", "write outside: refused", "write inside: done", "mode outside: refused",
         "mode of the app: refused", "mode inside: done", "mode of the group: done", "mode of what arrived: done"],
        "the importer")
    equal(new.run("status"), "success", "the status")
    equal(receiver.events("confined")[0]["directories"], [{"path": os.path.realpath(new.home)}], "directories")
    equal(complaints(sender) + complaints(receiver), [], "what is not kept")
    equal(os.stat(secret).st_mode & 0o777, 0o644, "the mode outside")

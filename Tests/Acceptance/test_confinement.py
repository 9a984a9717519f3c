"""Receiving where the kernel's confinement would prevent the receiver from writing to the
destination."""

import contextlib
import os

import pytest

from devices import Receiver, end_well, sender, small_file
from forgetful_disk import ForgetfulDisk, wait_until_there
from needs import fuse, landlock, needs
from outside import equal, require, run_script


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

"""Receiving into a file system of a daemon that keeps written data in memory until it is synced, as
gocryptfs, mergerfs and sshfs do: what was promised to be durable is."""

import contextlib
import os
import signal

import pytest

from devices import PATIENCE, Receiver, end_well, own_port, random_file, sender
from forgetful_disk import ForgetfulDisk, Losing, events, lose_unsynced, wait_until_there
from needs import fuse, needs
from outside import MIB, equal, require, wait_for

FILES = 300
SIZE = 24 * MIB


def filled(old):
    os.makedirs(f"{old}/tree/small")
    for number in range(FILES):
        random_file(f"{old}/tree/small/{number}", 40_000)
    random_file(f"{old}/tree/large", SIZE)


def contents(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with open(f"{place}/{name}", "rb") as file:
                found[os.path.relpath(f"{place}/{name}", folder)] = file.read()
    return found


def progress(process):
    found = process.events("progress")
    return found[-1]["bytes"] if found else 0


@pytest.mark.takes(20)
@needs(fuse)
def test_a_daemon_that_dies_with_its_memory(work):
    """a daemon's file system: a resume after its memory is lost delivers whole files, and all of them
    are synced in the end"""
    old, new = work.place(on_disk=True)
    behind, folder = f"{new}/behind", f"{new}/seen"
    os.makedirs(behind)
    os.makedirs(folder)
    filled(old)
    with contextlib.closing(ForgetfulDisk(behind, folder, Losing)):
        wait_until_there(folder)
        receiver = Receiver(work, folder, port=own_port())
        link = work.slow_link(receiver.port, 5 * MIB)
        sending = sender(work, [f"{old}/tree"], link.port, receiver.pairing_code)
        wait_for("three quarters", PATIENCE, lambda: progress(sending) > 27 * MIB or sending.poll())
        require(sending.is_running(), f"the sender ended with {sending.code}: {sending.text()[-300:]}")
        for process in (receiver, sending):
            process.signal(signal.SIGKILL)
            process.wait()
        link.close()
    lost = lose_unsynced(behind)
    with contextlib.closing(ForgetfulDisk(behind, folder, Losing)):
        wait_until_there(folder)
        receiver = Receiver(work, folder, port=receiver.port, is_inviting=False)
        again = sender(work, [f"{old}/tree"], receiver.port, None)
        end_well(again, receiver)
        equal(contents(f"{folder}/tree") == contents(f"{old}/tree"), True, "the same content")
        resent = again.events("done")[0]["sentBytes"]
    require(0 < resent < 30 * MIB, f"{resent} bytes came in the second session")
    told = events(behind)
    synced = {path.rpartition("/")[2] for kind, _, path in told if kind == "file"}
    require("large" in synced, "the large file is not synced")
    require(any(kind == "folder" and path == behind for kind, _, path in told), "the destination is not synced")
    equal(lose_unsynced(behind), 0, "files of the finished transfer that a death of the daemon would lose")
    work.figure = f"{lost} files were lost in memory, {resent / MIB:.0f} MiB came again"

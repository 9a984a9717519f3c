"""Sending from real file systems, with a resume after a new mount: no file is a mixture."""

import contextlib
import os

import pytest

from devices import Receiver, end_well, sender
from forgetful_disk import ForgetfulDisk, Lying, wait_until_there
from needs import fuse, needs
from outside import MIB, require

SIZE = 24 * MIB


@pytest.mark.takes(3)
@needs(fuse)
def test_a_file_system_that_tells_of_holes_where_data_is(work):
    """holes of a file system that is not known to tell them right: the bytes count, and stay holes"""
    old, new = work.place(on_disk=True)
    behind, folder = f"{old}/behind", f"{old}/seen"
    os.makedirs(behind)
    os.makedirs(folder)
    with open(f"{behind}/large", "wb") as file:
        file.write(os.urandom(2 * MIB))
        file.seek(SIZE - MIB)
        file.write(os.urandom(MIB))
    disk = work.undone.enter_context(contextlib.closing(ForgetfulDisk(behind, folder, Lying)))
    wait_until_there(disk.folder)
    receiver = Receiver(work, new)
    sending = sender(work, [f"{folder}/large"], receiver.port, receiver.pairing_code)
    end_well(receiver, sending)
    with open(f"{behind}/large", "rb") as sent, open(f"{new}/large", "rb") as arrived:
        require(sent.read() == arrived.read(), "the bytes are not those of the source")
    require(os.stat(f"{new}/large").st_blocks * 512 < SIZE // 2, "the zeros are no hole")

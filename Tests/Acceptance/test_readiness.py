"""An extension's capabilities are checked before two devices connect; the limits of its silence."""

import os
import signal
import time

import pytest

from apps import ID, Device, said
from devices import PATIENCE, closed_port
from outside import equal, require, wait_for
from terminal import Terminal

FILE = "the bundle is invalid: 'Extensions/Migration.appex/"


def device(work, program="TestAppExtension", info=None, **files):
    """A device whose app's extension is a program of this name."""
    folder, _ = work.place()
    made = Device(work, folder, program=program, info=info)
    made.write(**files)
    return made


def refused(process, *reasons):
    """Requires that a run was refused because of its extension, without listening, code or
    connection."""
    equal(process.wait(), 4, f"the exit code: {process.text()[-300:]}")
    error = process.error()
    for reason in (FILE, *reasons):
        require(reason in error["message"], f"said: {error['message']}")
    require("peer app install" in error["hint"], f"hinted: {error['hint']}")
    met = {"listening", "announced", "code", "connecting", "paired"}
    equal([event["event"] for event in process.events() if event["event"] in met], [], "events")


def receiving(device):
    return device.start("receive", "--app", ID, "--listen", "127.0.0.1:0", "--json")


# Starting it first


@pytest.mark.parametrize("program, reason", [
    ("OnlyExporting", "OnlyExporting': the extension of org.example.test can export, and cannot import"),
    ("Neither", "can neither export nor import"), ("Crashing", "it was ended by signal 11"),
    ("Leaving", "it ended with status 3"), ("Closing", "it gave up its channel"), ("Trapping", "it was ended by signal")],
    ids=["it only exports", "it does neither", "it crashes", "it ends", "it gives up its channel", "its object cannot be made"])
def test_an_extension_that_cannot_import(work, program, reason):
    """app: an extension that cannot import is refused before a code is shown"""
    new = device(work, program)
    begun = time.monotonic()
    refused(receiving(new), reason)
    took = time.monotonic() - begun
    require(not os.path.exists(f"{new.home}/staging/{ID}"), "something was prepared")
    equal(new.run("status"), "none", "the status at first launch")
    work.figure = f"{took:.1f} s"


@pytest.mark.parametrize("program, reason", [
    ("OnlyImporting", "can import, and cannot export"), ("Neither", "can neither export nor import"),
    ("Crashing", "it was ended by signal 11"), ("Trapping", "it was ended by signal")],
    ids=["it only imports", "it does neither", "it crashes", "its object cannot be made"])
def test_an_extension_that_cannot_export(work, program, reason):
    """app: an extension that cannot export is refused before the code is asked for"""
    old = device(work, program, kept="text")
    with closed_port() as port:
        person = Terminal(work, ["send", "--app", ID, "--to", f"127.0.0.1:{port}"], settings={"PEER_HOME": old.home})
        equal(person.wait(), 4, "the exit code")
        text = " ".join(person.text().split())
        require(f"peer: error: {FILE}{program}'" in text and reason in text, text)
        require("Code shown on" not in text, text)
        refused(old.send(port, None), reason)


def test_ctrl_c_while_the_extension_starts(work):
    """app: Ctrl-C and SIGTERM end the start of a silent extension"""
    both = device(work, "Silent", kept="text")
    figures = []
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for begin in (lambda: receiving(both), lambda: both.send(9, None)):
            process = begin()
            wait_for("the extension", PATIENCE, lambda process=process: said(process) == ["silent"])
            begun = time.monotonic()
            process.signal(number)
            equal(process.wait(), code, f"the exit code of '{process.name()}'")
            figures.append(time.monotonic() - begun)
            require("interrupted" in process.error()["message"], f"said: {process.error()['message']}")
    require(max(figures) < 10, f"it took {max(figures):.1f} s")
    work.figure = f"{max(figures):.1f} s"

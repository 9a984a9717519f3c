"""The migration of an app's data."""

import os
import signal

import pytest

from apps import ID, Device, devices, move, said, send_again, untouched
from devices import PATIENCE, own_port, random_file
from outside import MIB, equal, require, wait_for


def processes_of(device):
    """The running extensions of a device."""
    return running_beneath(device.home)


def running_beneath(folder):
    """The processes whose programs lie in a folder."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if folder in os.readlink(f"/proc/{name}/exe"):
                    found.append(int(name))
            except OSError:
                pass
    return found


def test_data_group_and_status_arrive(work):
    """app: data, group and status arrive"""
    old, new = devices(work, version="2.7")
    sender, receiver = move(old, new)
    equal(new.documents(), old.documents(), "the new device's files")
    with open(new.group("shared"), encoding="utf-8") as file:
        equal(file.read(), "shared", "the group's file")
    equal(new.run("status"), "success", "the status at first launch")
    new.run("clear")
    equal(new.run("status"), "none", "the status after it was cleared")
    require(f"importing version 2.7 of {ID}" in said(receiver), f"the importer was told: {said(receiver)}")
    progress = [event.get("phaseFraction") for event in sender.events("progress") if event["phase"] == "importing"]
    require(progress, "the sender shows no progress of the import")
    work.figure = f"{receiver.events('done')[0]['items']} items"


def test_an_exporter_that_throws(work):
    """app: an exporter that throws"""
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "throw", codes=(9, 9))
    require("the author's own words" in sender.error()["message"], f"said: {sender.error()['message']}")
    untouched(new)


def test_an_importer_that_crashes(work):
    """app: an importer that crashes, or ends without a result"""
    for behaviour, reason in (("crash", "signal 11"), ("leave", "status 0")):
        old, new = devices(work, behaviour=behaviour)
        _, receiver = move(old, new, codes=(7, 7))
        require(reason in receiver.error()["message"], f"said: {receiver.error()['message']}")
        equal(new.documents(), {}, "the container holds")
        require(new.run("status").startswith("failure "), f"the status is {new.run('status')}")


@pytest.mark.takes(15)
def test_all_processes_are_killed(work):
    """app: sender, receiver and extension are killed, and the migration resumes"""
    old, new = devices(work)
    # More than a window is left when the extension is killed: otherwise it may have read everything
    # and ended.
    random_file(old.container("Documents/large"), 80 * MIB)
    receiver = new.receive(port=own_port())
    link = work.slow_link(receiver.port, 16 * MIB)
    sender = old.send(link.port, receiver.pairing_code)

    def wait_for_bytes(process, count):
        wait_for(f"{count / MIB:.0f} MiB", PATIENCE, lambda: (process.events("progress") or [{"bytes": 0}])[-1]["bytes"] > count)

    wait_for_bytes(receiver, 16 * MIB)
    sender.signal(signal.SIGKILL)
    sender.wait()
    wait_for("the exporter's end", PATIENCE, lambda: not processes_of(old))
    sender = old.send(link.port, None)
    wait_for_bytes(receiver, 32 * MIB)
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    # The sender may be back before there is a code.
    receiver = new.receive(port=receiver.port, is_inviting=False)
    wait_for_bytes(receiver, 40 * MIB)
    # Only the extension: the export then fails, and the received data is kept.
    os.kill(processes_of(old)[0], signal.SIGKILL)
    equal(sender.wait(), 9, "the sender's exit code when its extension was killed")
    equal(receiver.wait(), 9, "the receiver's exit code then")
    link.close()
    sender = send_again(old, new)
    equal(new.documents(), old.documents(), "what arrived")
    sent = sender.events("done")[0]["sentBytes"]
    require(sent <= 40 * MIB, f"{sent} bytes were sent in the last run")
    work.figure = f"{sent / MIB:.0f} of 80 MiB in the last run"


def test_offers_that_are_refused(work):
    """app: another app's data, folders, and data over existing data are refused"""
    old, new = devices(work)
    other_folder, folder = work.place()
    other = Device(work, other_folder, identifier="org.example.other")
    _, receiver = move(other, new, codes=(4, 4))
    require("org.example.other" in receiver.error()["message"], f"said: {receiver.error()['message']}")
    receiver = new.receive()
    sender = new.start("send", folder, "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json",
                       text=receiver.pairing_code + "\n")
    equal((sender.wait(), receiver.wait()), (4, 4), "exit codes for folders")
    new.write(own="data")
    _, receiver = move(old, new, codes=(4, 4))
    require("--replace" in receiver.error()["hint"], f"hinted: {receiver.error()['hint']}")
    equal(new.documents(), {"own": b"data"}, "the container holds")
    old.write(behaviour="throw")
    move(old, new, "--replace", codes=(7, 7))
    equal(new.documents(), {"own": b"data"}, "the container holds, after an import that failed,")
    old.write(behaviour="")
    send_again(old, new, "--replace")
    equal(new.documents(), old.documents(), "what arrived")


def test_an_app_and_a_migration_keep_each_other_out(work):
    """app: a running app and a migration exclude each other"""
    old, new = devices(work)
    running = old.start("app", "run", ID, "stay")
    wait_for("the app", PATIENCE, lambda: "here" in running.text())
    refusal = old.peer("send", "--app", ID, "--to", "127.0.0.1:9", "--code-file", "/dev/null", code=4)
    require(f"the app {ID} is running (process {running.pid})" in refusal, f"said: {refusal}")
    running.end()
    receiver = new.receive()
    refusal = new.peer("app", "run", ID, "status", code=4)
    require(f"is being migrated (process {receiver.pid})" in refusal, f"said: {refusal}")
    refusal = new.peer("receive", "--app", ID, code=4)
    require("is being migrated" in refusal, f"said: {refusal}")
    receiver.end()
    equal(new.run("status"), "none", "the status")

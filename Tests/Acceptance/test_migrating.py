"""The migration of an app's data."""

import os
import signal
import time

import pytest

from apps import GROUP, ID, Device, devices, move, said, send_again, untouched
from devices import PATIENCE, end_well, own_port, random_file
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


def extension_says(process, line):
    wait_for(f"'{line}' from the extension", PATIENCE, lambda: line in said(process) or not process.is_running())
    require(process.is_running(), f"'peer {process.arguments[0]}' ended too early: {process.text()[-300:]}")


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


def test_defaults_of_a_group_are_one_file(work):
    """app: defaults of a group are one file for app and extension"""
    old, _ = devices(work)
    old.run("set", GROUP, "colour", "green")
    equal(old.run("get", GROUP, "colour"), "green", "the default")
    require(os.path.islink(old.container(f".config/{GROUP}.plist")), "the link was replaced")
    require(os.path.isfile(old.group(f"Library/Preferences/{GROUP}.plist")), "the group has no preferences")


def test_an_exporter_that_throws(work):
    """app: an exporter that throws"""
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "throw", codes=(9, 9))
    require("the author's own words" in sender.error()["message"], f"said: {sender.error()['message']}")
    untouched(new)


def test_an_exporter_that_crashes(work):
    """app: an exporter that crashes"""
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "crash", codes=(9, 9))
    require("signal 11" in sender.error()["message"], f"said: {sender.error()['message']}")
    untouched(new)


@pytest.mark.takes(10)
def test_an_exporter_that_appends_nothing_is_ended(work):
    """app: an exporter that appends nothing is ended"""
    old, new = devices(work)
    for behaviour in ("hang", "spin"):
        begun = time.monotonic()
        sender, _ = move(old, new, "--platform", behaviour, sending=("--idle-limit", "2"), codes=(9, 9))
        require("appended nothing for 2 seconds and was ended" in sender.error()["message"], f"said: {sender.error()['message']}")
        took = time.monotonic() - begun
        require(took >= 2, f"ended after {took:.2f} s")
        equal(processes_of(old), [], "extensions that still run")
        new.peer("forget", new.peer("resume", "list").split("\n")[1].split()[0])
    untouched(new)


@pytest.mark.takes(50)
def test_the_idle_limit(work):
    """app: the idle limit is 20 s, and neither a slow nor a dead link counts"""
    hanging, slow, dead = [devices(work) for _ in range(3)]
    for old, _ in (slow, dead):
        random_file(old.container("Documents/large"), 44 * MIB)
    begun = time.monotonic()
    waits = [new.receive("--platform", behaviour) for (_, new), behaviour in
             ((hanging, "hang"), (slow, "linux"), (dead, "linux"))]
    links = [work.slow_link(waits[1].port, MIB), work.slow_link(waits[2].port, 4 * MIB)]
    ports = [waits[0].port, *[link.port for link in links]]
    senders = [pair[0].send(port, wait.pairing_code) for pair, port, wait in zip((hanging, slow, dead), ports, waits)]
    wait_for("bytes through the link", PATIENCE, lambda: links[1].passed > 4 * MIB)
    links[1].do(links[1].stall, 31)
    frozen = time.monotonic()

    def silent():
        return [event["message"] for event in senders[0].events("notice") if "has appended nothing for 10 seconds" in event["message"]]

    wait_for("the notice at half of the limit", PATIENCE, lambda: silent() or not senders[0].is_running())
    half = time.monotonic()
    equal(senders[0].wait(), 9, "the exit code of the exporter that hangs")
    hung, rest = time.monotonic() - begun, time.monotonic() - half
    # How long the start takes, and the end, depends on the other load of this machine.
    require(19 < hung and rest < 19, f"it was ended after {hung:.1f} s, {rest:.1f} s behind the notice")
    equal(len(silent()), 1, "notices at half of the limit")
    wait_for("the link to have been dead for 30 s", PATIENCE, lambda: time.monotonic() - frozen > 30)
    equal(senders[1].wait(), 0, "the exit code behind the slow link")
    took = time.monotonic() - begun
    require(took > 40, f"the slow link took {took:.1f} s only")
    equal(senders[2].wait(), 0, "the exit code behind the link that was dead")
    equal([wait.wait() for wait in waits], [9, 0, 0], "the receivers' exit codes")
    for old, new in (slow, dead):
        equal(new.documents(), old.documents(), "what arrived")
    work.figure = f"hanging exporter ended after {hung:.1f} s; one append of 44 MiB took {took:.0f} s"


@pytest.mark.takes(15)
def test_a_cancellation_that_is_ignored(work):
    """app: an ignored cancellation ends in a kill, a rethrown one does not"""
    old, new = devices(work)
    figures = []
    for behaviour, is_killed in (("swallow", True), ("return", True), ("for ever", False)):
        receiver = new.receive("--platform", behaviour)
        sender = old.send(receiver.port, receiver.pairing_code)
        extension_says(sender, "appending")
        begun = time.monotonic()
        sender.signal(signal.SIGINT)
        equal(sender.wait(), 130, f"the exit code of '{behaviour}'")
        figures.append(f"{behaviour}: {time.monotonic() - begun:.1f} s")
        killed = any("killed" in event["message"] for event in sender.events("notice"))
        equal(killed, is_killed, f"whether '{behaviour}' was killed")
        equal(processes_of(old), [], "extensions that still run")
        receiver.end()
        new.peer("forget", new.peer("resume", "list").split("\n")[1].split()[0])
        old.peer("forget", old.peer("resume", "list").split("\n")[1].split()[0])
    untouched(new)
    work.figure = ", ".join(figures)


def test_an_importer_that_throws(work):
    """app: an importer that throws, and a retry"""
    old, new = devices(work, behaviour="throw")
    _, receiver = move(old, new, codes=(7, 7))
    require("the author's own words" in receiver.error()["message"], f"said: {receiver.error()['message']}")
    equal(new.documents(), {}, "the container holds")
    require(os.path.exists(new.group("half")), "the group was cleared")
    equal(new.run("status"), "failure org.example.test 7 the author's own words", "the status at first launch")
    equal(new.run("status"), "failure org.example.test 7 the author's own words", "the status at the next")
    old.write(behaviour="")
    send_again(old, new)
    equal(new.documents(), old.documents(), "what the retry brought")
    equal(new.run("status"), "success", "the status after the retry")


def test_an_importer_that_crashes(work):
    """app: an importer that crashes, or ends without a result"""
    for behaviour, reason in (("crash", "signal 11"), ("leave", "status 0")):
        old, new = devices(work, behaviour=behaviour)
        _, receiver = move(old, new, codes=(7, 7))
        require(reason in receiver.error()["message"], f"said: {receiver.error()['message']}")
        equal(new.documents(), {}, "the container holds")
        require(new.run("status").startswith("failure "), f"the status is {new.run('status')}")


def test_the_host_is_killed_while_it_imports(work):
    """app: the host is killed in the middle of the import"""
    old, new = devices(work, behaviour="stay")
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code)
    wait_for("the import", PATIENCE, lambda: "kept" in new.documents())
    extension = processes_of(new)
    equal(len(extension), 1, "running importers")
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    wait_for("the importer's end", PATIENCE, lambda: not processes_of(new))
    refusal = new.start("app", "status", ID)
    refusal.wait()
    require("kept" in new.documents(), "the half import is gone too early")
    require(sender.is_running(), "the sender did not wait")
    # The sender's data must change, because this importer would never end with the old data.
    sender.signal(signal.SIGINT)
    sender.wait()
    old.write(behaviour="")
    again = new.receive()
    equal(new.documents(), {}, "the container holds, after the new start,")
    second = old.send(again.port, None)
    end_well(second, again)
    equal(new.documents(), old.documents(), "what arrived")
    equal(new.run("status"), "success", "the status")
    work.figure = refusal.text().strip().split("\n")[-1]


@pytest.mark.takes(10)
def test_an_import_is_cancelled(work):
    """app: Ctrl-C in the middle of the import"""
    figures = []
    for behaviour in ("stay", "ignore"):
        old, new = devices(work, behaviour=behaviour)
        receiver = new.receive()
        sender = old.send(receiver.port, receiver.pairing_code)
        wait_for("the importer", PATIENCE, lambda: said(receiver))
        begun = time.monotonic()
        receiver.signal(signal.SIGINT)
        equal((receiver.wait(), sender.wait()), (130, 7), "exit codes")
        figures.append(f"{behaviour}: {time.monotonic() - begun:.1f} s")
        equal(new.documents(), {}, "the container holds")
        require(new.run("status").startswith("failure Swift.CancellationError"), f"the status is {new.run('status')}")
    work.figure = ", ".join(figures)


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


def test_paths_in_the_archive(work):
    """app: paths in the archive are kept unchanged, or refused"""
    old, new = devices(work, behaviour="")
    good = ["a%20b", "a\u0301", "\u00e1", "with space/new\nline", "%2e%2e", "\u2026"]
    bad = ["", "/etc/passwd", "..", "x/../y", "./x", ".", "x//y", "x/", "n" * 256]
    sender, _ = move(old, new, "--platform", "names", "--option", "names=" + "\x01".join(good + bad))
    verdicts = [line.split(": ")[1] for line in said(sender)]
    equal(verdicts, ["taken"] * len(good) + ["refused 514"] * len(bad) + ["refused 260"], "the archiver")


@pytest.mark.takes(15)
def test_many_appends_against_one(work):
    """app: many appends compared with one append of their folder"""
    count = 100_000 if work.is_long else 5_000
    old, new = devices(work)
    folder = old.container("Documents/many")
    os.mkdir(folder)
    for number in range(count):
        with open(f"{folder}/{number}", "wb") as file:
            file.write(b"%d" % number)
    took = {}
    for behaviour in ("linux", "one by one", "linux", "one by one"):
        place, _ = work.place()
        fresh = Device(work, place)
        sender, _ = move(old, fresh, "--platform", behaviour)
        took.setdefault(behaviour, []).append(sender.events("done")[0]["seconds"])
        work.drop(place)
    whole, single = min(took["linux"]), min(took["one by one"])
    work.figure = f"{count} files: {single:.2f} s one by one, {whole:.2f} s as a folder: {single / whole:.2f} times"

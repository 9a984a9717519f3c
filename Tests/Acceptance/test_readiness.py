"""An extension's capabilities are checked before two devices connect; the limits of its silence."""

import os
import plistlib
import signal
import time

import pytest

from apps import ID, Device, devices, make_bundle, move, said
from devices import PATIENCE, Process, Waiting, closed_port, end_well
from outside import equal, require, wait_for
from terminal import Terminal

FILE = "the bundle is invalid: 'Extensions/Migration.appex/"
QUESTION = rb"Code shown on [^:]*[^ ]*: "


def device(work, program="TestAppExtension", info=None, **files):
    """A device whose app's extension is a program of this name."""
    folder, _ = work.place()
    made = Device(work, folder, program=program, info=info)
    made.write(**files)
    return made


def program_of(device):
    """The installed program of a device's extension."""
    folder = f"{device.home}/apps/{ID}/bundle/Extensions/Migration.appex"
    [name] = [name for name in os.listdir(folder) if not name.endswith(".plist")]
    return f"{folder}/{name}"


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
        require(f"peer: error: {FILE}{program}'" in person.text() and reason in person.text(), person.text())
        require("Code shown on" not in person.text(), person.text())
        refused(old.send(port, None), reason)


def test_a_loader_that_is_missing(work):
    """app: an extension whose loader is missing is refused, with that reason"""
    both = device(work, kept="text")
    path = program_of(both)
    os.remove(path)
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/no/such/loader\n")
    os.chmod(path, 0o755)
    refused(receiving(both), "the loader that it names is not")
    refused(both.send(9, None), "the loader that it names is not")


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


def test_an_extension_with_one_ability(work):
    """app: an extension that only exports sends, and one that only imports receives"""
    old, new = device(work, "OnlyExporting", kept="text"), device(work, "OnlyImporting")
    move(old, new)
    equal(new.documents(), {"arrived": b"yes"}, "the container holds")


@pytest.mark.takes(5)
def test_an_estimate_that_fails_while_the_code_is_typed(work):
    """app: a failed estimate ends the sender, even while the user types the code"""
    old, new = devices(work, estimate="fail")
    receiver = new.receive()
    person = Terminal(work, ["send", "--app", ID, "--to", f"127.0.0.1:{receiver.port}"], settings={"PEER_HOME": old.home})
    person.wait_for(QUESTION)
    os.write(person.descriptor, b"12")
    with open(old.container("Documents/go"), "w", encoding="ascii"):
        pass
    equal(person.wait(), 9, "the exit code")
    lines = [line for line in person.text().split("\n") if line.strip()]
    require(lines[-1].startswith(f"peer: error: the extension of {ID} did not describe its export: it was ended by signal 11"),
            f"the last line is {lines[-1]!r}")
    require(all(line.startswith("Code shown on") for line in lines if "Code shown on" in line), person.text())
    require("interrupted" not in person.text(), person.text())
    require(receiver.is_running(), "the receiver has ended")


@pytest.mark.takes(65)
def test_the_limits_of_the_start_and_of_the_estimate(work):
    """app: an extension has 30 s to report its capabilities, and 60 s for its estimate"""
    silent, old = device(work, "Silent"), device(work, kept="text", estimate="hang")
    receiver = device(work).receive()
    begun = time.monotonic()
    first = receiving(silent)
    second = old.send(receiver.port, receiver.pairing_code, "--idle-limit", "5")
    refused(first, "did not say within 30 seconds what it can do")
    ready = time.monotonic() - begun
    require(29 < ready < 45, f"it took {ready:.1f} s")
    equal(second.wait(), 9, f"the exit code: {second.text()[-300:]}")
    took = time.monotonic() - begun
    require(59 < took < 75, f"it took {took:.1f} s")
    require("did not say within 60 seconds how much it will export" in second.error()["message"], second.error()["message"])
    half = [event for event in second.events("notice") if "has not said for 30 seconds" in event["message"]]
    equal(len(half), 1, "notices at half of the limit")
    work.figure = f"{ready:.1f} s and {took:.1f} s"


# Silence


@pytest.mark.takes(10)
def test_a_notice_at_half_of_the_idle_limit(work):
    """app: one notice is shown at half of the idle limit, in each silence"""
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "pause", "--option", "count=2.5", sending=("--idle-limit", "4"))
    text = f"the extension of {ID} has appended nothing for 2 seconds; it is ended after 4 seconds"
    equal([event["message"] for event in sender.events("notice")].count(text), 2, "notices")


@pytest.mark.takes(10)
def test_time_in_which_the_extension_is_stopped(work):
    """app: time in which the extension is stopped does not count as silence"""
    old, new = devices(work)
    receiver = new.receive("--platform", "stop")
    sender = old.send(receiver.port, receiver.pairing_code, "--idle-limit", "2")
    wait_for("the extension", PATIENCE, lambda: "stopping" in said(sender) or not sender.is_running())
    stopped = time.monotonic()
    wait_for("6 s to pass", PATIENCE, lambda: time.monotonic() - stopped > 6)
    require(sender.is_running(), f"the sender has ended: {sender.text()[-300:]}")
    os.kill(int(said(sender)[0]), signal.SIGCONT)
    end_well(sender, receiver)


@pytest.mark.takes(15)
def test_time_in_which_the_sender_is_stopped(work):
    """app: time in which peer itself is stopped, as by Ctrl-Z, does not count as silence"""
    old, new = devices(work)
    receiver = new.receive("--platform", "pause once", "--option", "count=10")
    sender = old.send(receiver.port, receiver.pairing_code, "--idle-limit", "9")
    wait_for("the export", PATIENCE, lambda: "pausing" in said(sender) or not sender.is_running())
    for number, seconds in ((signal.SIGSTOP, 8), (signal.SIGCONT, 0)):
        sender.signal(number)
        begun = time.monotonic()
        wait_for("time to pass", PATIENCE, lambda begun=begun, seconds=seconds: time.monotonic() - begun >= seconds)
    # The silence lasted for 10 s, and counts for less than 4 s: half of the limit is 4.5 s.
    end_well(sender, receiver)
    equal(sender.events("notice"), [], "notices")


@pytest.mark.takes(10)
def test_no_idle_limit(work):
    """app: with --idle-limit off an exporter may be silent; otherwise 2 s are too long"""
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "pause", "--option", "count=3", sending=("--idle-limit", "2"), codes=(9, 9))
    require("for 2 seconds and was ended" in sender.error()["message"], sender.error()["message"])
    receiver = new.receive("--platform", "pause", "--option", "count=3")
    sender = old.send(receiver.port, None, "--idle-limit", "off")
    end_well(sender, receiver)
    equal(sender.events("notice"), [], "notices")


# The origin of the data


@pytest.mark.parametrize("options, platform, store", [
    ((), "linux", ""), (("--as", "android"), "android", "googlePlay"),
    (("--as=android,other",), "android", "other"), (("--as=sailfish",), "sailfish", "")],
    ids=["no claim", "a platform", "a platform and a store", "another platform"])
def test_a_senders_claim(work, options, platform, store):
    """app: --as names the origin of the data, for the receiver and its importer"""
    old, new = devices(work, behaviour="origin")
    _, receiver = move(old, new, sending=options)
    claimed = receiver.events("offer")[0]["app"]
    equal((claimed["platform"], claimed["store"]), (platform, store), "the offer")
    require(f"from {platform}, '{store}'" in said(receiver), f"the importer was told: {said(receiver)}")


def test_a_bundles_claim(work):
    """app: PeerPlatform in a bundle names the origin of its data, unless --as does"""
    old, new = device(work, info={"PeerPlatform": "android"}, kept="text", behaviour="origin"), device(work)
    _, receiver = move(old, new)
    require("from android, 'googlePlay'" in said(receiver), f"the importer was told: {said(receiver)}")
    _, receiver = move(old, new, "--replace", sending=("--as", "linux"))
    require("from linux, ''" in said(receiver), f"the importer was told: {said(receiver)}")


def test_an_alias_of_another_platform(work):
    """app: an alias accepts data of another platform's edition, and no other claim does"""
    alias = {"BundleIdentifier": "org.example.other", "Platform": "android", "StoreIdentifier": "googlePlay"}
    folder, _ = work.place()
    old = Device(work, folder, identifier="org.example.other")
    old.write(kept="text")
    new = device(work, info={"PeerAliases": [alias]})
    _, receiver = move(old, new, codes=(4, 4))
    require("org.example.other" in receiver.error()["message"], receiver.error()["message"])
    move(old, new, sending=("--as", "android,fdroid"), codes=(4, 4))
    move(old, new, sending=("--as", "android"))
    equal(new.documents(), old.documents(), "what arrived")


def test_a_claim_is_shown_to_a_person(work):
    """app: the receiver's terminal shows a claim, with --ask before it is accepted"""
    old, new = devices(work)
    person = Terminal(
        work, ["receive", "--app", ID, "--listen", "127.0.0.1:0", "--ask"], (b"Accept this? [y/N] ", b"y"),
        settings={"PEER_HOME": new.home})
    port = person.wait_for(rb"127\.0\.0\.1:([0-9]+)").decode()
    code = person.wait_for(rb"[0-9]{4}-[0-9]{4}").decode()
    sender = old.send(port, code, "--as", "android")
    equal((person.wait(), sender.wait()), (0, 0), f"exit codes: {person.text()[-500:]}")
    claim = f"{ID}, claimed to be from android, googlePlay"
    shown = person.text().partition("Accept this?")[0]
    require(f"To receive: {claim} (about" in shown, person.text())


# Omissions of authors


def test_an_authors_omissions(work):
    """app: the sender reports an empty version, and copies left in the scratch directory"""
    old, new = devices(work, version="")
    sender, _ = move(old, new, "--platform", "scratch", "--option", "count=3000000")
    notices = [event["message"] for event in sender.events("notice")]
    require(any("names no version of its data (resourcesVersion is empty)" in notice for notice in notices), f"told: {notices}")
    require(any("has left 1 item in its temporary directory, 3.0 MB" in notice for notice in notices), f"told: {notices}")


def test_a_status_that_is_not_cleared(work):
    """app: at the third start after an import a note says that the status was not cleared"""
    old, new = devices(work)
    move(old, new)

    def notes():
        process = new.start("app", "run", ID, "status")
        equal(process.wait(), 0, "the app's exit code")
        equal(process.output(), "success\n", "the status")
        return process.errors().count("has not cleared its result")

    equal([notes() for _ in range(5)], [0, 0, 1, 0, 0], "notes")
    old.write(kept="other")
    move(old, new, "--replace")
    equal([notes() for _ in range(3)], [0, 0, 1], "notes after another import")
    new.run("clear")
    equal(new.start("app", "run", ID, "status").wait(), 0, "the app's exit code")
    equal(os.listdir(f"{new.home}/statuses"), [], "what is kept")


def test_an_extension_of_another_kind(work):
    """app: an extension of another kind in a bundle is ignored, with a message"""
    folder, _ = work.place()
    bundle = make_bundle(work.programs, f"{folder}/bundle", ID)
    os.makedirs(f"{bundle}/Extensions/Widget.appex")
    with open(f"{bundle}/Extensions/Widget.appex/Info.plist", "wb") as file:
        plistlib.dump({"EXAppExtensionAttributes": {"EXExtensionPointIdentifier": "com.apple.widgetkit-extension"}}, file)
    home = f"{folder}/home"
    process = Process(work, ["app", "install", bundle], home=home)
    equal(process.wait(), 0, f"the exit code: {process.text()}")
    require("peer: note: 'Extensions/Widget.appex' is an extension of another kind, which is ignored\n" in process.errors(), process.errors())
    [installed] = [event for event in run_json(work, home, "app", "install", bundle) if event["event"] == "installed"]
    equal(installed["ignoredExtensions"], ["Extensions/Widget.appex"], "ignored")
    receiver = Waiting(work, ["--app", ID], home=home)
    receiver.end()


def run_json(work, home, *words):
    process = Process(work, [*words, "--json"], home=home)
    equal(process.wait(), 0, f"the exit code: {process.text()}")
    return process.events()

"""Acceptance of what happens when an app's data is migrated."""

import os
import signal
import time

from apps import GROUP, ID, Device, devices, make_bundle, move, said, untouched
from checks import check
from devices import Process, SlowLink, random_file
from outside import IS_ROOT, MIB, NOBODY, Failure, Skip, equal, require, wait_for


def processes_of(device):
    """The running extensions of a device."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if device.home in os.readlink(f"/proc/{name}/exe"):
                    found.append(int(name))
            except OSError:
                pass
    return found


def extension_says(process, line):
    wait_for(f"'{line}' from the extension", 30, lambda: line in said(process) or not process.is_running())
    require(process.is_running(), f"'peer {process.arguments[0]}' ended too early: {process.text()[-300:]}")


@check("app: data, group and status arrive")
def arrives(work):
    old, new = devices(work, version="2.7")
    sender, receiver = move(old, new)
    equal(new.documents(), old.documents(), "the new device's files")
    equal(open(new.group("shared"), encoding="utf-8").read(), "shared", "the group's file")
    equal(new.run("status"), "success", "the status at first launch")
    new.run("clear")
    equal(new.run("status"), "none", "the status after it was cleared")
    require(f"importing version 2.7 of {ID}" in said(receiver), f"the importer was told: {said(receiver)}")
    progress = [event.get("phaseFraction") for event in sender.events("progress") if event["phase"] == "importing"]
    require(progress, "the sender shows no progress of the import")
    return f"{receiver.events('done')[0]['items']} items"


@check("app: defaults of a group are one file for app and extension")
def defaults(work):
    old, _ = devices(work)
    old.run("set", GROUP, "colour", "green")
    equal(old.run("get", GROUP, "colour"), "green", "the default")
    require(os.path.islink(old.container(f".config/{GROUP}.plist")), "the link was replaced")
    require(os.path.isfile(old.group(f"Library/Preferences/{GROUP}.plist")), "the group has no preferences")


@check("app: the sandbox refuses what is outside, also to root")
def sandbox(work):
    return look(work, None)


@check("app: the same as an unprivileged user")
def sandbox_unprivileged(work):
    if not IS_ROOT:
        raise Skip("not root: the check above was it")
    return look(work, NOBODY)


def look(work, user):
    old, new = devices(work, user, behaviour="look")
    secret = f"{work.path}/secret-{user}"
    with open(secret, "w", encoding="utf-8") as file:
        file.write("secret")
    os.chmod(secret, 0o644)
    if user is not None:
        os.chown(secret, user, user)
    sender, receiver = move(old, new, "--platform", "look", "--option", f"path={secret}")
    equal(
        [line for line in said(sender) if line.endswith(("refused", "REFUSED", "done", "DONE"))],
        ["read outside: refused", "list outside: refused", "append outside: refused", "write inside: refused",
         "mode outside: refused", "write scratch: done", "socket: refused", "process: refused"], "the exporter")
    equal(
        said(receiver)[1:], ["read outside: refused", "write outside: refused", "write inside: done"], "the importer")
    equal(new.run("status"), "success", "the status")


@check("app: an exporter that throws")
def export_throws(work):
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "throw", codes=(9, 9))
    require("the author's own words" in sender.error()["message"], f"said: {sender.error()['message']}")
    untouched(new)


@check("app: an exporter that crashes")
def export_crashes(work):
    old, new = devices(work)
    sender, _ = move(old, new, "--platform", "crash", codes=(9, 9))
    require("signal 11" in sender.error()["message"], f"said: {sender.error()['message']}")
    untouched(new)


@check("app: an exporter that appends nothing is ended")
def export_hangs(work):
    old, new = devices(work)
    for behaviour in ("hang", "spin"):
        begun = time.monotonic()
        sender, _ = move(old, new, "--platform", behaviour, sending=("--idle-limit", "2"), codes=(9, 9))
        require("appended nothing for 2 seconds" in sender.error()["message"], f"said: {sender.error()['message']}")
        require(2 <= time.monotonic() - begun < 20, "ended at another time")
        equal(processes_of(old), [], "extensions that still run")
        new.peer("forget", new.peer("resume", "list").split("\n")[1].split()[0])
    untouched(new)


@check("app: the idle limit is 30 s, and neither a slow nor a dead link counts")
def idle_limit(work):
    hanging, slow, dead = [devices(work) for _ in range(3)]
    for old, _ in (slow, dead):
        random_file(old.container("Documents/large"), 44 * MIB)
    links = []

    def link(rate):
        def between(port):
            links.append(SlowLink(port, rate))
            return links[-1].port
        return between

    begun = time.monotonic()
    waits = [new.receive("--platform", behaviour) for (_, new), behaviour in
             ((hanging, "hang"), (slow, "linux"), (dead, "linux"))]
    ports = [waits[0].port, link(MIB)(waits[1].port), link(4 * MIB)(waits[2].port)]
    senders = [pair[0].send(port, wait.pairing_code) for pair, port, wait in zip((hanging, slow, dead), ports, waits)]
    try:
        wait_for("bytes through the link", 20, lambda: links[1].passed > 4 * MIB)
        links[1].freeze()
        equal(senders[0].wait(60), 9, "the exit code of the exporter that hangs")
        hung = time.monotonic() - begun
        require(29 < hung < 40, f"it was ended after {hung:.1f} s")
        wait_for("the link to have been dead for 40 s", 60, lambda: time.monotonic() - begun > 42)
        links[1].may_pass.set()
        equal(senders[1].wait(90), 0, "the exit code behind the slow link")
        took = time.monotonic() - begun
        require(took > 40, f"the slow link took {took:.1f} s only")
        equal(senders[2].wait(90), 0, "the exit code behind the link that was dead")
    finally:
        for one in links:
            one.close()
    equal([wait.wait(30) for wait in waits], [9, 0, 0], "the receivers' exit codes")
    for old, new in (slow, dead):
        equal(new.documents(), old.documents(), "what arrived")
    return f"hanging exporter ended after {hung:.1f} s; one append of 44 MiB took {took:.0f} s"


@check("app: a cancellation that is swallowed ends in a kill, one that is let pass does not")
def cancelled(work):
    old, new = devices(work)
    figures = []
    for behaviour, is_killed in (("swallow", True), ("return", True), ("for ever", False)):
        receiver = new.receive("--platform", behaviour)
        sender = old.send(receiver.port, receiver.pairing_code)
        extension_says(sender, "appending")
        begun = time.monotonic()
        sender.signal(signal.SIGINT)
        equal(sender.wait(30), 130, f"the exit code of '{behaviour}'")
        figures.append(f"{behaviour}: {time.monotonic() - begun:.1f} s")
        killed = any("killed" in event["message"] for event in sender.events("notice"))
        equal(killed, is_killed, f"whether '{behaviour}' was killed")
        equal(processes_of(old), [], "extensions that still run")
        receiver.end()
        new.peer("forget", new.peer("resume", "list").split("\n")[1].split()[0])
        old.peer("forget", old.peer("resume", "list").split("\n")[1].split()[0])
    untouched(new)
    return ", ".join(figures)


@check("app: an importer that throws, and a retry")
def import_throws(work):
    old, new = devices(work, behaviour="throw")
    _, receiver = move(old, new, codes=(7, 7))
    require("the author's own words" in receiver.error()["message"], f"said: {receiver.error()['message']}")
    equal(new.documents(), {}, "the container holds")
    require(os.path.exists(new.group("half")), "the group was cleared")
    equal(new.run("status"), "failure org.example.test 7 the author's own words", "the status at first launch")
    equal(new.run("status"), "failure org.example.test 7 the author's own words", "the status at the next")
    old.write(behaviour="")
    receiver = new.receive()
    sender = old.send(receiver.port, None)
    equal((sender.wait(30), receiver.wait(30)), (0, 0), "the retry's exit codes")
    equal(new.documents(), old.documents(), "what the retry brought")
    equal(new.run("status"), "success", "the status after the retry")


@check("app: an importer that crashes, or ends without a word")
def import_crashes(work):
    for behaviour, reason in (("crash", "signal 11"), ("leave", "status 0")):
        old, new = devices(work, behaviour=behaviour)
        _, receiver = move(old, new, codes=(7, 7))
        require(reason in receiver.error()["message"], f"said: {receiver.error()['message']}")
        equal(new.documents(), {}, "the container holds")
        require(new.run("status").startswith("failure "), f"the status is {new.run('status')}")


@check("app: the host is killed in the middle of the import")
def host_killed(work):
    old, new = devices(work, behaviour="stay")
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code)
    wait_for("the import", 30, lambda: "kept" in new.documents())
    extension = processes_of(new)
    equal(len(extension), 1, "running importers")
    receiver.signal(signal.SIGKILL)
    receiver.wait(10)
    wait_for("the importer's end", 5, lambda: not processes_of(new))
    refusal = new.start("app", "status", ID)
    refusal.wait(10)
    require("kept" in new.documents(), "the half import is gone too early")
    old_code = sender.is_running()
    require(old_code, "the sender did not wait")
    # What the sender has must change, for this importer would stay for ever.
    sender.signal(signal.SIGINT)
    sender.wait(30)
    old.write(behaviour="")
    again = new.receive()
    equal(new.documents(), {}, "the container holds, after the new start,")
    second = old.send(again.port, None)
    equal((second.wait(30), again.wait(30)), (0, 0), "exit codes of the new run")
    equal(new.documents(), old.documents(), "what arrived")
    equal(new.run("status"), "success", "the status")
    return refusal.text().strip().split("\n")[-1]


@check("app: Ctrl-C in the middle of the import")
def import_cancelled(work):
    figures = []
    for behaviour in ("stay", "ignore"):
        old, new = devices(work, behaviour=behaviour)
        receiver = new.receive()
        sender = old.send(receiver.port, receiver.pairing_code)
        wait_for("the importer", 30, lambda: said(receiver))
        begun = time.monotonic()
        receiver.signal(signal.SIGINT)
        equal((receiver.wait(30), sender.wait(30)), (130, 7), "exit codes")
        figures.append(f"{behaviour}: {time.monotonic() - begun:.1f} s")
        equal(new.documents(), {}, "the container holds")
        require(new.run("status").startswith("failure Swift.CancellationError"), f"the status is {new.run('status')}")
    return ", ".join(figures)


@check("app: sender, receiver and extension are killed, and it goes on")
def resumes(work):
    old, new = devices(work)
    # More than a window behind what has arrived when the extension is killed: else it may have read all and be gone.
    random_file(old.container("Documents/large"), 80 * MIB)
    receiver = new.receive()
    link = SlowLink(receiver.port, 16 * MIB)
    sender = old.send(link.port, receiver.pairing_code)

    def arrived(process):
        events = process.events("progress")
        return events[-1]["bytes"] if events else 0

    try:
        wait_for("16 MiB", 30, lambda: arrived(receiver) > 16 * MIB)
        sender.signal(signal.SIGKILL)
        sender.wait(10)
        wait_for("the exporter's end", 5, lambda: not processes_of(old))
        sender = old.send(link.port, None)
        wait_for("32 MiB", 30, lambda: arrived(receiver) > 32 * MIB)
        receiver.signal(signal.SIGKILL)
        receiver.wait(10)
        receiver = new.receive(port=receiver.port)
        wait_for("40 MiB", 30, lambda: arrived(receiver) > 40 * MIB)
        # The extension alone: the export has failed then, and what has arrived is kept.
        os.kill(processes_of(old)[0], signal.SIGKILL)
        equal(sender.wait(30), 9, "the sender's exit code when its extension was killed")
        equal(receiver.wait(30), 9, "the receiver's exit code then")
    finally:
        link.close()
    receiver = new.receive()
    sender = old.send(receiver.port, None)
    equal((sender.wait(60), receiver.wait(30)), (0, 0), "exit codes of the last run")
    equal(new.documents(), old.documents(), "what arrived")
    sent = sender.events("done")[0]["sentBytes"]
    require(sent <= 40 * MIB, f"{sent} bytes were sent in the last run")
    return f"{sent / MIB:.0f} of 80 MiB in the last run"


@check("app: another app's data, folders, and data that is there are refused")
def refused(work):
    old, new = devices(work)
    other_folder, folder = work.place()
    other = Device(work, other_folder, identifier="org.example.other")
    _, receiver = move(other, new, codes=(4, 4))
    require("org.example.other" in receiver.error()["message"], f"said: {receiver.error()['message']}")
    receiver = new.receive()
    sender = new.start("send", folder, "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json",
                       text=receiver.pairing_code + "\n")
    equal((sender.wait(30), receiver.wait(30)), (4, 4), "exit codes for folders")
    new.write(own="data")
    _, receiver = move(old, new, codes=(4, 4))
    require("--replace" in receiver.error()["hint"], f"hinted: {receiver.error()['hint']}")
    equal(new.documents(), {"own": b"data"}, "the container holds")
    old.write(behaviour="throw")
    move(old, new, "--replace", codes=(7, 7))
    equal(new.documents(), {"own": b"data"}, "the container holds, after an import that failed,")
    old.write(behaviour="")
    receiver = new.receive("--replace")
    sender = old.send(receiver.port, None)
    equal((sender.wait(30), receiver.wait(30)), (0, 0), "exit codes with --replace")
    equal(new.documents(), old.documents(), "what arrived")


@check("app: an app that runs and a migration keep each other out")
def excluded(work):
    old, new = devices(work)
    running = old.start("app", "run", ID, "stay")
    wait_for("the app", 10, lambda: "here" in running.text())
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


@check("app: paths in the archive are kept as they are, or refused")
def names(work):
    old, new = devices(work, behaviour="")
    good = ["a%20b", "a\u0301", "\u00e1", "with space/new\nline", "%2e%2e", "\u2026"]
    bad = ["", "/etc/passwd", "..", "x/../y", "./x", ".", "x//y", "x/", "n" * 256]
    sender, _ = move(old, new, "--platform", "names", "--option", "names=" + "\x01".join(good + bad))
    verdicts = [line.split(": ")[1] for line in said(sender)]
    equal(verdicts, ["taken"] * len(good) + ["refused 514"] * len(bad) + ["refused 260"], "the archiver")


@check("app: many appends against one append of their folder")
def appends(work):
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
    return f"{count} files: {single:.2f} s one by one, {whole:.2f} s as a folder: {single / whole:.2f} times"

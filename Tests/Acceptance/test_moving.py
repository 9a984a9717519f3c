"""One code moves folders and apps, part by part."""

import json
import os
import pwd
import shutil
import signal
import time

from computers import computers
from devices import PATIENCE, Process, end_well, mistyped, own_port, random_file
from needs import needs, root
from outside import MIB, NOBODY, equal, require, wait_for

FOLDERS = ("Documents", "Pictures", "Projects")
APPS = [f"org.example.{name}" for name in ("notes", "drawings")]
SMALL = [f"org.example.small{number}" for number in range(30)]


def words(apps, *folders):
    """The words of a command line that sends these."""
    return [*folders, *[f"--app={app}" for app in apps]]


def ends(process):
    """How each part of a transfer has ended, by its name."""
    return {event["part"]: event for event in process.events("part") if "root" not in event}


def arrived(new, apps):
    """The apps whose documents are there."""
    return [app for app in apps if new.has(app) == app]


def describe(old, new, *apps):
    """Describes apps of files on both computers."""
    for computer in (old, new):
        folder = f"{computer.peer_home}/descriptions"
        os.makedirs(folder)
        for name in apps:
            with open(f"{folder}/{name}.app", "w", encoding="utf-8") as file:
                file.write(f"[Application]\nId={name}\nName=App {name}\n[Data]\nconfig=config/{name}\n")


def test_folders_and_apps_under_one_code(work):
    """moving: three folders and thirty-two apps arrive under one code, in the order of the user"""
    apps = APPS + SMALL
    old, new = computers(work, apps)
    for folder in FOLDERS:
        old.write(f"{folder}/inner/{folder}.txt", folder)
    receiver = new.receive("--take-apps")
    paths = [f"{old.home}/{folder}" for folder in FOLDERS]
    sender = old.send(receiver.port, receiver.pairing_code, *words(apps[:5]), *paths, *words(apps[5:]))
    end_well(sender, receiver)
    for folder in FOLDERS:
        equal(new.read(f"{folder}/inner/{folder}.txt"), folder, "the file of a folder")
    equal(arrived(new, apps), apps, "the apps that arrived")
    equal(new.peer("app", "run", apps[0], "status"), "success", "the status at first launch")
    for process in (sender, receiver):
        plan = [part["part"] for part in process.events("plan")[0]["parts"]]
        equal(plan, [*apps[:5], "Documents, Pictures, Projects", *apps[5:]], "the plan")
        equal([event["part"] for event in process.events("part")], plan, "the ends of parts")
        [done] = process.events("done")
        equal(sum(end["sentBytes"] for end in ends(process).values()), done["sentBytes"], "what crossed of the parts")
    left = [name for app in apps for name in os.listdir(f"{new.peer_home}/staging/{app}")]
    equal(left, [], "what is left in staging")
    require("no unfinished transfers" in new.peer("resume", "list"), "a record is left")


def test_a_part_that_fails(work):
    """moving: a part that fails is named, the rest arrives, and the same commands bring it without a code"""
    running, throwing, large, taken, fine = apps = [f"org.example.{name}" for name in ("runs", "throws", "large", "taken", "fine")]
    old, new = computers(work, apps)
    old.write("Documents/a", "a")
    with open(old.document(throwing, "behaviour"), "w", encoding="utf-8") as file:
        file.write("throw")
    with open(old.document(large, "estimate"), "w", encoding="utf-8") as file:
        file.write(str(1 << 50))
    new.peer("app", "run", taken, "write", "Documents/own", "own")
    app = new.start("app", "run", running, "stay")
    wait_for("the app", PATIENCE, lambda: "here" in app.text())
    command = [*words(apps), f"{old.home}/Documents"]
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, receiver.pairing_code, *command)
    equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
    shared = {throwing: "the author's own words", large: "not enough space"}
    for process, own in ((sender, {running: "is in use there", taken: "has data on the receiving device already"}),
                         (receiver, {running: "is running", taken: "has data on the receiving device"})):
        found, reasons = ends(process), {**shared, **own}
        for name, reason in reasons.items():
            equal(found[name]["state"], "failed", f"the state of {name}")
            require(reason in found[name]["message"], f"said of {name}: {found[name]}")
        equal(sorted(name for name in found if found[name]["state"] == "done"), sorted([fine, "Documents"]), "what arrived")
        equal(process.events("done")[0]["failedParts"], 4, "the parts that failed")
    equal(new.read("Documents/a"), "a", "the folder's file")
    equal(arrived(new, apps), [fine], "the apps that arrived")
    for computer, verb in ((old, "sending"), (new, "receiving")):
        listed = computer.peer("resume", "list")
        require(f"{verb} 6 parts, of which 2 are done" in listed, f"listed: {listed}")

    app.end()
    os.remove(old.document(throwing, "behaviour"))
    os.remove(old.document(large, "estimate"))
    new.peer("app", "run", taken, "write", "Documents/kept", "own")
    again = new.receive("--take-apps", "--replace")
    sender = old.send(again.port, None, *command)
    equal((sender.wait(), again.wait()), (0, 0), f"the exit codes: {sender.text()[-600:]}")
    equal(arrived(new, apps), apps, "the apps that arrived")
    equal(ends(sender)[fine]["state"], "doneBefore", "the part that had arrived")


def test_what_the_receiver_does_not_allow(work):
    """moving: without a terminal, what programs may run is refused and named, unless it is allowed"""
    old, new = computers(work, [])
    old.write(".profile", "echo hello\n")
    old.write("Music/song", "la")
    profile, music = f"{old.home}/.profile", f"{old.home}/Music"
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code, profile)
    equal((sender.wait(), receiver.wait()), (4, 4), "the exit codes")
    require("may hold what programs run" in sender.error()["message"], f"said: {sender.error()}")
    equal(os.listdir(new.home), [], "what arrived")
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code, profile, music)
    equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
    equal(os.listdir(new.home), ["Music"], "what arrived")
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, receiver.pairing_code, profile)
    end_well(sender, receiver)
    equal(new.read(".profile"), "echo hello\n", "what arrived")


def test_everything(work):
    """moving: everything of a German home arrives by the roles of its folders, beside what is there"""
    old, new = computers(work, APPS)
    old.write(".config/user-dirs.dirs", 'XDG_DOCUMENTS_DIR="$HOME/Dokumente"\nXDG_MUSIC_DIR="$HOME/Musik"\n')
    for name in ("Dokumente/letter", "Dokumente/same", "Musik/song", "Projects/code", ".bashrc", ".cache/x", "Videos/film"):
        old.write(name, name)
    new.write("Documents/letter", "mine")
    new.write("Documents/same", "Dokumente/same")
    stamp = os.stat(f"{old.home}/Dokumente/same")
    os.utime(f"{new.home}/Documents/same", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    new.write("Music", "a file")
    shown = old.peer("send", "--everything", "--dry-run")
    for name in ("Dokumente", "Musik", "Projects", ".bashrc", ".cache", *APPS):
        require(name in shown, f"{name} is not listed: {shown}")
    with open(old.document(APPS[0], "behaviour"), "w", encoding="utf-8") as file:
        file.write("throw")
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--skip", "Videos")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-600:]}")
    equal(arrived(new, APPS), APPS[1:], "the apps that arrived")
    equal(new.read("Projects/code"), "Projects/code", "a folder without a role")
    equal([new.read(f"Documents/{name}") for name in ("letter", "letter (2)", "same", "same (2)")],
          ["mine", "Dokumente/letter", "Dokumente/same", None], "the documents")
    equal([new.read(name) for name in ("Music", ".bashrc", "Videos/film", "Dokumente/letter")],
          ["a file", None, None, None], "what is not to arrive")
    for process, documents in ((sender, "Dokumente"), (receiver, "Documents")):
        equal((ends(process)["Musik"]["state"], ends(process)["Musik"]["cause"]), ("failed", "unfit"), "the folder that cannot arrive")
        require({"path": f"{documents}/letter", "arrivedAs": "Documents/letter (2)"}.items() <= process.events("renamed")[0].items(),
                f"renamed: {process.events('renamed')}")

    # Its place is free now. What has failed goes on without a code.
    os.remove(f"{new.home}/Music")
    os.remove(old.document(APPS[0], "behaviour"))
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, None, "--everything", "--skip", "Videos")
    end_well(sender, receiver)
    equal(arrived(new, APPS), APPS, "the apps that arrived")
    equal(new.read("Music/song"), "Musik/song", "the folder that is there now")


def test_linked_folders(work):
    """moving: a folder of the user that is a link moves with all that it leads to, and arrives where the new one's link leads"""
    old, new = computers(work, [])
    disk = work.folder(work.memory)
    random_file(f"{disk}/photo", MIB)
    os.symlink(disk, f"{old.home}/Pictures")
    old.write("Documents/letter", "a letter")
    new.write("Cloud/Mine/own", "own")
    os.symlink("Cloud/Mine", f"{new.home}/Documents")
    os.symlink("/usr", f"{new.home}/Videos")
    old.write("Videos/film", "a film")
    inventory = json.loads(old.peer("send", "--everything", "--dry-run", "--json"))
    [pictures] = [entry for entry in inventory["entries"] if entry["name"] == "Pictures"]
    equal((pictures["linkTarget"], pictures["bytes"]), (disk, MIB), "the plan")
    for number in range(2):
        receiver = new.receive(is_inviting=not number)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything")
        equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-600:]}")
        equal(os.path.getsize(f"{new.home}/Pictures/photo"), MIB, "the photo")
        equal((new.read("Cloud/Mine/letter"), os.readlink(f"{new.home}/Documents")), ("a letter", "Cloud/Mine"), "the letter")
        end = ends(receiver)["Videos"]
        require("'Videos' is a link" in end["message"] and "folder of your own" in end["hint"], f"said: {end}")
    # The hint is followed.
    os.remove(f"{new.home}/Videos")
    os.mkdir(f"{new.home}/Videos")
    receiver = new.receive(is_inviting=False)
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    equal(new.read("Videos/film"), "a film", "the film")


def test_traces_of_the_old_home(work):
    """moving: links and files of folders that lead into the old home are named by kind, with what mends them"""
    old, new = computers(work, [])
    describe(old, new, "one")
    old.write(".config/one/data", f"{old.home}/x")
    old.write("Documents/script", f"cat {old.home}/Documents/letter\n")
    old.write("Projects/tree/.git", f"gitdir: {old.home}/Projects/main/.git/worktrees/tree\n")
    old.write("Projects/env/bin/pip", f"#!{old.home}/Projects/env/bin/python\n")
    for name in ("Documents/link", ".config/one/link"):
        os.symlink(f"{old.home}/Projects/tree", f"{old.home}/{name}")
    os.symlink("../Projects", f"{old.home}/Documents/fine")
    receiver = new.receive("--take-apps")
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    steps = receiver.events("done")[0]["nextSteps"]
    for words in (f"1 link leads into '{old.home}', and nowhere here: Documents/link", ": Documents/script", "'git worktree repair' in the repository of each: Projects/tree/.git",
                  "make these environments anew: Projects/env/bin/pip"):
        require(any(step.endswith(words) for step in steps), f"{words} is not in {steps}")
    said = " ".join(event["message"] for event in receiver.events("notice"))
    require(f"links of App one lead into '{old.home}'" in said and "'.config/one/link'" in said, f"said: {said}")
    # Without an app, and of one part alone, the old home is told, too.
    for name in ("Documents/script", "Music/list"):
        old, new = computers(work, [])
        old.write(name, f"{old.home}/Documents/letter\n")
        if name.startswith("Documents"):
            old.write("Projects/notes")
        receiver = new.receive()
        end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
        steps = receiver.events("done")[0].get("nextSteps", [])
        require(any(step.endswith(f": {name}") for step in steps), f"'{name}' is not in {steps}")


def test_a_killed_migration(work):
    """moving: everything continues after a kill of either end, without a code, and finished parts stay"""
    old, new = computers(work, APPS)
    random_file(old.document(APPS[0], "large"), 24 * MIB)
    old.write("Documents/a", "a")
    describe(old, new, "one")
    old.write(".config/one/data", "one")
    port = own_port()
    for number, kill in enumerate((0, 1, None)):
        receiver = new.receive("--take-apps", port=port, is_inviting=number == 0)
        way = receiver if kill is None else work.slow_link(port)
        sender = old.send(way.port, receiver.pairing_code, "--everything")
        if kill is None:
            end_well(sender, receiver)
            equal(ends(sender)[APPS[1]]["state"], "doneBefore", "the part that had arrived")
            break
        wait_for("data of the second app", PATIENCE, lambda: way.passed > 4 * MIB or not sender.is_running())
        (sender, receiver)[kill].signal(signal.SIGKILL)
        equal((sender, receiver)[kill].wait(), -signal.SIGKILL, "the end that was killed")
        (receiver, sender)[kill].signal(signal.SIGTERM)
        (receiver, sender)[kill].wait()
    equal(arrived(new, APPS), APPS, "the apps that arrived")
    with open(new.document(APPS[0], "large"), "rb") as one, open(old.document(APPS[0], "large"), "rb") as other:
        require(one.read() == other.read(), "the large file differs")
    equal(new.read("Documents/a"), "a", "the folder's file")
    equal(new.read(".config/one/data"), "one", "the file of the app of files")


def test_a_move_that_goes_on_late(work):
    """moving: what has changed since an unfinished move began is named with 8, and follows when that has ended"""
    [app] = apps = ["org.example.throws"]
    old, new = computers(work, apps)
    old.write("Documents/thesis", "monday")
    with open(old.document(app, "behaviour"), "w", encoding="utf-8") as file:
        file.write("throw")
    port = own_port()

    def move(*words, is_first=False):
        receiver = new.receive("--take-apps", port=port, is_inviting=is_first)
        report = f"{work.path}/report.json"
        sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--report", report, *words)
        codes = sender.wait(), receiver.wait()
        with open(report, encoding="utf-8") as file:
            read = json.load(file)
        return codes, [item["path"] for item in read["leftOut"] if "continues" in item["reason"]], " ".join(read["next"])

    equal(move(is_first=True)[0], (8, 8), "the exit codes of the first run")
    soon = time.time() + 10
    for name in ("Documents/thesis", "Project/notes"):
        old.write(name, "a week of work")
        os.utime(f"{old.home}/{name}", (soon, soon))
    # As long as the app does not move, what is new is named, too.
    codes, newer, _ = move()
    equal((codes, newer), ((8, 8), ["Documents", "Project"]), "the exit codes, and what is newer")
    os.remove(old.document(app, "behaviour"))
    codes, newer, advice = move()
    equal((codes, newer), ((8, 0), ["Documents", "Project"]), "the exit codes, and what is newer")
    require("start the same command" in advice, f"said: {advice}")
    equal(new.read("Documents/thesis"), "monday", "what has arrived so far")
    # The app has its data by now.
    equal(move("--skip", app)[0], (0, 0), "the exit codes of a fresh run")
    equal((new.read("Documents/thesis"), new.read("Project/notes")), ("a week of work",) * 2, "what has arrived")


def test_removed_records(work):
    """moving: both ends are done when the sender's records were removed meanwhile, and the next run needs no code"""
    old, new = computers(work, [])
    random_file(f"{old.home}/large", 8 * MIB)
    receiver = new.receive()
    link = work.slow_link(receiver.port)
    sender = old.send(link.port, receiver.pairing_code, "--everything")
    wait_for("some data", PATIENCE, lambda: link.passed > MIB or not sender.is_running())
    shutil.rmtree(f"{old.peer_home}/transfers")
    end_well(sender, receiver)
    receiver = new.receive(is_inviting=False)
    end_well(old.send(receiver.port, None, "--everything"), receiver)


def test_another_run(work):
    """moving: a run that another one keeps away names that one's process, and goes on when it is gone"""
    old, new = computers(work, [])
    old.write("letter")
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    random_file(f"{old.home}/large", 24 * MIB)
    receiver = new.receive()
    link = work.slow_link(receiver.port)
    first = old.send(link.port, None, "--everything")
    wait_for("some data", PATIENCE, lambda: link.passed > 4 * MIB or not first.is_running())
    second = old.send(receiver.port, None, "--everything")
    equal(second.wait(), 4, f"the exit code of the second run: {second.text()[-300:]}")
    require(f"another 'peer send' (process {first.pid})" in second.error()["message"], f"said: {second.error()}")
    first.signal(signal.SIGKILL)
    first.wait()
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    equal(os.path.getsize(f"{new.home}/large"), 24 * MIB, "the file")


def test_another_computer(work):
    """moving: an unfinished move stays, and its sender moves to a freshly installed computer, then to the first one"""
    old, new = computers(work, [])
    random_file(f"{old.home}/large", 24 * MIB)
    receiver = new.receive()
    way = work.slow_link(receiver.port)
    sender = old.send(way.port, receiver.pairing_code, "--everything")
    wait_for("some data", PATIENCE, lambda: way.passed > 4 * MIB or not sender.is_running())
    for process in (sender, receiver):
        process.signal(signal.SIGKILL)
        process.wait()
    for again in range(2):
        _, other = computers(work, [])
        receiver = other.receive()
        sender = old.send(receiver.port, receiver.pairing_code, "--everything")
        end_well(sender, receiver)
        require(os.path.getsize(f"{other.home}/large") == 24 * MIB, f"the file of computer {again}")
    receiver = new.receive(is_inviting=False)
    sender = old.send(receiver.port, None, "--everything")
    end_well(sender, receiver)
    require(sender.events("done")[0]["sentBytes"] < 22 * MIB, f"sent again: {sender.events('done')}")
    require(os.path.getsize(f"{new.home}/large") == 24 * MIB, "the file of the first computer")


def test_the_last_pass(work):
    """moving: the same commands again, without a code, bring what has changed since, and change nothing of the user"""
    old, new = computers(work, [])
    for name in ("same", "changed", "both", "mine", "removed there", "removed here", "moved here", "own.txt", "f/in"):
        old.write(f"Documents/{name}", f"first {name}")
    new.write("Documents/own.txt", "own")
    old.write("Projects/code", "first code")
    random_file(f"{old.home}/Documents/large", 4 * MIB)
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code, "--everything")
    end_well(sender, receiver)
    equal(new.read("Documents/own (2).txt"), "first own.txt", "what arrived beside the user's own")
    require("for 30 days" in new.peer("device", "list"), "the device is not known for a time")

    for name in ("changed", "both", "own.txt", "f/in"):
        old.write(f"Documents/{name}", f"second {name}, longer")
    old.write("Documents/new", "new")
    old.write("Projects/code", "second code, longer")
    os.remove(f"{old.home}/Documents/removed there")
    new.write("Documents/both", "changed here")
    new.write("Documents/mine", "changed here")
    os.remove(f"{new.home}/Documents/removed here")
    os.rename(f"{new.home}/Documents/moved here", f"{new.home}/moved")
    receiver = new.receive()
    sender = old.send(receiver.port, None, "--everything")
    # What is not here is not called present, and no user has said that it was meant.
    equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
    expected = {
        "same": "first same", "changed": "second changed, longer", "both": "changed here",
        "both (2)": "second both, longer", "mine": "changed here", "removed there": "first removed there",
        "removed here": None, "moved here": None, "own.txt": "own", "own (2).txt": "second own.txt, longer",
        "own (3).txt": None, "f/in": "second f/in, longer", "new": "new", "changed (2)": None, "mine (2)": None,
    }
    equal({name: new.read(f"Documents/{name}") for name in expected}, expected, "the documents")
    equal(sorted(os.listdir(f"{new.home}/Projects")), ["code"], "the other folder")
    equal(new.read("Projects/code"), "second code, longer", "the other folder's file")
    equal(sender.events("paired")[0]["known"], True, "whether the device is known")
    require(sender.events("done")[0]["sentBytes"] < MIB, f"sent again: {sender.events('done')}")
    said = " ".join(event["message"] for event in receiver.events("notice"))
    require("'Documents/moved here'" in said and "'Documents/removed here'" in said, f"said: {said}")
    require("kept here: 'Documents/removed there'" in said, f"said: {said}")

    # It ends when either end forgets the other.
    listed = new.peer("device", "list", "--json")
    new.peer("device", "forget", json.loads(listed)["id"])
    receiver = new.receive()
    sender = old.send(receiver.port, receiver.pairing_code, "--everything")
    end_well(sender, receiver)
    equal(sender.events("paired")[0]["known"], False, "whether the device is known")


def test_an_emptied_home(work):
    """moving: what was removed here is counted apart, with exit code 8, until it was meant or comes again"""
    old, new = computers(work, [])
    names = ["letter", "folder/one", "folder/deep/two"]
    for name in names:
        old.write(f"Documents/{name}", name)
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    shutil.rmtree(f"{new.home}/Documents")
    for _ in range(2):
        receiver = new.receive()
        sender = old.send(receiver.port, None, "--everything")
        equal((sender.wait(), receiver.wait()), (8, 8), "the exit codes")
        for process in (sender, receiver):
            done = process.events("done")[0]
            equal((done["present"], done["removed"], done["removedUnsettled"]), (0, 6, 6), "the counts")
        equal([new.read(f"Documents/{name}") for name in names], [None] * 3, "what is here")
    receiver = new.receive("--removed", "meant")
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    receiver = new.receive()
    sender = old.send(receiver.port, None, "--everything")
    end_well(sender, receiver)
    equal(sender.events("done")[0]["removed"], 6, "what is counted")
    receiver = new.receive("--removed", "again")
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    equal([new.read(f"Documents/{name}") for name in names], names, "what is here again")


def test_what_stays_behind(work):
    """moving: the system's settings and the user's crontab are named, with the command that saves the latter"""
    old, new = computers(work, [])
    old.write("letter")
    system = work.folder(work.memory)
    os.makedirs(f"{system}/usr/bin")
    work.environment["PEER_SYSTEM"] = system
    for jobs in ("# none", "@daily backup"):
        with open(f"{system}/usr/bin/crontab", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ $1 = -l ] && echo '{jobs}'\n")
        os.chmod(file.name, 0o755)
        inventory = json.loads(old.peer("send", "--everything", "--dry-run", "--json"))
        told = {item["path"]: item["reason"] for item in inventory["leftOut"] if item["path"] in ("/etc", "crontab")}
        equal(sorted(told), ["/etc", "crontab"][:1 + jobs.startswith("@")], "what stays behind")
    require('crontab -l > "$(mktemp ~/crontab.XXXXXX)"' in told["crontab"], f"told: {told}")
    report = f"{work.path}/report.txt"
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything", "--report", report), receiver)
    with open(report, encoding="utf-8") as file:
        require('crontab -l > "$(mktemp ~/crontab.XXXXXX)"' in file.read(), "the report does not name it")


@needs(root)
def test_what_cannot_be_read(work):
    """moving: what cannot be read at all has no size in the list, and is said to stay"""
    old, _ = computers(work, [])
    for name in ("docker/x", "partly/letter", "partly/locked/x"):
        old.write(name)
    for name in (".", "partly", "partly/letter"):
        os.chown(f"{old.home}/{name}", NOBODY, NOBODY)
    for name in ("docker", "partly/locked"):
        os.chmod(f"{old.home}/{name}", 0o700)
    work.environment["HOME"] = old.home
    shown = Process(work, ["send", "--everything", "--dry-run"], user=NOBODY)
    equal(shown.wait(), 0, f"the exit code: {shown.text()[-300:]}")
    lines = [" ".join(line.split()) for line in shown.output().splitlines()]
    require("1 docker … it cannot be read, and stays" in lines, f"listed: {lines}")
    require("2 partly 3 8 B 1 item of it cannot be read, and stays" in lines, f"listed: {lines}")


@needs(root)
def test_homes_of_other_users(work):
    """moving: root sends another user's home as on a disk, and is told the command that receives into one"""
    old, new = computers(work, [])
    named = {entry.pw_uid for entry in pwd.getpwall()}
    user = next(number for number in range(1234, 60_000) if number not in named)
    old.write("Documents/letter", "a letter")
    os.symlink("/etc", f"{old.home}/Documents/link")
    for name in (".", "Documents", "Documents/letter"):
        os.chown(f"{old.home}/{name}", user, user)
    receiver = new.receive()
    sender = new.send(receiver.port, receiver.pairing_code, "--everything", "--home", old.home)
    end_well(sender, receiver)
    equal(new.read("Documents/letter"), "a letter", "what arrived")
    equal(os.readlink(f"{new.home}/Documents/link"), "/etc", "the link")
    os.chown(new.home, user, user)
    said = new.peer("receive", "--everything", "--take-apps", new.home, code=4)
    command = f"setpriv --reuid {user} --regid {user} --clear-groups env HOME={new.home} peer receive --everything --take-apps {new.home}"
    require(f"belongs to user {user}" in said and said.endswith(command), f"said: {said}")


def test_a_program_answers(work):
    """moving: a program answers what a terminal asks: what moves, the code, and which parts are taken; what is no answer is asked again"""
    old, new = computers(work, [])
    for name in ("Documents/a", "Pictures/b", ".secretly"):
        old.write(name)
    inventory = json.loads(old.peer("send", "--everything", "--dry-run", "--json"))
    numbers = {entry["name"]: entry["number"] for entry in inventory["entries"]}
    receiver = new.start("receive", "--everything", "--listen", "127.0.0.1:0", "--json", "--ask", text="all without 1 2\nall without 3\nall without 2\n")
    port = wait_for("a port", PATIENCE, lambda: receiver.events("listening"))[0]["port"]
    code = wait_for("a code", PATIENCE, lambda: receiver.events("code"))[0]["code"]
    sender = old.start(
        "send", "--everything", f"--to=127.0.0.1:{port}", "--json", "--ask",
        text=f"x\n{numbers['Pictures']},+{numbers['.secretly']}\n{mistyped(code)}\n{code}\n")
    equal(sender.wait(), 8, "the sender's exit code, as a part was not taken")
    equal(receiver.wait(), 8, "the receiver's exit code")
    asked = [(question["about"], "mistake" in question) for question in sender.events("question")]
    equal(asked, [("choice", False), ("choice", True), ("code", False), ("code", True)], "the questions")
    measured = {event["number"] for event in sender.events("measured")}
    equal(measured, set(numbers.values()), "the entries that are measured")
    consent = receiver.events("question")
    equal([[part["classes"] for part in question["parts"]] for question in consent], [[["files"], ["apps"]]] * 3, "the parts")
    equal(["mistake" in question for question in consent], [False, True, True], "the mistakes")
    equal((new.read("Documents/a"), new.read("Pictures/b"), new.read(".secretly")), ("content\n", None, None), "what arrived")


def test_two_homes(work):
    """moving: two homes of one computer are two sources: neither replaces the files of the other"""
    old, new = computers(work, [])
    other = f"{work.folder(work.memory)}/anna"
    for home, who in ((old.home, "mine"), (other, "hers")):
        os.makedirs(f"{home}/Documents")
        for name in ("letter", who):
            with open(f"{home}/Documents/{name}", "w", encoding="utf-8") as file:
                file.write(f"{who}: {name}")
    os.utime(f"{other}/Documents/letter", (10**9, 10**9))
    receiver = new.receive()
    end_well(old.send(receiver.port, receiver.pairing_code, "--everything"), receiver)
    receiver = new.receive()
    end_well(old.send(receiver.port, None, "--everything", "--home", other), receiver)
    found = {name: new.read(f"Documents/{name}") for name in ("letter", "letter (2)", "mine", "hers")}
    equal(found, {"letter": "mine: letter", "letter (2)": "hers: letter", "mine": "mine: mine", "hers": "hers: hers"}, "both")
    # The last pass of each replaces its own.
    old.write("Documents/letter", "mine, later")
    receiver = new.receive()
    end_well(old.send(receiver.port, None, "--everything"), receiver)
    with open(f"{other}/Documents/letter", "w", encoding="utf-8") as file:
        file.write("hers, later")
    receiver = new.receive()
    end_well(old.send(receiver.port, None, "--everything", "--home", other), receiver)
    equal([new.read(f"Documents/{name}") for name in ("letter", "letter (2)", "letter (3)")],
          ["mine, later", "hers, later", None], "the last passes")


def test_a_running_app_with_an_extension(work):
    """moving: with --wait, an app with an extension that is in use is named, comes last, and follows once it is closed"""
    app = APPS[0]
    old, new = computers(work, [app])
    old.write("Documents/letter", "letter")
    running = old.start("app", "run", app, "stay")
    wait_for("the app", PATIENCE, lambda: "here" in running.text())
    receiver = new.receive("--take-apps")
    sender = old.send(receiver.port, receiver.pairing_code, "--everything", "--wait")
    said = f"{app} is in use by process {running.pid}: close it"
    wait_for("a word about the app", PATIENCE, lambda: any(said in event["message"] for event in sender.events("notice")) or not sender.is_running())
    equal([part["part"] for part in sender.events("plan")[0]["parts"]], ["Documents", app], "the plan")
    equal((new.read("Documents/letter"), new.has(app)), ("letter", None), "what arrived before")
    running.end()
    end_well(sender, receiver)
    equal(new.has(app), app, "the app's document")

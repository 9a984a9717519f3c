"""Apps without an extension: their data moves as the descriptions of both devices say."""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import subprocess

from computers import computers
from devices import PATIENCE, end_well
from interop import interop, paired
from needs import dconf_and_bus, needs
from outside import equal, require, wait_for
from surroundings import without_program

if interop() is None:
    import wire
    from plan import Part

BROWSER = """[Application]
Id=org.example.browser
Name=The Browser
[Data]
profile=home/.browser;config/browser
places=config/places
[Exclude]
Patterns=cache/
[Running]
Locks=*/.lock
[Home]
Files=places
"""
SETTINGS = "[Application]\nId=colours\nName=Colours\n[Settings]\nKeys=/org/example/colours/;/org/example/size\n[Home]\nFiles=dconf\n"
SHELL = "[Application]\nId=shell\nName=Shell\n[Data]\nrc=home/.shrc\n"
VAULT = "[Application]\nId=vault\nName=Vault\nSecret=yes\n[Data]\nrc=home/.vault\n"


def described(work, *descriptions):
    """Two computers that know these apps; on the old one, the browser has data."""
    old, new = computers(work, [])
    for computer in (old, new):
        os.makedirs(f"{computer.peer_home}/descriptions")
        for text in descriptions or [BROWSER]:
            name = text.split("Id=")[1].split("\n")[0]
            with open(f"{computer.peer_home}/descriptions/{name}.app", "w", encoding="utf-8") as file:
                file.write(text)
    for name in ("a/kept", "a/cache/made", "a/.lock"):
        old.write(f".browser/{name}", "new")
    old.write("Documents/letter", "letter")
    return old, new


def move(old, new, *options, sending=(), taking=("--take-apps",)):
    """Moves everything, with apps' data unless it is said otherwise; returns both ends."""
    receiver = new.receive(*taking, *options)
    sender = old.send(receiver.port, receiver.pairing_code, "--everything", *sending)
    return sender, receiver


def part(process, name):
    """How a part has ended."""
    [event] = [event for event in process.events("part") if event["part"] == name and "root" not in event]
    return event


def notices(process):
    return " ".join(event["message"] for event in process.events("notice"))


def set_aside(computer):
    return glob.glob(f"{computer.home}/.browser.before-*") + glob.glob(f"{computer.home}/.config/*.before-*")


def test_an_app_of_files(work):
    """described apps: data arrives without caches and locks, and paths of the old home lead to the new one"""
    old, new = described(work)
    old.write(".config/places", f"file://{old.home}/Documents/x\n{old.home}-old\n")
    old.write(".browser/a/list", f"{old.home}/Documents")
    sender, receiver = move(old, new)
    end_well(sender, receiver)
    equal([new.read(f".browser/a/{name}") for name in ("kept", "cache/made", ".lock")], ["new", None, None], "the profile")
    equal(new.read(".config/places"), f"file://{new.home}/Documents/x\n{old.home}-old\n", "the paths")
    equal(new.read(".browser/a/list"), f"{old.home}/Documents", "a file that the description does not name")
    require("in '.config/places', 1 path below" in notices(receiver), f"said: {notices(receiver)}")
    require("The Browser names" in notices(receiver) and "'.browser/a/list'" in notices(receiver), f"said: {notices(receiver)}")
    equal(set_aside(new), [], "what was set aside")


def test_a_running_app(work):
    """described apps: a running app is named and comes last; with --wait it follows once it is closed"""
    old, new = described(work)
    with contextlib.ExitStack() as held:
        lock = held.enter_context(open(f"{old.home}/.browser/a/.lock", "r+b"))
        fcntl.lockf(lock, fcntl.LOCK_EX)
        listing = old.start("app", "list", "--all", "--json")
        equal(listing.wait(), 0, "exit code of app list")
        [listed] = listing.events("fileApp")
        require(listed["id"] == "org.example.browser" and f"process {os.getpid()}" in listed["inUse"], f"listed: {listed}")
        sender, receiver = move(old, new)
        equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
        message = part(sender, "The Browser")["message"]
        require(f"process {os.getpid()}" in message and "in use" in message, f"said: {message}")
        equal((new.read(".browser/a/kept"), new.read("Documents/letter")), (None, "letter"), "what arrived")

        old, new = described(work)
        lock = held.enter_context(open(f"{old.home}/.browser/a/.lock", "r+b"))
        fcntl.lockf(lock, fcntl.LOCK_EX)
        sender, receiver = move(old, new, sending=("--wait",))
        wait_for("the other part", PATIENCE, lambda: new.read("Documents/letter") or not sender.is_running())
        wait_for("a word about the app", PATIENCE, lambda: f"process {os.getpid()}" in notices(sender) or not sender.is_running())
        equal([event["part"] for event in sender.events("plan")[0]["parts"]][-1], "The Browser", "the last part")
        equal(new.read(".browser/a/kept"), None, "the data of a running app")
        # It writes as it ends.
        old.write(".browser/a/session", "closed")
    end_well(sender, receiver)
    equal((new.read(".browser/a/kept"), new.read(".browser/a/session")), ("new", "closed"), "what arrived")


def test_what_needs_a_word(work):
    """described apps: data of every app needs the receiver's user's word, and secrets by its own description one more"""
    old, new = described(work, SHELL, VAULT.replace("Secret=yes\n", ""))
    with open(f"{new.peer_home}/descriptions/vault.app", "w", encoding="utf-8") as file:
        file.write(VAULT)
    old.write(".shrc", "echo\n")
    old.write(".vault", "keys")
    # Each word of the command line holds for its run.
    for taking, code, arrived in (((), 8, []), (("--take-apps",), 8, [".shrc"]), ((), 8, [".shrc"])):
        sender, receiver = move(old, new, taking=taking)
        equal((sender.wait(), receiver.wait()), (code, code), f"the exit codes: {sender.text()[-300:]}")
        equal([name for name in (".shrc", ".vault") if new.read(name)], arrived, "what arrived")
        require("has secrets" in part(receiver, "Vault")["message"], f"said: {part(receiver, 'Vault')}")
        old.write(".shrc", "echo changed\n")
    end_well(*move(old, new, "--replace", taking=("--take-apps", "--take-secrets")))
    equal((new.read(".shrc"), new.read(".vault")), ("echo changed\n", "keys"), "what arrived")


def session(work, computer):
    """The variables of a desktop's session of a computer; its dconf."""
    folder = work.folder(work.memory)
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", f"--address=unix:path={folder}/bus"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "HOME": computer.home, "XDG_RUNTIME_DIR": folder})
    variables = {"DBUS_SESSION_BUS_ADDRESS": bus.stdout.readline().strip(), "XDG_RUNTIME_DIR": folder}

    def dconf(*words):
        return subprocess.run(
            ["dconf", *words], check=True, capture_output=True, text=True, env={**os.environ, "HOME": computer.home, **variables}).stdout

    return bus, variables, dconf


@needs(dconf_and_bus)
def test_settings(work):
    """described apps: settings of dconf arrive as far as the receiver's own description names their keys"""
    old, new = described(work, SETTINGS.replace("size", "size;/org/example/other/more"), SHELL)
    with open(f"{new.peer_home}/descriptions/colours.app", "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    with contextlib.ExitStack() as ends:
        both = [session(work, computer) for computer in (old, new)]
        for bus, _, _ in both:
            ends.callback(bus.wait)
            ends.callback(bus.terminate)
        (_, of_old, here), (_, of_new, there) = both
        for key, value in (("colours/top", "'red'"), ("colours/wall", f"'file://{old.home}/wall.png'"), ("size", "uint32 4"), ("other/more", "1"), ("private", "2")):
            here("write", f"/org/example/{key}", value)
        there("write", "/org/example/size", "uint32 9")
        there("write", "/org/example/mine", "true")
        work.environment.update(of_new)
        receiver = new.receive("--take-apps")
        work.environment.update(of_old)
        sender = old.send(receiver.port, receiver.pairing_code, "--everything")
        end_well(sender, receiver)
        equal(there("dump", "/"), "[org/example]\nmine=true\nsize=uint32 4\n\n[org/example/colours]\ntop='red'\n" +
              f"wall='file://{new.home}/wall.png'\n", "the settings")
        equal(new.read(".local/share/peer-settings/colours.replaced"), "[org/example]\nsize=uint32 9\n", "the old settings")
        equal(sorted(os.listdir(f"{new.home}/.local/share/peer-settings")), ["colours", "colours.replaced"], "the files")


@needs(dconf_and_bus)
def test_settings_of_a_disk(work):
    """described apps: settings of dconf in a home on a disk move, none of this computer's; or are named"""
    old, new = described(work, SETTINGS)
    here, _ = computers(work, [])
    shutil.copytree(f"{old.peer_home}/descriptions", f"{here.peer_home}/descriptions")
    with contextlib.ExitStack() as ends:
        sessions = [session(work, computer) for computer in (old, here, new)]
        for bus, _, _ in sessions:
            ends.callback(bus.wait)
            ends.callback(bus.terminate)
        sessions[0][2]("write", "/org/example/size", "uint32 4")
        sessions[1][2]("write", "/org/example/colours/top", "'blue'")
        work.environment.update(sessions[2][1])
        receiver = new.receive("--take-apps")
        work.environment.update(sessions[1][1])
        before = sorted(os.walk(old.home))
        end_well(here.send(receiver.port, receiver.pairing_code, "--everything", "--home", old.home), receiver)
        equal(sessions[2][2]("dump", "/"), "[org/example]\nsize=uint32 4\n", "the settings")
        equal(sorted(os.walk(old.home)), before, "the home on the disk")
        work.within = without_program("dconf")
        said = here.peer("send", "--everything", "--home", old.home, "--dry-run")
        require("settings in '.config/dconf/user' do not move: dconf is not installed" in said, f"said: {said}")


@needs(interop)
def test_a_hostile_sender(work):
    """described apps: apps, keys and paths of a sender's choosing reach nothing beyond the receiver's descriptions"""
    old, new = described(work)
    place = f"{old.home}/.browser"
    for name in ("unknown", "org.example.browser/../shell", "../org.example.browser"):
        receiver = new.receive()
        made = paired(receiver, [Part({"profile": place}, kind=wire.APP_OF_FILES, identifier=name)])
        made.session()
        equal([made_part.code for made_part in made.parts], [18], f"the code for '{name}'")
        receiver.wait()
        equal(os.listdir(new.home), [], "what arrived")
    # Of the keys, the description knows one. The paths lead to files of the system.
    paths = [(b"documents", b"/usr/bin"), (b"home", b"/etc/ssl")]
    with open(f"{place}/places", "w", encoding="utf-8") as file:
        file.write("/etc/ssl/x /usr/bin/sh\n")
    # No catalogue has these names.
    names = [b"0--purge", b"x--not-there"]
    report = f"{work.path}/report.json"
    receiver = new.receive("--take-apps", "--report", report)
    made = paired(receiver, [Part(
        {"profile": place, "autostart": place, "places": f"{place}/places"}, kind=wire.APP_OF_FILES, identifier="org.example.browser",
        homePaths=paths, packages=names), Part([f"{old.home}/Documents/letter"])])
    made.session()
    receiver.wait()
    equal(made.verdict.parts[0].get("without"), [(0, 8)], "what is left out")
    equal(sorted(os.listdir(new.home)), [".browser", ".config", "letter"], "what arrived")
    equal(os.listdir(f"{new.home}/.config"), ["places"], "what arrived in .config")
    equal(new.read(".config/places"), f"{new.home}/x /usr/bin/sh\n", "the named file")
    equal(new.read(".browser/places"), "/etc/ssl/x /usr/bin/sh\n", "another file")
    with open(report, encoding="utf-8") as file:
        told = [sentence for sentence in json.load(file)["next"] if "0--purge" in sentence]
    equal(told, ["Installed on the old computer, as it says, and in no catalogue of this one: 0--purge, x--not-there"], "the packages")


@needs(interop, dconf_and_bus)
def test_hostile_settings(work):
    """described apps: settings of a sender's choosing load no key beyond the receiver's description"""
    old, new = described(work, SETTINGS, BROWSER)
    old.write("key", "[org/example]\nsize=uint32 4\n")
    with contextlib.ExitStack() as ends:
        bus, variables, dconf = session(work, new)
        ends.callback(bus.wait)
        ends.callback(bus.terminate)
        work.environment.update(variables)

        def brought(source, app, code, *options):
            receiver = new.receive("--take-apps", *options)
            made = paired(receiver, [Part({"dconf": f"{old.home}/{source}"}, kind=wire.APP_OF_FILES, identifier=app)])
            made.session()
            equal([made_part.code for made_part in made.parts], [code], f"the code for {source}")
            receiver.wait()
            return dconf("dump", "/")

        # An app whose description names no settings.
        equal(brought("key", "org.example.browser", 8), "", "the settings")
        groups = [
            "org/example", "/", "", "org", "org/example/colours/../../../org/gnome", "org/example/coloursX", "org/example/colours//x", "/org/example",
            "org/gnome/settings-daemon/plugins/media-keys/custom-keybindings/custom0", "system/proxy"]
        old.write("dump", "".join(f"[{group}]\nsize=uint32 4\ncommand='sh'\n../top='x'\norg/example/size=9\n" for group in groups))
        loaded = "[org/example]\nsize=uint32 4\n"
        equal(brought("dump", "colours", 0), loaded, "the settings")
        # A link is no file: what was there is there again.
        os.symlink(f"{new.home}/secret", f"{old.home}/link")
        new.write("secret", "[org/example]\nsize=uint32 7\n")
        equal(brought("link", "colours", 10, "--replace"), loaded, "the settings")
        place = f"{new.home}/.local/share/peer-settings"
        equal((os.listdir(place), os.path.islink(f"{place}/colours")), (["colours"], False), "what is there")


@needs(interop, dconf_and_bus)
def test_a_program_of_the_sender(work):
    """described apps: settings are loaded by the system's own dconf, not by a program that another part of
    the session has brought into a folder of PATH"""
    old, new = described(work, SETTINGS)
    caught = f"{work.path}/caught"
    programs = [f"miniconda3/bin/{name}" for name in ("dconf", "timeout", "sh")]

    def lay(computer):
        for program in programs:
            computer.write(program, f"#!/bin/sh\necho {program} >> {caught}\n")
            os.chmod(f"{computer.home}/{program}", 0o755)

    lay(old)
    old.write("dump", "[org/example]\nsize=uint32 4\n")
    os.makedirs(f"{new.home}/miniconda3/bin")
    with contextlib.ExitStack() as ends:
        bus, variables, dconf = session(work, new)
        ends.callback(bus.wait)
        ends.callback(bus.terminate)
        work.environment.update(variables, PATH=f"{new.home}/miniconda3/bin:{os.environ['PATH']}")
        # The second time, the programs are there before the receiver is.
        for options in ([], ["--replace"]):
            receiver = new.receive("--take-apps", *options)
            made = paired(receiver, [
                Part([f"{old.home}/miniconda3"]), Part({"dconf": f"{old.home}/dump"}, kind=wire.APP_OF_FILES, identifier="colours")])
            made.session()
            receiver.wait()
            if os.path.exists(caught):
                with open(caught, encoding="utf-8") as file:
                    equal(file.read(), "", "programs of the sender that have run")
            equal(made.parts[1].code, 0, "the code for the settings")
            equal(dconf("dump", "/"), "[org/example]\nsize=uint32 4\n", "the settings")
            lay(new)

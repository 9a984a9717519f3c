"""The commands with which authors test on one device: `peer app check` and `peer app migrate`."""

import hashlib
import os
import plistlib
import signal
import subprocess
import time

import pytest

from apps import GROUP, ID, Device, make_bundle, said
from devices import PATIENCE, Process
from needs import landlock, needs
from outside import equal, remove, require, wait_for
from test_migrating import running_beneath

OTHER = "org.example.other"


class Author:
    """A device with the app, and the bundle that its author works on."""

    def __init__(self, work, identifier=ID, installed="TestAppExtension", **files):
        self.work = work
        self.folder, _ = work.place()
        self.device = Device(work, self.folder, program=installed)
        self.device.write(**{"kept": "what was written", **files})
        self.bundle = make_bundle(work.programs, f"{self.folder}/bundle", identifier)
        self.temporary = f"{self.folder}/tmp"
        os.mkdir(self.temporary)
        work.environment["TMPDIR"] = self.temporary

    def check(self, *options, code=0, bundle=None):
        """Checks the bundle; returns the run."""
        return ended(self.device.start("app", "check", bundle or self.bundle, "--json", *options), code)

    def migrate(self, *options, code=0):
        """Migrates to the bundle; returns the run."""
        return ended(self.start(*options), code)

    def start(self, *options):
        return self.device.start("app", "migrate", ID, "--to", self.bundle, "--json", *options)

    def home(self, process):
        """The home that a migration has named."""
        return process.events("migrated")[0]["home"]

    def change(self, name, **values):
        """Changes a property list of the bundle; None takes a key away."""
        path = f"{self.bundle}/{name}"
        with open(path, "rb") as file:
            content = plistlib.load(file)
        content.update({key: value for key, value in values.items() if value is not None})
        for key in [key for key, value in values.items() if value is None]:
            content.pop(key, None)
        with open(path, "wb") as file:
            plistlib.dump(content, file)


def ended(process, code):
    equal(process.wait(), code, f"the exit code; said: {process.text()[-600:]}")
    return process


def notices(process):
    return " | ".join(event["message"] for event in process.events("notice"))


def digest(folder):
    """All paths in a folder and their contents, in one number."""
    found = hashlib.sha256()
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            here = f"{path}/{name}"
            status = os.lstat(here)
            found.update(f"{here} {status.st_mode} {status.st_mtime_ns}".encode())
            if os.path.islink(here):
                found.update(os.readlink(here).encode())
            else:
                with open(here, "rb") as file:
                    found.update(file.read())
    return found.hexdigest()


def data(author):
    return digest(f"{author.device.home}/containers") + digest(f"{author.device.home}/groups")


def nothing_left(author):
    """Requires that the home of the data has no remains of a migration, and that the app works."""
    home = author.device.home
    require(not os.path.exists(f"{home}/transfers"), "a transfer is remembered")
    for folder in ("scratch", "staging", "imports", "replaced"):
        equal(os.listdir(f"{home}/{folder}") if os.path.isdir(f"{home}/{folder}") else [], [], folder)
    author.device.run("status")


def test_a_fit_bundle(work):
    """app check: a fit bundle, on the data of the app that is installed"""
    author = Author(work)
    before = data(author)
    check = author.check()
    equal(check.events("abilities")[0], {"event": "abilities", "exports": True, "imports": True}, "the abilities")
    equal(check.events("bundle")[0]["data"], "installed", "the data")
    archive = check.events("archive")[0]
    equal([archive["items"], archive["bytes"], archive["refused"]], [2, 16, 0], "items, bytes, refused appends")
    equal([root["name"] for root in archive["roots"]], ["Documents"], "the first names")
    equal(check.events()[-1], {"event": "checked", "id": ID}, "the last event")
    equal(data(author), before, "the data")
    nothing_left(author)
    equal(os.listdir(author.temporary), [], "temporary files")
    # The installed bundle is also fit.
    author.check(bundle=f"{author.device.home}/apps/{ID}/bundle")


def test_every_fault(work):
    """app check: every fault of a bundle is named, and a missing bundle is another failure"""
    author = Author(work)
    author.change("Info.plist", CFBundleShortVersionString=None, PeerAliases=["x"])
    author.change("Entitlements.plist", **{"com.apple.security.application-groups": ["..", "a"]})
    author.change("Extensions/Migration.appex/Info.plist", EXAppExtensionAttributes=None)
    author.change(
        "Extensions/Migration.appex/Entitlements.plist",
        **{"com.apple.developer.app-migration.data-container-access": ["org.example.other"]})
    os.chmod(f"{author.bundle}/TestApp", 0o644)
    os.symlink("/etc", f"{author.bundle}/link")
    check = author.check(code=4)
    found = [(event["file"], event["key"]) for event in check.events("fault")]
    equal(found, [
        ("link", None), ("Info.plist", "CFBundleShortVersionString"), ("TestApp", None), ("Info.plist", "PeerAliases[0]"),
        ("Entitlements.plist", "com.apple.security.application-groups"),
        ("Extensions/Migration.appex/Info.plist", "EXAppExtensionAttributes"),
        ("Extensions/Migration.appex/Entitlements.plist", "com.apple.developer.app-migration.data-container-access"),
    ], "the faults")
    require("7 errors" in check.error()["message"], f"said: {check.error()}")
    author.check(code=2, bundle=f"{author.folder}/none")


def script(author, text):
    """Replaces the extension's program by a script."""
    program = f"{author.bundle}/Extensions/Migration.appex/TestAppExtension"
    remove(program)
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(program, 0o755)


READY = r"printf '\000\001\001\001\00{}' >&3; read line <&3"
"""The extension's capabilities: a packet of one message, `ready` with one field."""


def test_extensions_without_an_exporter(work):
    """app check: an extension that cannot export, can do nothing, or does not start"""
    author = Author(work)
    script(author, READY.format(2))
    check = author.check("--no-confine")
    equal(check.events("abilities")[0]["exports"], False, "whether it exports")
    require("the extension does not export" in notices(check), f"noted: {notices(check)}")
    script(author, READY.format(0))
    require("neither export nor import" in author.check("--no-confine", code=4).error()["message"], "it can do nothing")
    script(author, "exit 3")
    require("did not start" in author.check("--no-confine", code=4).error()["message"], "it does not start")


@pytest.mark.parametrize("export, reason", [("crash", "signal 11"), ("throw", "the author's own words")])
def test_an_export_that_fails(work, export, reason):
    """app check: an exporter that fails"""
    author = Author(work, export=export)
    check = author.check(code=9)
    require(reason in check.error()["message"], f"said: {check.error()}")
    nothing_left(author)


def test_notes(work):
    """app check: temporary files, wrong estimates, empty versions, refused appends, items of other
    types and groups that only one of app and extension lists are noted"""
    author = Author(work, export="copy", estimate="1", version="")
    check = author.check()
    require(check.events("archive")[0]["scratchBytes"] >= 3_000_000, "no temporary files are counted")
    for part in ("temporary", "resourcesSizeEstimate is off", "resourcesVersion is empty"):
        require(part in notices(check), f"'{part}' is not noted: {notices(check)}")
    author.device.write(export="at once", estimate="100", version="1")
    check = author.check()
    equal(check.events("archive")[0]["refused"], 1, "refused appends")
    require("1 append was refused" in notices(check) and "off" not in notices(check), f"noted: {notices(check)}")
    require("refused 1" in said(check), f"the extension said: {said(check)}")
    author.change("Entitlements.plist", **{"com.apple.security.application-groups": [GROUP, "group.other"]})
    author.device.write(export="")
    os.mkfifo(author.device.container("Documents/pipe"))
    found = notices(author.check())
    require("the group group.other is only in 'Entitlements.plist'" in found, f"noted: {found}")
    require("'Documents/pipe' is not a file, folder or link" in found, f"noted: {found}")
    require(f"the group {GROUP}" not in found, f"noted: {found}")
    # It does not arrive either.
    human = ended(author.device.start("app", "migrate", ID, "--to", author.bundle), 8)
    require("Documents/pipe: is not a file, folder or link" in human.output(), f"said: {human.output()}")
    author.migrate(code=8)
    author.change(
        "Extensions/Migration.appex/Info.plist",
        EXAppExtensionAttributes={"EXExtensionPointIdentifier": "com.apple.app-migrate"})
    found = notices(author.check())
    require("EXExtensionPointIdentifier of such an extension is com.apple.app-migration" in found, f"noted: {found}")


def test_another_container(work):
    """app check: another container, and no container"""
    author = Author(work)
    container = f"{author.folder}/container"
    os.makedirs(f"{container}/Documents")
    with open(f"{container}/Documents/seven", "w", encoding="utf-8") as file:
        file.write("7 bytes")
    before = digest(container)
    # The app may run meanwhile, because its data is not used.
    archive = author.check("--container", container).events("archive")[0]
    equal([archive["items"], archive["bytes"]], [2, 7], "items and bytes")
    equal(digest(container), before, "the container")
    author.check("--container", f"{author.folder}/none", code=2)
    author.device.peer("app", "remove", ID)
    check = author.check()
    equal([check.events("bundle")[0]["data"], check.events("archive")[0]["items"]], ["empty", 1], "data and items")
    equal(os.listdir(author.temporary), [], "temporary files")


def test_an_app_that_runs(work):
    """app check and migrate: an app that runs is refused"""
    author = Author(work)
    running = author.device.start("app", "run", ID, "stay")
    wait_for("the app", PATIENCE, lambda: "running" in author.device.peer("app", "list"))
    require("is running" in author.check(code=4).error()["message"], "it is not said that the app runs")
    require("is running" in author.migrate(code=4).error()["message"], "it is not said that the app runs")
    running.end()
    equal(os.listdir(author.temporary), [], "temporary files")


@needs(landlock)
def test_without_confinement(work):
    """app check: an extension is confined, except with --no-confine"""
    author = Author(work, export="look")
    refused = [line for line in said(author.check()) if line.startswith("read outside")]
    equal(refused, ["read outside: refused"], "a confined extension")
    check = author.check("--no-confine")
    equal([line for line in said(check) if line.startswith("read outside")], ["read outside: DONE"], "another")
    require("not confined" in notices(check), f"noted: {notices(check)}")


def listening(process):
    """The ports on which a process listens."""
    found = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=False).stdout
    return [line for line in found.splitlines() if f"pid={process.pid}," in line]


def test_a_migration(work):
    """app migrate: a migration on one device, and another one to the same home"""
    author = Author(work, version="2.7")
    with open(author.device.group("shared"), "w", encoding="utf-8") as file:
        file.write("shared")
    before = data(author)
    run = author.migrate()
    home = author.home(run)
    equal(os.path.dirname(home), author.temporary, "where the home is")
    require(run.events("migrated")[0]["importSeconds"] is not None, "no duration of the import")
    equal({event["side"] for event in run.events("done")}, {"exporter", "importer"}, "the ends that are done")
    equal([event["addresses"] for event in run.events("listening")], [["127.0.0.1"]], "where it listened")
    equal(run.events("code"), [], "the codes that were told")
    lines = [(event["side"], event["line"]) for event in run.events("extensionOutput")]
    equal(lines, [("importer", f"importing version 2.7 of {ID}")], "what the extensions said")
    # The next command, as shown to a person.
    new = Home(author, home)
    equal(new.app("run", ID, "status"), "success", "the status at first launch")
    equal(new.documents(), author.device.documents(), "what arrived")
    equal(data(author), before, "the source")
    nothing_left(author)
    # The same home again.
    refused = author.migrate("--home", home, code=4)
    equal(refused.events("migrated")[0]["succeeded"], False, "whether it succeeded")
    for event in refused.events("error"):
        require("has data on the receiving device already" in event["message"], f"said: {event}")
    human = ended(author.device.start("app", "migrate", ID, "--to", author.bundle, "--home", home), 4)
    require(f"the app in {home} received no data in this run" in human.errors(), f"said: {human.errors()}")
    author.migrate("--home", home, "--replace")
    equal(new.documents(), author.device.documents(), "what arrived")
    nothing_left(author)


class Home:
    """A PEER_HOME that a migration has made."""

    def __init__(self, author, path):
        self.author = author
        self.path = path

    def app(self, *words):
        process = Process(self.author.work, ["app", *words], home=self.path)
        equal(process.wait(), 0, f"the exit code; said: {process.text()[-300:]}")
        return process.output().strip()

    def documents(self, identifier=ID):
        found = {}
        folder = f"{self.path}/containers/{identifier}/Documents"
        for path, _, names in os.walk(folder):
            for name in names:
                with open(f"{path}/{name}", "rb") as file:
                    found[os.path.relpath(f"{path}/{name}", folder)] = file.read()
        return found


def test_a_persons_view(work):
    """app migrate: each line shows its end to a person, and the next command follows"""
    author = Author(work)
    run = ended(author.device.start("app", "migrate", ID, "--to", author.bundle), 0)
    require(f"importer: importing version 1.0 of {ID}" in run.errors(), f"said: {run.errors()}")
    last = run.output().strip().split("\n")[-1].strip()
    home = last.split()[0].removeprefix("PEER_HOME=")
    equal(last, f"PEER_HOME={home} peer app run {ID}", "the next command")
    require("The import took" in run.output(), f"said: {run.output()}")
    equal(Home(author, home).documents(), author.device.documents(), "what arrived")


@pytest.mark.parametrize("files, code, side, reason", [
    ({"behaviour": "throw"}, 7, "importer", "the author's own words"),
    ({"behaviour": "crash"}, 7, "importer", "signal 11"),
    ({"export": "throw"}, 9, "exporter", "the author's own words"),
    ({"export": "crash"}, 9, "exporter", "signal 11"),
    ({"estimate": "-5"}, 9, "exporter", "which is negative"),
])
def test_a_migration_that_fails(work, files, code, side, reason):
    """app migrate: an importer or an exporter that fails"""
    author = Author(work, **files)
    before = data(author)
    run = author.migrate(code=code)
    said_by = {event["side"]: event["message"] for event in run.events("error")}
    require(reason in said_by[side], f"said: {said_by}")
    equal(run.events("migrated")[0]["succeeded"], False, "whether it succeeded")
    equal(Home(author, author.home(run)).documents(), {}, "what arrived")
    equal(data(author), before, "the source")
    nothing_left(author)
    # A person sees the end that failed, once.
    human = ended(author.device.start("app", "migrate", ID, "--to", author.bundle), code)
    equal(human.errors().count("peer: error:"), 1, "errors")
    require(reason in human.errors(), f"said: {human.errors()}")
    require("To go on, run the same command with --home " in human.errors(), f"said: {human.errors()}")


def test_the_idle_limit_of_a_migration(work):
    """app migrate: the idle limit"""
    author = Author(work, export="hang")
    run = author.migrate("--idle-limit", "1", code=9)
    require("appended nothing" in run.events("error")[0]["message"], f"said: {run.events('error')}")
    nothing_left(author)


@pytest.mark.parametrize("files, line", [
    ({"export": "for ever"}, "appending"), ({"behaviour": "stay"}, f"importing version 1.0 of {ID}")])
def test_an_interrupted_migration(work, files, line):
    """app migrate: Ctrl-C ends both ends"""
    author = Author(work, **files)
    before = data(author)
    run = author.start()
    wait_for(line, PATIENCE, lambda: line in said(run) or not run.is_running())
    # During the import it need not listen any more.
    if "export" in files:
        where = listening(run)
        require(where and all("127.0.0.1:" in line for line in where), f"it listens elsewhere: {where}")
    run.signal(signal.SIGINT)
    equal(run.wait(), 130, f"the exit code; said: {run.text()[-600:]}")
    equal(data(author), before, "the source")
    nothing_left(author)


def test_a_killed_migration(work):
    """app migrate: an extension that is not confined ends with peer as well"""
    author = Author(work, export="hang")
    run = author.start("--no-confine", "--idle-limit", "off")
    wait_for("the extension", PATIENCE, lambda: running_beneath(author.folder) or not run.is_running())
    require(run.is_running(), f"it ended too early: {run.text()[-300:]}")
    run.signal(signal.SIGKILL)
    run.wait()
    wait_for("the extension's end", PATIENCE, lambda: not running_beneath(author.folder))
    author.device.run("status")


@pytest.mark.parametrize("end", ["exporter", "importer"])
def test_ctrl_c_while_an_extension_starts(work, end):
    """app migrate: Ctrl-C and SIGTERM end a silent extension's start, and leave no home"""
    # The exporter comes from the installed app if the other bundle has another identifier.
    author = Author(work, OTHER, installed="Silent" if end == "exporter" else "TestAppExtension")
    if end == "importer":
        remove(author.bundle)
        make_bundle(work.programs, author.bundle, OTHER, "Silent")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        run = author.start()
        wait_for("the extension", PATIENCE, lambda run=run: said(run) == ["silent"] or not run.is_running())
        equal(run.events("extensionOutput")[0]["side"], end, "the end that starts")
        begun = time.monotonic()
        run.signal(number)
        equal(run.wait(), code, f"the exit code; said: {run.text()[-600:]}")
        require(time.monotonic() - begun < 10, f"it took {time.monotonic() - begun:.1f} s")
        require("interrupted" in run.error()["message"], f"said: {run.error()}")
        equal(os.listdir(author.temporary), [], "temporary files")
    nothing_left(author)


def test_the_exporter_of_the_bundle(work):
    """app migrate: another edition's extension exports, and a failed attempt leaves nothing"""
    # The installed app's extension cannot export.
    author = Author(work, installed="OnlyImporting")
    before = data(author)
    run = author.migrate()
    equal(Home(author, author.home(run)).documents(), author.device.documents(), "what arrived")
    equal(data(author), before, "the source")
    equal(os.listdir(author.temporary), [os.path.basename(author.home(run))], "temporary files")
    nothing_left(author)
    # The other edition cannot export either, and the author is told where to look.
    remove(author.bundle)
    make_bundle(work.programs, author.bundle, ID, "OnlyImporting")
    error = author.migrate(code=4).error()
    require("cannot export" in error["message"] and f"peer app check {author.bundle}" in error["hint"], f"said: {error}")


def test_an_unusable_home(work):
    """app check: an unusable PEER_HOME is an error, a missing one has no app; neither is made"""
    author = Author(work)
    author.device.home = f"{author.folder}/file"
    with open(author.device.home, "w", encoding="utf-8"):
        pass
    require("cannot be kept" in author.check(code=4).error()["message"], "it is not said that the home is unusable")
    author.device.home = f"{author.folder}/none"
    equal(author.check().events("bundle")[0]["data"], "empty", "the data")
    author.migrate(code=2)
    require(not os.path.exists(author.device.home), "it was made")


def test_a_damaged_app(work):
    """app migrate: a damaged installed app and a damaged bundle get different errors"""
    author = Author(work, OTHER)
    remove(f"{author.device.home}/apps/{ID}/bundle/Info.plist")
    error = author.migrate(code=4).error()
    require(f"the installed app {ID} is damaged" in error["message"] and "peer app install" in error["hint"], f"said: {error}")


def test_a_full_disk_for_the_output(work):
    """app migrate: it fails if its last lines cannot be written"""
    author = Author(work)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [f"{work.programs}/peer", "app", "migrate", ID, "--to", author.bundle], stdout=full, stderr=subprocess.PIPE,
            env={**os.environ, **work.environment, "PEER_HOME": author.device.home}, timeout=PATIENCE, check=False)
    equal(done.returncode, 1, f"the exit code; said: {done.stderr[-300:]}")
    require(b"standard output could not be written" in done.stderr, f"said: {done.stderr[-300:]}")


def test_homes_that_are_refused(work):
    """app migrate: homes that are refused"""
    author = Author(work)
    home = author.device.home
    os.symlink(home, f"{author.folder}/link")
    for wrong in (home, f"{home}/apps/x", os.path.dirname(home), f"{author.folder}/link", f"{author.folder}/link/x"):
        require("home" in author.migrate("--home", wrong, code=4).error()["message"], f"'{wrong}' was taken")
    require(not os.path.exists(f"{home}/apps/x"), "it was made")
    work.environment["TMPDIR"] = home
    author.migrate(code=4)
    equal([name for name in os.listdir(home) if name.startswith("peer-")], [], "what was made in the home")
    work.environment["TMPDIR"] = f"{author.folder}/with space"
    os.mkdir(work.environment["TMPDIR"])
    error = author.migrate(code=4).error()
    require("TMPDIR" in error["hint"] and "PEER_HOME" not in error["hint"], f"said: {error}")
    equal(os.listdir(work.environment["TMPDIR"]), [], "temporary files")


def test_aliases_and_claims(work):
    """app migrate: another identifier with PeerAliases, and the source's claims"""
    author = Author(work, OTHER)
    hints = [event["hint"] for event in author.migrate(code=4).events("error") if event["side"] == "importer"]
    equal(hints, ["Name a bundle of the same app with --to, or one whose PeerAliases list that app."], "the hint")
    author.change("Info.plist", PeerAliases=[
        {"StoreIdentifier": "googlePlay", "BundleIdentifier": ID, "Platform": "android"}])
    author.migrate(code=4)
    run = author.migrate("--as", "android")
    equal(run.events("migrated")[0]["id"], OTHER, "the app")
    equal(Home(author, author.home(run)).documents(OTHER), author.device.documents(), "what arrived")
    claimed = run.events("offer")[0]["app"]
    equal([claimed["platform"], claimed["store"]], ["android", "googlePlay"], "what was claimed")
    author.migrate("--as", "android,other", code=4)
    nothing_left(author)


def test_migrations_that_are_refused(work):
    """app migrate: a missing app, an unfit bundle; nothing is made"""
    author = Author(work)
    ended(author.device.start("app", "migrate", "org.none", "--to", author.bundle), 2)
    author.change("Info.plist", CFBundleShortVersionString=None)
    author.migrate(code=4)
    author.migrate("--home", f"{author.folder}/new", code=4)
    require(not os.path.exists(f"{author.folder}/new"), "a home was made")
    equal(os.listdir(author.temporary), [], "temporary files")
    require(os.path.isdir(author.device.group()), f"the group {GROUP} is gone")

"""The commands with which authors test on one device: `peer app check` and `peer app migrate`."""

import hashlib
import os
import plistlib
import signal
import subprocess

import pytest

from apps import ID, Device, make_bundle, said
from devices import PATIENCE, Process
from needs import landlock, needs
from outside import equal, require, wait_for


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


def test_notes_that_are_errors(work):
    """app check: with --strict, a note on the app is an error"""
    author = Author(work, version="")
    equal(len(author.check().events("notice")), 1, "notes on a version without words")
    check = author.check("--strict", code=4)
    equal(check.events("checked"), [], "what is in order")
    author.device.write(version="1")
    author.check("--strict")


def test_who_exports(work):
    """app migrate: the extension of the installed app exports; with --bundle-exports that of the bundle; with --archive,
    none"""
    author = Author(work, installed="OnlyImporting")
    author.migrate(code=4)
    run = author.migrate("--bundle-exports")
    equal(run.events("migrating")[0]["exporter"]["from"], "bundle", "what exports")
    kept = f"{author.folder}/archive"
    listed = [(event["path"], event["kind"], event["bytes"]) for event in author.check("--extract", kept).events("item")]
    equal(sorted(listed), [("Documents", "directory", 0), ("Documents/kept", "file", 16)], "the items")
    run = author.migrate("--archive", kept, "--archive-version", "3")
    equal(run.events("migrating")[0]["exporter"], {"from": "archive", "id": None, "version": None}, "what exports")
    require(f"importing version 3 of {ID}" in said(run), f"said: {said(run)}")
    equal(Home(author, author.home(run)).documents(), {"kept": b"what was written"}, "what arrived")
    author.migrate("--archive", kept, "--bundle-exports", code=2)


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
    end = {"id": ID, "version": "1.0"}
    equal(
        run.events()[0], {"event": "migrating", "exporter": {"from": "installed", **end}, "importer": {"from": "bundle", **end}},
        "the first event")
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
    require(any("not confined" in event["message"] for event in check.events("notice")), f"noted: {check.text()[-300:]}")

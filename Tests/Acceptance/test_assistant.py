"""Two people move a computer in their browsers."""

import os
import shutil

from browser import KEYS, Browser
from devices import PATIENCE, mistyped, other_code
from needs import browser, needs, networks
from networks import Network
from outside import ROOT, equal, require, wait_for

BUSY = "org.example.busy"
FINE = "org.example.fine"


def install(work):
    """Lays the program and the page out as an installation does; returns the program's path."""
    for folder in ("bin", "share/peer"):
        os.makedirs(f"{work.path}/prefix/{folder}")
    shutil.copy(work.binary, f"{work.path}/prefix/bin/peer")
    os.symlink(f"{ROOT}/Sources/MigrationPage/Page", f"{work.path}/prefix/share/peer/page")
    return f"{work.path}/prefix/bin/peer"


class Person:
    """A home, and a browser in which its owner opens the assistant."""

    def __init__(self, work, device, program):
        self.work, self.device, self.program = work, device, program
        self.home = work.folder(None)
        self.browser = Browser(device, self.home)
        for app in (BUSY, FINE):
            self.write(f"peer/descriptions/{app}.app", f"[Application]\nId={app}\nName=App {app}\n[Data]\nconfig=config/{app}\n")
        os.chmod(f"{self.home}/peer", 0o700)

    def write(self, name, content):
        path = f"{self.home}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name):
        with open(f"{self.home}/{name}", encoding="utf-8") as file:
            return file.read()

    def assistant(self):
        """Starts the assistant, and opens its page."""
        process = self.device.background(
            self.program, "assistant", "--no-browser", environment={"HOME": self.home, "PEER_HOME": f"{self.home}/peer"})
        address = process.stdout.readline().decode().split()[-1]
        require(address.startswith("http://127.0.0.1:"), f"no address: {address}")
        self.browser.open(address)
        return process


@needs(networks, browser)
def test_moving_in_two_browsers(work):
    """assistant: two people move folders and apps in their browsers, by keys and by clicks; a wrong code and a part that fails are named, and a page that was closed shows the report"""
    network = Network(work, "old", "new")
    program = install(work)
    old, new = (Person(work, network.devices[name], program) for name in ("old", "new"))
    old.write("Documents/letter", "letter")
    old.write("Pictures/picture", "picture")
    old.write(".secretly", "runs")
    for app in (BUSY, FINE):
        old.write(f".config/{app}/settings", app)
    new.write(f".config/{BUSY}/settings", "the new computer's own")

    first = new.assistant()
    new.browser.click("#new")
    new.browser.click("button", "Make this computer ready")
    code = wait_for("the code", PATIENCE, lambda: new.browser.run("return document.getElementById('shown')?.textContent"))

    last = old.assistant()
    old.browser.reach("#old")
    old.browser.type(KEYS["enter"])
    old.browser.reach("#found button")
    old.browser.type(KEYS["enter"])
    old.browser.find("#onward")
    old.browser.click("label", "Pictures")
    old.browser.reach("#onward")
    old.browser.type(KEYS["enter"])
    old.browser.find("#code")
    old.browser.type(*mistyped(code), KEYS["enter"])
    old.browser.until("One digit is wrong")
    old.browser.run("document.getElementById('code').value = ''")
    old.browser.type(*other_code(code), KEYS["enter"])
    old.browser.until("the code did not match")
    new.browser.until("A wrong code was entered")
    code = new.browser.run("return document.getElementById('shown').textContent")
    old.browser.find("#code")
    old.browser.type(*code, KEYS["enter"])

    new.browser.until("wants to send")
    new.browser.click("button", "Take what is chosen")
    old.browser.until("Not everything has arrived")
    require(f"App {BUSY}" in old.browser.text() and "did not arrive" in old.browser.text(), f"the part is not named: {old.browser.text()}")
    new.browser.close()
    equal(new.read("Documents/letter"), "letter", "the document")
    equal(new.read(f".config/{FINE}/settings"), FINE, "the data of an app")
    equal(new.read(f".config/{BUSY}/settings"), "the new computer's own", "the data of an app that was here")
    require(not os.path.exists(f"{new.home}/Pictures/picture"), "what was not chosen has arrived")

    new.browser = Browser(new.device, new.home)
    equal(new.assistant().wait(PATIENCE), 0, "the end of the second start")
    new.browser.until("Not everything has arrived")
    require(first.poll() is None, "the first assistant has ended")
    for person in (old, new):
        person.browser.close()
    for process in (first, last):
        equal(process.wait(PATIENCE), 0, "the end after the page is closed")

"""Whole moves by keys alone, each in two browsers that move themselves."""

import os
import re
import subprocess

import pytest

from browser import KEYS, Browser, Firefox
from devices import PATIENCE
from needs import browser, firefox, needs, networks
from networks import Network
from outside import ROOT, equal, require, wait_for
from test_assistant import install

# Browsers as a desktop starts them for a file; they stay until their user closes them.
STARTS = {
    "Firefox": 'exec firefox-esr --headless --marionette "file://$1"',
    "Chromium": 'exec chromium --headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-port=9222 "--user-data-dir=$HOME/.config/chromium" "file://$1"',
}
NAMES = {"Firefox": "firefox", "Chromium": "chromium"}


class Person:
    """The owner of a computer, who opens the assistant from the menu, in a browser that has data."""

    def __init__(self, work, device, program, kind):
        self.device, self.kind, self.page, self.home = device, kind, None, work.folder(None)
        device.set_apart()
        os.makedirs(f"{self.home}/bin")
        with open(f"{self.home}/bin/xdg-open", "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec >"$HOME/browser.log" 2>&1\n{STARTS[kind]}\n')
        os.chmod(f"{self.home}/bin/xdg-open", 0o755)
        os.makedirs(f"{self.home}/run", mode=0o700)
        self.settings = {
            "HOME": self.home, "XDG_RUNTIME_DIR": f"{self.home}/run", "PATH": f"{self.home}/bin:{os.environ['PATH']}", "DISPLAY": ":99",
            # The processes of its own, and the descriptions beside the program.
            "PEER_SYSTEM": "",
        }
        with open(f"{ROOT}/Scripts/lib/peer.desktop", encoding="utf-8") as file:
            entry = re.search(r"^Exec=peer (.*)$", file.read(), re.MULTILINE)[1].split()
        self.assistant = [program, *entry]

    def write(self, name, content):
        os.makedirs(os.path.dirname(f"{self.home}/{name}"), exist_ok=True)
        with open(f"{self.home}/{name}", "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name):
        with open(f"{self.home}/{name}", encoding="utf-8") as file:
            return file.read()

    def open(self):
        """Chooses the entry of the menu."""
        process = self.device.background(*self.assistant, environment=self.settings)
        self.meet()
        return process

    def meet(self):
        """The browser is there, also again."""
        self.page = Firefox(self.device) if self.kind == "Firefox" else wait_for("Chromium", PATIENCE, self.debugged)
        self.page.wait("the page", lambda: "This computer" in self.page.text())

    def debugged(self):
        found = subprocess.run([*self.device.enter, "ss", "-ltn"], stdout=subprocess.PIPE, check=False).stdout
        return b":9222 " in found and Browser(self.device, self.home, "127.0.0.1:9222")

    def press(self, selector, words=""):
        """Reaches something by Tab, and presses it."""
        self.page.reach(selector, words)
        self.page.type(KEYS["space" if "input" in selector or "button" in selector else "enter"])


@pytest.mark.takes(60)
@needs(networks, browser, firefox)
@pytest.mark.parametrize("kinds", [("Chromium", "Firefox"), ("Firefox", "Chromium")], ids=["from Chromium to Firefox", "from Firefox to Chromium"])
def test_a_whole_move(work, kinds):
    """assistant: by keys alone, from the menu to the report, everything arrives, also the data of both browsers that show the page"""
    network, program = Network(work, "old", "new"), install(work)
    descriptions = f"{work.path}/prefix/share/peer/known-apps"
    subprocess.run(["cp", "-r", f"{ROOT}/Sources/Computer/MigrationApps/Descriptions", descriptions], check=True)
    old, new = (Person(work, network[name], program, kind) for name, kind in zip(("old", "new"), kinds))
    old.write("Documents/letter", "letter")
    old.write("Pictures/picture", "picture")
    places = {"Firefox": ".mozilla/firefox", "Chromium": ".config/chromium"}
    for name, place in places.items():
        old.write(f"{place}/kept", name)
        new.write(f"{place}/own", name)
    ends = [new.open(), old.open()]

    new.press("#new")
    new.page.until("Some apps have data here")
    new.page.reach("input[type=radio]")
    new.page.type("\ue015")
    new.press("button", "Continue")
    code = new.page.wait("a code", lambda: new.page.run("return document.getElementById('shown')?.textContent"))
    old.press("#old")
    old.press("#found button")
    old.page.until("This page runs in it: it moves last")
    old.press("#onward")
    old.page.wait("the field", lambda: old.page.run("return document.activeElement.id === 'code'"))
    old.page.type(*code, KEYS["enter"])
    new.page.until("wants to send")
    new.press("button", "Take what is chosen")
    new.page.until("Take passwords and keys too?")
    new.press("button", "Yes, take them")
    # Each page asks for the end of its own browser: the parts are in the order of their names.
    for person in sorted((old, new), key=lambda person: person.kind):
        person.page.until(f"Close {person.kind}")
        require("This page runs in it" in person.page.text(), "the reason is not named")
        person.page.quit()
        person.page = None
    for person in (old, new):
        person.meet()
        person.page.until("Everything has arrived")
    equal((new.read("Documents/letter"), new.read("Pictures/picture")), ("letter", "picture"), "the files")
    for name, place in places.items():
        equal(new.read(f"{place}/kept"), name, f"the data of {name}")
    for person in (old, new):
        person.page.quit()
    for process in ends:
        equal(process.wait(PATIENCE), 0, "the assistant's end")

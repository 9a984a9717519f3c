"""Two people move a computer in their browsers."""

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

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
    shutil.copytree(f"{ROOT}/Sources/Computer/MigrationPage/Page", f"{work.path}/prefix/share/peer/page")
    return f"{work.path}/prefix/bin/peer"


class Person:
    """A home, and a browser in which its owner opens the assistant."""

    def __init__(self, work, device, program):
        self.work, self.device, self.program = work, device, program
        self.home = work.folder(None)
        self.browser = Browser(device, self.home)
        for app, needs_app in ((BUSY, ""), (FINE, f"Needs={BUSY};\n")):
            self.write(f"peer/descriptions/{app}.app",
                       f"[Application]\nId={app}\nName=App {app}\n{needs_app}[Data]\nconfig=config/{app}\n[Running]\nLocks=lock\n")
        os.chmod(f"{self.home}/peer", 0o700)

    def write(self, name, content):
        path = f"{self.home}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name):
        with open(f"{self.home}/{name}", encoding="utf-8") as file:
            return file.read()

    def assistant(self, **environment):
        """Starts the assistant, and opens its page."""
        process = self.device.background(
            self.program, "assistant", "--no-browser", environment={"HOME": self.home, "PEER_HOME": f"{self.home}/peer", **environment})
        address = process.stdout.readline().decode().split()[-1]
        require(address.startswith("http://127.0.0.1:"), f"no address: {address}")
        self.browser.open(address)
        return process

    def vanish(self, assistant):
        """Kills the command that runs for the page."""
        with open(f"/proc/{assistant.pid}/task/{assistant.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"--everything" in file.read().split(b"\0"):
                    os.kill(int(child), signal.SIGKILL)
                    return
        require(False, "no command runs for the page")

    def make_ready(self):
        """Says that what is here stays, which is asked where an app has data here."""
        self.browser.until("Some apps have data here")
        self.browser.click("button", "Continue")

    def code(self):
        """The code that the page shows, as soon as it does."""
        return self.browser.wait("a code", lambda: self.browser.run("return document.getElementById('shown')?.textContent"))


def only_a_vpn(new):
    """The page names a VPN that has the only address, and the next start is as if it had not been."""
    new.device.ip("tuntap", "add", "dev", "vpn", "mode", "tun")
    new.device.ip("addr", "add", "10.8.0.2/24", "dev", "vpn")
    new.device.ip("link", "set", "vpn", "up")
    new.device.ip("addr", "del", "10.99.0.2/24", "dev", "net")
    new.make_ready()
    new.browser.until("only address of this device is a VPN's")
    new.device.ip("addr", "add", "10.99.0.2/24", "dev", "net")
    new.device.ip("link", "del", "vpn")
    # As a browser does while the addresses change, which takes a moment longer than the commands.
    new.browser.run("const kept = fetch; fetch = () => { fetch = kept; return Promise.reject(new TypeError('the network changed')); }")
    new.browser.click("button", "Stop")
    new.browser.until("The move is stopped")
    new.browser.click("button", "Start again")


def expired(new):
    """The page says that a code is too old, by its own clock."""
    new.browser.run("window.clock = Date.now; Date.now = () => window.clock() + 11 * 60000")
    new.browser.until("This code no longer works")
    new.browser.run("Date.now = window.clock")
    new.browser.until("and for 10 minutes more")


# Another computer is found while a button has the focus; what has it then.
ANOTHER = """
  return Promise.all([import("/state.js"), import("/page.js")]).then(([state, page]) => {
    state.take({ event: "receiver", instance: "0", label: "a second one", addresses: ["192.0.2.9"], port: 47470 });
    page.render();
    return document.activeElement.id;
  });
"""


@needs(networks, browser)
@pytest.mark.takes(30)
def test_moving_in_two_browsers(work):
    """assistant: two people move folders and apps in their browsers, by keys and by clicks; a VPN, an old code, a wrong one, an app in use, a device that vanishes and comes back, and a part that fails are named, and a page that was closed shows the report"""
    network = Network(work, "old", "new")
    program = install(work)
    old, new = (Person(work, network.devices[name], program) for name in ("old", "new"))
    old.write("Documents/letter", "letter")
    old.write("Pictures/picture", "picture")
    old.write(".secretly", "runs")
    for app in (BUSY, FINE):
        old.write(f".config/{app}/settings", app)
    new.write(f".config/{BUSY}/settings", "the new computer's own")
    old.write(f".config/{FINE}/lock", "")
    lock = open(f"{old.home}/.config/{FINE}/lock", "r+b")
    work.undone.callback(lock.close)
    fcntl.lockf(lock, fcntl.LOCK_EX)

    first = new.assistant()
    new.browser.click("#new")
    only_a_vpn(new)
    expired(new)
    code = new.code()

    last = old.assistant()
    old.browser.reach("#old")
    old.browser.type(KEYS["enter"])
    old.browser.reach("#found button")
    require(old.browser.run(ANOTHER).startswith("found-"), "the focus is gone when another computer appears")
    old.browser.type(KEYS["enter"])
    old.browser.find("#onward")
    old.browser.click("label", "Pictures")
    lost = f"App {FINE}: without App {BUSY}, passwords or history in it are lost."
    old.browser.click("label", BUSY)
    old.browser.until(lost)
    old.browser.click("label", BUSY)
    old.browser.wait("no such words", lambda: lost not in old.browser.text())
    old.browser.reach("#onward")
    old.browser.type(KEYS["enter"])
    old.browser.find("#code")
    old.browser.type(*mistyped(code), KEYS["enter"])
    old.browser.until("One digit is wrong")
    equal(old.browser.run("return document.getElementById('code').getAttribute('aria-invalid')"), "true", "what a screen reader hears of the field")
    old.browser.run("document.getElementById('code').value = ''")
    old.browser.type(*other_code(code), KEYS["enter"])
    old.browser.until("Wrong code. 2 tries left")
    new.browser.until("A wrong code was typed")
    code = new.browser.run("return document.getElementById('shown').textContent")
    old.browser.find("#code")
    old.browser.type(*code, KEYS["enter"])
    old.browser.until("Accept the move on")

    new.browser.until("wants to send")
    new.browser.click("button", "Take what is chosen")
    old.browser.until(f"Close App {FINE}")
    require(old.browser.run("return document.activeElement.tagName") == "H1", "the reason has no focus")
    new.vanish(first)
    old.browser.until("The connection is interrupted")
    new.browser.until("The move has ended")
    new.browser.click("button", "Start again")
    # An app was left out since it has data here: that is asked anew.
    new.make_ready()
    wait_for("the connection", PATIENCE, lambda: "is interrupted" not in old.browser.text())
    lock.close()
    old.browser.until("Not everything has arrived")
    first_end = old.browser.run("return document.querySelector('#ends li').innerText")
    require(f"App {BUSY}" in first_end and "did not arrive" in first_end and "On the new computer, the app has data already" in first_end, f"the part is not named first: {first_end}")
    require("--" not in old.browser.text() and "peer " not in old.browser.text(), f"a terminal's words: {old.browser.text()}")
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


# It says with which word it was started, and starts as long as the assistant runs.
BROWSER = '#!/bin/sh\necho "$1" >"$OPENED.part"\nmv "$OPENED.part" "$OPENED"\ntail --pid=$PPID -f /dev/null\n'


@pytest.mark.takes(4)
def test_the_ticket_stays_in_its_file(work):
    """assistant: neither the words of the browser nor a log have the address and the ticket, but a file that only its user reads; it is gone once the ticket is used"""
    home, opened, program = work.folder(None), f"{work.path}/opened", install(work)
    os.mkdir(f"{home}/bin")
    with open(f"{home}/bin/xdg-open", "w", encoding="ascii") as file:
        file.write(BROWSER)
    os.chmod(f"{home}/bin/xdg-open", 0o755)
    process = subprocess.Popen(
        [program, "assistant"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        env={**os.environ, "HOME": home, "PEER_HOME": f"{home}/peer", "XDG_RUNTIME_DIR": "", "OPENED": opened,
             "PATH": f"{home}/bin:{os.environ['PATH']}"})
    work.undone.callback(process.kill)
    with process.stdout:
        path = process.stdout.readline().decode().strip().split(": ")[1]
    wait_for("the browser's start", PATIENCE, lambda: os.path.exists(opened))
    with open(opened, encoding="utf-8") as file:
        equal(file.read().strip(), path, "what the browser is started with, and what a log has,")
    equal([os.stat(name).st_mode & 0o777 for name in (path, os.path.dirname(path))], [0o600, 0o700], "the modes")
    with open(path, encoding="utf-8") as file:
        port, ticket = re.search(r"http://127\.0\.0\.1:(\d+)/#([0-9a-f]{32})", file.read()).groups()
    # The file is gone before the next request is answered.
    for status in (200, 403):
        with socket.create_connection(("127.0.0.1", int(port)), PATIENCE) as page:
            page.sendall((f"POST /exchange HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
                          f"X-Peer-Ticket: {ticket}\r\nContent-Length: 0\r\n\r\n").encode())
            equal(int(page.recv(4096).split()[1]), status, "the answer to the ticket")
    require(not os.path.exists(os.path.dirname(path)), "the file with the ticket is still there")
    process.terminate()
    process.wait(PATIENCE)

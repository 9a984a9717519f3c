"""Browsers on devices of a network: Chromium by the WebDriver protocol of W3C, Firefox by its own Marionette."""

import contextlib
import ctypes
import http.client
import json
import os
import re
import socket
import subprocess
import threading

from devices import PATIENCE
from networks import end
from outside import Failure, wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
NEW_NETWORK = 0x40000000
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
KEYS = {"enter": "\ue007", "tab": "\ue004", "space": " "}


def connect(space, port):
    """A connection to a port of 127.0.0.1 in a network namespace."""
    found = []

    def enter():
        with open(f"/run/netns/{space}", "rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NEW_NETWORK) == 0:
                found.append(socket.create_connection(("127.0.0.1", port), PATIENCE))

    # Only a thread enters the namespace, and its socket stays there.
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if not found:
        raise Failure(f"nothing answers at port {port} of {space}")
    return found[0]


class Page:
    """A browser's page, by four acts of a driver: `open`, `run`, `click_on`, `press`."""

    def text(self):
        return self.run("return document.body.innerText")

    def until(self, words):
        """Waits until the page says something."""
        self.wait(f"'{words}'", lambda: words in self.text())

    def wait(self, what, condition):
        """Waits until a condition is true, and returns its value; a failure tells what the page says."""
        try:
            return wait_for(what, PATIENCE, condition)
        except Failure:
            raise Failure(f"the page does not show {what}, but: {self.text()[:600]}") from None

    def find(self, selector, words=""):
        """The first enabled element of a selector that has these words, as soon as there is one."""
        script = ("return [...document.querySelectorAll(arguments[0])]"
                  ".find((node) => !node.disabled && node.textContent.includes(arguments[1])) ?? null")
        return self.wait(f"'{words}' ({selector})", lambda: self.run(script, selector, words))[ELEMENT]

    def click(self, selector, words=""):
        self.click_on(self.find(selector, words))

    def type(self, *keys):
        """Types into what has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.press({"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def reach(self, selector, words=""):
        """Presses Tab until an element has the focus."""
        script = "return document.activeElement.matches(arguments[0]) && document.activeElement.textContent.includes(arguments[1])"
        self.find(selector, words)
        for _ in range(80):
            if self.run(script, selector, words):
                return
            self.type(KEYS["tab"])
        raise Failure(f"no key reaches '{words}' ({selector})")


class Firefox(Page):
    """A Firefox that runs with --marionette on a device."""

    def __init__(self, device):
        self.socket = wait_for("Firefox", PATIENCE, lambda: self.reached(device.network.space(device.name)))
        self.file = self.socket.makefile("rb")
        self.number = 0
        self.receive()
        self.tell("WebDriver:NewSession", {})

    @staticmethod
    def reached(space):
        try:
            return connect(space, 2828)
        except Failure:
            return None

    def receive(self):
        digits = b""
        while not digits.endswith(b":"):
            digits += self.file.read(1) or b":"
        return json.loads(self.file.read(int(digits[:-1] or 0)) or b"null")

    def tell(self, command, value):
        self.number += 1
        message = json.dumps([0, self.number, command, value])
        self.socket.sendall(f"{len(message.encode())}:{message}".encode())
        answer = self.receive()
        if answer is None or answer[2]:
            raise Failure(f"Firefox: {answer and answer[2]['message'][:300]}")
        return answer[3]

    def open(self, address):
        self.tell("WebDriver:Navigate", {"url": address})

    def run(self, script, *arguments):
        return self.tell("WebDriver:ExecuteScript", {"script": script, "args": list(arguments)})["value"]

    def click_on(self, element):
        self.tell("WebDriver:ElementClick", {"id": element})

    def press(self, actions):
        self.tell("WebDriver:PerformActions", actions)

    def picture(self):
        return self.tell("WebDriver:TakeScreenshot", {"full": True})["value"]

    def quit(self):
        """Ends the browser, as its user does."""
        self.tell("Marionette:Quit", {"flags": ["eForceQuit"]})
        self.socket.close()


class Browser(Page):
    """A Chromium with a profile of its own, or one that runs already and listens to a debugger."""

    def __init__(self, device, home, debugged=None):
        self.space = device.network.space(device.name)
        driver = subprocess.Popen(
            [*device.enter, "chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": home})
        device.work.undone.callback(end, driver)
        self.port = next(int(found[1]) for found in map(lambda line: re.search(r"successfully on port (\d+)", line.decode()), driver.stdout) if found)
        options = {"debuggerAddress": debugged} if debugged else {"args": [*ARGUMENTS, f"--user-data-dir={home}/browser"], "binary": "/usr/bin/chromium"}
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}})["sessionId"]
        device.work.undone.callback(self.close)

    def ask(self, method, path, value=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.sock = connect(self.space, self.port)
        with connection.sock:
            connection.request(method, path, None if value is None else json.dumps(value), {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())["value"]
        if isinstance(answer, dict) and answer.get("error"):
            raise Failure(f"the browser: {answer['error']}: {answer['message'][:300]}")
        return answer

    def tell(self, method, path, value=None):
        return self.ask(method, f"/session/{self.session}{path}", value)

    def close(self):
        """Ends the browser, once."""
        if self.session:
            self.tell("DELETE", "")
            self.session = None

    def open(self, address):
        self.tell("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """Runs a function's body in the page; returns its result."""
        return self.tell("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click_on(self, element):
        self.tell("POST", f"/element/{element}/click", {})

    def press(self, actions):
        self.tell("POST", "/actions", actions)

    def picture(self):
        return self.tell("GET", "/screenshot")

    def quit(self):
        """Ends a browser that runs by itself, as its user does."""
        # It may end before it has answered.
        with contextlib.suppress(Failure):
            self.tell("POST", "/goog/cdp/execute", {"cmd": "Browser.close", "params": {}})
        self.session = None

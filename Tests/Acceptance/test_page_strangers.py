"""Another user of the machine, who wants the page of the assistant."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

from browser import Browser, connect
from devices import PATIENCE
from needs import browser, needs, networks
from networks import Network
from outside import NOBODY, ROOT, equal, require, wait_for
from test_assistant import install

# It says with which word it was started, and starts as long as the assistant runs.
BROWSER = '#!/bin/sh\necho "$1" >"$OPENED.part"\nmv "$OPENED.part" "$OPENED"\ntail --pid=$PPID -f /dev/null\n'


class Page:
    """The assistant of root on one device, and a stranger there."""

    def __init__(self, work, *options):
        self.work, self.device = work, Network(work, "one")["one"]
        self.home, self.opened = work.folder(None), f"{work.path}/opened"
        os.mkdir(f"{self.home}/bin")
        with open(f"{self.home}/bin/xdg-open", "w", encoding="ascii") as file:
            file.write(BROWSER)
        os.chmod(f"{self.home}/bin/xdg-open", 0o755)
        self.program = install(work)
        self.environment = {"HOME": self.home, "PEER_HOME": f"{self.home}/peer", "XDG_RUNTIME_DIR": "", "OPENED": self.opened,
                            "PATH": f"{self.home}/bin:{os.environ['PATH']}"}
        self.process, self.said = self.assistant(*options)

    def assistant(self, *options):
        """Starts it; returns the process, and what it says of its address."""
        process = self.device.background(self.program, "assistant", *options, environment=self.environment)
        return process, process.stdout.readline().decode().strip().split(": ")[1]

    @property
    def port(self):
        with open(f"{self.home}/peer/assistant", encoding="ascii") as file:
            return int(file.read().split()[0])

    def stranger(self, *words):
        """What another user does; returns the lines of output."""
        done = subprocess.run(
            [*self.device.enter, sys.executable, "-IS", f"{ROOT}/Tests/Acceptance/page_stranger.py", str(NOBODY), str(self.port), *words],
            stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
        return done.stdout.decode().splitlines()

    def own_connection(self):
        """A connection of the owner's own, as a page that is open has one."""
        return connect(self.device.network.space("one"), self.port)

    def has_closed_connection(self):
        """Whether another end of a connection to the page is closed, and the page's end knows."""
        with open(f"/proc/{self.process.pid}/net/tcp", encoding="ascii") as file:
            rows = [line.split()[2:4] for line in file][1:]
        return any(int(other.split(":")[1], 16) == self.port and state == "05" for other, state in rows)

    def secret(self, ticket):
        """The status of the owner's own exchange."""
        with self.own_connection() as one:
            one.sendall((f"POST /exchange HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
                         f"X-Peer-Ticket: {ticket}\r\nContent-Length: 0\r\n\r\n").encode())
            return int(one.recv(4096).split()[1])


@needs(networks)
def test_a_port_of_the_owner(work):
    """assistant: another user who has the ticket, and connects from 127.0.0.2 with a port of the owner's, gets no answer"""
    page = Page(work, "--no-browser")
    ticket = page.said.split("#")[1]
    with page.own_connection():
        equal(page.stranger("ask", ticket), ["no answer", "no answer"], "the answers to a stranger")
    equal(page.secret(ticket), 200, "the answer to the owner")


@needs(networks)
def test_a_connection_that_is_closed(work):
    """assistant: another user's connection that is closed before it is accepted does not count as root's"""
    page = Page(work, "--no-browser")
    ticket = page.said.split("#")[1]
    page.process.send_signal(signal.SIGSTOP)
    try:
        page.stranger("leave", ticket)
        # From then on, the kernel names root as the owner of what is left of it.
        wait_for("the end of the connection", PATIENCE, page.has_closed_connection)
    finally:
        page.process.send_signal(signal.SIGCONT)
    equal(page.secret(ticket), 200, "the answer to the owner")


@needs(networks, browser)
def test_a_ticket_while_a_browser_starts(work):
    """assistant: while a browser starts, a thousand tries of another user to find the ticket fail; the file that the browser gets leads to the page, and is gone then"""
    page = Page(work)
    file = wait_for("the browser's start", PATIENCE, lambda: os.path.exists(page.opened) and open(page.opened, encoding="utf-8").read().strip())
    equal(page.said, file, "the address in a log")
    began = time.monotonic()
    with page.own_connection():
        equal(page.stranger("search", "1000"), [], "what a stranger found")
    work.figure = f"{time.monotonic() - began:.1f} s"
    with open(file, encoding="utf-8") as content:
        require(re.search(rf"http://127\.0\.0\.1:{page.port}/#[0-9a-f]{{32}}", content.read()), "the file has no ticket")
    equal([os.stat(path).st_mode & 0o777 for path in (file, os.path.dirname(file))], [0o600, 0o700], "the modes")
    shown = Browser(page.device, page.home)
    shown.open(f"file://{file}")
    shown.until("Which computer is this?")
    wait_for("the file's end", PATIENCE, lambda: not os.path.exists(os.path.dirname(file)))
    # A second start leads to the same page, and leaves no file either.
    os.remove(page.opened)
    second, said = page.assistant()
    equal(second.wait(PATIENCE), 0, "the end of the second start")
    require(said != file, "the same file")
    shown.open(f"file://{said}")
    shown.until("Which computer is this?")
    wait_for("the file's end", PATIENCE, lambda: not os.path.exists(os.path.dirname(file)))
    shown.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        equal(page.process.wait(PATIENCE), 0, "the end after the page is closed")

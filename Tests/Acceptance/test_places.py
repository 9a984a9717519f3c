"""The table of what arrives: places and receivers, with the classes that are taken, asked about and
refused."""

import contextlib
import os

import pytest

from computers import computers
from devices import PATIENCE, small_file
from disks import KINDS, Disk, needed
from needs import browser, needs, networks
from networks import Network
from outside import equal, wait_for
from terminal import Terminal
from test_assistant import Person, install

# A folder of PATH, and a folder of settings elsewhere.
TOOLS, SETTINGS = "tools/bin", "settings"

# For each destination, relative to the home: an item, and its class.
PLACES = [
    (".", "notes/.hidden/x", "files"), (".", "bin/ls", "apps"), (".", "snap/x", "apps"), (".", ".profile", "apps"),
    (".", "Bin/ls", "apps"), (".", ".Gnupg/x", "secrets"),
    (".", ".ssh/id", "secrets"), (".", ".local/share/keyrings/x", "secrets"), (".", f"{TOOLS}/ls", "apps"), (".", "tools/notes", "files"),
    ("Incoming", ".profile", "files"), ("Incoming", "bin/ls", "files"), ("Incoming", ".ssh/id", "files"),
    (".config", "autostart/x", "apps"), ("bin", "ls", "apps"), (".ssh", "rc", "secrets"), ("tools", "bin/ls", "apps"), (TOOLS, "ls", "apps"),
    ("..", "home/.profile", "apps"), ("..", "home/letter", "files"), ("..", "home/.ssh/id", "secrets"), (f"../{SETTINGS}", "x", "apps"),
    ("../else", ".profile", "files"),
]
FILES, APPS, ALL = ["files"], ["files", "apps"], ["files", "apps", "secrets"]

# The options of a receiver, the answers of its program, and the classes that it takes.
RECEIVERS = [
    (["--existing", "merge"], (), FILES), (["--everything", "--take-apps", "--take-secrets"], (), ALL), (["--everything", "--ask"], ("y", "n"), APPS)]
# A person's answers at a terminal, or on the page, and the classes that are taken.
PERSONS = [(("y", "n"), APPS)]


class Program:
    """A receiver that a program answers, or nothing."""

    def __init__(self, new, options, answers, words):
        self.process = new.start(
            "receive", *words, *options, "--listen", "127.0.0.1:0", "--json", text="".join(f"{line}\n" for line in answers))
        [listening] = wait_for("a port", PATIENCE, lambda: self.process.events("listening"))
        self.port = listening["port"]
        self.code = wait_for("a code", PATIENCE, lambda: self.process.events("code"))[0]["code"]

    def wait(self):
        return self.process.wait()

    def asked(self):
        return [question["about"] for question in self.process.events("question")]


class AtATerminal:
    """A receiver that a person answers."""

    def __init__(self, new, options, answers, words):
        typed = zip((b"Accept this?", b"Take these secrets too"), (line.encode() for line in answers))
        settings = {**new.settings, "PEER_HOME": new.peer_home}
        self.terminal = Terminal(new.work, ["receive", *words, *options, "--listen", "127.0.0.1:0"], *typed, settings=settings)
        self.code = self.terminal.wait_for(rb"Code: (\d{4}-\d{4})").decode()
        self.port = int(self.terminal.wait_for(rb"--to 127.0.0.1:(\d+)"))

    def wait(self):
        return self.terminal.wait()

    def asked(self):
        text = self.terminal.text()
        return ["consent"] * text.count("Accept this?") + ["secrets"] * text.count("Take these secrets too")


def judged(items, answers, taken, found, ends, asked, *, asks_always=True, has_folder=False):
    """What is not as it should be: the items that arrived, the exit codes, the questions.

    `has_folder` is whether the folder of the items is taken, whatever is in it.
    """
    kinds = set(items.values())
    if not asks_always and kinds == {"files"}:
        # The code is consent enough.
        answers, taken = (), FILES
    wrong = [item for item, kind in items.items() if (item in found) != (kind in taken)]
    is_empty = not taken or not kinds & set(taken) and not has_folder
    if ends != {0 if kinds <= set(taken) else 4 if is_empty else 8}:
        wrong.append(("exit codes", ends))
    if asked != ["consent", "secrets"][:len(answers) if "secrets" in kinds else min(1, len(answers))]:
        wrong.append(("questions", asked))
    return wrong


class OnThePage:
    """A receiver that a person answers in a browser, and its sender."""

    def __init__(self, work):
        network = Network(work, "old", "new")
        self.old, person = network["old"], Person(work, network["new"], install(work))
        self.person, self.home, self.browser = person, person.home, person.browser
        person.assistant(PATH=f"{self.home}/{TOOLS}:{os.environ['PATH']}")
        self.browser.click("#new")

    def send(self, *words):
        """The other device sends with the code that the page shows."""
        code = self.person.code()
        return self.old.start("send", *words, "--to", "10.99.0.2", "--code-file", "-", "--json", text=f"{code}\n")

    def answer(self, answers):
        """Returns what was asked."""
        self.browser.until("wants to send")
        # The box is ticked, unless it was refused before.
        if answers[0] in ("files", "apps"):
            self.browser.click("#apps")
        self.browser.click("button", "Take nothing" if answers[0] == "n" else "Take what is chosen")
        if len(answers) > 1:
            self.browser.until("Take passwords and keys too?")
            self.browser.click("button", {"y": "Yes, take them", "n": "No, without them"}[answers[1]])
        self.browser.until("Close this report")
        return ["consent", "secrets"][:len(answers)]


class Destination:
    """One of the destinations: the items for it, at an old computer, and a new one that has it."""

    def __init__(self, work, place):
        self.place = place
        self.items = {item: kind for where, item, kind in PLACES if where == place}
        self.old, self.new = computers(work, [])
        self.folder = os.path.normpath(f"{self.new.home}/{place}")
        self.new.settings.update(
            PATH=f"{self.new.home}/{TOOLS}:{os.environ['PATH']}", XDG_CONFIG_HOME=f"{os.path.dirname(self.new.home)}/{SETTINGS}")
        os.makedirs(self.folder, exist_ok=True)
        for item in self.items:
            self.old.write(item, "new")

    def begin(self, receiving, options, answers):
        self.receiver = receiving(self.new, options, answers, [self.folder])

    def send(self):
        self.sender = self.old.send(
            self.receiver.port, self.receiver.code, *sorted({f"{self.old.home}/{item.split('/')[0]}" for item in self.items}))

    def end(self, answers, taken, **how):
        """What is not as it should be."""
        ends = {self.receiver.wait(), self.sender.wait()}
        found = arrived(self.items, self.folder)
        return judged(self.items, answers, taken, found, ends, self.receiver.asked(), has_folder=self.place == "..", **how)


def arrived(items, folder):
    """The items that a folder has; they are removed."""
    found = [item for item in items if os.path.exists(f"{folder}/{item}")]
    for item in found:
        os.remove(f"{folder}/{item}")
    return found


def wrong_on_the_page(work):
    """Everything moves into the home there: the places below it are in what is sent."""
    page = OnThePage(work)
    items = {os.path.normpath(f"{place}/{item}"): kind for place, item, kind in PLACES if not place.startswith("..")}
    sent = work.folder(None)
    for item in items:
        os.makedirs(os.path.dirname(f"{sent}/{item}"), exist_ok=True)
        small_file(f"{sent}/{item}")
    for answers, taken in PERSONS:
        sender = page.send(*sorted({f"{sent}/{item.split('/')[0]}" for item in items}))
        asked = page.answer(answers)
        found = arrived(items, page.home)
        yield from (("page", answers, one) for one in judged(items, answers, taken, found, {sender.wait()}, asked))
        page.browser.click("button", "Start again")


@pytest.mark.takes(40)
def test_places(work):
    """arriving: the place of an item decides whether it is taken, asked about or refused, at every destination and receiver"""
    receivers = [*((Program, *rest) for rest in RECEIVERS), *((AtATerminal, ["--existing", "merge"], *rest) for rest in PERSONS)]
    destinations = [Destination(work, place) for place in sorted({place for place, _, _ in PLACES})]
    wrong = []
    for receiving, options, answers, taken in receivers:
        # Together: each has computers of its own.
        for destination in destinations:
            destination.begin(receiving, options, answers)
        for destination in destinations:
            destination.send()
        for destination in destinations:
            wrong += [
                (receiving.__name__, options, answers, destination.place, one)
                for one in destination.end(answers, taken, asks_always=receiving is Program)]
    if not (networks() or browser()):
        wrong += wrong_on_the_page(work)
    equal(wrong, [], "what is not as it should be")


def has(path, content):
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return file.read() == content
    return False


# For each file system, the items by other spellings of a place, or by its short name, which no plan
# shows: nothing of these is ever taken.
SPELLINGS = {
    "exFAT": {".SSH/id": "secrets", ".Bashrc": "apps", "BIN/ls": "apps", "tools FOR me/ls": "apps", "letter": "files"},
    "NTFS": {"SSH~1/id": "never", "BASHRC~1": "never", "TOOLSF~1/ls": "never", "PLAINF~1/x": "files", "letter": "files"},
}


@pytest.mark.parametrize("name", [pytest.param(name, id=name, marks=needs(needed(name))) for name in SPELLINGS])
def test_a_disk_with_other_names(work, name):
    """arriving: on a disk that folds names, or has short ones, each of them is the place that it leads to"""
    old, new = computers(work, [])
    home, items = Disk(KINDS[name], work).place("home"), SPELLINGS[name]
    new.settings.update(HOME=home, PATH=f"{home}/Tools for me:{os.environ['PATH']}")
    for place, short in (("Tools for me/ls", b"TOOLSF~1"), ("Plain folder/x", b"PLAINF~1"), (".ssh/id", b"SSH~1"), (".bashrc", b"BASHRC~1")):
        os.makedirs(os.path.dirname(f"{home}/{place}"), exist_ok=True)
        small_file(f"{home}/{place}")
        if name == "NTFS":
            os.setxattr(f"{home}/{place.split('/')[0]}", "system.ntfs_dos_name", short)
    for options, taken in (([], FILES), (["--take-apps"], APPS), (["--take-apps", "--take-secrets"], ALL)):
        for item in items:
            old.write(item, f"new, for {options}")
        receiver = Program(new, [*options, "--existing", "replace"], (), [home])
        sender = old.send(receiver.port, receiver.code, *sorted({f"{old.home}/{item.split('/')[0]}" for item in items}))
        ends = {receiver.wait(), sender.wait()}
        found = [item for item in items if has(f"{home}/{item}", f"new, for {options}")]
        equal(judged(items, (), taken, found, ends, []), [], f"what is not as it should be with {options}: {sender.text()[-300:]}")


@needs(networks, browser)
@pytest.mark.takes(10)
def test_a_second_start_on_the_page(work):
    """arriving: on the page, what a person has not taken stays refused in the next move, and is shown as not ticked"""
    page = OnThePage(work)
    names = ("notes", ".editor/start", ".vault/key")

    def lay(path, content="content\n"):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        small_file(path, content.encode())

    for name in names:
        lay(f"{work.home(None)}/{name}")
    for folder in (f"{page.old.home}/descriptions", f"{page.home}/peer/descriptions"):
        for name, kind in (("editor", ""), ("vault", "Secret=yes\n")):
            lay(f"{folder}/{name}.app", f"[Application]\nId={name}\nName=The {name}\n{kind}[Data]\nconfig=home/.{name}\n")
    moves = [(("files",), names[:1]), (("y",), names[:1]), (("apps", "n"), names[:2]), (("y", "y"), names)]
    for number, (answers, expected) in enumerate(moves):
        lay(f"{work.home(None)}/notes", f"content of move {number}\n")
        sender = page.send("--everything")
        page.browser.until("wants to send")
        page.browser.find("#apps")
        is_ticked = page.browser.run("return document.getElementById('apps').checked")
        equal((is_ticked, "refused before" in page.browser.text()), (number in (0, 3), number in (1, 2)), "whether apps' data is ticked")
        page.answer(answers)
        equal(sender.wait(), 0 if expected == names else 8, f"exit code of move {number}")
        equal([name for name in names if os.path.exists(f"{page.home}/{name}")], list(expected), "what arrived")
        page.browser.click("button", "Start again")

"""Moves a home from a Debian 12 in German to a Debian 13 in English, and again after changes on both.

Usage: Lab/second-run PEER
  PEER  the program, with its Swift runtime in it, as Scripts/package makes it

Both systems are roots by debootstrap with real programs, kept in .build/roots. After the first move
each item of a table changes on the old computer, some on the new one as well; then come the last pass,
and a third pass without a change. Each item is judged by what docs/Moving.md says of it, and the rest by
rsync, to the last attribute. The third pass may send less than 100 kB in DATA frames besides the data of
apps. Prints a table: check | ok or FAILED | figure. Needs root; installs debootstrap and rsync if they are
missing. Exits 0 if all of it is so.
"""

import ctypes
import os
import socket
import subprocess
import sys
import tempfile
import threading

sys.path += [f"{os.path.dirname(os.path.abspath(__file__))}/../../{place}" for place in ("Scripts/lib", "Tests/Acceptance")]

from outside import ROOT, Failure, remove, require  # noqa: E402
from package_apps import Home, events, row  # noqa: E402
from package_systems import Network, make_root_with  # noqa: E402
from package_transfers import Lines  # noqa: E402

PACKAGES = ["git", "sqlite3", "rsync", "openssh-client", "nano", "vim", "firefox-esr"]
MOST = 100_000
FIREFOX = "timeout 20 firefox-esr --headless >/dev/null 2>&1 || ls ~/.mozilla/firefox/*/prefs.js"
GIT = "git -c user.name=a -c user.email=a@b"

# How an item is made, changed on the old computer, and touched on the new one, in its folder.
MAKE = {
    "file": "echo first > X", "link": "ln -s first X", "empty": "touch X", "big": "head -c 20M /dev/urandom > X",
    "folder": "mkdir -p X/in; echo first > X/in/file", "repository": f"git init -q X; echo first > X/file; {GIT} -C X add file; {GIT} -C X commit -qm first",
    "database": "sqlite3 X 'create table t(a); insert into t values(1)'", "none": "true",
}
CHANGE = {
    "file": "echo second > X", "link": "ln -sfn second X", "empty": "echo second > X", "big": "printf second | dd of=X bs=1M seek=9 conv=notrunc status=none",
    "folder": "echo second > X/in/new", "repository": f"echo second > X/file; {GIT} -C X commit -qam second", "none": "echo second > X",
    "database": "sqlite3 X 'insert into t values(2)'", "removed": "rm -r X", "to folder": "rm -r X; mkdir X; echo second > X/file",
    "to link": "rm -r X; ln -s /usr X", "to file": "rm -r X; echo second > X", "": "true",
}
TOUCH = {"file": "echo mine > X", "link": "ln -sfn mine X", "empty": "echo mine > X", "big": "echo mine >> X", "folder": "echo mine > X/in/file",
         "repository": f"echo mine > X/file; {GIT} -C X commit -qam mine", "removed": "rm -r X"}
# The kind of an item, its change on the old computer, that on the new one, and what the last pass does.
CASES = [
    ("file", "file", "", "replaced"), ("file", "file", "file", "beside"), ("file", "file", "removed", "absent"),
    ("link", "link", "", "replaced"), ("link", "link", "link", "beside"), ("empty", "empty", "", "replaced"),
    ("empty", "removed", "", "stays"), ("big", "big", "", "replaced"), ("big", "big", "big", "beside"),
    ("folder", "folder", "", "replaced"), ("folder", "folder", "folder", "merged"), ("folder", "folder", "removed", "new"),
    ("repository", "repository", "", "aside"), ("repository", "repository", "repository", "beside"), ("database", "database", "", "replaced"),
    ("file", "to folder", "", "aside"), ("folder", "to link", "", "aside"), ("file", "to link", "file", "beside"),
    ("folder", "to file", "removed", "absent"), ("file", "removed", "file", "stays"), ("none", "none", "", "replaced"),
    ("file", "", "removed", "absent"), ("folder", "", "folder", "stays"),
]


def name_of(number):
    kind, change, touch, _ = CASES[number]
    return f"{number:02} {kind}, {change or 'unchanged'}, {touch or 'untouched'}".replace(" ", "-").replace(",", "")


def content(path):
    """What lies at a path, for a comparison: its kind, and the content of all below it; None if nothing."""
    if not os.path.lexists(path):
        return None
    if os.path.islink(path):
        return "link", os.readlink(path)
    if os.path.isdir(path):
        # Git writes its index anew when it is only asked.
        return "folder", {name: content(f"{path}/{name}") for name in sorted(os.listdir(path)) if name != "index"}
    with open(path, "rb") as file:
        return "file", file.read()


def others(path):
    """The items that arrived beside another one, or were set aside for it."""
    folder, name = os.path.split(path)
    found = [one for one in os.listdir(folder) if one.startswith((f"{name} (", f"{name}.before-"))]
    return {one: content(f"{folder}/{one}") for one in found}


def verdict(rule, path, old, before):
    """Whether an item is as a rule says: `old` has what the old computer has now, `before` what the new one had."""
    here, beside = content(path), others(path)
    if rule == "replaced":
        return here == old and not beside
    if rule == "stays":
        return here == before and not beside
    if rule == "absent":
        return here is None and not beside
    if rule == "beside":
        return here == before and list(beside.values()) == [old]
    if rule == "aside":
        return here == old and list(beside.values()) == [before]
    if rule == "merged":
        return here[1]["in"][1] == {**before[1]["in"][1], "new": ("file", b"second\n")} and not beside
    return here == ("folder", {"in": ("folder", {"new": ("file", b"second\n")})}) and not beside


class Way:
    """A way to a port of a network, which counts what it carries to the other end and back: mostly the
    ledger comes back. Data may take other ways."""

    def __init__(self, network, port):
        self.port, self.back = port, 0
        self.ready = threading.Event()
        threading.Thread(target=self.serve, args=[network.holder.pid], daemon=True).start()
        self.ready.wait()

    def serve(self, holder):
        with open(f"/proc/{holder}/ns/net", "rb") as network:
            require(ctypes.CDLL(None).setns(network.fileno(), 0x40000000) == 0, "the network cannot be entered")
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.ready.set()
        while True:
            try:
                one = self.listening.accept()[0]
            except OSError:
                return
            other = socket.create_connection(("127.0.0.1", self.port))
            for words in ((one, other, False), (other, one, True)):
                threading.Thread(target=self.carry, args=words, daemon=True).start()

    def carry(self, source, target, is_back):
        try:
            while some := source.recv(1 << 16):
                self.back += len(some) if is_back else 0
                target.sendall(some)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()

    def close(self):
        self.listening.close()


class Move:
    """The two homes."""

    def __init__(self, peer, work):
        os.makedirs(f"{work}/peer/bin")
        os.makedirs(f"{work}/peer/share/peer")
        subprocess.run(["cp", peer, f"{work}/peer/bin/peer"], check=True)
        subprocess.run(["cp", "-r", f"{ROOT}/Sources/Computer/MigrationApps/Descriptions", f"{work}/peer/share/peer/known-apps"], check=True)
        self.network, self.homes, self.fine = Network(), [], True
        for codename, user in (("bookworm", "anna"), ("trixie", "bert")):
            self.homes.append(Home(codename, user, make_root_with(codename, PACKAGES, "second-run"), work, f"{work}/peer"))
        self.old, self.new = self.homes

    def path(self, home, rest=""):
        return f"{home.system.root}/home/{home.user}/{rest}"

    def do(self, home, command):
        is_done, text = home.shell(f"set -e; {command}")
        require(is_done, f"{command[-200:]}: {text[-300:]}")

    def each(self, home, folder, commands):
        self.do(home, f"mkdir -p {folder}; cd {folder}; " + "; ".join(
            command.replace("X", name_of(number)) for number, command in enumerate(commands)))

    def check(self, name, is_fine, figure=""):
        self.fine &= row(name, is_fine, figure)

    def move(self, number, codes):
        receiver = Lines(self.new.words(
            "exec peer receive --everything --take-apps --take-secrets --listen 127.0.0.1:0 --json --no-announce", self.network.path))
        way = Way(self.network, events_of(receiver, "listening")["port"])
        port = way.listening.getsockname()[1]
        code = events_of(receiver, "code")["code"]
        sender = Lines(self.old.words(
            f"echo {code} | exec peer send --everything --to 127.0.0.1:{port} --code-file - --json", self.network.path))
        found = sender.wait(), receiver.wait()
        way.close()
        parts = {event["part"]: event for event in events(sender, "part") if "root" not in event}
        failed = [f"{name}: {event['message']}" for name, event in parts.items() if event["state"] == "failed"]
        self.check(f"pass {number}: the exit codes", found == codes, f"{found}; {'; '.join(failed)[:160]}")
        apps = {part["part"] for part in events(sender, "plan")[0]["parts"] if part["kind"] != "folders"}
        done = events(sender, "done")[0]
        files = sum(event.get("sentBytes", 0) for name, event in parts.items() if name not in apps)
        figure = f"{files} bytes in DATA of files, {done['sentBytes'] - files} of apps; back, mostly the ledger: {way.back} bytes; {done['seconds']} s"
        self.check(f"pass {number}: what crossed", number < 3 or files < MOST, figure)
        return sender, receiver

    def compare(self, number, allowed):
        """Compares the documents of both by rsync: names in `allowed` may differ."""
        text = subprocess.run(
            ["rsync", "-rlptHAXn", "--delete", "--itemize-changes", self.path(self.old, "Dokumente/"), self.path(self.new, "Documents/")],
            stdout=subprocess.PIPE, text=True, check=True).stdout
        names = [line.split(None, 1)[1].split(" -> ")[0] for line in text.splitlines()]
        wrong = [name for name in names if name != "./" and not any(name.startswith(one) for one in allowed)]
        self.check(f"pass {number}: rsync", not wrong, f"{len(names)} differences, of which unexpected: {wrong[:4]}")

    def run(self):
        self.do(self.old, "mkdir -p ~/.config ~/Dokumente; printf 'XDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\\nXDG_MUSIC_DIR=\"$HOME/Musik\"\\n' > ~/.config/user-dirs.dirs; "
                          f"cp -a /usr/share/doc /usr/share/icons /usr/share/vim /usr/share/perl /usr/share/locale /usr/share/man ~/Dokumente/; echo 'set tabsize 3' > ~/.nanorc; echo 'set nu' > ~/.vimrc; git config --global user.name a; {FIREFOX}")
        self.each(self.old, "~/Dokumente", [MAKE[kind] for kind, _, _, _ in CASES])
        self.check("the old home", True, f"{sum(len(files) + len(folders) for _, folders, files in os.walk(self.path(self.old)))} items")
        self.move(1, (0, 0))
        self.compare(1, [])
        self.each(self.old, "~/Dokumente", [CHANGE[change] for _, change, _, _ in CASES])
        self.each(self.new, "~/Documents", [TOUCH.get(touch, "true") for _, _, touch, _ in CASES])
        self.do(self.old, "echo 'set tabsize 4' > ~/.nanorc; echo 'set ru' > ~/.vimrc")
        self.do(self.new, "echo 'set tabsize 5' > ~/.nanorc")
        olds, befores = ([content(self.path(home, f"{folder}/{name_of(number)}")) for number in range(len(CASES))]
                         for home, folder in ((self.old, "Dokumente"), (self.new, "Documents")))
        for number in (2, 3):
            sender, receiver = self.move(number, (8, 8))
            for case, (_, _, _, rule) in enumerate(CASES):
                path = self.path(self.new, f"Documents/{name_of(case)}")
                fine = verdict(rule, path, olds[case], befores[case])
                self.check(f"pass {number}: {name_of(case)} {rule}", fine, "" if fine else f"{str(content(path))[:80]}, beside: {list(others(path))}")
            self.compare(number, [name_of(case) for case, (_, _, _, rule) in enumerate(CASES) if rule != "replaced"])
            nano, vim = (content(self.path(self.new, name)) for name in (".nanorc", ".vimrc"))
            self.check(f"pass {number}: an app that changed, untouched and touched", (nano, vim) == (("file", b"set tabsize 5\n"), ("file", b"set ru\n")), f"{nano}, {vim}")
            told = " ".join(f"{event.get('message', '')} {event.get('path', '')}" for end in (sender, receiver) for kind in ("notice", "notStored") for event in events(end, kind))
            gone = [name_of(case) for case, (_, change, touch, rule) in enumerate(CASES) if rule in ("absent", "stays") and (change == "removed" or touch == "removed")]
            self.check(f"pass {number}: what was removed is named", all(name in told for name in gone), ", ".join(name for name in gone if name not in told))
            is_whole, text = self.new.shell(f"cd Documents && for one in *repository*; do git -C \"$one\" fsck --strict || exit 1; done")
            self.check(f"pass {number}: git fsck", is_whole, "" if is_whole else text[-100:])
        return 0 if self.fine else 1

    def end(self):
        self.network.end()
        for home in self.homes:
            home.close()
            home.system.end()


def events_of(lines, name):
    """The first event of a kind."""
    lines.find(name, lambda line: line if f'"event":"{name}"' in line else None)
    return events(lines, name)[0]


def main(peer):
    work = tempfile.mkdtemp(prefix="peer-second-run-", dir="/var/tmp")
    move = None
    try:
        move = Move(os.path.abspath(peer), work)
        return move.run()
    finally:
        if move:
            move.end()
        remove(work)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("Usage: ")[1])
    try:
        sys.exit(main(sys.argv[1]))
    except Failure as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)

"""Rounds of chaos that move a home: a plan of 12 parts."""

import glob
import os
import shutil
import subprocess

from bundles import make_bundle
from chaos_round import Round
from chaos_runs import Run
from chaos_trees import make_tree
from outside import MIB, Failure, require, run_script

APPS = [f"org.example.app{number}" for number in range(2)]
"""The apps with an extension, a part each."""

DESCRIBED = [f"described{number}" for number in range(8)]
"""The apps of files, a part each."""

FOLDERS = ["Documents", "Music", "Projects"]
"""The user's folders are one part, the other folder is one."""

PLACES = [*FOLDERS, *[f".config/{name}" for name in DESCRIBED]]


class PlanRound(Round):
    """One migration, with its faults."""

    programs = None
    """A folder with the programs of the test app."""

    def make(self):
        """Spreads a tree over the places of a home, and installs the apps on both sides."""
        tree = f"{self.place}/tree"
        make_tree(tree, self.random, self.scale / 2)
        for place in PLACES:
            os.makedirs(f"{self.old}/{place}", 0o755)
        for number, name in enumerate(sorted(os.listdir(tree))):
            os.rename(f"{tree}/{name}", f"{self.old}/{PLACES[number % len(PLACES)]}/{name}")
        shutil.rmtree(tree)
        self.user_homes = {"sender": self.old, "receiver": self.new}
        sender = self.homes["sender"]
        os.mkdir(f"{sender}/descriptions")
        for name in DESCRIBED:
            with open(f"{sender}/descriptions/{name}.app", "w", encoding="utf-8") as file:
                file.write(f"[Application]\nId={name}\nName={name}\n[Data]\nconfig=config/{name}\n")
        for app in APPS:
            bundle = make_bundle(self.programs, f"{self.place}/bundle", app)
            self.peer("app", "install", bundle)
            shutil.rmtree(bundle)
        os.rmdir(self.homes["receiver"])
        shutil.copytree(sender, self.homes["receiver"], symlinks=True)
        for app in APPS:
            self.peer("app", "run", app, "write", "Documents/kept", app)
            with open(self.document(sender, app), "wb") as file:
                file.write(self.random.randbytes(2 * MIB))

    @staticmethod
    def document(home, app):
        return f"{home}/containers/{app}/Documents/large"

    def peer(self, *arguments):
        home = self.homes["sender"]
        done = subprocess.run(
            [Run.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False,
            env={**os.environ, "HOME": self.old, "PEER_HOME": home})
        require(done.returncode == 0, f"'peer {' '.join(arguments)}' ended with {done.returncode}: {done.stderr[-300:]!r}")

    def is_unpaired(self):
        """The devices know each other from the pairing on."""
        return not glob.glob(f"{self.homes['sender']}/devices/*/state")

    def words(self, role):
        return ["receive", "--everything", "--take-apps"] if role == "receiver" else ["send", "--everything"]

    def heard(self, run, event):
        super().heard(run, event)
        if event["event"] == "part":
            require(event["state"] != "failed", f"a part failed: {event}")
            if run.role == "receiver" and run is self.last("receiver"):
                self.leave(event["at"])

    def compare_ends(self, dones):
        """A side that was killed counts only the parts of its last run."""

    def compare(self):
        require(sorted(os.listdir(self.new)) == sorted([".config", *FOLDERS]), f"in the home: {os.listdir(self.new)}")
        found = sorted(os.listdir(f"{self.new}/.config"))
        require(found == DESCRIBED, f"in .config: {found}")
        try:
            for place in PLACES:
                run_script("check-trees", f"{self.old}/{place}", f"{self.new}/{place}")
            for app in APPS:
                sides = [self.document(self.homes[role], app) for role in ("sender", "receiver")]
                contents = []
                for path in sides:
                    with open(path, "rb") as file:
                        contents.append(file.read())
                require(contents[0] == contents[1], f"the document of {app} differs")
                left = os.listdir(f"{self.homes['receiver']}/staging/{app}")
                require(not left, f"the staging of {app} still holds {left}")
        except (Failure, OSError) as error:
            self.tally.differences += 1
            raise Failure(str(error)) from error

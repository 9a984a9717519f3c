"""The parts of a soak's rounds with folders: trees, senders to the standing receiver, and their
ends."""

import os
import shutil

from attack_place import PATIENCE, Run, send
from chaos_runs import remembered
from chaos_trees import make_tree
from outside import MIB, equal, require, run_script, wait_for

SCALE = 0.02
"""The size of a tree, of that of a round of chaos: about 4 MB in 600 items."""

SLOW, FAST = 3 * MIB, 100 * MIB
"""The relay's rate in bytes a second, with faults that must come in the middle, and without."""


class Sending:
    """Sends trees to a standing receiver."""

    def __init__(self, place, receiver, draw):
        self.place, self.receiver, self.random = place, receiver, draw
        self.relay = receiver.relay
        self.old = place.folder()
        self.spare = []
        self.known = place.folder()
        """The home of a sender that comes again and again."""
        self.number = 0

    def tree(self):
        """A tree under a new name."""
        self.number += 1
        path = f"{self.old}/{self.number}"
        if self.spare:
            os.rename(self.spare.pop(), path)
        else:
            make_tree(path, self.random, SCALE)
        return path

    def arrived(self, path):
        """Compares and removes the received tree, and keeps the sent one for another round."""
        new = f"{self.receiver.destination}/{os.path.basename(path)}"
        run_script("check-trees", path, new)
        shutil.rmtree(new)
        self.spare.append(path)

    def home(self):
        """That of a sender that the receiver knows, or of a new one."""
        return self.known if self.random.random() < 0.5 else self.place.folder()

    def send(self, path, home, is_known=False, code=None, to=None, options=()):
        """A sender; without a code if the two know each other."""
        text = None if is_known else code or self.receiver.pairing_code()
        return send(self.place, [path], to or f"127.0.0.1:{self.relay.port}", text, ["--give-up-after", "60", *options], home=home)

    def require_code(self, run, code):
        found = run.wait()
        run.end()
        equal(found, code, f"exit code of the sender, which says '{run.words()}'")

    def other_code(self):
        """A valid code, very probably not the receiver's."""
        folder = self.place.folder()
        self.require_code(Run(self.place, ["code", "new", "--code-file", f"{folder}/code"]), 0)
        with open(f"{folder}/code", encoding="ascii") as file:
            code = file.read().strip()
        self.place.drop(folder)
        return code

    def leave(self, home):
        """A sender that is done remembers nothing."""
        left = remembered(f"{home}/peer")
        require(not left, f"a sender remembers {list(left)}")
        if home != self.known:
            self.place.drop(home)

    def begin(self, share=None, signal_number=None):
        """A sender in the middle of its transfer; with a signal, after its end."""
        self.relay.rate = SLOW
        path, home = self.tree(), self.home()
        before = self.relay.passed
        run = self.send(path, home)
        self.wait_for_share(run, before, share or self.random.uniform(0.1, 0.8))
        if signal_number is not None:
            run.signal(signal_number)
            run.wait()
            run.end()
        return path, home, run, before

    def wait_for_share(self, run, before, share):
        """Until this share of a tree has passed."""
        size = int(3 * MIB * share)
        wait_for("the middle", PATIENCE, lambda: self.relay.passed - before > size or run.ended_at is not None)

    def again(self, path, home):
        """The same command, without a code."""
        self.relay.rate = FAST
        self.require_code(self.send(path, home, is_known=True), 0)
        self.arrived(path)
        self.leave(home)

    def finish(self, path, home, run):
        self.require_code(run, 0)
        self.relay.rate = FAST
        self.arrived(path)
        self.leave(home)

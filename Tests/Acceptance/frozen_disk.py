"""A disk that the kernel freezes: an image with ext4, in which every write waits until the disk is
thawed."""

import os
import subprocess
import time

from needs import QUIET
from outside import MIB, equal


class FrozenDisk:
    """Mounted at a folder of its own until the check ends; thawed however this process ends."""

    def __init__(self, work, size=128 * MIB, *options):
        base = work.folder(None)
        self.folder, image = f"{base}/mounted", f"{base}/image"
        os.mkdir(self.folder)
        with open(image, "wb") as file:
            file.truncate(size)
        equal(subprocess.run(["mkfs.ext4", "-q", "-F", *options, image], **QUIET).returncode, 0, "exit code of mkfs.ext4")
        work.mount(self.folder, "-o", "loop", image)
        self.thawing = None
        work.undone.callback(self.go_on)

    def place(self, name):
        os.mkdir(f"{self.folder}/{name}")
        return f"{self.folder}/{name}"

    def stand(self, _=None):
        # It ends with this process at the latest.
        self.thawing = subprocess.Popen(["sh", "-c", 'cat; fsfreeze -u "$0"', self.folder], stdin=subprocess.PIPE)
        equal(subprocess.run(["fsfreeze", "-f", self.folder], **QUIET).returncode, 0, "exit code of fsfreeze")

    def wait(self):
        """No event shows that a process waits for the disk."""
        time.sleep(0.3)

    def go_on(self):
        if self.thawing:
            self.thawing.stdin.close()
            self.thawing.wait()
            self.thawing = None

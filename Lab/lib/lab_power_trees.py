"""The data of Lab/power; the same wherever it is made.

Usage: lab_power_trees.py DIR SEED

DIR then has `sent`, with many roots, and `beside`, for the place beside the destination. `sent`
also has `kept here`, which is not sent, and which the destination has before. """

import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_TREE = next(path for path in (f"{HERE}/make-tree", f"{HERE}/../../Scripts/lib/make-tree") if os.path.exists(path))
"""Beside this file in a machine."""

KEPT = "kept here"
ROOTS, FILES, LARGEST = 40, 60, 2 << 20


class Maker:
    """Writes items with times that differ, and with the modes of a careful user."""

    def __init__(self, seed):
        self.random = random.Random(f"power {seed}")
        self.clock = 1_650_000_000_000_000_000

    def settle(self, path, modes=()):
        if modes:
            os.chmod(path, self.random.choice(modes))
        self.clock += self.random.randrange(10**9, 10**14)
        os.utime(path, ns=(self.clock, self.clock), follow_symlinks=False)

    def file(self, path, size):
        with open(path, "wb") as file:
            file.write(self.random.randbytes(size))
        if self.random.random() < 0.2:
            os.setxattr(path, "user.note", self.random.randbytes(40))
        self.settle(path, [0o600, 0o640, 0o644, 0o755])

    def folder(self, path, depth, count):
        """A folder with files, links and folders."""
        os.mkdir(path, 0o700)
        for number in range(count):
            self.file(f"{path}/{number}", self.random.randrange(3000))
        os.symlink(f"../{os.path.basename(path)}/{count - 1}", f"{path}/link")
        self.settle(f"{path}/link")
        os.link(f"{path}/0", f"{path}/other name of 0")
        if depth:
            self.folder(f"{path}/deeper", depth - 1, count)
        self.settle(path, [0o700, 0o755])


def make(folder, seed):
    maker = Maker(seed)
    sent, beside = f"{folder}/sent", f"{folder}/beside"
    os.makedirs(sent)
    subprocess.run([sys.executable, MAKE_TREE, f"{sent}/varied", "--files", "60"], check=True)
    # XFS has no links with so long a target.
    os.remove(f"{sent}/varied/links/long")
    maker.settle(f"{sent}/varied/links", [0o755])
    for number in range(ROOTS):
        maker.folder(f"{sent}/root {number:02d}", 0, 2)
    maker.folder(f"{sent}/deep", 12, 2)
    os.mkdir(f"{sent}/files")
    for number in range(FILES):
        # Many small ones and some large ones.
        maker.file(f"{sent}/files/{number:03d}", int(LARGEST * maker.random.random() ** 7))
    maker.settle(f"{sent}/files", [0o755])
    maker.file(f"{sent}/{KEPT}", 5000)
    maker.folder(beside, 2, 6)


def roots(folder):
    """The paths that are sent."""
    return [f"{folder}/sent/{name}" for name in sorted(os.listdir(f"{folder}/sent")) if name != KEPT]


if __name__ == "__main__":
    make(*sys.argv[1:])

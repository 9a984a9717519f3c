"""The data of Lab/power; the same wherever it is made.

Usage: lab_power_trees.py DIR SEED

DIR then has `sent`, with many roots, and `beside`, for the place beside the destination. `sent`
also has `kept here`, which is not sent, and which the destination has before. `before` and `after`
have one root in two states, for a pass that sends what has changed inside of files; `updated` is
`sent`, without `varied`, and with the root of `after`. """

import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_TREE = next(path for path in (f"{HERE}/make-tree", f"{HERE}/../../Scripts/lib/make-tree") if os.path.exists(path))
"""Beside this file in a machine."""

KEPT = "kept here"
ROOTS, FILES, LARGEST = 40, 60, 2 << 20
IMAGES = "images"
"""The root in two states: large files of which some blocks differ, that grew, and that shrank."""
IMAGE = 17 << 20


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


def images(folder, seed, is_after):
    """Writes one state of the root of large files."""
    maker = Maker(f"{seed} images")
    os.makedirs(f"{folder}/{IMAGES}")
    for name in "disk", "grown", "shrunk":
        content = bytearray(maker.random.randbytes(IMAGE))
        if is_after:
            changes = random.Random(f"{seed} {name}")
            for _ in range(30):
                start = changes.randrange(IMAGE - 40_000)
                content[start:start + 40_000] = changes.randbytes(40_000)
            if name == "grown":
                content += changes.randbytes(1 << 20)
            if name == "shrunk":
                del content[-(500 << 10):]
        with open(f"{folder}/{IMAGES}/{name}", "wb") as file:
            file.write(content)
        maker.settle(f"{folder}/{IMAGES}/{name}")
    maker.clock += is_after * 10**10
    for name in "disk", "grown", "shrunk":
        maker.settle(f"{folder}/{IMAGES}/{name}")
    maker.settle(f"{folder}/{IMAGES}")


def make(folder, seed):
    for state in "before", "after":
        images(f"{folder}/{state}", seed, state == "after")
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
    os.mkdir(f"{folder}/updated")
    # The paths of `varied` are too long for cp.
    roots = [f"{sent}/{name}" for name in os.listdir(sent) if name != "varied"]
    subprocess.run(["cp", "-al", *roots, f"{folder}/after/{IMAGES}", f"{folder}/updated"], check=True)


def roots(folder):
    """The paths that are sent."""
    return [f"{folder}/sent/{name}" for name in sorted(os.listdir(f"{folder}/sent")) if name != KEPT]


if __name__ == "__main__":
    make(*sys.argv[1:])

"""Makes the tree that Lab/network sends; the same one wherever it is made.

Usage: lab_network_payload.py DIR BYTES

DIR must not exist yet. It gets BYTES of random content: half of them in one file, the rest in small
ones, or, from 16 MB on, also in a tree by make-tree.
"""

import os
import random
import subprocess
import sys

SECOND = 10**9
LARGEST = 64 << 10
"""The bound for a small file."""
TREE = 6_500_000
"""How many bytes of content make-tree makes."""


def make(folder, size):
    dice, moment = random.Random(size), 1_700_000_000 * SECOND + 123_456_789

    def write(path, count):
        nonlocal moment
        moment += dice.randrange(SECOND, 3600 * SECOND)
        with open(path, "wb") as file:
            file.write(dice.randbytes(count))
        os.utime(path, ns=(moment, moment))

    folders = [folder, *(f"{folder}/notes {number}" for number in range(3))]
    for path in folders:
        os.mkdir(path)
    write(f"{folder}/film", size // 2)
    left, number = size - size // 2, 0
    if size >= 16_000_000:
        subprocess.run([sys.executable, f"{os.path.dirname(os.path.abspath(__file__))}/make-tree", f"{folder}/tree"], check=True)
        left -= TREE
    while left > 0:
        count = min(left, dice.randrange(LARGEST))
        write(f"{folder}/notes {number % 3}/{number}", count)
        left, number = left - count, number + 1
    for path in reversed(folders):
        moment += SECOND
        os.utime(path, ns=(moment, moment))


if __name__ == "__main__":
    make(f"{sys.argv[1]}.part", int(sys.argv[2]))
    os.rename(f"{sys.argv[1]}.part", sys.argv[1])

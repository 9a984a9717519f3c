"""The data that Lab/files sends, and with which results are compared; the same wherever it is
made.

Usage: lab_sources.py DIR

It is made outside, to be sent, and on a disk of the machine, for the comparison: a share by 9p
would not show everything.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from disk_cases import make_pairs, make_plain, make_tree  # noqa: E402

CHANGED, GONE = "Notes/Note 70.txt", "Notes/Note 71.txt"
OLD_TIME = 1_600_000_000 * 10**9


def make_sources(folder):
    """All sources, each in its own folder."""
    for name in "plain", "changed", "twice", "pairs", "tree", "large":
        os.makedirs(f"{folder}/{name}")
    make_plain(f"{folder}/plain")
    make_plain(f"{folder}/changed")
    change(f"{folder}/changed/plain")
    make_plain(f"{folder}/twice")
    os.rename(f"{folder}/twice/plain", f"{folder}/twice/plain (2)")
    make_plain(f"{folder}/twice")
    make_pairs(f"{folder}/pairs")
    make_tree(f"{folder}/tree")
    os.mkdir(f"{folder}/large/large")
    with open(f"{folder}/large/large/a note", "wb") as file:
        file.write(b"a note\n")
    with open(f"{folder}/large/large/film", "wb") as file:
        file.truncate((4 << 30) + 1)
        file.write(b"begins")
    for path in "large/large/a note", "large/large/film", "large/large", "pairs/pairs":
        os.utime(f"{folder}/{path}", ns=(OLD_TIME, OLD_TIME))


def change(folder):
    """Gives one file another content and an older time, and restores its folder's time."""
    path = f"{folder}/{CHANGED}"
    before = os.stat(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"written here\n")
    os.utime(path, ns=(OLD_TIME, OLD_TIME))
    os.utime(os.path.dirname(path), ns=(before.st_atime_ns, before.st_mtime_ns))


if __name__ == "__main__":
    make_sources(sys.argv[1])

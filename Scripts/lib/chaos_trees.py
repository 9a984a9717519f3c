"""The trees that the rounds of chaos send."""

import itertools
import os

from outside import MIB, run_script


ROOT_FILES, ROOT_FOLDERS, DEEP_FOLDERS = 4000, 1500, 3000
LARGE = [24, 12, 6, 3]
HOLES = 48 * MIB


def make_tree(path, draw, scale=1.0):
    """Makes the source of a round: other content every time, and always the same amount of it.

    Many roots make the import last, many folders the finishing, large files the transfer.
    """
    os.mkdir(path, 0o755)
    run_script("make-tree", f"{path}/varied", "--files", "300")
    clock = itertools.count(1_600_000_000_000_000_000 + draw.randrange(10**15), 987_654_321_123)

    def file(place, content):
        with open(place, "wb") as out:
            out.write(content)
        os.chmod(place, draw.choice([0o600, 0o644, 0o755, 0o440]))
        moment = next(clock)
        os.utime(place, ns=(moment, moment))

    def folder(place, fill=lambda place: None):
        os.mkdir(place, 0o700)
        fill(place)
        os.chmod(place, draw.choice([0o700, 0o755, 0o775]))
        moment = next(clock)
        os.utime(place, ns=(moment, moment))

    def two_files(place):
        file(f"{place}/a", draw.randbytes(700))
        file(f"{place}/b", draw.randbytes(300))

    def deep(place):
        for number in range(int(DEEP_FOLDERS * scale / 10)):
            folder(f"{place}/{number:03d}", lambda inner: [folder(f"{inner}/{n}", empty_or_not) for n in range(9)])

    def empty_or_not(place):
        if place.endswith("5"):
            file(f"{place}/file", draw.randbytes(100))
            os.symlink("../" * draw.randrange(1, 5) + "file", f"{place}/link")

    def holes(place):
        with open(place, "wb") as out:
            for part in range(8):
                # Whole blocks at aligned positions, so that every tree has as much data.
                out.seek(HOLES // 8 * part + (64 << 10) * draw.randrange(1, 40))
                out.write(draw.randbytes(256 << 10))
            out.truncate(HOLES)

    sizes = list(range(int(ROOT_FILES * scale)))
    draw.shuffle(sizes)
    for number, size in enumerate(sizes):
        file(f"{path}/file-{number:04d}", draw.randbytes(size // 4))
    for number in range(int(ROOT_FOLDERS * scale)):
        folder(f"{path}/folder-{number:04d}", two_files)
    for number in range(20):
        os.symlink(f"file-{draw.randrange(2000):04d}", f"{path}/link-{number:02d}")
    folder(f"{path}/deep", deep)
    holes(f"{path}/holes")
    large = [int(size * MIB * scale) for size in LARGE]
    draw.shuffle(large)
    for number, size in enumerate(large):
        file(f"{path}/large-{number}", draw.randbytes(size))

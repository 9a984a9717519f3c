"""The data that a bench sends: the same bytes and names on every machine and in every run, except
for the system's own files."""

import os
import random
import subprocess

from outside import MIB, require


def big_file(folder, size):
    """One file of bytes that are random to every compressor."""
    os.mkdir(folder)
    source = random.Random(size)
    with open(f"{folder}/big", "wb") as file:
        for at in range(0, size, 4 * MIB):
            file.write(source.randbytes(min(4 * MIB, size - at)))


def many_files(folder, folders, files, sizes):
    """Files in folders; the size of each follows from its number, in rotation."""
    os.mkdir(folder)
    pool = random.Random(0).randbytes(8 * MIB)
    for outer in range(folders):
        os.mkdir(f"{folder}/{outer:04}")
        for inner in range(files):
            number = outer * files + inner
            size = sizes[number % len(sizes)]
            begin = number * 509 % (len(pool) - size)
            with open(f"{folder}/{outer:04}/{inner:04}", "xb", buffering=0) as file:
                file.write(pool[begin:begin + size])


def flat_files(folder, files, size):
    """Files in one folder."""
    many_files(f"{folder}.in", 1, files, [size])
    os.rename(f"{folder}.in/0000", folder)
    os.rmdir(f"{folder}.in")


def system_tree(folder, *sources):
    """A system's own files, without links and empty folders, which some contestants do not
    transfer."""
    os.mkdir(folder)
    present = [source for source in sources if os.path.isdir(source)]
    require(present, f"none of {', '.join(sources)} is here")
    subprocess.run(["cp", "-a", "--no-preserve=ownership,links", *present, folder], check=True)
    subprocess.run(["find", folder, "(", "-type", "l", "-o", "-type", "d", "-empty", ")", "-delete"], check=True)


def measure(folder):
    """How many items a folder has, itself included, and how many bytes of content."""
    items, count = 1, 0
    for inside, folders, names in os.walk(folder):
        items += len(folders) + len(names)
        for name in names:
            status = os.lstat(os.path.join(inside, name))
            count += status.st_size if status.st_mode & 0o170000 == 0o100000 else 0
    return items, count

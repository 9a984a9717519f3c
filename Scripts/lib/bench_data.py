"""What a bench sends: the same bytes and names on every machine and in every run, but for what the system has itself."""

import os
import subprocess

from outside import MIB, ROOT, require

KEY = "70656572206265686e63682064617461"
"""Content is the keystream of AES-128 in counter mode under this key: random to every compressor, and quickly made."""


def keystream(path, size, number=0):
    """A file of that many random bytes; another number gives others."""
    with open(path, "wb") as file:
        making = subprocess.Popen(
            ["openssl", "enc", "-aes-128-ctr", "-K", KEY, "-iv", f"{number:032x}", "-in", "/dev/zero"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        left = size
        while left > 0:
            part = making.stdout.read(min(left, 4 * MIB))
            require(part, "openssl made too little")
            file.write(part)
            left -= len(part)
        making.stdout.close()
        making.terminate()
        making.wait()


def big_file(folder, size):
    os.mkdir(folder)
    keystream(f"{folder}/big", size)


def many_files(folder, folders, files, sizes):
    """Files in folders; the size of each follows from its number, by turns."""
    os.mkdir(folder)
    pool_path = f"{folder}.pool"
    keystream(pool_path, 8 * MIB, 1)
    with open(pool_path, "rb") as file:
        pool = file.read()
    os.unlink(pool_path)
    number = 0
    for outer in range(folders):
        inside = f"{folder}/{outer:04}"
        os.mkdir(inside)
        for inner in range(files):
            size = sizes[number % len(sizes)]
            begin = number * 509 % (len(pool) - size)
            one = os.open(f"{inside}/{inner:04}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            if size:
                os.write(one, pool[begin:begin + size])
            os.close(one)
            number += 1


def copied(folder, sources):
    """What a system has, copied once."""
    os.mkdir(folder)
    present = [source for source in sources if os.path.isdir(source)]
    require(present, f"none of {', '.join(sources)} is here")
    subprocess.run(["cp", "-a", "--no-preserve=ownership", *present, folder], check=True)


def system_tree(folder):
    copied(folder, ["/usr/share", "/usr/include"])


def source_text(folder):
    copied(folder, ["/usr/include", f"{ROOT}/Sources"])


def measure(folder):
    """How many items a folder has, itself included, and how many bytes of content."""
    items, count = 1, 0
    for inside, folders, names in os.walk(folder):
        items += len(folders) + len(names)
        for name in names:
            status = os.lstat(os.path.join(inside, name))
            count += status.st_size if status.st_mode & 0o170000 == 0o100000 else 0
    return items, count

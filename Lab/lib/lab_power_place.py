"""The machine whose power is cut by Lab/power: one file system on a disk with a volatile
cache, for any number of rounds and cuts."""

import os

from lab_machine import Machine
from lab_nbd import SECTOR, Server
from outside import Failure, require, wait_for

SIZE = 2 << 30
DISK, SOURCES, BINARY = "/mnt/disk", "/mnt/sources", "/run/peer"
MACHINE_SECONDS = 1800

MAKING = {"ext4": "mkfs.ext4 -q -F", "xfs": "mkfs.xfs -q -f", "btrfs": "mkfs.btrfs -q -f"}
"""The file systems, and the command that makes each."""


class Difference(Failure):
    """A broken promise: something is missing, or differs. Other failures are the script's or the
    machine's own."""


class SamePort(Machine):
    """A machine that can be reached at the port of the one before it."""

    def __init__(self, port, *arguments, **options):
        self.wanted = port
        super().__init__(*arguments, **options)

    def start(self, *arguments):
        self.port = self.wanted or self.port
        return super().start(*arguments)


class Place:
    """One file system, and the machine that has it, if one runs."""

    def __init__(self, parts, work, kind):
        self.parts, self.work, self.kind = parts, work, kind
        self.disk = Server(work, kind, SIZE)
        self.sources = f"{work}/sources.img"
        self.machine, self.port, self.is_made = None, None, False

    def start(self):
        """Starts the machine and mounts the file system, which the first start makes."""
        self.disk.turn_on()
        self.machine = SamePort(self.port, self.parts, self.work, [self.disk.drive(), self.sources], seconds=MACHINE_SECONDS)
        self.port = self.machine.port
        # Otherwise the kernel writes nothing for many seconds unless it must flush, and a cut would
        # find nothing in the disk's cache.
        self.machine.shell(
            f"modprobe -a ext4 {self.kind}; cd /proc/sys/vm; echo 20 >dirty_writeback_centisecs; echo 40 >dirty_expire_centisecs;"
            f"mkdir -p {SOURCES} {DISK}; cp /lab/peer {BINARY}; mount -t ext4 -o ro /dev/vdb {SOURCES}")
        # As udev does: without it nothing tells the file system of the sources from others.
        self.machine.shell(
            "mkdir -p /dev/disk/by-uuid; for disk in vda vdb; do name=$(blkid -s UUID -o value /dev/$disk) &&"
            " ln -sf ../../$disk /dev/disk/by-uuid/$name; done; true")
        if not self.is_made:
            cache = self.machine.shell("cat /sys/block/vda/queue/write_cache")
            require(cache == "write back", f"the machine takes its disk's cache for '{cache}', so that it would not flush")
            sector = self.machine.shell("cat /sys/block/vda/queue/physical_block_size")
            require(sector == str(SECTOR), f"the machine takes its disk's sectors for {sector} bytes, not {SECTOR}")
            self.machine.shell(f"{MAKING[self.kind]} /dev/vda")
        try:
            self.machine.shell(f"mount -t {self.kind} /dev/vda {DISK}")
        except Failure as failure:
            raise Difference(f"the file system cannot be mounted after the cut: {failure}; {self.machine.console()}") from None
        if not self.is_made:
            self.machine.shell(f"cp -a {SOURCES}/beside {DISK}/beside; sync")
            self.disk.settle()
            self.is_made = True

    def cut(self, seed):
        """Cuts the power; returns the numbers of writes that the disk kept, tore and dropped."""
        counts = self.disk.cut(seed)
        self.end_machine()
        return counts

    def end_machine(self):
        """Kills the emulator. While its processes die, its sockets still take connections."""
        machine, self.machine = self.machine, None
        machine.end(is_in_order=False)
        wait_for("the end of the emulator", 60, lambda: not is_group(machine.process.pid))
        os.remove(f"{self.work}/agent")

    def check_trees(self, name, destination):
        """Compares a folder of the sources with one on the disk."""
        self.machine.run("python3", "/lab/tools/check-trees", "--inside", f"{SOURCES}/{name}", destination, seconds=300)

    def end(self):
        if self.machine is not None:
            self.end_machine()
        self.disk.close()
        for suffix in "seen", "durable":
            os.remove(f"{self.work}/{self.kind}.{suffix}")


def is_group(number):
    """Whether a group of processes exists."""
    try:
        os.killpg(number, 0)
        return True
    except ProcessLookupError:
        return False


def make_sources(parts, work, seed):
    """Makes the disk with the sources, in a machine, whose programs are there afterwards."""
    path = f"{work}/sources.img"
    with open(path, "wb") as file:
        file.truncate(1 << 30)
    machine = Machine(parts, work, [path], seconds=600)
    try:
        machine.load("ext4")
        machine.shell(
            f"mkfs.ext4 -q /dev/vda; mkdir {SOURCES}; mount -t ext4 /dev/vda {SOURCES};"
            f"python3 /lab/tools/lab_power_trees.py {SOURCES} {seed}; umount {SOURCES}", 300)
    finally:
        machine.end()

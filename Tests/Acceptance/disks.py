"""Real file systems for checks. Each check makes its own, in an image or with FUSE; only its
processes see it."""

import contextlib
import functools
import os
import shutil
import subprocess
import time

from needs import QUIET, call
from outside import IS_ROOT, MIB, require, wait_for

NEW_MOUNTS, PRIVATE = 0x20000, (1 << 18) | (1 << 14)
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")


@functools.cache
def own_mounts():
    """Gives this process its own mounts: the machine's mounts stay as they are, however a check
    ends."""
    call("unshare", NEW_MOUNTS)
    call("mount", None, b"/", None, PRIVATE, None)


def knows(name):
    """Whether the kernel has a file system, or can load it."""
    def has():
        with open("/proc/filesystems", encoding="ascii") as file:
            return any(line.split()[-1:] == [name] for line in file)

    if not has() and shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", name], **QUIET)
    return has()


def lacking(tools, kernel=None, device=None):
    """The missing requirement of a file system on this machine; None if it has all."""
    if not IS_ROOT:
        return "not root"
    for tool in tools:
        if not shutil.which(tool, path=os.environ["PATH"] + ":/sbin:/usr/sbin"):
            return f"no {tool}"
    if device and not os.path.exists(device):
        return f"no {device}"
    return f"the kernel has no {kernel}" if kernel and not knows(kernel) else None


def tell(*words):
    """Runs a command that mounts or makes something; returns its output if it fails."""
    path = os.environ["PATH"] + ":/sbin:/usr/sbin"
    # Into a file: the daemon of a file system keeps the standard output that it was started with
    # open.
    result = subprocess.run(
        ["sh", "-c", '"$@" >"$0" 2>&1', f"/tmp/peer-disk-{os.getpid()}", *words], stdin=subprocess.DEVNULL, check=False,
        timeout=60, env={**os.environ, "PATH": path})
    with open(f"/tmp/peer-disk-{os.getpid()}", encoding="utf-8", errors="replace") as file:
        said = file.read()
    os.remove(file.name)
    require(result.returncode == 0, f"{' '.join(words[:2])} failed with {result.returncode}: {said[-300:]}")


class Disk:
    """One file system, mounted while it is needed."""

    SIZE = 512 * MIB

    def __init__(self, kind, work):
        self.kind, self.work = kind, work
        self.base = work.folder(None)
        self.folder = f"{self.base}/mounted"
        self.image = f"{self.base}/image"
        self.below = f"{self.base}/below"
        os.mkdir(self.folder)
        own_mounts()
        self.work.undone.callback(self.unmount)
        if kind.make:
            with open(self.image, "wb") as file:
                file.truncate(self.SIZE)
            tell(*kind.make, self.image)
        else:
            os.mkdir(self.below)
        self.mount()

    def mount(self):
        self.kind.mount(self)

    def unmount(self):
        if not os.path.ismount(self.folder) and not self.is_dead():
            return
        for words in (["umount", self.folder], ["umount", "-l", self.folder]):
            limit = time.monotonic() + 5
            while time.monotonic() < limit:
                if subprocess.run(words, **QUIET).returncode == 0:
                    self.settle()
                    return
                time.sleep(0.05)

    def is_dead(self):
        try:
            os.lstat(self.folder)
            return False
        except OSError:
            return True

    def settle(self):
        """Waits until the daemon has written everything and ended."""
        if self.kind.daemon:
            wait_for(f"end of {self.kind.daemon}", 30, lambda: not self.daemons())

    def daemons(self):
        """The processes that serve this disk."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                    if words[0].endswith(self.kind.daemon.encode()) and os.fsencode(self.folder) in words:
                        found.append(int(name))
        return found

    def again(self):
        """Unmounts and mounts it, like a stick that is ejected and inserted again."""
        self.unmount()
        self.mount()

    def place(self, name):
        """A new folder there."""
        path = f"{self.folder}/{name}"
        os.mkdir(path)
        return path


class Kind:
    """How to make and mount a file system, and its requirements."""

    def __init__(self, name, mount, make=(), tools=(), kernel=None, device=None, daemon=None):
        self.name, self.mount, self.make, self.daemon = name, mount, make, daemon
        self.lacking = functools.cache(lambda: lacking([*make[:1], *tools], kernel, device))


def by_loop(*options):
    return lambda disk: tell("mount", *options, "-o", "loop", disk.image, disk.folder)


def by_listed_loop(*options):
    """With the link by which a device manager tells the disk from others; a container has no device manager."""
    def mount(disk):
        by_loop(*options)(disk)
        with open("/proc/self/mounts", encoding="utf-8") as file:
            device = next(words[0] for words in map(str.split, file) if words[1] == disk.folder)
        link = "/dev/disk/by-uuid/" + subprocess.check_output(["blkid", "-o", "value", "-s", "UUID", device], text=True).strip()
        if os.path.realpath(link) != device:
            os.makedirs(os.path.dirname(link), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.remove(link)
            os.symlink(f"../../{os.path.basename(device)}", link)
            disk.work.undone.callback(lambda: os.path.islink(link) and os.remove(link))
    return mount


def overlay(disk):
    """Over a file system in memory, which supports the attributes that overlays store."""
    if not os.path.ismount(disk.below):
        tell("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", disk.below)
        disk.work.undone.callback(subprocess.run, ["umount", "-l", disk.below], **QUIET)
        for name in ("lower", "upper", "work"):
            os.mkdir(f"{disk.below}/{name}")
    options = ",".join(f"{name}dir={disk.below}/{name}" for name in ("lower", "upper", "work"))
    tell("mount", "-t", "overlay", "-o", options, "overlay", disk.folder)
    # The first to be unmounted is removed last.
    disk.work.undone.callback(disk.unmount)


def sshfs(disk):
    """Without a network: the server itself takes the part of ssh."""
    command = f"{disk.base}/ssh"
    if not os.path.exists(command):
        server = next(path for path in SFTP_SERVERS if os.path.exists(path))
        with open(command, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexec {server}\n")
        os.chmod(command, 0o700)
    tell("sshfs", "-o", f"ssh_command={command}", f"here:{disk.below}", disk.folder)


def sftp_server():
    return None if any(map(os.path.exists, SFTP_SERVERS)) else "no sftp-server"


LOOP, FUSE = "/dev/loop-control", "/dev/fuse"
KINDS = {kind.name: kind for kind in [
    Kind("XFS", by_loop("-t", "xfs"), ("mkfs.xfs", "-q"), kernel="xfs", device=LOOP),
    Kind("btrfs", by_loop("-t", "btrfs"), ("mkfs.btrfs", "-q"), kernel="btrfs", device=LOOP),
    Kind("NTFS", lambda disk: tell("ntfs-3g", disk.image, disk.folder), ("mkntfs", "-q", "-F", "-Q"), ["ntfs-3g"], device=FUSE,
         daemon="ntfs-3g"),
    Kind("NTFS that folds", lambda disk: tell("lowntfs-3g", "-o", "ignore_case", disk.image, disk.folder),
         ("mkntfs", "-q", "-F", "-Q"), ["lowntfs-3g"], device=FUSE, daemon="lowntfs-3g"),
    Kind("exFAT", by_listed_loop("-t", "exfat-fuse"), ("mkfs.exfat",), ["mount.exfat-fuse", "blkid"], kernel="fuseblk", device=LOOP,
         daemon="mount.exfat-fuse"),
    Kind("overlayfs", overlay, kernel="overlay"),
    Kind("bindfs", lambda disk: tell("bindfs", disk.below, disk.folder), tools=["bindfs"], device=FUSE, daemon="bindfs"),
    Kind("sshfs", sshfs, tools=["sshfs"], device=FUSE, daemon="sshfs"),
    Kind("tmpfs", lambda disk: tell("mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", disk.folder), kernel="tmpfs"),
]}


def needed(name):
    """The probe for the requirements of a check that uses a file system."""
    probe = KINDS[name].lacking
    return (lambda: probe() or sftp_server()) if name == "sshfs" else probe

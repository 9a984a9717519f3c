#!/usr/bin/env python3
"""Tests the abilities of a file system, one call after the other; prints a JSON object: question,
answer.

Usage: disk_probe.py DIR [--large] [--without TEXT]
  --large         also asks for files beyond 4 GiB, which a small disk answers by having no space
  --without TEXT  leaves out the questions with this text, which a file system may not survive

DIR is on the file system; the probe makes a folder in it, which is removed at the end. An answer is
"ok", the name of an error, or the result. Needs Python's standard library, and Linux on x86-64.
"""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, NOREPLACE, EXCHANGE, SYMLINK_FOLLOW = -100, 1, 2, 0x400
RENAMEAT2, SYNCFS, GETDENTS, LINKAT = 316, 306, 217, 265
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
GIB = 1 << 30

NAMES = {
    "not UTF-8": b"n-\xff\xfe", "a:b": b"a:b", "a\\b": b"a\\b", "a*b": b"a*b", "a?b": b"a?b", "a<b>": b"a<b>", "a|b": b"a|b",
    'a"b': b'a"b', "a.": b"a.", "a..": b"a..", "...": b"...", "a + space": b"a ", "space + a": b" a", "line break": b"a\nb",
    "tab": b"a\tb", "escape": b"a\x1bb", "delete": b"a\x7fb", "CON": b"CON", "aux.txt": b"aux.txt", "255 bytes": b"n" * 255,
    "256 bytes": b"n" * 256, "143 bytes": b"n" * 143, "127 x \u00fc (254 bytes)": "\u00fc".encode() * 127,
    "255 x \u00fc (510 bytes)": "\u00fc".encode() * 255, "63 x emoji (252 bytes)": "\U0001f600".encode() * 63,
    "one surrogate (WTF-8)": b"n-\xed\xa0\x80", "U+FFFF": b"n-\xef\xbf\xbf", "U+F03A (a private colon)": "n\uf03ab".encode(),
    ".fuse_hidden-like": b".fuse_hidden0001", ".nfs-like": b".nfs0001",
}
FOLDS = {
    "a/A": (b"fold-a", b"fold-A"), "\u00e9/\u00c9": ("fold-\u00e9".encode(), "fold-\u00c9".encode()),
    "\u00e1 composed/decomposed": ("fold-\u00e1".encode(), "fold-a\u0301".encode()),
    "\u00df/ss": ("fold-\u00df".encode(), b"fold-ss"), "\u0436/\u0416": ("fold-\u0436".encode(), "fold-\u0416".encode()),
    "a/a.": (b"fold-d", b"fold-d."), "a/a + space": (b"fold-s", b"fold-s "),
    "\u212a (kelvin)/k": ("fold-\u212a".encode(), b"fold-k"), "full-width \uff41/\uff21": ("fold-\uff41".encode(), "fold-\uff21".encode()),
}
TIMES = {
    "1902": -2_145_916_799, "1969": -1, "1970": 0, "1979": 300_000_000, "1980": 320_000_001, "2024, odd second": 1_700_000_001, "2038": 2**31 + 1,
    "2106": 2**32 + 1, "2107": 4_350_000_001, "2400": 13_569_465_601,
}


def named(error):
    return errno.errorcode.get(error, str(error))


def called(number, *arguments):
    """Calls the kernel by a call's number; fails like Python's own functions."""
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def rename(old, new, flags=0):
    called(RENAMEAT2, AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags)


class Probe:
    """One folder, the questions asked in it and the answers."""

    def __init__(self, parent, is_large, left_out=None):
        self.root = os.path.join(os.path.realpath(parent), f".probe-{os.getpid()}")
        self.is_large, self.left_out = is_large, left_out
        self.answers = {}
        self.count = 0

    def new(self, kind=None, content=b"x"):
        """A new path, with nothing at it, a file, or a directory."""
        self.count += 1
        path = f"{self.root}/p{self.count}"
        if kind == "file":
            with open(path, "wb") as file:
                file.write(content)
        elif kind == "directory":
            os.mkdir(path)
        return path

    def ask(self, question, action):
        """Records the result of an action; an error by its name."""
        if self.left_out and self.left_out in question:
            return
        try:
            found = action()
            self.answers[question] = "ok" if found is None else str(found)
        except OSError as error:
            self.answers[question] = named(error.errno) if error.errno is not None else str(error)
        except Exception as error:  # An answer too: the other questions are still asked.
            self.answers[question] = f"{type(error).__name__}: {error}"

    # Names that change

    def renames(self):
        for what, flags in ("no flags", 0), ("NOREPLACE", NOREPLACE):
            self.ask(f"rename file, {what}, name free", lambda f=flags: rename(self.new("file"), self.new(), f))
            self.ask(f"rename file, {what}, name taken", lambda f=flags: rename(self.new("file"), self.new("file"), f))
            self.ask(f"rename directory, {what}, name free", lambda f=flags: rename(self.new("directory"), self.new(), f))
            self.ask(f"rename directory, {what}, over an empty one", lambda f=flags: rename(self.new("directory"), self.new("directory"), f))
        self.ask("rename full directory over an empty one", lambda: rename(self.full(), self.new("directory")))
        self.ask("rename directory over a full one", lambda: rename(self.new("directory"), self.full()))
        self.ask("rename directory over a file", lambda: rename(self.new("directory"), self.new("file")))
        self.ask("rename file over an empty directory", lambda: rename(self.new("file"), self.new("directory")))
        self.ask("rename file, EXCHANGE", lambda: rename(self.new("file"), self.new("file"), EXCHANGE))
        self.ask("rename directory, EXCHANGE", lambda: rename(self.full(), self.full(), EXCHANGE))
        self.ask("rename file that is open, over one that is open", self.rename_open)
        self.ask("rename directory that is open, then make a file in it", self.rename_open_directory)
        self.ask("rename over an empty directory that is open", self.rename_over_open)
        self.ask("rename keeps the inode number", self.rename_inode)

    def full(self):
        path = self.new("directory")
        with open(f"{path}/inside", "wb"):
            return path

    def rename_open(self):
        old, new = self.new("file"), self.new("file", b"old")
        with open(old, "rb+") as first, open(new, "rb") as second:
            rename(old, new)
            first.write(b"more")
            return f"ok, the old one reads {second.read()!r}"

    def rename_open_directory(self):
        old, new = self.new("directory"), self.new()
        descriptor = os.open(old, os.O_RDONLY | os.O_DIRECTORY)
        try:
            rename(old, new)
            os.close(os.open("later", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=descriptor))
            os.fsync(descriptor)
            return "ok" if os.listdir(new) == ["later"] else f"found {os.listdir(new)}"
        finally:
            os.close(descriptor)

    def rename_over_open(self):
        old, new = self.full(), self.new("directory")
        descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
        try:
            rename(old, new)
            return f"ok, {os.listdir(new)}, the open one has {os.fstat(descriptor).st_nlink} links"
        finally:
            os.close(descriptor)

    def rename_inode(self):
        answers = []
        for kind in "file", "directory":
            old, new = self.new(kind), self.new()
            before = os.stat(old).st_ino
            rename(old, new)
            answers.append(f"{kind}: {'yes' if os.stat(new).st_ino == before else 'no'}")
        return ", ".join(answers)

    # Kinds

    def kinds(self):
        self.ask("link", lambda: os.link(self.new("file"), self.new()))
        self.ask("link, name taken", lambda: os.link(self.new("file"), self.new("file")))
        self.ask("link counts", self.link_counts)
        self.ask("link of an open file by /proc/self/fd", self.link_descriptor)
        self.ask("O_TMPFILE", lambda: os.close(os.open(self.root, os.O_TMPFILE | os.O_RDWR, 0o600)))
        for length in 10, 1023, 1024, 4095:
            self.ask(f"symlink of {length} bytes", lambda n=length: self.symlink(b"t" * n))
        self.ask("symlink, target not UTF-8", lambda: self.symlink(b"t-\xff"))
        self.ask("symlink, name taken", lambda: os.symlink("x", self.new("file")))
        self.ask("symlink: its time", lambda: self.times_of(self.symlink_path(), 1_700_000_001_123_456_789))
        self.ask("rename symlink, NOREPLACE", lambda: rename(self.symlink_path(), self.new(), NOREPLACE))
        self.ask("link of a symlink", lambda: os.link(self.symlink_path(), self.new(), follow_symlinks=False))
        self.ask("mkdir, name taken", lambda: os.mkdir(self.new("directory")))
        self.ask("O_CREAT|O_EXCL, name taken", lambda: os.open(self.new("file"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self.ask("O_CREAT|O_EXCL, mode 0", lambda: self.no_mode())
        self.ask("FIFO", lambda: os.mkfifo(self.new()))
        self.ask("rmdir of a full directory", lambda: os.rmdir(self.full()))
        self.ask("unlink of an open file, then write", self.unlink_open)
        self.ask("kinds in readdir", self.readdir_kinds)
        self.ask("a second listing by one descriptor shows what was made since", self.listed_again)
        self.ask("links of a directory", lambda: os.stat(self.new("directory")).st_nlink)

    def symlink_path(self, target=b"target"):
        path = self.new()
        os.symlink(target, os.fsencode(path))
        return path

    def symlink(self, target):
        path = self.symlink_path(target)
        found = os.readlink(os.fsencode(path))
        return None if found == target else f"reads {found[:40]!r}"

    def link_counts(self):
        path, other = self.new("file"), self.new()
        os.link(path, other)
        first, second = os.stat(path), os.stat(other)
        return f"{first.st_nlink}, {'the same' if first.st_ino == second.st_ino else 'another'} inode number"

    def link_descriptor(self):
        with open(self.new("file"), "rb") as file:
            called(LINKAT, AT_FDCWD, f"/proc/self/fd/{file.fileno()}".encode(), AT_FDCWD, self.new().encode(), SYMLINK_FOLLOW)

    def no_mode(self):
        descriptor = os.open(self.new(), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0)
        os.write(descriptor, b"x")
        mode = os.fstat(descriptor).st_mode & 0o7777
        os.close(descriptor)
        return f"{mode:04o}, written"

    def unlink_open(self):
        path = self.new("file")
        with open(path, "rb+", buffering=0) as file:
            os.unlink(path)
            file.write(b"more")
            os.fsync(file.fileno())
            left = os.listdir(self.root)
            hidden = [name for name in left if name.startswith((".nfs", ".fuse_hidden", ".smb"))]
            return f"ok, {os.fstat(file.fileno()).st_nlink} links{', left: ' + hidden[0][:12] if hidden else ''}"

    def readdir_kinds(self):
        path = self.new("directory")
        with open(f"{path}/file", "wb"):
            os.mkdir(f"{path}/directory")
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        buffer = ctypes.create_string_buffer(4096)
        size, found, at = called(GETDENTS, descriptor, buffer, 4096), {}, 0
        os.close(descriptor)
        while at < size:
            number, _, length, kind = struct.unpack_from("<QqHB", buffer, at)
            found[buffer[at + 19:at + length].split(b"\0")[0]] = (kind, number)
            at += length
        same = found[b"file"][1] == os.stat(f"{path}/file").st_ino
        return f"{'yes' if found[b'file'][0] == 8 and found[b'directory'][0] == 4 else 'unknown'}, numbers {'as' if same else 'other than'} stat's"

    def listed_again(self):
        path = self.new("directory")
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            found = []
            for name in "first", "second", "third":
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=descriptor))
                found.append(name in os.listdir(descriptor))
            return "yes" if all(found) else f"no: {found}, by a new descriptor {sorted(os.listdir(path))}"
        finally:
            os.close(descriptor)

    # Names

    def names(self):
        for what, name in NAMES.items():
            self.ask(f"name {what}", lambda n=name: self.name(n))
        for what, (first, second) in FOLDS.items():
            self.ask(f"fold {what}", lambda a=first, b=second: self.fold(a, b))

    def name(self, name):
        answers = []
        for kind in "file", "directory":
            folder = os.fsencode(self.new("directory"))
            path = folder + b"/" + name
            try:
                if kind == "file":
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                else:
                    os.mkdir(path)
                found = os.listdir(folder)
                answers.append("ok" if found == [name] else f"stored as {found[0][:30] if found else None!r}")
                os.unlink(path) if kind == "file" else os.rmdir(path)
            except OSError as error:
                answers.append(named(error.errno))
        return answers[0] if answers[0] == answers[1] else f"file: {answers[0]}, directory: {answers[1]}"

    def fold(self, first, second):
        folder = os.fsencode(self.new("directory")) + b"/"
        os.close(os.open(folder + first, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.close(os.open(folder + second, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            reads = named(error.errno)
            return f"one name ({reads})"
        found = sorted(os.listdir(folder))
        return "two names" if found == sorted([first, second]) else f"found {found}"

    # Rights and times

    def rights(self):
        for kind in "file", "directory":
            for mode in 0o600, 0o640, 0o444, 0o755, 0o777, 0o1755, 0o4755:
                self.ask(f"fchmod {kind} {mode:04o}", lambda k=kind, m=mode: self.mode(k, m))
        self.ask("mode of a new file (0600 asked)", lambda: self.new_mode(0o600))
        self.ask("write by a descriptor after fchmod 0400", self.write_read_only)
        self.ask("chown to 12:34", lambda: self.owner())
        self.ask("owner of a new file", lambda: "{0.st_uid}:{0.st_gid}".format(os.stat(self.new("file"))))
        self.ask("attribute user.", lambda: self.attribute("user.probe", b"value"))
        self.ask("attribute user., empty", lambda: self.attribute("user.probe", b""))
        self.ask("attribute user., 60 KB", lambda: self.attribute("user.probe", b"v" * 60_000))
        self.ask("attribute trusted.", lambda: self.attribute("trusted.probe", b"value"))
        self.ask("attribute security.capability", lambda: self.attribute("security.capability", struct.pack("<IIIII", 0x02000001, 1024, 0, 0, 0)))
        access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in [(1, 6, -1), (2, 7, 1234), (4, 4, -1), (16, 7, -1), (32, 4, -1)])
        self.ask("access list", lambda: self.attribute("system.posix_acl_access", access))

    def mode(self, kind, mode):
        path = self.new(kind)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fchmod(descriptor, mode)
            found = os.fstat(descriptor).st_mode & 0o7777
            return None if found == mode else f"is {found:04o}"
        finally:
            os.close(descriptor)

    def new_mode(self, mode):
        path = self.new()
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        return f"{os.stat(path).st_mode & 0o7777:04o}"

    def write_read_only(self):
        with open(self.new("file"), "rb+", buffering=0) as file:
            os.fchmod(file.fileno(), 0o400)
            file.write(b"more")
            os.utime(file.fileno(), ns=(0, 10**18))
            os.fsync(file.fileno())

    def owner(self):
        path = self.new("file")
        os.chown(path, 12, 34)
        found = os.stat(path)
        return None if (found.st_uid, found.st_gid) == (12, 34) else f"is {found.st_uid}:{found.st_gid}"

    def attribute(self, name, value):
        path = self.new("file")
        os.setxattr(path, name, value)
        found = os.getxattr(path, name)
        return None if found == value else f"reads {len(found)} bytes"

    def times(self):
        for kind in "file", "directory":
            for offset in 123_456_789, 999_999_999, 100_000_000:
                self.ask(f"utimensat {kind} .{offset:09d}", lambda k=kind, o=offset: self.times_of(self.new(k), 1_700_000_001 * 10**9 + o))
            for what, seconds in TIMES.items():
                self.ask(f"utimensat {kind} in {what}", lambda k=kind, s=seconds: self.times_of(self.new(k), s * 10**9))
        self.ask("time is the same after writing by another descriptor, then reading", self.time_kept)
        self.ask("clock of the file system less this one's (s)", self.clock)
        self.ask("two files made 20 ms apart", self.two_clocks)
        self.ask("time of change moves by chmod with mtime kept", self.change_time)
        self.ask("time of change moves by an edit that sets mtime back", self.change_time_edit)

    def times_of(self, path, moment):
        os.utime(path, ns=(moment, moment), follow_symlinks=False)
        found = os.stat(path, follow_symlinks=False).st_mtime_ns
        return None if found == moment else f"{(found - moment) / 10**9:+.9f} s"

    def time_kept(self):
        path = self.new()
        moment = 1_700_000_001_123_456_789
        with open(path, "wb") as file:
            file.write(b"x" * 100_000)
            file.flush()
            os.utime(file.fileno(), ns=(moment, moment))
            first = os.fstat(file.fileno()).st_mtime_ns
            os.fsync(file.fileno())
        with open(path, "rb") as file:
            last = os.fstat(file.fileno()).st_mtime_ns
        return f"set {(first - moment) / 10**9:+.9f} s, after close {(last - moment) / 10**9:+.9f} s"

    def clock(self):
        return f"{(os.stat(self.new('file')).st_mtime_ns - time.time_ns()) / 10**9:+.3f}"

    def two_clocks(self):
        first = os.stat(self.new("file")).st_mtime_ns
        time.sleep(0.02)
        return f"{(os.stat(self.new('file')).st_mtime_ns - first) / 10**6:.1f} ms apart"

    def change_time(self):
        path = self.new("file")
        before = os.stat(path).st_ctime_ns
        time.sleep(2.1)
        os.chmod(path, 0o640)
        return "yes" if os.stat(path).st_ctime_ns > before else "no"

    def change_time_edit(self):
        path = self.new("file")
        before = os.stat(path)
        time.sleep(2.1)
        with open(path, "rb+") as file:
            file.write(b"y")
        os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
        after = os.stat(path)
        return f"{'yes' if after.st_ctime_ns > before.st_ctime_ns else 'no'}, mtime {'as before' if after.st_mtime_ns == before.st_mtime_ns else 'other'}"

    # Writing

    def writing(self):
        self.ask("fsync file", lambda: self.with_file(lambda d: os.fsync(d)))
        self.ask("fdatasync file", lambda: self.with_file(lambda d: os.fdatasync(d)))
        self.ask("fsync directory", lambda: self.with_directory(lambda d: os.fsync(d)))
        self.ask("syncfs", lambda: self.with_directory(lambda d: called(SYNCFS, d) or None))
        self.ask("flock by descriptors for reading", lambda: self.flock("rb"))
        self.ask("flock by descriptors for writing", lambda: self.flock("rb+"))
        self.ask("flock by one descriptor, writing and truncating by another", self.flock_written)
        self.ask("flock of a directory", lambda: self.with_directory(lambda d: fcntl.flock(d, fcntl.LOCK_EX | fcntl.LOCK_NB)))
        self.ask("ftruncate, longer", self.extended)
        self.ask("ftruncate, shorter", lambda: self.with_file(lambda d: os.ftruncate(d, 0)))
        self.ask("write beyond the end reads zeros", self.gap)
        self.ask("SEEK_HOLE in an 8 MiB file with a hole of 7 MiB", self.hole)
        self.ask("fallocate", lambda: self.with_file(lambda d: self.fallocate(d, 0)))
        self.ask("fallocate, size kept", lambda: self.with_file(lambda d: self.fallocate(d, 1)))
        self.ask("fallocate, hole punched", lambda: self.with_file(lambda d: self.fallocate(d, 3)))
        self.ask("copy_file_range", self.copied)
        self.ask("two writers of one file, by pwrite", self.two_writers)
        self.ask("lseek to 5 GiB", lambda: self.with_file(lambda d: None if os.lseek(d, 5 * GIB, os.SEEK_SET) == 5 * GIB else "other"))
        for what, size in [("4 GiB - 1", 4 * GIB - 1), ("4 GiB", 4 * GIB), ("5 GiB", 5 * GIB)]:
            if self.is_large:
                self.ask(f"ftruncate to {what}", lambda s=size: self.with_file(lambda d: os.ftruncate(d, s)))
        if self.is_large:
            self.ask("pwrite of one byte at 4 GiB - 1", lambda: self.with_file(lambda d: os.pwrite(d, b"x", 4 * GIB - 1) and None))
            self.ask("pwrite of one byte at 4 GiB", lambda: self.with_file(lambda d: os.pwrite(d, b"x", 4 * GIB) and None))

    def with_file(self, action):
        path = self.new("file")
        descriptor = os.open(path, os.O_RDWR)
        try:
            return action(descriptor)
        finally:
            os.close(descriptor)
            os.unlink(path)

    def with_directory(self, action):
        descriptor = os.open(self.new("directory"), os.O_RDONLY | os.O_DIRECTORY)
        try:
            return action(descriptor)
        finally:
            os.close(descriptor)

    def flock(self, mode):
        path = self.new("file")
        with open(path, mode) as first, open(path, mode) as second:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                return f"ok, the second one is answered {named(error.errno)}"
            return "a second one is given too"

    def flock_written(self):
        path = self.new("file")
        with open(path, "rb+") as first, open(path, "rb+", buffering=0) as second:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            second.write(b"more")
            os.ftruncate(second.fileno(), 2)

    def extended(self):
        with open(self.new(), "wb+") as file:
            os.ftruncate(file.fileno(), 1 << 20)
            return f"{os.fstat(file.fileno()).st_blocks // 2} KiB on the disk" if file.read() == bytes(1 << 20) else "other bytes"

    def gap(self):
        with open(self.new(), "wb+") as file:
            os.pwrite(file.fileno(), b"x", 1 << 20)
            return None if os.pread(file.fileno(), 1 << 20, 0) == bytes(1 << 20) else "other bytes"

    def hole(self):
        path = self.new()
        with open(path, "wb+") as file:
            os.pwrite(file.fileno(), b"x" * (1 << 19), 0)
            os.pwrite(file.fileno(), b"x" * (1 << 19), 15 << 19)
            os.fsync(file.fileno())
        with open(path, "rb") as file:
            hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
            data = os.lseek(file.fileno(), 1 << 20, os.SEEK_DATA)
            return f"hole at {hole >> 10} KiB, data at {data >> 10} KiB, {os.fstat(file.fileno()).st_blocks // 2} KiB on the disk"

    @staticmethod
    def fallocate(descriptor, mode):
        if LIBC.fallocate(descriptor, mode, ctypes.c_long(0), ctypes.c_long(100_000)) != 0:
            raise OSError(ctypes.get_errno(), "")

    def copied(self):
        with open(self.new("file", b"content"), "rb") as source, open(self.new(), "wb") as target:
            return None if os.copy_file_range(source.fileno(), target.fileno(), 7) == 7 else "fewer"

    def two_writers(self):
        path = self.new("file")
        with open(path, "rb+", buffering=0) as first, open(path, "rb+", buffering=0) as second:
            for number in range(20):
                os.pwrite((first, second)[number % 2].fileno(), bytes([number]) * 70_000, number * 70_000)
        with open(path, "rb") as file:
            content = file.read()
        return None if content == b"".join(bytes([number]) * 70_000 for number in range(20)) else "mixed"

    # The disk itself

    def disk(self):
        self.ask("statfs: files, free ones", lambda: "{0.f_files}, {0.f_ffree}".format(os.statvfs(self.root)))
        self.ask("statfs: block, longest name", lambda: "{0.f_frsize}, {0.f_namemax}".format(os.statvfs(self.root)))
        self.ask("inode numbers after drop_caches", self.numbers)
        self.ask("a directory's file by its descriptor after drop_caches", self.descriptor)
        self.ask("Landlock: create, write, sync, rename, remove beneath a rule, its directory kept open", lambda: self.landlock(True))
        self.ask("Landlock: the same, its directory closed", lambda: self.landlock(False))

    def numbers(self):
        paths = [self.new(kind) for kind in ("file", "directory", "file")]
        before = [os.stat(path).st_ino for path in paths]
        drop_caches()
        changed = sum(os.stat(path).st_ino != number for path, number in zip(paths, before))
        return "the same" if not changed else f"{changed} of 3 changed"

    def descriptor(self):
        path = self.full()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        drop_caches()
        try:
            os.close(os.open("inside", os.O_RDONLY, dir_fd=descriptor))
            os.rename("inside", "other", src_dir_fd=descriptor, dst_dir_fd=descriptor)
        finally:
            os.close(descriptor)

    def landlock(self, is_kept_open):
        reading, writing = os.pipe()
        path = self.new("directory")
        child = os.fork()
        if child == 0:
            answer = "?"
            try:
                answer = self.restricted(path, is_kept_open)
            except OSError as error:
                answer = named(error.errno)
            finally:
                os.write(writing, answer.encode())
                os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as file:
            return file.read()

    @staticmethod
    def restricted(path, is_kept_open):
        """The answers to a process that may change files in one folder only."""
        write = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
        rules = ctypes.create_string_buffer(struct.pack("<Q", write))
        try:
            ruleset = called(LANDLOCK_CREATE, rules, ctypes.c_size_t(8), 0)
        except OSError as error:
            return f"no Landlock here ({named(error.errno)})"
        parent = os.open(path, os.O_PATH | os.O_DIRECTORY)
        rule = ctypes.create_string_buffer(struct.pack("<Qi", write, parent))
        called(LANDLOCK_ADD, ruleset, 1, rule, 0)
        LIBC.prctl(38, 1, 0, 0, 0)
        called(LANDLOCK_RESTRICT, ruleset, 0)
        if not is_kept_open:
            os.close(parent)
            drop_caches()
        step = "?"
        try:
            step = "mkdir"
            os.mkdir(f"{path}/d")
            step = "create"
            with open(f"{path}/d/f", "wb") as file:
                file.write(b"x")
                os.fsync(file.fileno())
            step = "rename"
            os.rename(f"{path}/d/f", f"{path}/f")
            step = "write after drop_caches"
            drop_caches()
            with open(f"{path}/d/g", "wb") as file:
                file.write(b"x")
            step = "remove"
            os.unlink(f"{path}/f")
        except OSError as error:
            return f"{named(error.errno)} at {step}"
        return "ok"

    def all(self):
        os.mkdir(self.root)
        try:
            for part in self.renames, self.kinds, self.names, self.rights, self.times, self.writing, self.disk:
                part()
        finally:
            shutil.rmtree(os.fsencode(self.root), ignore_errors=True)
            subprocess.run(["rm", "-rf", self.root], check=False, stderr=subprocess.DEVNULL)
        return self.answers


def drop_caches():
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2\n")
    except OSError:
        # Only root may; caches expire by themselves, later.
        pass


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    os.umask(0o022)
    left_out = arguments[arguments.index("--without") + 1] if "--without" in arguments[:-1] else None
    print(json.dumps(Probe(arguments[0], "--large" in arguments, left_out).all(), ensure_ascii=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

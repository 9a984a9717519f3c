"""A file system that makes another inode each time that a name is looked up, as 9p does; its
content is in a folder.

A process that speaks the kernel's protocol of /dev/fuse itself (linux/fuse.h), because no FUSE
library forgets inodes so fast.
"""

import contextlib
import ctypes
import errno
import os
import signal
import struct
import subprocess

from outside import Failure, wait_for

LIBC = ctypes.CDLL(None, use_errno=True)
HEADER, REPLY = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
LARGEST_WRITE = 128 * 1024
"""The most bytes that the kernel passes with one request."""


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class ForgetfulDisk:
    """Mounted at a folder, until it is closed."""

    def __init__(self, behind, folder, server=None):
        self.folder = folder
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        call("mount", b"forgetful", folder.encode(), b"fuse", 0, options.encode())
        self.child = os.fork()
        if self.child == 0:
            try:
                (server or Server)(device, behind).serve()
            finally:
                os._exit(0)
        os.close(device)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=False)
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


class Server:
    """Answers the kernel, one request after the other."""

    def __init__(self, device, behind):
        self.device = device
        self.nodes = {1: behind}
        self.next_node = 2
        self.answers = {
            1: self.lookup, 3: self.attributes, 4: self.change, 5: self.read_link, 6: self.link_symbolically, 9: self.make_directory,
            10: self.unlink, 11: self.remove_directory, 12: self.rename, 13: self.link, 14: self.open, 15: self.read,
            16: self.write, 17: self.space, 18: self.release, 20: self.sync, 25: self.nothing, 26: self.begin, 27: self.open_directory,
            28: self.list, 29: self.nothing, 30: self.sync_directory, 35: self.create, 45: self.rename_with_flags,
        }

    def serve(self):
        while True:
            try:
                request = os.read(self.device, LARGEST_WRITE + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            self.take(request)

    def take(self, request):
        _, operation, unique, node, *_ = HEADER.unpack_from(request)
        # Forgetting, of one or of many, and interrupting have no answers.
        if operation in (2, 36, 42):
            return
        try:
            if operation not in self.answers:
                raise OSError(errno.ENOSYS, "")
            code, answer = 0, self.answers[operation](node, request[HEADER.size:])
        except OSError as error:
            code, answer = error.errno or errno.EIO, b""
        self.reply(unique, code, answer)

    def reply(self, unique, code, answer=b""):
        with contextlib.suppress(OSError):
            os.write(self.device, REPLY.pack(REPLY.size + len(answer), -code, unique) + answer)

    # Nodes and names

    def path(self, node, name=None):
        path = self.nodes[node]
        return path if name is None else f"{path}/{os.fsdecode(name)}"

    def entry(self, path):
        """An answer about a name, which the kernel must not cache."""
        status = os.lstat(path)
        node = self.node(path)
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.packed(status)

    def node(self, path):
        """Always a new node."""
        node, self.next_node = self.next_node, self.next_node + 1
        self.nodes[node] = path
        return node

    @staticmethod
    def packed(status):
        times = [divmod(time, 10**9) for time in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
        return struct.pack(
            "<QQQqqqIIIIIIIIII", status.st_ino, status.st_size, status.st_blocks, *(seconds for seconds, _ in times),
            *(rest for _, rest in times), status.st_mode, status.st_nlink, status.st_uid, status.st_gid, status.st_rdev, 4096, 0)

    def moved(self, path, other):
        for node, old in self.nodes.items():
            if old == path or old.startswith(path + "/"):
                self.nodes[node] = other + old[len(path):]

    @staticmethod
    def names(rest):
        return rest.split(b"\0")[:2]

    # Answers

    def begin(self, _, rest):
        major, minor, ahead = struct.unpack_from("<III", rest)
        return struct.pack("<IIIIHHIIHHI7I", major, min(minor, 31), ahead, 1 << 5, 12, 9, LARGEST_WRITE, 1, 0, 0, 0, *[0] * 7)

    def nothing(self, *_):
        return b""

    def lookup(self, node, rest):
        return self.entry(self.path(node, rest[:-1]))

    def attributes(self, node, _):
        return self.told(os.lstat(self.path(node)))

    def told(self, status):
        return struct.pack("<QII", 0, 0, 0) + self.packed(status)

    def change(self, node, rest):
        valid, _, _, size, _, accessed, modified, _, a_rest, m_rest, _, mode, _, user, group, _ = struct.unpack_from("<IIQQQqqqIIIIIIII", rest)
        path = self.path(node)
        if valid & 1:
            os.chmod(path, mode & 0o7777)
        if valid & 6:
            os.chown(path, user if valid & 2 else -1, group if valid & 4 else -1, follow_symlinks=False)
        if valid & 8:
            os.truncate(path, size)
        if valid & 0x1B0:
            status = os.lstat(path)
            times = [
                accessed * 10**9 + a_rest if valid & 16 else status.st_atime_ns,
                modified * 10**9 + m_rest if valid & 32 else status.st_mtime_ns]
            os.utime(path, ns=tuple(times), follow_symlinks=False)
        return self.told(os.lstat(path))

    def read_link(self, node, _):
        return os.fsencode(os.readlink(self.path(node)))

    def link_symbolically(self, node, rest):
        name, target = self.names(rest)
        os.symlink(os.fsdecode(target), self.path(node, name))
        return self.entry(self.path(node, name))

    def make_directory(self, node, rest):
        path = self.path(node, rest[8:-1])
        os.mkdir(path, struct.unpack_from("<I", rest)[0] & 0o7777)
        return self.entry(path)

    def unlink(self, node, rest):
        os.unlink(self.path(node, rest[:-1]))
        return b""

    def remove_directory(self, node, rest):
        os.rmdir(self.path(node, rest[:-1]))
        return b""

    def rename(self, node, rest):
        return self.move(node, struct.unpack_from("<Q", rest)[0], 0, self.names(rest[8:]))

    def rename_with_flags(self, node, rest):
        other, flags = struct.unpack_from("<QI", rest)
        return self.move(node, other, flags, self.names(rest[16:]))

    def move(self, node, other, flags, names):
        path, target = self.path(node, names[0]), self.path(other, names[1])
        call("renameat2", -100, os.fsencode(path), -100, os.fsencode(target), flags)
        self.moved(path, target)
        return b""

    def link(self, node, rest):
        path = self.path(node, rest[8:-1])
        os.link(self.path(struct.unpack_from("<Q", rest)[0]), path, follow_symlinks=False)
        return self.entry(path)

    def open(self, node, rest):
        handle = os.open(self.path(node), struct.unpack_from("<I", rest)[0] & ~(os.O_CREAT | os.O_EXCL | os.O_NOCTTY))
        return struct.pack("<QII", handle, 0, 0)

    def create(self, node, rest):
        flags, mode = struct.unpack_from("<II", rest)
        path = self.path(node, rest[16:-1])
        handle = os.open(path, flags | os.O_CREAT, mode & 0o7777)
        return self.entry(path) + struct.pack("<QII", handle, 0, 0)

    def read(self, _, rest):
        handle, offset, size = struct.unpack_from("<QQI", rest)
        return os.pread(handle, size, offset)

    def write(self, _, rest):
        handle, offset, size = struct.unpack_from("<QQI", rest)
        return struct.pack("<II", os.pwrite(handle, rest[40:40 + size], offset), 0)

    def release(self, _, rest):
        os.close(struct.unpack_from("<Q", rest)[0])
        return b""

    def sync(self, _, rest):
        os.fsync(struct.unpack_from("<Q", rest)[0])
        return b""

    def sync_directory(self, *_):
        return b""

    def open_directory(self, *_):
        return struct.pack("<QII", 0, 0, 0)

    def list(self, node, rest):
        handle, offset, size = struct.unpack_from("<QQI", rest)
        answer = b""
        for number, name in enumerate(self.names_in(node, handle, offset)):
            if number < offset:
                continue
            encoded = os.fsencode(name)
            entry = struct.pack("<QQII", number + 1, number + 1, len(encoded), 0) + encoded
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    def names_in(self, node, *_):
        return [".", "..", *sorted(os.listdir(self.path(node)))]

    def space(self, *_):
        space = os.statvfs(self.nodes[1])
        return struct.pack(
            "<QQQQQIIII6I", space.f_blocks, space.f_bfree, space.f_bavail, space.f_files, space.f_ffree, space.f_bsize, 255,
            space.f_frsize, 0, *[0] * 6)


class Lying(Server):
    """Says that each file is one hole."""

    def __init__(self, device, behind):
        super().__init__(device, behind)
        self.answers[46] = self.seek

    @staticmethod
    def seek(_, rest):
        _, offset, whence = struct.unpack_from("<QQI", rest)
        if whence == os.SEEK_DATA:
            raise OSError(errno.ENXIO, "")
        return struct.pack("<Q", offset)


def wait_until_there(folder):
    """Waits until the kernel has been answered once."""
    def is_there():
        with contextlib.suppress(OSError):
            return os.listdir(folder) is not None
        return False

    try:
        wait_for("the forgetful disk", 20, is_there)
    except Failure as error:
        raise Failure("the forgetful disk does not answer") from error

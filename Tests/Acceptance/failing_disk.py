"""A file system in front of a folder, which answers everything with EIO while a file exists that
marks the disk as pulled.

Usage: failing_disk.py FOLDER MOUNT SWITCH [SECONDS]
  SECONDS  how far the clock of the file system is ahead
"""

import errno
import os
import sys

try:
    from fuse import FUSE, FuseOSError, Operations
except ImportError:
    from fusepy import FUSE, FuseOSError, Operations


class FailingDisk(Operations):
    use_ns = True

    def __init__(self, folder, switch, ahead=0):
        self.folder, self.switch, self.ahead = folder, switch, ahead * 10**9

    def __call__(self, operation, *arguments):
        if operation not in ("init", "destroy") and os.path.exists(self.switch):
            raise FuseOSError(errno.EIO)
        if not hasattr(self, operation):
            raise FuseOSError(errno.ENOSYS)
        try:
            return getattr(self, operation)(*arguments)
        except OSError as error:
            raise FuseOSError(error.errno) from error

    def at(self, path):
        return self.folder + path

    def getattr(self, path, handle=None):
        status = os.fstat(handle) if handle is not None else os.lstat(self.at(path))
        found = {name: getattr(status, name) for name in ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks")}
        return {**found, **{f"st_{name}": getattr(status, f"st_{name}_ns") + self.ahead for name in ("atime", "mtime", "ctime")}}

    def readdir(self, path, _):
        return [".", "..", *os.listdir(self.at(path))]

    def readlink(self, path):
        return os.readlink(self.at(path))

    def mkdir(self, path, mode):
        os.mkdir(self.at(path), mode)

    def rmdir(self, path):
        os.rmdir(self.at(path))

    def unlink(self, path):
        os.unlink(self.at(path))

    def symlink(self, path, target):
        os.symlink(target, self.at(path))

    def rename(self, old, new):
        os.rename(self.at(old), self.at(new))

    def link(self, new, old):
        os.link(self.at(old), self.at(new))

    def chmod(self, path, mode):
        os.chmod(self.at(path), mode)

    def chown(self, path, user, group):
        os.chown(self.at(path), user, group, follow_symlinks=False)

    def utimens(self, path, times=None):
        os.utime(self.at(path), ns=tuple(time - self.ahead for time in times) if times else None, follow_symlinks=False)

    def truncate(self, path, length, handle=None):
        os.truncate(self.at(path) if handle is None else handle, length)

    def statfs(self, path):
        found = os.statvfs(self.at(path))
        return {name: getattr(found, name) for name in (
            "f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")}

    def create(self, path, mode, _=None):
        return os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.at(path), flags & ~os.O_APPEND)

    def read(self, _, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, _, data, offset, handle):
        return os.pwrite(handle, data, offset)

    def flush(self, *_):
        return 0

    def fsync(self, _, data_only, handle):
        return os.fdatasync(handle) if data_only else os.fsync(handle)

    def release(self, _, handle):
        return os.close(handle)


if __name__ == "__main__":
    FUSE(FailingDisk(sys.argv[1], *sys.argv[3:4], *map(int, sys.argv[4:])), sys.argv[2], foreground=True, nothreads=True, big_writes=True, encoding="utf-8")

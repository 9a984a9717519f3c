"""Items of the protocol (Protocol.md §8), read at the source and made at the destination."""

import contextlib
import functools
import os
import stat
import struct
import time

import wire

ACL_NAMES = {"acl": "system.posix_acl_access", "defaultAcl": "system.posix_acl_default"}
TAGS = {1: 1, 2: 2, 4: 3, 8: 4, 16: 5, 32: 6}
"""The kernel's tags of an access control list, and the protocol's."""


@functools.lru_cache(maxsize=64)
def opened(folder):
    """An open folder, one of those that were used last."""
    return Folder(folder)


class Folder:
    def __init__(self, path):
        self.number = os.open(reach(path), os.O_PATH | os.O_DIRECTORY)

    def __del__(self, close=os.close):
        # The module's names may be gone when the interpreter ends.
        close(self.number)


def reach(place):
    """A path that the system accepts, also for a place with a path that is too long for it."""
    if len(place) < 4000:
        return place
    folder, name = os.path.split(place)
    return b"/proc/self/fd/%d/%s" % (opened(folder).number, name)


class Item:
    """One item at the source: its path in the archive, its place, and its metadata."""

    def __init__(self, path, place, status, target=None):
        self.path, self.whole, self.status = path, place, status
        self.target = target
        """The item with the first name of the file, for a hard link."""
        self.kind = wire.HARDLINK if target else kind_of(status)

    owners = False
    """Whether records name the owner."""

    def left_behind(self):
        """The names of attributes that are never sent."""
        if self.kind not in (wire.DIRECTORY, wire.FILE):
            return []
        return [os.fsencode(name) for name in os.listxattr(self.place) if not name.startswith("user.") and name not in ACL_NAMES.values()]

    @property
    def place(self):
        """Its place, as a path to use at once."""
        return reach(self.whole)

    @property
    def size(self):
        return self.status.st_size if self.kind == wire.FILE else 0

    @property
    def modified(self):
        return divmod(self.status.st_mtime_ns, 10**9)

    def generation(self, key):
        if self.target:
            return wire.generation_of_hard_link(key, self.target.generation(key), self.target.path)
        now = self.status
        return wire.generation(key, now.st_dev, now.st_ino, now.st_size, divmod(now.st_mtime_ns, 10**9), divmod(now.st_ctime_ns, 10**9))

    def record(self, key):
        """The bytes of the item's record."""
        values = {"path": self.path, "kind": self.kind, "generation": self.generation(key)}
        if self.kind == wire.HARDLINK:
            return wire.RECORD.put({**values, "target": self.target.path})
        values["modified"] = self.modified
        if self.owners:
            values["owner"] = self.status.st_uid, self.status.st_gid
        if self.kind == wire.SYMLINK:
            return wire.RECORD.put({**values, "target": os.readlink(self.place)})
        values["mode"] = stat.S_IMODE(self.status.st_mode)
        if self.kind == wire.FILE:
            values["size"] = self.size
        names = os.listxattr(self.place)
        values["attributes"] = sorted((os.fsencode(name), os.getxattr(self.place, name)) for name in names if name.startswith("user.")) or None
        for name, attribute in ACL_NAMES.items():
            if attribute in names:
                values[name] = entries_of(os.getxattr(self.place, attribute))
        return wire.RECORD.put(values)

    def is_unchanged(self):
        """Whether the file has not changed since it was looked at."""
        now, then = os.lstat(self.place), self.status
        return (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) == (then.st_ino, then.st_size, then.st_mtime_ns, then.st_ctime_ns)

    def pieces(self):
        """Yields (offset, length, is data) of the file's data and holes, in their order."""
        at = 0
        with open(self.place, "rb") as file:
            while at < self.size:
                try:
                    data = min(os.lseek(file.fileno(), at, os.SEEK_DATA), self.size)
                except OSError:
                    data = self.size
                if data > at:
                    yield at, data - at, False
                at = min(os.lseek(file.fileno(), data, os.SEEK_HOLE), self.size) if data < self.size else self.size
                if at > data:
                    yield data, at - data, True


def kind_of(status):
    """The kind of an item, None for special files."""
    kinds = {stat.S_IFDIR: wire.DIRECTORY, stat.S_IFREG: wire.FILE, stat.S_IFLNK: wire.SYMLINK}
    return kinds.get(stat.S_IFMT(status.st_mode))


def entries_of(attribute):
    """An access control list of the kernel as the protocol's."""
    return [(TAGS[tag], permissions, number if tag in (2, 8) else 0)
            for tag, permissions, number in struct.iter_unpack("<HHI", attribute[4:])]


def attribute_of(entries):
    kernel = {own: tag for tag, own in TAGS.items()}
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", kernel[tag], permissions, number if tag in (2, 4) else wire.NONE) for tag, permissions, number in entries)


def walk(sources):
    """The items of the sources, places by the names of their roots, and the paths of special files."""
    found, special, files = [], [], {}

    def visit(path, place):
        status = os.lstat(reach(place))
        if kind_of(status) is None:
            special.append(path)
            return
        first = files.get((status.st_dev, status.st_ino)) if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None
        found.append(Item(path, place, status, first))
        if stat.S_ISREG(status.st_mode) and first is None:
            files[status.st_dev, status.st_ino] = found[-1]
        if stat.S_ISDIR(status.st_mode):
            for name in sorted(os.listdir(reach(place))):
                visit(path + b"/" + name, place + b"/" + name)

    for root, place in sources.items():
        visit(root, os.path.abspath(place))
    return found, special


def settle(item):
    """Waits until a new change gets another time stamp than the item's last one."""
    while time.time_ns() < item.status.st_ctime_ns + 20_000_000:
        time.sleep(0.005)


def place_of(folder, path):
    """The place of an item in a folder."""
    return reach(os.path.join(os.fsencode(folder), path))


def make(folder, record, staged):
    """Makes an item at the destination, without metadata. `staged` has a file's content."""
    parents = record["path"].split(b"/")[:-1]
    for count in range(1, len(parents) + 1):
        with contextlib.suppress(FileExistsError):
            os.mkdir(place_of(folder, b"/".join(parents[:count])))
    place = place_of(folder, record["path"])
    if record["kind"] == wire.DIRECTORY:
        with contextlib.suppress(FileExistsError):
            os.mkdir(place)
    elif record["kind"] == wire.SYMLINK:
        os.symlink(record["target"], place)
    elif record["kind"] == wire.HARDLINK:
        os.link(place_of(folder, record["target"]), place)
    elif not os.path.lexists(place):
        os.rename(staged, place)
    else:
        raise FileExistsError(place)


def finish(folder, record):
    """Sets rights, attributes and times. Directories come after their content."""
    place = place_of(folder, record["path"])
    if record["kind"] in (wire.DIRECTORY, wire.FILE):
        for name, value in record.get("attributes", []):
            os.setxattr(place, name, value)
        os.chmod(place, record.get("mode", 0o700) & ~0o6000)
        for name, attribute in ACL_NAMES.items():
            if name in record:
                os.setxattr(place, attribute, attribute_of(record[name]))
    if "modified" in record:
        seconds, nanoseconds = record["modified"]
        os.utime(place, ns=(seconds * 10**9 + nanoseconds,) * 2, follow_symlinks=False)

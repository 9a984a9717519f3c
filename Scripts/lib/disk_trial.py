"""Finds out the properties of a file system by trials in it, without any part of the product.

`Kept` reports how a time, a mode, an attribute or a link is stored. `refused` makes a whole tree
there, entry by entry, and reports the entries that could not be made, and why. It needs only
Python's standard library.
"""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import unicodedata

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
STAGED = len(".peer-/tree") + 32
"""How much longer paths are while they are staged."""
LARGE = 1 << 31


def kind_of(mode):
    if stat.S_ISLNK(mode):
        return "symbolic link"
    return "directory" if stat.S_ISDIR(mode) else "file"


class Kept:
    """The properties that a folder's file system keeps, tried in a folder that is made in it and
    removed again."""

    def __init__(self, parent):
        self.folder = tempfile.mkdtemp(prefix="trial-", dir=parent)
        self.name = os.fsencode(os.path.basename(self.folder))
        self.known = {}
        self.samples = {kind: os.path.join(self.folder, kind) for kind in ("file", "directory", "symbolic link")}
        with open(self.samples["file"], "wb"):
            pass
        os.mkdir(self.samples["directory"])
        with contextlib.suppress(OSError):
            os.symlink("target", self.samples["symbolic link"])

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def once(self, key, action):
        if key not in self.known:
            self.known[key] = action()
        return self.known[key]

    def time(self, kind, moment):
        """The stored form of a modification time; None if it cannot be set."""
        def set_it():
            try:
                os.utime(self.samples[kind], ns=(moment, moment), follow_symlinks=False)
                return os.lstat(self.samples[kind]).st_mtime_ns
            except OSError:
                return None

        return self.once(("time", kind, moment), set_it)

    def mode(self, kind, mode):
        """The stored form of permission bits; None if they cannot be set."""
        def set_it():
            try:
                os.chmod(self.samples[kind], mode)
                found = stat.S_IMODE(os.lstat(self.samples[kind]).st_mode)
                os.chmod(self.samples[kind], 0o700)
                return found
            except OSError:
                return None

        return None if kind == "symbolic link" else self.once(("mode", kind, mode), set_it)

    def attribute(self, kind, name, value):
        """Whether an extended attribute is stored as it was set."""
        def set_it():
            try:
                os.setxattr(self.samples[kind], name, value)
                found = os.getxattr(self.samples[kind], name) == value
                os.removexattr(self.samples[kind], name)
                return found
            except OSError:
                return False

        return self.once(("attribute", kind, name, value), set_it)

    def attributes(self, kind, found):
        """The attributes of a file that are stored."""
        return {name: value for name, value in found.items() if self.attribute(kind, name, value)}

    def hard_links(self):
        """Whether a file may have two names."""
        def make():
            try:
                os.link(self.samples["file"], self.samples["file"] + "-2")
                os.unlink(self.samples["file"] + "-2")
                return True
            except OSError:
                return False

        return self.once("hard links", make)

    def holes(self):
        """Whether ranges that were never written take no space."""
        def make():
            path = os.path.join(self.folder, "hole")
            try:
                with open(path, "wb") as file:
                    file.truncate(4 << 20)
                    file.seek(2 << 20)
                    file.write(b"island")
                    os.fsync(file.fileno())
                    return os.fstat(file.fileno()).st_blocks * 512 < 2 << 20
            except OSError:
                return False
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(path)

        return self.once("holes", make)

    def shows_names(self):
        """Whether a listing shows names as they were given."""
        def make():
            path = os.path.join(self.folder, "GIVEN name")
            with open(path, "xb"):
                pass
            is_shown = "GIVEN name" in os.listdir(self.folder)
            os.unlink(path)
            return is_shown

        return self.once("shows names", make)

    def folds(self, one, other):
        """Whether two names are one there."""
        def make():
            paths = [os.path.join(os.fsencode(self.folder), name) for name in (one, other)]
            with open(paths[0], "xb"):
                pass
            is_there = os.path.lexists(paths[1])
            os.unlink(paths[0])
            return is_there

        return self.once(("folds", one, other), make)


def reason_of(kind, error):
    """The product's reasons that may be reported for an error of the file system."""
    number = error.errno
    if kind == "symbolic link":
        # An error does not tell whether the name or the target is meant.
        words = {errno.ENAMETOOLONG: ("targetTooLong", "nameTooLong"), errno.EILSEQ: ("nameNotAllowed", "kindNotSupported"),
                 errno.EINVAL: ("nameNotAllowed", "kindNotSupported", "targetTooLong")}
        return words.get(number, ("kindNotSupported",))
    words = {errno.ENAMETOOLONG: ("nameTooLong",), errno.EFBIG: ("tooLarge",)}
    return words.get(number, ("nameNotAllowed", "other"))


def refused(source, parent):
    """Makes everything in a folder anew in a file system, and returns the failures: reasons by
    path.

    The trial is as deep as a transfer stages its items. If two names are one there, either may be
    the refused one: `collisions` names each with the other.
    """
    top = tempfile.mkdtemp(prefix="trial-", dir=parent)
    stage = os.path.join(top, "t" * max(1, STAGED - len(os.path.basename(top)) - 1))
    os.mkdir(stage)
    walk = Walk()
    first, second = os.open(source, DIRECTORY), os.open(stage, DIRECTORY)
    try:
        walk.directory(b"", first, second)
    finally:
        os.close(first)
        os.close(second)
        remove_deep(top)
    return walk.refused, walk.collisions


def name_reasons(directory, name):
    """The reasons against a name, for any type of item; for a link either these or those of its
    type may be reported."""
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory))
        os.unlink(name, dir_fd=directory)
    except OSError as error:
        return reason_of("file", error)
    return ()


def remove_deep(path):
    """Removes a tree whose paths may be longer than the kernel accepts."""
    above = os.open(os.path.dirname(path), DIRECTORY)
    try:
        remove_entry(above, os.fsencode(os.path.basename(path)))
    finally:
        os.close(above)


def remove_entry(parent, name):
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
        return
    below = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        for entry in os.listdir(below):
            remove_entry(below, os.fsencode(entry))
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=parent)


def is_there(directory, name):
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        return True
    except OSError:
        return False


def is_listed(directory, name):
    """Whether a listing shows a name. It uses a new descriptor: on CIFS a second listing by the
    same one shows nothing new."""
    listing = os.open(".", DIRECTORY, dir_fd=directory)
    try:
        return name in map(os.fsencode, os.listdir(listing))
    finally:
        os.close(listing)


def folded(name):
    """The common form of all names that any file system takes for one."""
    return unicodedata.normalize("NFC", name.decode(errors="surrogateescape")).casefold()


class Walk:
    """One walk through a source, which makes each entry anew at another place."""

    def __init__(self):
        self.refused, self.collisions = {}, {}

    def directory(self, path, old, new):
        made = {}
        for name in sorted(os.fsencode(entry) for entry in os.listdir(old)):
            below = path + b"/" + name if path else name
            status = os.stat(name, dir_fd=old, follow_symlinks=False)
            kind = kind_of(status.st_mode)
            if is_there(new, name):
                self.collisions[below] = made.get(folded(name))
                self.refuse(below, old, name, kind, ("nameTaken",))
                continue
            try:
                self.make(old, new, name, kind, status)
            except OSError as error:
                reasons = reason_of(kind, error) + (name_reasons(new, name) if kind == "symbolic link" else ())
                self.refuse(below, old, name, kind, reasons)
                continue
            if not is_listed(new, name):
                # It was made under another name.
                remove_entry(new, name)
                self.refuse(below, old, name, kind, ("nameNotAllowed",))
                continue
            made[folded(name)] = below
            if kind == "directory":
                self.enter(below, old, new, name)

    def enter(self, path, old, new, name):
        first = os.open(name, DIRECTORY, dir_fd=old)
        try:
            second = os.open(name, DIRECTORY, dir_fd=new)
            try:
                self.directory(path, first, second)
            finally:
                os.close(second)
        finally:
            os.close(first)

    def make(self, old, new, name, kind, status):
        if kind == "symbolic link":
            os.symlink(os.readlink(name, dir_fd=old), name, dir_fd=new)
        elif kind == "directory":
            os.mkdir(name, 0o700, dir_fd=new)
        else:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=new)
            try:
                if status.st_size >= LARGE:
                    os.pwrite(descriptor, b"x", status.st_size - 1)
            finally:
                os.close(descriptor)

    def refuse(self, path, old, name, kind, reasons):
        self.refused[path] = reasons
        if kind == "directory":
            below = os.open(name, DIRECTORY, dir_fd=old)
            try:
                for entry in os.listdir(below):
                    entry = os.fsencode(entry)
                    status = os.stat(entry, dir_fd=below, follow_symlinks=False)
                    self.refuse(path + b"/" + entry, below, entry, kind_of(status.st_mode), ("directoryNotStored",))
            finally:
                os.close(below)

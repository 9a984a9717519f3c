"""Installs a tree of files below a prefix, as `install -D` does, and removes the installed files.

Usage: installation.py check PREFIX            whether this user may install there
       installation.py install PREFIX STAGE    installs all files of STAGE
       installation.py uninstall PREFIX

PREFIX/share/peer/manifest lists the files, one a line, and with a slash at the end the folders that
were made. Each folder is opened in the one above it, and through no link below the prefix; for root
through no link at all, and only if no other user and no group with other members can change it. Exit
codes: 0 done; 1 failed, with a sentence.
"""

import contextlib
import errno
import grp
import os
import pwd
import re
import shlex
import stat
import sys

MANIFEST = "share/peer/manifest"
OPENING = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Failure(Exception):
    """The reason why an action is impossible, and the remedy."""


def opened(top, path, made=None, shown=""):
    """A folder below an opened one, and below no link. With a list, missing folders are made and
    added to it."""
    folder, place = os.dup(top), ""
    for name in path.split("/") if path else ():
        place = f"{place}/{name}".removeprefix("/")
        try:
            inside = enter(folder, name, place, made, f"{shown}/{place}")
        finally:
            os.close(folder)
        folder = inside
    return folder


def enter(folder, name, place, made, shown):
    if made is not None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700 if shown == private_folder() else 0o755, dir_fd=folder)
            made.append(f"{place}/")
    try:
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | OPENING, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise Failure(f"{shown} is not a directory, and a link is not followed",
                      "Name another place, without links: Scripts/install --prefix DIR") from None
    if os.geteuid() == 0 and may_be_changed(inside):
        is_own = os.fstat(inside).st_uid == 0
        os.close(inside)
        raise Failure(f"other users may change {shown}, so root neither installs nor removes anything there",
                      f"Take that right away, or name another folder: chmod go-w {shlex.quote(shown)}" if is_own else
                      "Run this as the owner of that folder, or name another one: Scripts/install --prefix DIR")
    return inside


def may_be_changed(folder):
    """Whether others than root can change an opened folder: the rule of Trust.swift."""
    status = os.fstat(folder)
    if status.st_uid != 0 or status.st_mode & stat.S_ISVTX:
        return status.st_uid != 0
    by_group = status.st_mode & stat.S_IWGRP and (has_access_list(folder) or not is_of_root(status.st_gid))
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def has_access_list(folder):
    try:
        return "system.posix_acl_access" in os.listxattr(folder)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return False


def is_of_root(group):
    """Whether root is the only member of a group; a list of users on a server need not show them all."""
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(group).gr_mem}
    except KeyError:
        return False
    return members | {user.pw_uid for user in pwd.getpwall() if user.pw_gid == group} == {0}


def private_folder():
    """The folder in which this user's peer keeps keys and names of files (Home.swift)."""
    home = os.environ.get("XDG_DATA_HOME", "")
    return os.path.realpath(home if home.startswith("/") else os.path.expanduser("~/.local/share")) + "/peer"


class Prefix:
    """An opened prefix."""

    def __init__(self, path, makes=False):
        self.path = os.path.normpath(path) if os.geteuid() == 0 else os.path.realpath(path)
        self.top = opened(os.open("/", os.O_RDONLY | os.O_CLOEXEC), self.path.strip("/"), [] if makes else None)

    def opened(self, path, made=None):
        return opened(self.top, path, made, self.path)

    def listed(self):
        """The paths in the manifest; None if there is none."""
        try:
            place = self.opened(os.path.dirname(MANIFEST))
            file = os.open(os.path.basename(MANIFEST), os.O_RDONLY | OPENING, dir_fd=place)
        except FileNotFoundError:
            return None
        with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as text:
            lines = [line for line in text.read().split("\n") if line and not line.startswith("#")]
        # Version 0.2.0 and earlier wrote the digest of each file, and `directory` before a folder.
        lines = [re.sub(r"^file [0-9a-f]{64} ", "", re.sub(r"^directory (.*)$", r"\1/", line)) for line in lines]
        lines = [line for line in lines if not line.startswith(("../", "./"))]
        if any(part in ("", ".", "..") for line in lines for part in line.removesuffix("/").split("/")):
            raise Failure(f"{self.path}/{MANIFEST} is no list of what was installed", "Remove the files by hand.")
        return set(lines)

    def write_list(self, paths):
        text = "# Installed by Scripts/install of peer, which removes it by this list.\n" + "".join(f"{path}\n" for path in sorted(paths))
        self.put(MANIFEST, text.encode(errors="surrogateescape"), 0o644)

    def put(self, path, content, mode):
        """Writes a file beside its place, and moves it there."""
        folder, name = os.path.split(path)
        place = self.opened(folder)
        part = part_of(name)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=place)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPENING, 0o600, dir_fd=place), "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.rename(part, name, src_dir_fd=place, dst_dir_fd=place)
        finally:
            os.close(place)

    def remove(self, paths):
        """Removes files, then folders that are empty; returns the folders that stay."""
        # Nothing is removed if one of them is behind a link.
        for folder in sorted({os.path.dirname(path.removesuffix("/")) for path in paths}):
            with contextlib.suppress(FileNotFoundError):
                os.close(self.opened(folder))
        for path in sorted(paths, key=lambda path: (not path.endswith("/"), path), reverse=True):
            folder, name = os.path.split(path.removesuffix("/"))
            with contextlib.suppress(FileNotFoundError):
                place = self.opened(folder)
                try:
                    if path.endswith("/"):
                        remove_folder(place, name)
                    else:
                        remove_file(place, name)
                finally:
                    os.close(place)
        return {path for path in paths if path.endswith("/") and os.path.isdir(f"{self.path}/{path}")}


def part_of(name):
    """The name of a file until it is complete."""
    return f".{name}.peer-new"


def remove_file(place, name):
    for one in name, part_of(name):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(one, dir_fd=place)


def remove_folder(place, name):
    try:
        os.rmdir(name, dir_fd=place)
    except OSError as error:
        # It holds what others put there, or something else has its name now.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ENOENT):
            raise


def staged(stage):
    return {os.path.relpath(os.path.join(folder, name), stage) for folder, _, names in os.walk(stage) for name in names}


def install(path, stage):
    files, made = staged(stage), []
    prefix = Prefix(path, makes=True)
    old = prefix.listed() or set()
    for folder in sorted({os.path.dirname(file) for file in [MANIFEST, *files]}):
        os.close(prefix.opened(folder, made))
    # An installation that is cut off can be repeated or removed.
    prefix.write_list(old | files | set(made))
    for file in sorted(files):
        with open(os.path.join(stage, file), "rb") as content:
            prefix.put(file, content.read(), stat.S_IMODE(os.fstat(content.fileno()).st_mode))
    stay = prefix.remove({path for path in old | set(made) if path not in files})
    prefix.write_list(files | stay)


def uninstall(path):
    try:
        prefix = Prefix(path)
        listed = prefix.listed()
    except FileNotFoundError:
        listed = None
    if listed is None:
        raise Failure(f"nothing was installed in {path}: {path}/{MANIFEST} is missing",
                      "Name the folder that it was installed in: Scripts/install --uninstall --prefix DIR")
    folders = {path for path in listed if path.endswith("/")}
    prefix.remove(listed - folders)
    prefix.remove({MANIFEST} | folders)


def check(path):
    with contextlib.suppress(FileNotFoundError):
        Prefix(path)


def main(arguments):
    os.umask(0o022)
    try:
        {"check": check, "install": install, "uninstall": uninstall}[arguments[0]](*arguments[1:])
        return 0
    except Failure as failure:
        sentence, hint = failure.args
    except OSError as error:
        sentence = f"{arguments[1]}: {error.filename or 'a file'}: {error.strerror}"
        hint = "Fix the cause, then run this again: it continues from here."
    except KeyboardInterrupt:
        return 130
    print(f"error: {sentence}\nhint: {hint}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The directories that an installation needs: whether this user may write to them, making them, and
one installation at a time."""

import contextlib
import fcntl
import os
import pwd
import shlex
import sys

from manifest import Failure

ANOTHER = "Name another place: Scripts/install --prefix DIR"
ALONE = "For you alone: Scripts/install --prefix ~/.local"
PRIVATE = "share/peer"
"""The folders in which peer itself keeps keys and paths, if the prefix is ~/.local."""


class NeedsRoot(Failure):
    """An action that root may do, and this user may not."""


def folders(path):
    """The directories above a relative path, the outermost first, which is the prefix."""
    parts = path.split("/")[:-1]
    return [".", *("/".join(parts[: count + 1]) for count in range(len(parts)))]


def joined(prefix, folder):
    return os.path.normpath(os.path.join(prefix, folder))


def depth(folder):
    """The depth of a relative directory: that above the prefix is less than the prefix, and the
    prefix is less than those below."""
    parts = [part for part in folder.split("/") if part != "."]
    return -len(parts) if ".." in parts else len(parts)


def home():
    return os.path.realpath(os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir)


def check(prefix, wanted):
    """Fails unless this user could make files in the listed directories, whether they exist or
    not."""
    place = prefix
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    there = [place] + [joined(prefix, folder) for folder in wanted if os.path.lexists(joined(prefix, folder))]
    for place in there:
        if not os.path.isdir(place):
            raise Failure(f"{place} is not a directory", ANOTHER)
    refusals = [failure for failure in map(refusal, there) if failure]
    # First the failures that root cannot fix.
    for failure in sorted(refusals, key=lambda failure: isinstance(failure, NeedsRoot)):
        raise failure


def refusal(place):
    """The reason why this user cannot write to a directory; None if the user can."""
    if os.access(place, os.W_OK | os.X_OK):
        return None
    sentence = f"{place} cannot be written by this user"
    if os.geteuid() == 0 or os.stat(place).st_uid != 0:
        return Failure(sentence, ANOTHER)
    if (os.path.realpath(place) + "/").startswith(home() + "/"):
        return Failure(f"{sentence}, since it is root's, though it is in your home",
                       f"Make it yours: sudo chown {os.geteuid()} {shlex.quote(place)}")
    return NeedsRoot(sentence, ALONE)


def is_private(prefix, folder):
    """Whether this user's peer keeps keys and paths in a directory below a prefix (see
    Home.swift)."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not data.startswith("/"):
        data = f"{home()}/.local/share"
    return folder == PRIVATE and os.path.realpath(joined(prefix, folder)) == os.path.realpath(f"{data}/peer")


def make(prefix, wanted):
    """Makes the missing directories of a list, and those above them; returns the set of those that
    it made."""
    made = set()
    try:
        for folder in sorted(wanted, key=depth):
            make_one(prefix, folder, made)
    except BaseException:
        remove(prefix, made)
        raise
    return made


def make_one(prefix, folder, made):
    path = joined(prefix, folder)
    if os.path.isdir(path):
        return
    if depth(folder) <= 0:
        make_one(prefix, "/".join([".."] * (1 - depth(folder))), made)
    try:
        os.mkdir(path)
    except FileExistsError:
        if os.path.isdir(path):  # Another installation made it.
            return
        raise
    made.add(folder)
    os.chmod(path, 0o700 if is_private(prefix, folder) else 0o755)


def remove(prefix, folders_made):
    """Removes directories that are empty, the deepest first."""
    for folder in sorted(folders_made, key=depth, reverse=True):
        try:
            os.rmdir(joined(prefix, folder))
        except OSError:
            continue  # It holds what others put there, or is gone.


@contextlib.contextmanager
def alone(prefix, makes):
    """Does something while no other installation changes files below a prefix; waits for that.

    Makes the prefix if asked to; yields the directories that it made. The caller removes them if it
    fails.
    """
    made = set()
    while True:
        if makes:
            made |= make(prefix, ["."])
        place = os.open(prefix, os.O_RDONLY | os.O_DIRECTORY)
        try:
            lock(place, prefix)
            if is_still(place, prefix):
                yield made
                return
        finally:
            os.close(place)


def is_still(place, prefix):
    """Whether the opened directory still exists: another process may have removed it meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(place), os.stat(prefix))
    return False


def lock(place, prefix):
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Another installation in {prefix} goes on; waiting for its end ...", file=sys.stderr, flush=True)
        fcntl.flock(place, fcntl.LOCK_EX)
    except OSError:
        pass  # This file system has no such locks.

"""Puts a tree of files below a prefix, and takes away what was put there.

Usage: installation.py install PREFIX STAGE   installs all files of STAGE
       installation.py uninstall PREFIX
       installation.py check PREFIX           whether anything could be installed
       installation.py may-write PREFIX       the same, as an exit code alone

PREFIX/share/peer/manifest lists the files with their digests, and the directories that were made. A file is taken for
installed where both path and digest are listed: one that has since been replaced or changed is never touched.

The manifest is written before the first file, with all that is there and all that will be, and again after the last.
So an installation that was cut off can be repeated, and taken away. Exit codes: 0 done, 1 not, with a sentence.
"""

import hashlib
import os
import stat
import sys

sys.dont_write_bytecode = True

from manifest import MANIFEST, Failure, Manifest, part_of, remove_file, replace  # noqa: E402

PRIVATE = "share/peer"
"""Where the prefix is ~/.local, peer itself keeps keys and paths here: a user who is not root makes it private."""


def folders(path):
    """The directories above a relative path, the outermost first, which is the prefix."""
    parts = path.split("/")[:-1]
    return [".", *("/".join(parts[: count + 1]) for count in range(len(parts)))]


def check(prefix):
    """Fails unless files can be made below a prefix."""
    place = prefix
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise Failure(f"{place} is not a directory", "Name another place: Scripts/install --prefix DIR")
    places = [place] + [f"{prefix}/{name}" for name in ("bin", "share", "share/peer") if os.path.lexists(f"{prefix}/{name}")]
    for place in places:
        if not os.access(place, os.W_OK | os.X_OK):
            raise Failure(f"{place} cannot be written by this user", "For you alone: Scripts/install --prefix ~/.local")


def staged(stage):
    """The files of a tree: their paths, contents and modes."""
    found = {}
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, stage)] = (file.read(), stat.S_IMODE(os.lstat(path).st_mode))
    return found


def install(prefix, stage):
    check(prefix)
    files = staged(stage)
    new = Manifest({path: {hashlib.sha256(content).hexdigest()} for path, (content, _) in files.items()})
    old = Manifest.read(prefix)
    both = old | new
    for path in sorted(files):
        place = os.path.join(prefix, path)
        if os.path.lexists(place) and not both.has(prefix, path):
            raise Failure(
                f"{place} is there already, and Scripts/install did not put it there like this",
                "Remove it, or install elsewhere: Scripts/install --prefix DIR")
    wanted = sorted({folder for path in [MANIFEST, *files] for folder in folders(path)})
    made = {folder for folder in wanted if not os.path.lexists(os.path.join(prefix, folder))}
    both.directories |= made
    make(prefix, folders(MANIFEST), made)
    both.write(prefix)
    make(prefix, wanted, made)
    for path in sorted(files):
        replace(os.path.join(prefix, path), *files[path])
    kept = take_away(prefix, Manifest({path: both.digests[path] for path in old.digests.keys() - new.digests.keys()}))
    new.directories = both.directories
    remove_directories(prefix, new, wanted)
    new.write(prefix)
    return kept


def make(prefix, wanted, made):
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    for folder in wanted:
        path = os.path.normpath(os.path.join(prefix, folder))
        if folder in made and not os.path.isdir(path):
            os.mkdir(path)
            os.chmod(path, 0o700 if folder == PRIVATE and os.geteuid() != 0 else 0o755)


def take_away(prefix, manifest):
    """Removes the files of a list; names those that are no longer what was installed, which stay."""
    kept = []
    for path in sorted(manifest.digests):
        place = os.path.join(prefix, path)
        if manifest.has(prefix, path):
            os.unlink(place)
        elif os.path.lexists(place):
            kept.append(place)
        remove_file(part_of(place))
    return kept


def remove_directories(prefix, manifest, wanted=()):
    """Removes directories that were made and are empty, unless they are wanted; the list forgets them."""
    for folder in sorted(manifest.directories - set(wanted), reverse=True):
        try:
            os.rmdir(os.path.normpath(os.path.join(prefix, folder)))
        except OSError:
            continue  # It holds what others put there, or is gone.
    manifest.directories &= set(wanted)


def uninstall(prefix):
    if not os.path.isfile(os.path.join(prefix, MANIFEST)):
        raise Failure(
            f"nothing was installed in {prefix}: {prefix}/{MANIFEST} is missing",
            "Name the folder that it was installed in: Scripts/install --uninstall --prefix DIR")
    manifest = Manifest.read(prefix)
    check(prefix)
    kept = take_away(prefix, manifest)
    remove_file(part_of(os.path.join(prefix, MANIFEST)))
    os.unlink(os.path.join(prefix, MANIFEST))
    remove_directories(prefix, manifest)
    return kept


def main(arguments):
    action, prefix, rest = arguments[0], arguments[1], arguments[2:]
    actions = {"install": install, "uninstall": uninstall, "check": check, "may-write": check}
    try:
        for place in actions[action](prefix, *rest) or ():
            print(f"Left as it is, since it was changed after it was installed: {place}", file=sys.stderr)
    except Failure as failure:
        sentence, hint = str(failure), failure.hint
    except OSError as error:
        sentence, hint = f"{error.filename or prefix}: {error.strerror}", "When that is mended, run this again: it goes on from here."
    else:
        return 0
    if action != "may-write":
        print(f"error: {sentence}\nhint: {hint}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

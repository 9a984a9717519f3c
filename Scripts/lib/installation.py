"""Installs a tree of files below a prefix, and removes the installed files.

Usage: installation.py install PREFIX STAGE           installs all files of STAGE
       installation.py uninstall PREFIX
       installation.py check install PREFIX [STAGE]   whether this user could do that
       installation.py check uninstall PREFIX

PREFIX/share/peer/manifest lists the files with their digests, and the directories that were made. A
file counts as installed if both path and digest are listed: a file that has since been replaced or
changed is never removed. A document that was changed gets another name when a later version brings
a new one; any other file in the way ends the installation before it begins.

The manifest is written before the first file, with all present and future files, and again after
the last. This way, an installation that was cut off can be repeated and removed. Exit codes: 0
done; 1 failed, with a sentence; 3 failed, but root could do it; 130 and 143 interrupted.
"""

import hashlib
import os
import signal
import stat
import sys

sys.dont_write_bytecode = True

import places  # noqa: E402
from manifest import MANIFEST, Failure, Manifest, part_of, remove_file, replace  # noqa: E402
from places import NeedsRoot, alone, folders, make  # noqa: E402

DOCUMENTS = "share/doc/peer/"
"""Files into which users may have written."""

NEEDS_ROOT = 3


class Interrupted(BaseException):
    """A signal that asks for the end."""

    def __init__(self, number):
        super().__init__()
        self.code = 128 + number


def staged(stage):
    """The files of a tree: their paths, contents and modes."""
    found = {}
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, stage)] = (file.read(), stat.S_IMODE(os.lstat(path).st_mode))
    return found


def folders_of(files):
    return sorted({folder for path in [MANIFEST, *files] for folder in folders(path)})


class Plan:
    """The steps of an installation; making the plan changes nothing, and fails if they are not
    possible."""

    def __init__(self, prefix, files):
        self.wanted, self.changed = folders_of(files), []
        check(prefix, self.wanted)
        self.new = Manifest({path: {hashlib.sha256(content).hexdigest()} for path, (content, _) in files.items()})
        self.old = Manifest.read(prefix)
        self.both = self.old | self.new
        self.both.directories |= {folder for folder in self.wanted if not os.path.lexists(os.path.join(prefix, folder))}
        self.both.text()
        for path in sorted(files):
            place = os.path.join(prefix, path)
            if not os.path.lexists(place) or self.both.has(prefix, path):
                continue
            if not path.startswith(DOCUMENTS) or path not in self.old.digests or not stat.S_ISREG(os.lstat(place).st_mode):
                raise Failure(
                    f"{place} is there already, and Scripts/install did not put it there like this",
                    "Remove it, or install elsewhere: Scripts/install --prefix DIR")
            self.changed.append(path)


def check(prefix, wanted):
    """Fails unless files can be made in the listed directories, and those installed before be
    removed."""
    places.check(prefix, wanted)
    installed = {os.path.dirname(path) for path in Manifest.read(prefix).digests}
    places.check(prefix, [folder for folder in installed if os.path.isdir(os.path.join(prefix, folder))])


def check_action(action, prefix, stage=None):
    if action == "uninstall":
        require_installed(prefix)
        check(prefix, [])
    elif stage is None:
        check(prefix, folders_of(["bin/peer"]))
    else:
        Plan(prefix, staged(stage))


def install(prefix, stage):
    files = staged(stage)
    Plan(prefix, files)
    with alone(prefix, makes=True) as made:
        try:
            # Again, because another installation may have ended meanwhile.
            plan = Plan(prefix, files)
            plan.both.directories |= made
            made |= make(prefix, folders(MANIFEST))
            plan.both.write(prefix)
        except BaseException:
            places.remove(prefix, made)
            raise
        return carry_out(plan, prefix, files)


def carry_out(plan, prefix, files):
    make(prefix, plan.wanted)
    said = []
    for path in sorted(files):
        place = os.path.join(prefix, path)
        if path in plan.changed:
            kept = free_name(place)
            os.rename(place, kept)
            said.append(f"Kept as {kept}, since it was changed after it was installed: {place}")
        replace(place, *files[path])
    gone = plan.old.digests.keys() - plan.new.digests.keys()
    said += take_away(prefix, Manifest({path: plan.both.digests[path] for path in gone}))
    above = {folder for folder in plan.both.directories if places.depth(folder) < 0}
    places.remove(prefix, plan.both.directories - above - set(plan.wanted))
    plan.new.directories = plan.both.directories & (above | set(plan.wanted))
    plan.new.write(prefix)
    return said


def free_name(place):
    """An unused name for a file that a user changed."""
    name, count = f"{place}.old", 1
    while os.path.lexists(name):
        count += 1
        name = f"{place}.old{count}"
    return name


def take_away(prefix, manifest):
    """Removes the listed files; names those that have changed since the installation, which
    stay."""
    said = []
    for path in sorted(manifest.digests):
        place = os.path.join(prefix, path)
        if manifest.has(prefix, path):
            os.unlink(place)
        elif os.path.lexists(place):
            said.append(f"Left as it is, since it was changed after it was installed: {place}")
        remove_file(part_of(place))
    return said


def require_installed(prefix):
    if not os.path.isfile(os.path.join(prefix, MANIFEST)):
        raise Failure(
            f"nothing was installed in {prefix}: {prefix}/{MANIFEST} is missing",
            "Name the folder that it was installed in: Scripts/install --uninstall --prefix DIR")


def uninstall(prefix):
    require_installed(prefix)
    with alone(prefix, makes=False):
        require_installed(prefix)
        check(prefix, [])
        manifest = Manifest.read(prefix)
        said = take_away(prefix, manifest)
        remove_file(part_of(os.path.join(prefix, MANIFEST)))
        os.unlink(os.path.join(prefix, MANIFEST))
        places.remove(prefix, manifest.directories)
        return said


def interrupt(number, _):
    raise Interrupted(number)


def main(arguments):
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, interrupt)
    action, rest = arguments[0], arguments[1:]
    try:
        for sentence in {"install": install, "uninstall": uninstall, "check": check_action}[action](*rest) or ():
            print(sentence, file=sys.stderr)
        return 0
    except Failure as failure:
        code, sentence, hint = NEEDS_ROOT if isinstance(failure, NeedsRoot) else 1, str(failure), failure.hint
    except OSError as error:
        code, hint = 1, "Fix the cause, then run this again: it continues from here."
        sentence = f"{error.filename or 'a file'}: {error.strerror}"
    except Interrupted as interrupted:
        code, sentence, hint = interrupted.code, "interrupted before the end", "Run this again: it continues from here."
    print(f"error: {sentence}\nhint: {hint}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

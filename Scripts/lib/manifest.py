"""The list of the files installed below a prefix, and the replacement of a file."""

import hashlib
import os
import stat

MANIFEST = "share/peer/manifest"
HEAD = "# Installed by Scripts/install of peer, which takes it away again by this list.\n"


class Failure(Exception):
    """The reason why an action is impossible, and the remedy."""

    def __init__(self, sentence, hint):
        super().__init__(sentence)
        self.hint = hint


class Manifest:
    """The installed files: each path with the digests it may have, and the directories that were
    made.

    All are relative to the prefix, which is "."; "..", "../.." and so on are the directories above
    it.
    """

    def __init__(self, digests=None, directories=()):
        self.digests, self.directories = digests or {}, set(directories)

    @staticmethod
    def read(prefix):
        """The present manifest; an empty one if there is none."""
        manifest = Manifest()
        path = os.path.join(prefix, MANIFEST)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                for line in file:
                    if not line.startswith("#"):
                        manifest.take(line.removesuffix("\n"))
        except FileNotFoundError:
            pass
        except ValueError:
            raise Failure(f"{path} is no list of what was installed", "Restore it from a backup, or remove the files by hand.") from None
        return manifest

    def take(self, line):
        kind, _, path = line.partition(" ")
        digest = None
        if kind == "file":
            digest, _, path = path.partition(" ")
        parts = path.split("/")
        # Only a directory may be above the prefix.
        is_above = kind == "directory" and set(parts) == {".."}
        if kind not in ("file", "directory") or not path or path.startswith("/") or (".." in parts and not is_above):
            raise ValueError
        if kind == "file":
            self.digests.setdefault(path, set()).add(digest)
        else:
            self.directories.add(path)

    def __or__(self, other):
        paths = self.digests.keys() | other.digests.keys()
        return Manifest(
            {path: self.digests.get(path, set()) | other.digests.get(path, set()) for path in paths},
            self.directories | other.directories)

    def text(self):
        """One line for each. A path may have blanks in it, but no line break."""
        for path in self.digests.keys() | self.directories:
            if "\n" in path:
                raise Failure(f"{path!r} has a line break in its name", "Rename it, then run this again.")
        lines = [f"directory {path}\n" for path in sorted(self.directories)]
        lines += [f"file {digest} {path}\n" for path in sorted(self.digests) for digest in sorted(self.digests[path])]
        return HEAD + "".join(lines)

    def write(self, prefix):
        replace(os.path.join(prefix, MANIFEST), self.text().encode(errors="surrogateescape"), 0o644)

    def has(self, prefix, path):
        """Whether the file at a path is still the installed one."""
        return digest_of(os.path.join(prefix, path)) in self.digests.get(path, ())


def digest_of(path):
    """The digest of a regular file; None for anything else."""
    if not os.path.lexists(path) or not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def part_of(path):
    """The name of a file until it is complete."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.peer-new")


def replace(path, content, mode):
    """Puts a file in its place in one step."""
    part = part_of(path)
    try:
        with open(part, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)
    except OSError:
        remove_file(part)
        raise


def remove_file(path):
    """Removes a file, if it and the directories above it exist."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        pass

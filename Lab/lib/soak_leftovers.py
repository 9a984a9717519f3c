"""Counts the things that a run leaves behind: files, processes, zombies and mounts."""

import contextlib
import os
import re

from chaos_runs import remembered

TEMPORARY = ["/tmp", "/dev/shm", "/run"]
"""Folders for temporary files of the whole system; a run has its own, where it may."""

DOCUMENTED = {
    "the folder of the transfers": r"transfers",
    "the locks of receivers on their destinations": r"destinations(/\d+-\d+)?",
    "the apps and their data": r"(apps|containers|groups)(/.*)?",
    "the lock of an app, and the result of its last import": r"(locks|statuses)(/[^/]*)?",
    "an app's credentials": r"credentials(/[^/]*(/[^/]*)?)?",
    "empty folders for the work of a migration": r"(imports|replaced|scratch|trash|staging)",
    "an app's staging folder, empty": r"staging/[^/]*",
}
"""The paths that may stay in a PEER_HOME (docs/Resuming.md, docs/Apps.md, docs/Credentials.md), as
patterns."""


def size_of(folder):
    """How many files and folders a folder has, and their bytes on the disk."""
    count = size = 0
    for path, folders, names in os.walk(folder):
        for name in [*names, *folders]:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
                count += 1
    return count, size


def undocumented(home):
    """The paths in a PEER_HOME that may not be there after all transfers. The record of a finished
    transfer may: its sender knows the result, but the connection broke before it could say so."""
    records = "|".join(name for name, is_done in remembered(home).items() if is_done)
    documented = [*DOCUMENTED.values(), rf"transfers/({records})(/state)?"] if records else [*DOCUMENTED.values()]
    found = []
    for path, folders, names in os.walk(home):
        for name in sorted([*names, *folders]):
            where = os.path.relpath(os.path.join(path, name), home)
            if not any(re.fullmatch(pattern, where) for pattern in documented):
                found.append(where)
    return found


def processes():
    """The number, parent, state and command of each process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
            command, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 1:].split()
            found[int(name)] = int(rest[1]), rest[0], command
    return found


def mounts(process="self"):
    """How many mounts a process sees."""
    try:
        with open(f"/proc/{process}/mountinfo", "rb") as file:
            return len(file.readlines())
    except OSError:
        return 0


class Leftovers:
    """The things outside of the standing processes that must not become more."""

    def __init__(self, place, is_alone, folders, homes):
        self.place, self.is_alone = place, is_alone
        self.folders = folders
        """The system's temporary folders that are this run's alone."""
        self.homes = homes
        """Each PEER_HOME by the name of its device."""
        self.zombies, self.seen = set(), set()
        """The zombies that were there twice, and those of the last look: every process is one for a
        moment."""
        self.before = set()
        self.before = set(self.temporary())

    def temporary(self):
        """The paths that have appeared in the temporary folders of this run alone."""
        own = os.environ["TMPDIR"]
        found = []
        for folder in [own, *self.folders]:
            for path, folders, names in os.walk(folder):
                folders[:] = [name for name in folders if os.path.join(path, name) != self.place]
                found += [os.path.join(path, name) for name in sorted([*names, *folders])]
        return [path for path in found if path not in self.before]

    def look_for_zombies(self):
        found = {
            (number, command) for number, (parent, state, command) in processes().items() if state == "Z" and parent != os.getpid()}
        self.zombies |= found & self.seen
        self.seen = found

    def others(self):
        """The commands of the processes besides this script's own."""
        own = {1, os.getpid()}
        return sorted(command for number, (_, _, command) in processes().items() if number not in own)

    def look(self):
        """A line of the table over time: numbers by name; a dash is for numbers that it cannot tell
        from those of other programs."""
        found = {"temporary files": len(self.temporary())}
        for name, home in self.homes.items():
            found[f"{name}: files"], size = size_of(home)
            found["KiB"] = found.get("KiB", 0) + (size >> 10)
        if self.is_alone:
            self.look_for_zombies()
        found.update({
            "zombies": len(self.zombies) if self.is_alone else "-", "processes": len(self.others()) if self.is_alone else "-",
            "mounts": mounts()})
        return found

    def checks(self):
        """The leftovers when everything has ended: names, whether each is good, or None if nothing
        looked at it, and figures."""
        found = {"temporary folders": self.temporary()}
        if self.is_alone:
            found.update({"processes": self.others(), "zombies": sorted(self.zombies)})
        found.update({f"{name}: PEER_HOME": undocumented(home) for name, home in self.homes.items()})
        skipped = [folder for folder in TEMPORARY if folder not in self.folders] + ([] if self.is_alone else ["processes", "zombies"])
        return [
            *((f"left over, {name}", not there, f"{len(there)}: {', '.join(map(str, there))[:300]}" if there else "nothing")
              for name, there in found.items()),
            *((f"left over, {name}", None, "other programs have some too") for name in skipped)]

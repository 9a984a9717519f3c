"""A receiver's store (Protocol.md §6.4, §9.4–§9.7): complete items and parts of files.

Content is in a staging folder, in files that are opened for each piece. The rest is in memory and
ends with the process.
"""

import os

import tree
import wire
from forms import require


class Held:
    """The data of one path in one generation."""

    def __init__(self, path, generation, staged):
        self.path, self.generation, self.staged = path, generation, staged
        self.record = self.raw = None
        self.ranges = []
        self.session = None
        """The session in which it became complete."""
        self.refused = None
        """The reason for which it is not kept."""

    def is_complete(self):
        if self.record is None or self.refused:
            return self.record is not None
        size = self.record.get("size", 0)
        return not size or self.ranges == [(0, size)]

    def size(self):
        return self.record.get("size", 0) if self.record else 0

    def bytes(self):
        return sum(end - start for start, end in self.ranges)

    def add(self, start, end):
        ranges = sorted([*self.ranges, (start, end)])
        self.ranges = ranges[:1]
        for one in ranges[1:]:
            if one[0] == self.ranges[-1][1]:
                self.ranges[-1] = self.ranges[-1][0], one[1]
            else:
                self.ranges.append(one)


class Archive:
    """All data, by path."""

    def __init__(self, staging):
        self.staging, self.held, self.count = staging, {}, 0
        os.makedirs(staging, mode=0o700, exist_ok=True)

    def drop(self, path):
        held = self.held.pop(path, None)
        if held and os.path.exists(held.staged):
            os.unlink(held.staged)

    def at(self, path, generation, session):
        """The data of a path in a generation. Another one gives way (§9.1)."""
        held = self.held.get(path)
        if held is None or held.generation != generation:
            require(held is None or not held.is_complete() or held.session != session, f"another generation of {path!r}")
            self.drop(path)
            self.count += 1
            held = self.held[path] = Held(path, generation, f"{self.staging}/{self.count}")
        return held

    def make_room(self, path, kind, session):
        """Removes items that contradict a new one (§9.1)."""
        parts = path.split(b"/")
        against = [b"/".join(parts[:count]) for count in range(1, len(parts))]
        against = [one for one in against if one in self.held and self.kind(self.held[one]) != wire.DIRECTORY]
        if kind != wire.DIRECTORY:
            against += [one for one in self.held if one.startswith(path + b"/")]
        for one in against:
            require(self.held[one].session != session, f"{path!r} and {one!r} cannot both be")
            self.drop(one)

    @staticmethod
    def kind(held):
        return held.record["kind"] if held.record else wire.FILE

    def take(self, entry, session):
        """Stores an entry."""
        if entry.kind == wire.ITEM:
            record = wire.record(entry.data)
            self.make_room(entry.path, record["kind"], session)
            held = self.at(entry.path, entry.generation, session)
            require(held.raw in (None, entry.data), f"two records of {entry.path!r} in one generation")
            require(not held.ranges or record["kind"] == wire.FILE and held.ranges[-1][1] <= record["size"], f"data of {entry.path!r} beyond its size")
            held.record, held.raw = record, entry.data
            if record["kind"] == wire.FILE and not held.refused and not os.path.exists(held.staged):
                open(held.staged, "wb").close()
        else:
            self.make_room(entry.path, wire.FILE, session)
            held, end = self.at(entry.path, entry.generation, session), entry.offset + entry.length
            require(held.record is None or held.record["kind"] == wire.FILE and end <= held.record["size"], f"data of {entry.path!r} beyond its size")
            if not held.refused and not any(start <= entry.offset and end <= stop for start, stop in held.ranges):
                partly = [(start, stop) for start, stop in held.ranges if start < end and entry.offset < stop]
                require(not partly or entry.kind == wire.CONTENT, f"{entry.offset} to {end} of {entry.path!r} is held in part: {partly}")
                held.ranges = [one for one in held.ranges if one not in partly]
                self.write(held.staged, entry, end)
                held.add(entry.offset, end)
        if held.is_complete():
            held.session = session

    def refuse(self, path, reason):
        """Marks an item as refused and removes its data."""
        held = self.held[path]
        held.refused, held.ranges = reason, []
        if os.path.exists(held.staged):
            os.unlink(held.staged)

    def refused(self):
        return [held for held in self.held.values() if held.refused and held.record]

    @staticmethod
    def write(place, entry, end):
        with open(place, "r+b" if os.path.exists(place) else "w+b") as file:
            if entry.data:
                file.seek(entry.offset)
                file.write(entry.data)
            elif os.fstat(file.fileno()).st_size < end:
                file.truncate(end)

    def complete(self):
        return [held for held in self.held.values() if held.is_complete()]

    def marks(self, key):
        return sorted(wire.mark(key, held.generation, held.path) for held in self.complete())

    def partial(self):
        return [held for held in self.held.values() if held.ranges and not held.is_complete()]

    def put_in_place(self, folder):
        """Makes every item at the destination, and sets rights and times from the leaves up."""
        whole = [held.record for held in self.held.values() if not held.refused]
        files = {record["path"] for record in whole if record["kind"] == wire.FILE}
        for record in whole:
            require(record["kind"] != wire.HARDLINK or record["target"] in files, f"{record['path']!r} is a link to what is no file")
        records = sorted(whole, key=lambda record: (record["kind"] == wire.HARDLINK, record["path"]))
        staged = {held.path: held.staged for held in self.held.values()}
        for record in records:
            if record["kind"] == wire.FILE and os.path.getsize(staged[record["path"]]) < record["size"]:
                os.truncate(staged[record["path"]], record["size"])
            tree.make(folder, record, staged[record["path"]])
        for record in sorted(records, key=lambda record: record["path"], reverse=True):
            tree.finish(folder, record)

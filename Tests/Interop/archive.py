"""A receiver's store (Protocol.md §6.4, §9.4–§9.7): the parts of a plan, their complete items and
incomplete files.

Content is in a staging folder, in files that are opened for each piece. The rest is in memory and
ends with the process.
"""

import os
import shutil
import tempfile

import plan
import tree
import wire
from forms import require


class Part:
    """One part at the receiver. The staging folder is there from its first OFFER to its end."""

    def __init__(self, number, told, into, random):
        self.number, self.told, self.into, self.random = number, told, into, random
        self.judged = self.code = self.archive = self.key = self.offer = self.finished = None
        """Its verdict, its result, its data and hashKey, its newest OFFER, and the FINISH of its data."""
        self.is_ended = self.has_crossed = False
        """Whether it has a result in this session, and whether FAILED has come behind its DONE."""
        self.unsent, self.not_stored, self.dropped = [], [], 0

    def begin(self, offer):
        if self.archive is None:
            self.archive, self.key = Archive(tempfile.mkdtemp(prefix=".staging-", dir=self.into)), self.random(16)
        self.offer, self.unsent = offer, []

    def roots(self):
        """The roots whose items may come; None if the part has none."""
        without = {root for root, _ in self.judged.get("without", [])}
        return {name for number, (_, name) in enumerate(self.told["roots"]) if number not in without} if "roots" in self.told else None

    def check_root(self, path):
        require(self.roots() is None or path.split(b"/")[0] in self.roots(), f"{path!r} is not below a root of the part", 14)

    def take(self, entry, session):
        """Stores an entry."""
        self.check_root(entry.path)
        record = wire.record(entry.data) if entry.kind == wire.ITEM else {}
        if record.get("kind") == wire.HARDLINK:
            self.check_root(record["target"])
        self.archive.take(entry, session)

    def place(self):
        """Where it arrives: keys are in a folder of the part's own."""
        return f"{self.into}/{self.number}" if "identifier" in self.told and self.told["kind"] != wire.APP else self.into

    def is_here(self):
        """Whether anything of it has arrived."""
        return self.code == 0 or self.archive is not None and bool(self.archive.held)

    def end(self, code):
        """It is finished, or has failed; without a later session its data goes."""
        self.code, self.is_ended = plan.recorded(code) if code else 0, True
        if code not in plan.RESUMABLE:
            self.remove()
            self.archive = self.archive if code == 0 else None

    def remove(self):
        if self.archive:
            shutil.rmtree(self.archive.staging, ignore_errors=True)

    def lost(self):
        """How many items are not stored."""
        return len(self.archive.refused())

    def result(self):
        return self.code, self.code == 0 and plan.is_whole([said.reason for said in self.unsent], self.lost(), self.judged)


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

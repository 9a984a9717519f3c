"""How a sender sends the items of a part (Protocol.md §6.8, §8.3, §9.1)."""

import collections
import os

import left_out
import tree
import wire


class Export:
    """The part of a sender that sends items."""

    def send(self):
        """Sends all items that are not held, and waits until they are written."""
        items, left = left_out.leave_out(self.items, self.held, self.accepted)
        self.counts = collections.Counter(reason for _, reason in left)
        self.unsent += [one for one in left if one[1] > 0]
        now = {wire.mark(self.key, item.generation(self.key), item.path) for item in items}
        dropped = sorted(self.held[1] - now)
        for at in range(0, len(dropped), 65_536):
            self.control.say("DROP", marks=dropped[at:at + 65_536])
        self.left_behind = collections.Counter(name for item in items for name in item.left_behind())
        for item in items:
            item.owners = self.options.owners
            try:
                self.send_item(item)
            except OSError as error:
                self.unsent.append((item.path, 1 if isinstance(error, FileNotFoundError) else 2))
        self.drain()
        for path, reason in self.unsent[:10_000]:
            self.control.say("NOT_STORED", path=path, reason=reason)

    def send_item(self, item):
        if item.kind == wire.FILE:
            tree.settle(item)
        mark = wire.mark(self.key, item.generation(self.key), item.path)
        if mark not in self.held[1]:
            for _ in range(8):
                is_sent = self.send_file(item) if item.kind == wire.FILE and item.size else self.put(wire.item(item.record(self.key)))
                if is_sent:
                    break
                # The chunks of another state wait until all of this one are written.
                self.drain()
                item.status = os.lstat(item.place)
                tree.settle(item)
            else:
                self.unsent.append((item.path, 3))
                return
            mark = wire.mark(self.key, item.generation(self.key), item.path)
        self.marks.append(mark)
        self.bytes += item.size

    def send_file(self, item):
        """Sends a file; False if it changed meanwhile."""
        generation, held = item.generation(self.key), []
        if item.path in self.partial and self.partial[item.path].generation == generation:
            held = self.partial[item.path].ranges
        with open(item.place, "rb") as file:
            pieces = list(item.pieces())
            if not held and item.size <= self.options.frame and pieces == [(0, item.size, True)]:
                data, record = file.read(item.size), wire.item(item.record(self.key))
                if not item.is_unchanged() or len(data) != item.size:
                    return False
                return self.put(record + self.piece(wire.CONTENT, item, generation, 0, item.size, data))
            for offset, length, is_data in (part for piece in pieces for part in outside(piece, held)):
                if not is_data:
                    self.put(self.piece(wire.HOLE, item, generation, offset, length))
                    continue
                for at in range(offset, offset + length, self.options.frame):
                    file.seek(at)
                    data = file.read(min(self.options.frame, offset + length - at))
                    if not data:
                        return False
                    self.put(self.piece(wire.CHUNK, item, generation, at, len(data), data))
        return item.is_unchanged() and self.put(wire.item(item.record(self.key)))

    @property
    def joined(self):
        """How many streams have joined in this session."""
        return self.streams.joined

    def piece(self, kind, item, generation, offset, length, data=b""):
        self.sent_bytes += len(data)
        return wire.piece(kind, self.key, item.path, generation, offset, length, data)

    def put(self, entry):
        """Adds an entry to the next frame."""
        if self.plain and len(self.plain) + len(entry) > self.options.frame:
            self.flush()
        self.plain += entry
        return True

    def flush(self):
        if self.plain:
            plain, self.plain = bytes(self.plain), bytearray()
            self.streams.put(plain)
            self.go_on()

    def drain(self):
        """Waits until everything is written."""
        self.flush()
        self.streams.drain()
        self.go_on()


def outside(piece, held):
    """The parts of a piece outside the held ranges."""
    offset, length, is_data = piece
    end = offset + length
    for start, stop in held:
        if offset < min(start, end):
            yield offset, min(start, end) - offset, is_data
        offset = max(offset, stop)
    if offset < end:
        yield offset, end - offset, is_data

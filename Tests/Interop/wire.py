"""Frames, records, entries, marks and tags (Protocol.md §5, §6, §8, §9): pure functions of bytes.

`frame("PING", token=1)` makes the bytes of a message, `message(type, body)` reads one.
"""

import collections
import re

from forms import Chosen, Each, Fields, Fixed, Number, Raw, Reader, Row, Sized, String, Text, require, whole

MAX_BODY = 1_310_720
MAX_PLAIN = 1_310_000
MAX_DATA = 1_048_576
MAX_ENTRIES_OF_ACL = 1024
MAX_RECORD = 262_144
LARGEST = 2**63 - 1
NONE = 0xFFFFFFFF
"""The `replaces` of a JOIN without a broken stream."""

ZSTD = 0x1
ADDRESSES = 2
BASES = 4
"""Features (§6.1)."""
ESTIMATE = 0x1
"""The flag of an OFFER (§6.3)."""
KEEP_PAIRING = 0x1
"""The flag of PLAN and VERDICT (§6.2)."""
SENDER, RECEIVER = 1, 2
FOLDERS, APP, APP_OF_FILES = 1, 2, 3
TAKEN, FINISHED = 0, 0xFFFF
"""Codes of VERDICT that are in no other message (§6.2)."""
DIRECTORY, FILE, SYMLINK, HARDLINK, METADATA = 1, 2, 3, 4, 5
ITEM, CHUNK, HOLE, CONTENT, BASE = 1, 2, 3, 4, 5
SENDERS, DESTINATIONS, USERS = range(1, 16), range(16, 32), range(32, 48)
"""Reasons of NOT_STORED, by whose decision it is (§6.5)."""
HELD_ITEMS, THERE_EQUAL, THERE, REMOVED, ARRIVED = 1, 2, 3, 4, 5
"""Kinds of HELD (§6.4)."""

SPOKEN = 3
"""The one version of the protocol that this implementation speaks."""


def is_path(path):
    """Whether bytes are a path (§8.1)."""
    parts = path.split(b"/")
    return (1 <= len(path) <= 65_535 and len(parts) <= 2048 and b"\0" not in path
            and all(1 <= len(part) <= 255 and part not in (b".", b"..") for part in parts))


def is_text(data):
    """Whether bytes are UTF-8."""
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False


U8, U16, U32, U64, ID = Number(1), Number(2), Number(4), Number(8), Raw(16)
COUNT, ERROR = Number(8, low=1), Number(2, low=1)
PATH, NAME = Raw(fits=is_path), Text(low=1, high=255)
OPTION = Sized(Raw(low=1, high=255, fits=is_text))
"""The name of an app's option."""
MARKS = Each(ID, high=65_536, key=bytes)
TIME = Row(Number(8, signed=True), Number(4, high=999_999_999))
TOTAL = Number(8, high=LARGEST)

# Before READY (§4.2)

EARLY = {
    0x01: ("HELLO_C", Fixed(magic=Raw(4), lowest=U8, highest=U8, mode=Number(1, 1, 3), flags=Number(4, high=0)), 11),
    0x02: ("HELLO_S", Fixed(magic=Raw(4), version=U8, mode=Number(1, 1, 3), flags=Number(4, high=0)), 10),
    0x03: ("PAIR_A", Fixed(point=Raw(65)), 65),
    0x04: ("PAIR_B", Fixed(point=Raw(65)), 65),
    0x05: ("CONF_A", Fixed(mac=Raw(32)), 32),
    0x06: ("CONF_B", Fixed(mac=Raw(32)), 32),
    0x07: ("READY", Fixed(), 0),
    0x0F: ("ABORT", Chosen(Number(1, 1, 7), {4: {"wait": U8, "place": U16}, 5: {"lowest": U8, "highest": U8}}), None),
}
PAIR, RESUME, JOIN = 1, 2, 3
MISMATCH, NOT_PAIRING, USED, BUSY, VERSION, MALFORMED, UNKNOWN = 1, 2, 3, 4, 5, 6, 7
"""Reasons of ABORT."""

# After READY (§6)

OPTIONS = Each(Row(OPTION, String(high=1_048_576)), key=lambda option: option[0])
REQUEST = Fields(identifier=(1, Text(high=1024)), platform=(2, Text(high=1024)), options=(3, OPTIONS, False))
NAMES = Each(OPTION, 64, key=bytes, low=0)
"""The options that an exporter knows, if any."""
KEY = re.compile(rb"[a-z][a-z0-9-]{0,63}").fullmatch
HOME_PATHS = Each(Row(Sized(Raw(fits=KEY)), Sized(Raw(high=1024, fits=re.compile(rb"/[^\0]*", re.DOTALL).fullmatch))), 16,
                  key=lambda path: path[0])
PACKAGES = Each(Sized(Raw(fits=re.compile(rb"[a-z0-9][a-z0-9+.-]{1,63}").fullmatch)), 1024, key=bytes)
ROOTS = Each(Row(Number(1, 1, 4), String(1, 255)), key=lambda root: root[1])
PART = Fields(kind=(1, U8), identifier=(2, NAME, False), name=(3, NAME), roots=(4, ROOTS, False),
              app=(5, Fields(store=(1, Text(high=1024)), platform=(2, Text(high=1024)), version=(3, Text(high=1024)),
                             options=(4, NAMES, False)), False),
              bytes=(6, TOTAL, False), items=(7, TOTAL, False), sources=(8, Each(Raw(8), high=65_536), False),
              allocated=(9, TOTAL, False), homePaths=(10, HOME_PATHS, False), packages=(11, PACKAGES, False),
              changed=(12, TIME, False))
DETAILS = {"message": (2, Text(low=1, high=1024), False), "cause": (3, ERROR, False), "name": (4, Raw(high=65_535), False),
           "needed": (5, U64, False), "available": (6, U64, False), "neededItems": (7, U64, False),
           "availableItems": (8, U64, False), "error": (10, ERROR, False)}
FAILURE = {"code": (1, U16), **DETAILS}
"""The fields of CLOSE and FAILED."""
JUDGED = Fields(code=(1, U16), **DETAILS, without=(9, Each(Row(U32, U16), key=lambda root: root[0]), False))
"""The verdict on a part."""
TRAITS = Fields(largestFile=(1, U64, False), granularity=(5, Number(4, low=2), False),
                earliest=(6, Number(8, signed=True), False), latest=(7, Number(8, signed=True), False))


class Address:
    """An address of 4 or 16 bytes behind its family, and a port."""

    def put(self, value):
        return bytes([6 if len(value[0]) == 16 else 4]) + value[0] + value[1].to_bytes(2, "big")

    def take(self, reader):
        size = {4: 4, 6: 16}.get(reader.number(1))
        require(size, "an address of another family")
        return reader.take(size), reader.number(2)


MESSAGES = {
    0x10: ("GREETING", Fields(role=(1, Number(1, 1, 2)), label=(2, Text(high=255)), software=(3, Text(high=64)),
                              features=(4, U64), request=(5, REQUEST, False))),
    0x11: ("OFFER", Fields(part=(1, U16), items=(2, TOTAL), bytes=(3, TOTAL), allocated=(4, TOTAL), flags=(5, U32))),
    0x12: ("ACCEPT", Fields(hashKey=(1, ID), traits=(2, TRAITS, False), flags=(3, Number(4, low=1), False))),
    0x13: ("HELD", Fixed(kind=Number(1, 1, 8), marks=MARKS)),
    0x14: ("PARTIAL", Fields(path=(1, PATH), generation=(2, ID), ranges=(3, Each(Row(U64, TOTAL), 65_536)))),
    0x15: ("HELD_END", Fields(items=(1, U64), bytes=(2, U64))),
    0x16: ("DROP", Fixed(marks=MARKS)),
    0x17: ("NOT_STORED", Fields(path=(1, Raw(low=1, high=65_535)), reason=(2, Number(1, low=1)), generation=(3, ID, False),
                                error=(4, ERROR, False))),
    0x18: ("FINISH", Fields(items=(1, U64), bytes=(2, U64), unsent=(3, U64), digest=(4, ID),
                            present=(5, COUNT, False), differing=(6, COUNT, False),
                            lostAttributes=(8, Each(Row(String(1, 255), U64), 64, lambda left: left[0]), False),
                            removed=(9, COUNT, False))),
    0x19: ("PROGRESS", Fixed(phase=U8, done=U64, total=U64)),
    0x1A: ("DONE", Fields(items=(1, U64), bytes=(2, U64), losses=(3, Each(Row(U8, U64), key=lambda loss: loss[0]), False),
                          notStored=(4, COUNT, False), renamed=(5, COUNT, False),
                          names=(6, Each(Row(Sized(PATH), Sized(PATH)), 1024, lambda item: item[0]), False),
                          removed=(7, COUNT, False), unsettled=(8, COUNT, False))),
    0x1B: ("RECEIPT", Fixed()),
    0x1E: ("PING", Fixed(token=U64)),
    0x1F: ("PONG", Fixed(token=U64)),
    0x20: ("CLOSE", Fields(**FAILURE)),
    0x22: ("PLAN", Fields(plan=(1, ID, False), parts=(2, Each(Sized(PART), 4096)), flags=(3, U32))),
    0x23: ("VERDICT", Fields(plan=(1, ID), session=(2, ID), window=(3, Number(8, low=2_621_440)), streams=(4, Number(2, 1, 64)),
                             parts=(5, Each(Sized(JUDGED), 4096)), flags=(6, U32))),
    0x25: ("FAILED", Fields(**FAILURE, part=(9, U16))),
    0x30: ("JOIN", Fixed(session=ID, stream=Number(4, high=NONE - 1), replaces=U32)),
    0x31: ("DATA", Fixed(sequence=U64, encoding=Number(1, 0, 1), plainLength=Number(4, 1, MAX_PLAIN), payload=Raw())),
    0x32: ("ACK", Fixed(written=U64, durable=U64)),
    0x33: ("END", Fixed()),
    0x80: ("ADDRESSES", Fields(listening=(1, Each(Address(), 16), False), dialling=(2, Each(Address(), 16), False))),
}
TYPES = {name: kind for table in (EARLY, MESSAGES) for kind, (name, *_) in table.items()}
FORMS = {name: form for table in (EARLY, MESSAGES) for name, form, *_ in table.values()}


class Message:
    """A decoded frame: its name, and its values as attributes; None for a missing field."""

    def __init__(self, name, values):
        self.name, self.values = name, dict(values)

    def __getattr__(self, name):
        if name not in self.values and name not in FORMS[self.name].names():
            raise AttributeError(f"{self.name} has no field '{name}'")
        return self.values.get(name)

    def __repr__(self):
        return f"{self.name} {self.values}"

    def keys(self):
        return self.values.keys()

    def __getitem__(self, name):
        return self.values[name]


def frame_of(kind, body):
    """The bytes of a frame after READY, with any type and body."""
    return bytes([kind]) + len(body).to_bytes(4, "big") + body


def frame(name, /, **values):
    return frame_of(TYPES[name], MESSAGES[TYPES[name]][1].put(values))


def message(kind, body):
    """The message in a frame after READY; None for an unknown type that is skipped."""
    if kind not in MESSAGES:
        require(kind >= 0x80, f"a frame of the unknown type {kind:02x}")
        return None
    name, form = MESSAGES[kind]
    found = Message(name, whole(form, body))
    RULES.get(name, lambda _: None)(found)
    return found


def check_greeting(greeting):
    require(greeting.role == RECEIVER or greeting.request is None, "a sender that asks for an app")


def check_ranges(partial):
    """Half-open, not empty, ascending, not touching."""
    require(all(start < end for start, end in partial.ranges), "an empty range")
    pairs = zip(partial.ranges, partial.ranges[1:])
    require(all(one[1] < other[0] for one, other in pairs), "ranges that touch or do not ascend")


def check_not_stored(item):
    if item.generation is not None:
        require(item.reason not in SENDERS, "a state of an item that the sender has not sent")
        require(is_path(item.path), f"the path {item.path!r}")


def check_progress(progress):
    require(progress.done <= progress.total, "progress beyond its end")


def check_done(done):
    names = done.names or []
    require(len(names) <= (done.renamed or 0), "more items are named than have other names")
    require(sum(map(len, sum(names, ()))) <= 65_536, "the names of DONE are too long")
    require((done.unsettled or 0) <= (done.removed or 0), "more removed items are unsettled than there are")


def check_join(join):
    require(join.stream != join.replaces, "a stream that replaces itself")


def check_data(data):
    require(data.encoding or len(data.payload) == data.plainLength, "a payload that is not as long as it says")


def check_ack(ack):
    require(ack.durable <= ack.written, "more is durable than written")


def check_addresses(addresses):
    require(len(addresses.listening or []) + len(addresses.dialling or []) <= 16, "more than 16 addresses")


def size_of(unknown):
    """The bytes of unknown fields, with tags and lengths."""
    return len(Fields().put({"unknown": unknown or {}}))


def check_plan(plan):
    """What the forms do not say of the parts of a PLAN (§6.2, §11)."""
    for number, part in enumerate(plan.parts):
        kind, roots = part["kind"], [name for _, name in part.get("roots", [])]
        if kind in (FOLDERS, APP, APP_OF_FILES):
            require(bool(roots) == (kind != APP), f"the roots of part {number}, of kind {kind}")
            require(len(part.get("sources", [])) == (len(roots) or 1), f"the sources of part {number}")
            require(("app" in part) == (kind == APP), f"the app of part {number}, of kind {kind}")
            require(kind == FOLDERS or "identifier" in part, f"no identifier of part {number}")
            require(kind != APP or "homePaths" not in part, f"homePaths of part {number}, of kind {kind}")
            require(kind == APP_OF_FILES or "changed" not in part, f"a time of change of part {number}, of kind {kind}")
            are_keys = kind == APP_OF_FILES or "identifier" in part
            for name in roots:
                is_root = KEY(name) if are_keys else is_path(name) and b"/" not in name
                require(is_root, f"the root {name!r} of part {number}")
    require(sum(len(part.get("roots", [])) for part in plan.parts) <= 65_536, "too many roots")
    unknown = [plan.unknown, *(one.get("unknown") for part in plan.parts for one in (part, part.get("app", {})))]
    require(sum(map(size_of, unknown)) <= 32_768, "too many unknown fields")


def check_parts(verdict):
    """Verdicts without their parts: details belong to a refusal, and `without` to a part that is taken."""
    for number, judged in enumerate(verdict.parts):
        details = DETAILS.keys() & judged.keys()
        require(not details or judged["code"] not in (TAKEN, FINISHED),
                f"part {number} is not refused, and has '{'|'.join(sorted(details))}'")
        require("without" not in judged or judged["code"] == TAKEN, f"part {number} is not taken, and roots are left out")


RULES = {"GREETING": check_greeting, "PARTIAL": check_ranges, "NOT_STORED": check_not_stored, "PROGRESS": check_progress,
         "DONE": check_done, "PLAN": check_plan, "VERDICT": check_parts, "JOIN": check_join, "DATA": check_data,
         "ACK": check_ack, "ADDRESSES": check_addresses}
"""What the forms do not say of a message, by its name."""


def check_verdict(plan, verdict):
    """Whether a VERDICT answers a PLAN (§6.2)."""
    require(plan.plan in (None, verdict.plan), "another plan")
    require(verdict.flags & ~plan.flags & KEEP_PAIRING == 0, "a pairing is kept that the sender does not keep")
    require(len(plan.parts) == len(verdict.parts), f"{len(verdict.parts)} verdicts for {len(plan.parts)} parts")
    for number, (part, judged) in enumerate(zip(plan.parts, verdict.parts)):
        roots, without = part.get("roots", []), [root for root, _ in judged.get("without", [])]
        require(not without or without[-1] < len(roots), f"part {number} has no root {without[-1:]}")
        require(not without or len(without) < len(roots), f"no root of part {number} remains")
        require(plan.plan or judged["code"] != FINISHED, f"part {number} of a new plan is finished")


def early_frame(name, /, **values):
    """A frame before READY."""
    body = EARLY[TYPES[name]][1].put({"magic": b"PEER", "flags": 0, **values})
    return bytes([TYPES[name]]) + len(body).to_bytes(2, "big") + body


def early_message(kind, body):
    require(kind in EARLY and EARLY[kind][2] in (None, len(body)), f"a frame of type {kind:02x} with {len(body)} bytes before READY")
    found = Message(EARLY[kind][0], whole(EARLY[kind][1], body))
    require(found.values.get("magic", b"PEER") == b"PEER", "no peer")
    require(found.name != "HELLO_C" or found.lowest <= found.highest, "the lowest version is above the highest")
    return found


# Records (§8.2)

ATTRIBUTE = Sized(Raw(high=255, fits=re.compile(rb"user\.[^\0]+", re.DOTALL).fullmatch))
ACL = Each(Row(Number(1, 1, 6), Number(1, high=7), U32), MAX_ENTRIES_OF_ACL)
OWNERS = Each(Row(Number(1, 1, 2), U32, Sized(Raw(low=1, high=255, fits=lambda name: b"\0" not in name))),
              key=lambda name: name[:2], size=20_000)
RECORD = Fields(
    path=(1, PATH), kind=(2, Number(1, 1, 5)), generation=(3, ID), size=(4, TOTAL, False), mode=(5, Number(2, high=0o7777), False),
    modified=(6, TIME, False), target=(7, Raw(), False), owner=(8, Row(U32, U32), False),
    attributes=(9, Each(Row(ATTRIBUTE, String()), key=lambda attribute: attribute[0], size=131_072), False),
    acl=(10, ACL, False), defaultAcl=(11, ACL, False), names=(12, OWNERS, False), changed=(13, TIME, False))
ALLOWED = {"size": {FILE, METADATA}, "mode": {DIRECTORY, FILE, METADATA}, "modified": {DIRECTORY, FILE, SYMLINK, METADATA},
           "target": {SYMLINK, HARDLINK}, "owner": {DIRECTORY, FILE, SYMLINK, METADATA}, "attributes": {DIRECTORY, FILE, METADATA},
           "acl": {DIRECTORY, FILE, METADATA}, "defaultAcl": {DIRECTORY}, "names": {DIRECTORY, FILE, SYMLINK, METADATA},
           "changed": {DIRECTORY, FILE, METADATA}}


def record(data):
    """Decodes and checks a record."""
    require(len(data) <= MAX_RECORD, "a record that is too long")
    found = whole(RECORD, data)
    kind, target = found["kind"], found.get("target", b"")
    wrong = [name for name, kinds in ALLOWED.items() if name in found and kind not in kinds]
    require(not wrong, f"the field '{'|'.join(wrong)}' in a record of kind {kind}")
    missing = [name for name in ("size", "target") if name not in found and kind in ALLOWED[name]]
    require(not missing, f"no field '{'|'.join(missing)}' in a record of kind {kind}")
    require(kind != HARDLINK or is_path(target), "the target of a hard link")
    require(kind != SYMLINK or 1 <= len(target) <= 4095 and b"\0" not in target, "the target of a symbolic link")
    lists = found.get("acl", []) + found.get("defaultAcl", [])
    require(all(number == 0 for tag, _, number in lists if tag not in (2, 4)), "the id of an entry that has none")
    require(size_of(found.get("unknown")) <= 32_768, "too many unknown fields")
    return found


# Entries (§6.8) and their checks (§9.3)

Entry = collections.namedtuple("Entry", "kind path generation offset length check data lanes", defaults=[None] * 6)
"""A decoded entry. For an ITEM `data` is the record, and only path and generation are set. Only a BASE has `lanes`."""


PLACE, DATA = {"generation": ID, "offset": U64}, Sized(Raw(low=1, high=MAX_DATA))
ENTRIES = {
    ITEM: Fixed(record=String()),
    CHUNK: Fixed(**PLACE, check=Raw(8), path=Sized(PATH), data=DATA),
    HOLE: Fixed(**PLACE, length=COUNT, check=Raw(8), path=Sized(PATH)),
    CONTENT: Fixed(check=Raw(8), data=DATA),
    BASE: Fixed(**PLACE, length=Number(8, 1, MAX_DATA), check=Raw(8), lanes=Raw(12), path=Sized(PATH)),
}
"""The layouts behind the kind."""


def entry(kind, **values):
    return bytes([kind]) + ENTRIES[kind].put(values)


def item(data):
    """The entry of a record's bytes."""
    return entry(ITEM, record=data)


def crc_table():
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


CRC = crc_table()


def crc_without_inversions(data, crc=0):
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def crc32c(data):
    """The CRC-32C of RFC 3720."""
    return crc_without_inversions(data, 2**32 - 1) ^ 2**32 - 1


def laid_out(data):
    """The bytes of each of the three lanes: every third word of 8 bytes."""
    words = [data[at:at + 8] for at in range(0, len(data), 8)]
    return [b"".join(words[lane::3]) for lane in range(3)]


def lanes(data):
    """The CRC-32C of each lane."""
    return b"".join(U32.put(crc32c(lane)) for lane in laid_out(data))


def sum_of(content):
    """The sum of a file's content (§9.2)."""
    return b"".join(U32.put(divided(crc_without_inversions(lane), 8 * len(lane))) for lane in laid_out(content))


def divided(crc, count):
    """A polynomial in CRC-32C's order of bits, times x to the power of -`count`."""
    for _ in range(count):
        crc = (crc ^ 0x82F63B78) << 1 | 1 if crc >> 31 else crc << 1
    return crc


def check(key, kind, path, generation, offset, length, own):
    """The check of a piece whose bytes have the lanes `own`."""
    place = bytes([HOLE if kind == HOLE else CHUNK]) + U64.put(offset) + U64.put(length) + generation + path
    return siphash(key, b"\x07" + place + own)[:8]


def piece(kind, key, path, generation, offset, length, data=b"", own=None):
    """The entry of a CHUNK, a HOLE, a CONTENT or a BASE, with its check; `own` are the lanes of the data."""
    own = own or lanes(data)
    made = check(key, kind, path, generation, offset, length, own)
    return entry(kind, generation=generation, offset=offset, length=length, check=made, lanes=own, path=path, data=data)


def entries(plain, key):
    """Yields the entries of a DATA frame; compares the form and each check."""
    reader, file = Reader(plain), None
    while not reader.is_over():
        kind = reader.number(1)
        require(kind in ENTRIES, f"an entry of the kind {kind}")
        values = ENTRIES[kind].take(reader)
        if kind == ITEM:
            file = record(values["record"])
            yield Entry(ITEM, file["path"], file["generation"], data=values["record"])
            continue
        if kind == CONTENT:
            require(file is not None and file["kind"] == FILE, "a CONTENT that is not behind a file's ITEM")
            require(len(values["data"]) == file["size"], "a CONTENT that is not all of its file")
            values.update(path=file["path"], generation=file["generation"], offset=0)
        file = None
        data = values.setdefault("data", b"")
        length = values.setdefault("length", len(data))
        require(values["offset"] + length <= LARGEST, f"a piece of {length} bytes")
        found = Entry(kind, **values)
        made = check(key, *found[:5], found.lanes or lanes(data))
        require(found.check == made,
                f"the check of {found.path!r} at {found.offset}: {found.check.hex()} came, and {made.hex()} fits")
        yield found


# SipHash, generations and marks (§9.1, §9.2)


def siphash(key, data):
    """SipHash-2-4 with 128 bits of output."""
    mask = 2**64 - 1
    keys = [int.from_bytes(key[at:at + 8], "little") for at in (0, 8)]
    v = [keys[0] ^ 0x736F6D6570736575, keys[1] ^ 0x646F72616E646F6D ^ 0xEE, keys[0] ^ 0x6C7967656E657261, keys[1] ^ 0x7465646279746573]

    def turn(value, count):
        return (value << count | value >> (64 - count)) & mask

    def rounds(count):
        for _ in range(count):
            v[0], v[2] = (v[0] + v[1]) & mask, (v[2] + v[3]) & mask
            v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2], v[0] = (v[2] + v[1]) & mask, (v[0] + v[3]) & mask
            v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at:at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    halves = []
    for change in (0, 0xDD):
        v[1] ^= change
        rounds(4)
        halves.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return b"".join(half.to_bytes(8, "little") for half in halves)


def mark(key, generation, path):
    """The mark of kind 1, of an item in one generation."""
    return siphash(key, b"\x01" + generation + path)


def mark_of_file(key, size, modified, path):
    """The mark of kind 2, of a file at the destination."""
    return siphash(key, b"\x02" + U64.put(size) + TIME.put(modified) + path)


def mark_of_symlink(key, target, path):
    return siphash(key, b"\x05" + U64.put(len(target)) + target + path)


def mark_of_directory(key, modified, path):
    """The mark of kind 2, of a directory that belongs together with its contents."""
    return siphash(key, b"\x08" + TIME.put(modified) + path)


def mark_of_directory_as_it_came(key, modified, changed, path):
    return siphash(key, b"\x0c" + TIME.put(modified) + TIME.put(changed) + path)


def mark_of_content(key, kind, size, content_sum, path):
    """The mark of kind 7 or 8, of a file at the destination."""
    return siphash(key, {7: b"\x0a", 8: b"\x0d"}[kind] + U64.put(size) + content_sum + path)


def mark_of_path(key, path):
    """The mark of kind 3, of any item at the destination."""
    return siphash(key, b"\x06" + path)


def generation(key, device, number, size, modified, changed):
    """The generation of a file, directory or symbolic link, as the reference sender makes it."""
    return siphash(key, b"\x03" + U64.put(device) + U64.put(number) + U64.put(size) + TIME.put(modified) + TIME.put(changed))


def generation_of_hard_link(key, generation, path):
    return siphash(key, b"\x04" + generation + path)


def digest(marks):
    """The sum of marks as 128-bit integers, big-endian like every number here."""
    return (sum(int.from_bytes(one, "big") for one in marks) % 2**128).to_bytes(16, "big")

#!/usr/bin/env python3
"""Writes the vectors into its own folder, or into the folder that it is given.

It uses the encodings of Tests/Interop, a second implementation, which follows Protocol.md alone.

Needs the command openssl for siphash.txt, where the hash is checked.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../Interop"))

import wire  # noqa: E402
from forms import Sized, varint  # noqa: E402
from wire import U8, U32, early_frame, frame, item, siphash  # noqa: E402


def run(start, count):
    """Bytes that count up."""
    return bytes((start + index) % 256 for index in range(count))


HASH_KEY, GENERATION = run(0x50, 16), run(0xA0, 16)
HELLO = b"Hello, peer!\n"
# Of a field that no version has: its tags begin at 200, so that the next new field breaks no vector.
LATER = b"later"


def record(path, kind, unknown=None, **values):
    return wire.RECORD.put({"path": path, "kind": kind, "generation": GENERATION, "unknown": unknown or {}, **values})


def piece(kind, path, offset, length, data=b""):
    return wire.piece(kind, HASH_KEY, path, GENERATION, offset, length, data)


def chunk(path, offset, data):
    return piece(wire.CHUNK, path, offset, len(data), data)


def content(path, data):
    return piece(wire.CONTENT, path, 0, len(data), data)


def data(sequence, *entries):
    plain = b"".join(entries)
    return frame("DATA", sequence=sequence, encoding=0, plainLength=len(plain), payload=plain)


def zstd(sequence, *entries):
    """One zstd frame with a single raw block, as RFC 8878 has it."""
    plain = b"".join(entries)
    assert len(plain) < 256
    packed = bytes.fromhex("28b52ffd20") + U8.put(len(plain)) + (len(plain) << 3 | 1).to_bytes(3, "little") + plain
    return frame("DATA", sequence=sequence, encoding=1, plainLength=len(plain), payload=packed)


ACL = [(1, 6, 0), (2, 7, 1000), (3, 4, 0), (4, 5, 4294967295), (5, 7, 0), (6, 0, 0)]


def known_answers():
    """The lines `name = hex` of the pairing's known answers that a frame carries."""
    return {
        "pA": "040ec67f0bae9fec54bb3e9cf3559b1a7b3e61460af670a2c7dfc427aeb7a3b8df"
        "259f0926b3f04df3e44d2a9664deee0969595fac451ced776b797e16028dd006",
        "pB": "042782388099221e8432d85ee14c4c9d15cda4c2f401fedcfa971fd8c6a8317430"
        "a9120a3444d605d2a76b629d8c223390f8e94c5eeb2b675216ceff10b195f7ae",
        "cA": "4265b7955619de9291d747a4d246900024530b6f838105bea09014d40865cf3c",
        "cB": "3c9fa49edef8a02e56fced742897627b586c389f36a34fa1deff81d1ae57a735",
    }


def pairing():
    answers = {name: bytes.fromhex(text) for name, text in known_answers().items()}
    modes = (("pair", 1), ("resume", 2), ("join", 3))
    for name, mode in modes:
        yield f"hello-c-{name}", f"HELLO_C, version 3, mode {name}", early_frame(
            "HELLO_C", lowest=3, highest=3, mode=mode)
        yield f"hello-s-{name}", f"HELLO_S, version 3, mode {name}", early_frame("HELLO_S", version=3, mode=mode)
    yield "hello-c-later", "HELLO_C, versions 3 to 4, mode pair", early_frame("HELLO_C", lowest=3, highest=4, mode=1)
    yield "share-a", "PAIR_A with pA of peer-pair-v1", early_frame("PAIR_A", point=answers["pA"])
    yield "share-b", "PAIR_B with pB of peer-pair-v1", early_frame("PAIR_B", point=answers["pB"])
    yield "confirm-a", "CONF_A with cA of peer-pair-v1", early_frame("CONF_A", mac=answers["cA"])
    yield "confirm-b", "CONF_B with cB of peer-pair-v1", early_frame("CONF_B", mac=answers["cB"])
    yield "ready", "READY", early_frame("READY")
    for number, reason in enumerate(("code-mismatch", "not-pairing", "code-expired"), 1):
        yield f"abort-{reason}", f"ABORT {number}", early_frame("ABORT", reason=number)
    for number, reason in enumerate(("malformed", "unknown-peer"), 6):
        yield f"abort-{reason}", f"ABORT {number}", early_frame("ABORT", reason=number)
    for name, wait, place in (("soon", 0, 0), ("in-line", 1, 3), ("never", 2, 0), ("unknown-wait", 9, 65535)):
        yield f"abort-busy-{name}", f"ABORT 4, wait {wait}, place {place}", early_frame("ABORT", reason=4, wait=wait, place=place)
    yield "abort-version", "ABORT 5 of a server that speaks version 3", early_frame("ABORT", reason=5, lowest=3, highest=3)


def greeting(role, label, software, features, **more):
    return frame("GREETING", role=role, label=label, software=software, features=features, **more)


def openings():
    yield "greeting-sender", "GREETING of a sender: laptop, peer 1.0, can decode zstd", greeting(
        1, "laptop", "peer 1.0", 1)
    yield "greeting-empty", "GREETING of a receiver with empty texts and no features", greeting(2, "", "", 0)
    notes = {"identifier": "org.example.notes", "platform": "linux"}
    yield "greeting-request", "GREETING of a receiver that wants the app org.example.notes", greeting(
        2, "Küche", "peer 1.0", 1, request=notes)
    options = [(b"a", b""), (b"since", b"\x00\xff20")]
    yield "greeting-options", "GREETING that wants an app with the options a (empty) and since (00 ff 32 30)", greeting(
        2, "desk", "peer 1.0", 0, request={**notes, "options": options})
    yield "greeting-unknown", "GREETING with the unknown fields 200 and 201, and 200 in its request", greeting(
        2, "desk", "peer 9", 2**64 - 1, request={"identifier": "i", "platform": "p", "unknown": {200: LATER}},
        unknown={200: b"", 201: run(0, 70)})

    totals = {"items": 12, "bytes": 3456, "allocated": 8192, "flags": 0}
    yield "offer", "OFFER of part 0: 12 items, 3456 bytes, 8192 allocated", frame("OFFER", part=0, **totals)
    largest = dict.fromkeys(("items", "bytes", "allocated"), 2**63 - 1)
    yield "offer-estimate", "OFFER of part 4095, estimated, the largest totals", frame("OFFER", part=4095, flags=1, **largest)
    yield "offer-nothing", "OFFER of part 1 that the sender cannot read", frame("OFFER", part=1, items=0, bytes=0, allocated=0, flags=0)
    yield "offer-unknown", "OFFER with the unknown field 200", frame("OFFER", part=3, **{**totals, "flags": 2**32 - 1}, unknown={200: LATER})

    yield "accept", "ACCEPT", frame("ACCEPT", hashKey=HASH_KEY)
    traits = {"largestFile": 2**32 - 1, "granularity": 2_000_000_000, "earliest": -2**31, "latest": 2**31 - 1}
    yield "accept-traits", "ACCEPT with traits: files below 4 GiB, 2 s, 1901 to 2038", frame(
        "ACCEPT", hashKey=HASH_KEY, traits=traits)
    yield "accept-able", "ACCEPT with traits without a bound", frame("ACCEPT", hashKey=HASH_KEY, traits={})
    yield "accept-absent", "ACCEPT that wants to know what the sender does not have", frame("ACCEPT", hashKey=HASH_KEY, flags=1)
    yield "accept-unknown", "ACCEPT with the unknown field 200", frame("ACCEPT", hashKey=HASH_KEY, unknown={200: b"\x00"})


def part(kind, name, roots=(), **more):
    sources = [bytes(8)] * {1: len(roots), 2: 1, 3: len(roots)}.get(kind, 0) or None
    return {"kind": kind, "name": name, "roots": [(kind, root.encode()) for kind, root in roots] or None, "sources": sources, **more}


def plan(*parts, **more):
    return frame("PLAN", parts=parts, **{"flags": 0, **more})


def verdict(*parts, **more):
    return frame("VERDICT", **{"plan": run(0x10, 16), "session": run(0x20, 16), "window": 1 << 26, "streams": 4, "flags": 0, "parts": parts, **more})


PHOTOS = part(1, "photos", [(2, "notes.txt"), (1, "photos"), (3, "photoz")])
NOTES = part(2, "Notes", identifier="org.example.notes", app={"store": "store", "platform": "linux", "version": "2.1"})
EDITOR = part(3, "Editor", [(1, "config"), (1, "state")], identifier="org.example.editor")
DETAILS = {"message": "not enough space", "cause": 6, "error": 28, "needed": 5000, "available": 4000, "neededItems": 7000, "availableItems": 6000}


def plans():
    yield "plan-folders", "PLAN of a file, a directory and a symbolic link", plan(PHOTOS)
    yield "plan-sources", "PLAN of three roots, of which one has a source without a number", plan(
        {**PHOTOS, "sources": [run(0xA0, 8), bytes(8), b"\xff" * 8]})
    yield "plan-estimates", "PLAN of folders with the largest estimates, and its user wants to keep the pairing", plan(
        {**PHOTOS, "bytes": 2**63 - 1, "items": 2**63 - 1}, flags=1)
    yield "plan-names", "PLAN of directories whose names are 80 ff and 255 times c3", plan(
        {**part(1, "ü" * 127), "roots": [(1, b"\x80\xff"), (1, b"\xc3" * 255)], "sources": [bytes(8)] * 2})
    yield "plan-home", "PLAN of two folders of the role home", plan(part(1, "home", [(1, "documents"), (1, "pictures")], identifier="home"))
    yield "plan-app", "PLAN of an app with an extension", plan(NOTES)
    for name, options in {"plan-app-options": [b"media", b"since"], "plan-app-no-options": []}.items():
        yield name, f"PLAN of an app whose exporter knows {len(options)} options", plan({**NOTES, "app": {**NOTES["app"], "options": options}})
    yield "plan-home-paths", "PLAN of an app of files, with the paths of a home", plan(
        {**EDITOR, "homePaths": [(b"documents", b"/home/anna/Dokumente"), (b"home", b"/home/anna")]})
    yield "plan-changed", "PLAN of an app of files that changed a nanosecond before 1970, and of folders with the path of a home", plan(
        {**EDITOR, "changed": (-1, 999_999_999)}, {**PHOTOS, "homePaths": [(b"home", b"/home/anna")]})
    yield "plan-packages", "PLAN of two folders of the role home, with two packages", plan(
        {**part(1, "home", [(1, "documents")], identifier="home"), "packages": [b"g++", b"vim"]})
    yield "plan-files", "PLAN of an app of files", plan(EDITOR)
    yield "plan-resume", "PLAN of three parts that continues a plan", plan(PHOTOS, NOTES, EDITOR, plan=run(0x10, 16))
    yield "plan-unknown-kind", "PLAN with a part of kind 200, whose roots are no keys", plan(PHOTOS, part(200, "later", [(1, "A"), (4, "b/c")], identifier="x"))
    yield "plan-unknown-role", "PLAN with folders of an unknown role", plan(part(1, "office", [(1, "papers")], identifier="office"))
    yield "plan-unknown", "PLAN with the unknown field 200, in a part and in an app too", plan(
        {**NOTES, "app": {**NOTES["app"], "unknown": {200: LATER}}, "unknown": {200: LATER}}, flags=2**32 - 1, unknown={200: b"", 201: run(0, 70)})
    yield "plan-largest", "PLAN with 4096 parts of an unknown kind", plan(*[part(0, "x")] * 4096)

    yield "verdict", "VERDICT: taken; window 64 MiB, 4 streams", verdict({"code": 0})
    yield "verdict-smallest", "VERDICT with the smallest window and one stream", verdict({"code": 0}, window=2621440, streams=1)
    yield "verdict-largest", "VERDICT with the largest window, 64 streams and all flags", verdict(
        {"code": 0}, window=2**64 - 1, streams=64, flags=2**32 - 1)
    yield "verdict-codes", "VERDICT: taken, finished earlier, and the codes 1 to 22", verdict(
        {"code": 0}, {"code": 0xFFFF}, *({"code": code} for code in range(1, 23)))
    yield "verdict-unknown-code", "VERDICT of the unknown code 999, with a message", verdict({"code": 999, "message": "later"})
    yield "verdict-space", "VERDICT of code 7 with all details, and of code 6 with a name", verdict(
        {"code": 7, **DETAILS}, {"code": 6, "message": "an entry exists", "name": b"\xffname"})
    yield "verdict-without", "VERDICT that leaves out two roots", verdict({"code": 0, "without": [(0, 21), (2, 6)]})
    yield "verdict-unknown", "VERDICT with the unknown field 200, in a part too", verdict(
        {"code": 0, "unknown": {200: LATER}}, unknown={200: LATER})
    yield "failed", "FAILED of part 2: storage failed", frame("FAILED", code=9, message="the disk has failed", part=2)
    yield "failed-space", "FAILED of part 4095 with all details", frame("FAILED", code=7, **DETAILS, name=b"\xffname", part=4095)
    yield "failed-unknown", "FAILED of the unknown code 65535 with the unknown field 200", frame(
        "FAILED", code=65535, part=0, unknown={200: LATER})


def violations():
    """The lines `name = frame`, and of a VERDICT the PLAN and the VERDICT."""
    yield "# Frames that a decoder refuses; a VERDICT is judged with its PLAN, which stands in front. `hex*count` is repeated."
    flags, head = bytes.fromhex("030400000000"), bytes([wire.TYPES["PLAN"]])
    yield f"no parts = {plan().hex()}"
    yield f"no field of parts = {wire.frame_of(head[0], flags).hex()}"
    one = Sized(wire.PART).put(part(0, "x"))
    field = b"\2" + varint(4097 * len(one))
    yield f"4097 parts = {(head + U32.put(len(field) + 4097 * len(one) + len(flags)) + field).hex()} {one.hex()}*4097 {flags.hex()}"
    for name, wrong in {
            "a key with a capital": part(3, "x", [(1, "Config")], identifier="x"),
            "a key that begins with a digit": part(3, "x", [(1, "1")], identifier="x"),
            "a key of 65 bytes": part(1, "x", [(1, "k" * 65)], identifier="home"),
            "roots out of order": part(1, "x", [(1, "b"), (1, "a")]),
            "a source too few": part(1, "x", [(1, "a"), (1, "b")], sources=[bytes(8)]), "no source of an app": {**NOTES, "sources": None},
            "a root twice": part(1, "x", [(1, "a"), (2, "a")]),
            "a root of two components": part(1, "x", [(1, "a/b")]),
            "a root that is ..": part(1, "x", [(1, "..")]),
            "folders without roots": part(1, "x"),
            "an app without an identifier": part(2, "x", app=NOTES["app"]),
            "an app with an extension, without app": part(2, "x", identifier="x"),
            "an app with an extension, with roots": {**NOTES, "roots": [(1, b"a")]},
            "an app of files without an identifier": part(3, "x", [(1, "config")]),
            "folders with app": {**PHOTOS, "app": NOTES["app"]},
            "an empty name": part(0, ""), "an empty identifier": part(0, "x", identifier=""), "a name of 256 bytes": part(0, "x" * 256),
            "folders with a time of change": {**PHOTOS, "changed": (1, 0)},
            "a time of change of 10^9 nanoseconds": {**EDITOR, "unknown": {12: bytes(8) + (10**9).to_bytes(4, "big")}},
            "a home's path of an app with an extension": {**NOTES, "homePaths": [(b"home", b"/home/anna")]},
            "too many bytes": {**PHOTOS, "bytes": 2**63}}.items():
        yield f"{name} = {plan(wrong).hex()}"
    many = plan(PHOTOS, unknown={200: bytes(32_764)})
    yield f"unknown fields of 32769 bytes = {many[:-32_764].hex()} 00*32764"
    for name, parts in {
            "a verdict too few": [{"code": 0}], "a verdict too many": [{"code": 0}] * 3,
            "a root left out twice": [{"code": 0, "without": [(1, 6), (1, 6)]}, {"code": 0}],
            "roots left out of order": [{"code": 0, "without": [(1, 6), (0, 6)]}, {"code": 0}],
            "all roots left out": [{"code": 0, "without": [(0, 6), (1, 6), (2, 6)]}, {"code": 0}],
            "a root left out that is not there": [{"code": 0, "without": [(3, 6)]}, {"code": 0}],
            "a root left out of a part without roots": [{"code": 0}, {"code": 0, "without": [(0, 6)]}],
            "a root left out of a part that is refused": [{"code": 5, "without": [(0, 6)]}, {"code": 0}],
            "a message with code 0": [{"code": 0, "message": "yes"}, {"code": 0}],
            "a message with code FFFF": [{"code": 0}, {"code": 0xFFFF, "message": "yes"}]}.items():
        yield f"{name} = {plan(PHOTOS, NOTES, plan=run(0x10, 16)).hex()} {verdict(*parts).hex()}"
    both = {"code": 0}, {"code": 0}
    yield f"another plan = {plan(PHOTOS, NOTES, plan=run(0x11, 16)).hex()} {verdict(*both).hex()}"
    yield f"a small window = {plan(PHOTOS, NOTES).hex()} {verdict(*both, window=2621439).hex()}"
    yield f"no streams = {plan(PHOTOS, NOTES).hex()} {verdict(*both, streams=0).hex()}"
    way = (bytes([192, 0, 2, 7]), 47470)
    yield f"17 addresses = {frame('ADDRESSES', listening=[way] * 9, dialling=[way] * 8).hex()}"
    yield f"no way in a list = {wire.frame_of(0x80, bytes([1, 0])).hex()}"
    yield f"a way of the family 5 = {wire.frame_of(0x80, bytes([1, 7, 5, 192, 0, 2, 7, 9, 9])).hex()}"
    yield f"65 streams = {plan(PHOTOS, NOTES).hex()} {verdict(*both, streams=65).hex()}"
    yield f"a verdict that keeps a pairing unasked = {plan(PHOTOS, NOTES).hex()} {verdict(*both, flags=1).hex()}"
    state, request = {"path": b"a", "generation": GENERATION}, {"identifier": "i", "platform": "p", "options": [(b"\xff", b"")]}
    for name, wrong in {
            "an option that is no text": frame("GREETING", role=2, label="", software="", features=0, request=request),
            "flags of ACCEPT that are 0": frame("ACCEPT", hashKey=HASH_KEY, flags=0),
            "a partial file that is above its folder": frame("PARTIAL", path=b"..", generation=GENERATION, ranges=[(0, 1)]),
            "a range beyond every file": frame("PARTIAL", **state, ranges=[(0, 2**63)]),
            "ranges that touch": frame("PARTIAL", **state, ranges=[(0, 1), (1, 2)]),
            "a state of an item that was not sent": frame("NOT_STORED", **state, reason=1),
            "a new name that is no path": frame("DONE", items=1, bytes=0, renamed=1, names=[(b"a", b"/b")]),
            "a stream that replaces itself": frame("JOIN", session=run(0x20, 16), stream=4, replaces=4),
            "marks of the kind 9": frame("HELD", kind=9, marks=[bytes(16)]),
            "a piece of a base without bytes": data(0, piece(wire.BASE, b"a", 0, 0)),
            "a piece of a base that is longer than a chunk": data(0, piece(wire.BASE, b"a", 0, wire.MAX_DATA + 1)),
            "entries that are shorter than they say": frame("DATA", sequence=0, encoding=0, plainLength=2, payload=b"\1"),
            "an access list's owner with a number": data(0, item(record(b"a", 1, acl=[(1, 7, 1)]))),
            "the name of an owner with NUL": data(0, item(record(b"a", 1, names=[(1, 7, b"a\0")])))}.items():
        yield f"{name} = {wrong.hex()}"
    for name, count, wrong in (
            ("unknown fields of a record of 32769 bytes", 32_764, {"unknown": {200: bytes(32_764)}}),
            ("attributes of 131073 bytes", 131_062, {"attributes": [(b"user.a", bytes(131_062))]})):
        yield f"{name} = {data(0, item(record(b'a', 1, **wrong)))[:-count].hex()} 00*{count}"


def ledgers():
    one, two = run(0x60, 16), run(0x70, 16)
    yield "held-staged", "HELD, four complete items", frame("HELD", kind=1, marks=[bytes(16), bytes(15) + b"\x01", one, b"\xff" * 16])
    yield "held-present", "HELD, one file that is at the destination", frame("HELD", kind=2, marks=[one])
    yield "held-taken", "HELD, two names that are at the destination", frame("HELD", kind=3, marks=[one, two])
    yield "held-removed", "HELD, one item that was removed at the destination", frame("HELD", kind=4, marks=[two])
    yield "held-content", "HELD, the content of one file that has arrived", frame("HELD", kind=7, marks=[one])
    yield "held-base", "HELD, the base of photos/hello.txt with the content Hello, peer!", frame("HELD", kind=8, marks=[
        wire.mark_of_content(HASH_KEY, 8, len(HELLO), wire.sum_of(HELLO), b"photos/hello.txt")])
    partial = {"path": b"photos/film.mov", "generation": GENERATION, "ranges": [(0, 1), (2, 1048576), (1 << 40, 2**63 - 1)]}
    yield "partial", "PARTIAL of photos/film.mov with three ranges", frame("PARTIAL", **partial)
    yield "partial-unknown", "PARTIAL with the unknown field 200", frame("PARTIAL", **partial, unknown={200: LATER})
    yield "held-end", "HELD_END: 4 items, 123456789 bytes", frame("HELD_END", items=4, bytes=123456789)
    yield "held-end-unknown", "HELD_END with the unknown field 255", frame(
        "HELD_END", items=0, bytes=2**64 - 1, unknown={255: LATER})


def addresses():
    far = bytes.fromhex("20010db8000000000000000000000007")
    yield "addresses", "ADDRESSES: listening at 192.0.2.7 and an IPv6 address, dialling from 203.0.113.9", frame(
        "ADDRESSES", listening=[(bytes([192, 0, 2, 7]), 47470), (far, 47470)], dialling=[(bytes([203, 0, 113, 9]), 40001)])
    yield "addresses-none", "ADDRESSES without an address", frame("ADDRESSES")
    yield "addresses-unknown", "ADDRESSES with the unknown field 200", frame("ADDRESSES", dialling=[(far, 1024)], unknown={200: LATER})


def endings():
    yield "drop", "DROP of two items", frame("DROP", marks=[run(0x60, 16), run(0x70, 16)])
    yield "not-stored", "NOT_STORED: photos/x vanished", frame("NOT_STORED", path=b"photos/x", reason=1)
    yield "not-stored-error", "NOT_STORED: photos/x is unreadable, error 13", frame("NOT_STORED", path=b"photos/x", reason=2, error=13)
    yield "not-stored-long", "NOT_STORED: a name beyond the limits", frame("NOT_STORED", path=b"photos/" + b"n" * 300, reason=5)
    yield "not-stored-later", "NOT_STORED of the unknown reason 200", frame("NOT_STORED", path=b"s", reason=200)
    yield "not-stored-unknown", "NOT_STORED: a socket, with the unknown field 200", frame(
        "NOT_STORED", path=b"s", reason=4, unknown={200: LATER})
    yield "not-stored-differing", "NOT_STORED: photos/x, whose name something else has there", frame(
        "NOT_STORED", path=b"photos/x", reason=33)
    refused = {"path": b"photos/a:b", "generation": GENERATION, "reason": 16}
    yield "not-stored-state", "NOT_STORED: the name photos/a:b is not allowed", frame("NOT_STORED", **refused)
    yield "not-stored-state-error", "NOT_STORED with an error and the unknown field 200", frame(
        "NOT_STORED", **refused, error=22, unknown={200: LATER})
    yield "not-stored-state-later", "NOT_STORED of a state, for the unknown reason 200", frame("NOT_STORED", **{**refused, "reason": 200})
    finish = {"items": 12, "bytes": 3456, "unsent": 1, "digest": run(0x80, 16)}
    yield "finish", "FINISH: 12 items, 3456 bytes, one unsent", frame("FINISH", **finish)
    yield "finish-left-out", "FINISH: 4000 items were there already, 3 exist there and differ", frame(
        "FINISH", **finish, present=4000, differing=3)
    yield "finish-removed", "FINISH: 7 items were removed at the destination", frame("FINISH", **finish, removed=7)
    yield "finish-behind", "FINISH: two attributes left behind", frame(
        "FINISH", **finish, lostAttributes=[(b"security.capability", 1), (b"security.selinux", 4000)])
    yield "finish-unknown", "FINISH with the unknown field 200", frame("FINISH", **finish, unknown={200: b""})
    for phase, name in enumerate(("verifying", "importing", "durable"), 1):
        yield f"progress-{name}", f"PROGRESS: phase {phase}, 5 of 12", frame("PROGRESS", phase=phase, done=5, total=12)
    yield "progress-later", "PROGRESS: the unknown phase 200, 0 of 0", frame("PROGRESS", phase=200, done=0, total=0)
    done = {"items": 12, "bytes": 3456}
    yield "done", "DONE: 12 items, 3456 bytes", frame("DONE", **done)
    yield "done-losses", "DONE with a hundred losses of kind 1, two hundred of kind 2 and so on to 8", frame(
        "DONE", **done, losses=[(kind, kind * 100) for kind in range(1, 9)])
    yield "done-later", "DONE with a loss of the unknown kind 200", frame("DONE", **done, losses=[(200, 1)])
    yield "done-not-stored", "DONE: 3 items are not stored", frame("DONE", **done, notStored=3)
    yield "done-renamed", "DONE: 3 items have other names, of which two are named", frame(
        "DONE", **done, renamed=3, names=[(b"notes.txt", b"notes (3).txt"), (b"photos", b"photos (2)")])
    yield "done-removed", "DONE: 9 items were removed at the destination, 4 of them without a word", frame(
        "DONE", **done, removed=9, unsettled=4)
    yield "done-unknown", "DONE with the unknown field 200", frame("DONE", **done, unknown={200: LATER})
    yield "receipt", "RECEIPT", frame("RECEIPT")
    yield "ping", "PING 1", frame("PING", token=1)
    yield "pong", "PONG with the largest token", frame("PONG", token=2**64 - 1)
    yield "close", "CLOSE 2", frame("CLOSE", code=2, message="interrupted")
    yield "close-exists", "CLOSE 6 with an unknown cause and a name", frame(
        "CLOSE", **{"code": 6, "message": "an entry exists", "cause": 999, "name": b"\xffname"})
    yield "close-space", "CLOSE 7 with bytes and items needed and available", frame(
        "CLOSE", code=7, message="not enough space", needed=5000, available=6000, neededItems=7000, availableItems=8000)
    yield "close-needed", "CLOSE 7 that says only what is needed", frame(
        "CLOSE", code=7, message="not enough space", needed=5000)
    yield "close-unknown", "CLOSE of the unknown code 65535 with the unknown field 200", frame(
        "CLOSE", code=65535, unknown={200: LATER})


def streams():
    session = run(0x20, 16)
    yield "join", "JOIN of stream 3, which replaces none", frame("JOIN", session=session, stream=3, replaces=wire.NONE)
    yield "join-replacing", "JOIN of stream 4 in the place of stream 3", frame("JOIN", session=session, stream=4, replaces=3)
    yield "ack", "ACK: 7 frames written, 5 durable", frame("ACK", written=7, durable=5)
    yield "end", "END", frame("END")
    file = record(b"photos/hello.txt", 2, size=len(HELLO), mode=0o644, modified=(1_700_000_000, 5))
    directory = record(b"photos", 1, mode=0o755, modified=(0, 0))
    yield "data-directory", "DATA 0: the directory photos", data(0, item(directory))
    yield "data-content", "DATA 1: the file photos/hello.txt with its content", data(
        1, item(file) + content(b"photos/hello.txt", HELLO))
    yield "data-empty-file", "DATA 2: an empty file without any metadata", data(2, item(record(b"e", 2, size=0)))
    yield "data-symbolic-link", "DATA: a symbolic link with time and owner", data(
        2**64 - 1, item(record(b"l", 3, modified=(1, 999_999_999), target=b"../a%20b/\xff", owner=(0, 2**32 - 1))))
    yield "data-hard-link", "DATA 3: a hard link photos/again to photos/hello.txt", data(
        3, item(record(b"photos/again", 4, target=b"photos/hello.txt")))
    attributes = [(b"user.a", b""), (b"user.mime_type", b"text/plain"), (b"user.z", run(0, 100))]
    yield "data-file-full", "DATA 4: the record of a file of 2^63-1 bytes with every field", data(
        4, item(record(b"big", 2, size=2**63 - 1, mode=0o7777, modified=(-1, 500_000_000), owner=(1000, 100),
                       attributes=attributes, acl=ACL)))
    yield "data-directory-full", "DATA 5: a directory with every field", data(
        5, item(record(b"d", 1, mode=0o2775, modified=(2**63 - 1, 0), owner=(1, 2), attributes=attributes, acl=ACL,
                       defaultAcl=[(1, 7, 0), (3, 5, 0), (6, 0, 0)])))
    yield "data-owner-names", "DATA 12: a file of bob and the group staff, with an entry for ann", data(
        12, item(record(b"o", 2, size=0, owner=(1001, 50), acl=[(1, 6, 0), (2, 4, 1002), (3, 4, 0), (5, 4, 0), (6, 0, 0)],
                        names=[(1, 1001, b"bob"), (1, 1002, b"ann"), (2, 50, b"staff")])))
    yield "data-metadata", "DATA 13: the metadata of a file of 7 bytes, which last changed at 1.5 s", data(
        13, item(record(b"m", 5, size=7, mode=0o640, modified=(1, 0), changed=(1, 500_000_000))))
    yield "data-time-first", "DATA 6: a file of the first second that can be said", data(
        6, item(record(b"old", 2, size=0, modified=(-(2**63), 999_999_999))))
    yield "data-unknown", "DATA 7: a record with the unknown fields 12 and 255", data(
        7, item(record(b"f", 2, size=0, mode=0, unknown={200: LATER, 255: run(0, 64)})))
    path = b"photos/film.mov"
    yield "data-chunk", "DATA 8: 100 bytes at 2^32", data(8, chunk(path, 1 << 32, run(0, 100)))
    yield "data-hole", "DATA 9: a hole from 1 to the end of the largest file", data(9, piece(wire.HOLE, path, 1, 2**63 - 2))
    yield "data-base", "DATA 14: the same 100 bytes at 2^32, from the base", data(14, piece(wire.BASE, path, 1 << 32, 100, run(0, 100)))
    mixed = (
        item(directory), item(file) + content(b"photos/hello.txt", HELLO), chunk(path, 0, b"abc"), piece(wire.HOLE, path, 3, 4093),
        chunk(path, 4096, b"xyz"), item(record(path, 2, size=4099)), item(record(b"\x80 a%20b", 3, target=b".")))
    yield "data-mixed", "DATA 10: entries of the kinds 1 to 4", data(10, *mixed)
    yield "data-zstd", "DATA 11: the directory photos, packed", zstd(11, item(directory))


def write(name, text):
    with open(os.path.join(sys.argv[1] if len(sys.argv) > 1 else HERE, name), "w", encoding="utf-8") as file:
        file.write(text)


def hashes():
    """siphash.txt by openssl, and marks, generations and checks by Tests/Interop/wire.py."""
    lines = ["# SipHash-2-4-128 of 00 01 02 … under the key 00 … 0f: the n-th line is that of n bytes. By openssl."]
    for count in range(64):
        command = ["openssl", "mac", "-macopt", "hexkey:" + run(0, 16).hex(), "-macopt", "size:16", "SIPHASH"]
        found = subprocess.run(command, input=run(0, count), capture_output=True, check=True).stdout.decode()
        assert bytes.fromhex(found.strip()) == siphash(run(0, 16), run(0, count))
        lines.append(found.strip().lower())
    write("siphash.txt", "\n".join(lines) + "\n")

    lines = ["# Under hashKey 50 … 5f (Protocol §9.1 and §9.2)."]
    for generation, path in ((GENERATION, b"photos/hello.txt"), (bytes(16), b"\xff"), (b"\xff" * 16, b"a/b/c")):
        lines.append(f"staged {generation.hex()} {path.hex()} = {wire.mark(HASH_KEY, generation, path).hex()}")
    for size, seconds, nanoseconds, path in ((13, 1_700_000_000, 5, b"photos/hello.txt"), (2**63 - 1, -1, 999_999_999, b"f")):
        mark = wire.mark_of_file(HASH_KEY, size, (seconds, nanoseconds), path)
        lines.append(f"present {size} {seconds} {nanoseconds} {path.hex()} = {mark.hex()}")
    for target, path in ((b"../a", b"photos/link"), (b"\xff", b"l")):
        lines.append(f"link {target.hex()} {path.hex()} = {wire.mark_of_symlink(HASH_KEY, target, path).hex()}")
    folder = wire.mark_of_directory(HASH_KEY, (1_700_000_000, 5), b"a/.git")
    lines.append(f"folder 1700000000 5 {b'a/.git'.hex()} = {folder.hex()}")
    folder = wire.mark_of_directory_as_it_came(HASH_KEY, (1_700_000_000, 5), (1_700_000_001, 6), b"a/b")
    lines.append(f"unchanged 1700000000 5 1700000001 6 {b'a/b'.hex()} = {folder.hex()}")
    for content in (HELLO, b"", run(0, 100), run(0, 4_099)):
        lines.append(f"sum {len(content)} {wire.lanes(content).hex()} = {wire.sum_of(content).hex()}")
    for kind, path in ((7, b"photos/hello.txt"), (8, b"photos/hello.txt")):
        found = wire.sum_of(HELLO)
        lines.append(f"content {kind} {len(HELLO)} {found.hex()} {path.hex()} = {wire.mark_of_content(HASH_KEY, kind, len(HELLO), found, path).hex()}")
    for path in (b"photos/hello.txt", b"\xff"):
        lines.append(f"taken {path.hex()} = {wire.mark_of_path(HASH_KEY, path).hex()}")
    for source in ((66306, 131, 13, 1_700_000_000, 5, 1_700_000_001, 6), (2**64 - 1, 2**64 - 1, 0, -2, 0, -1, 1)):
        generation = wire.generation(HASH_KEY, *source[:3], source[3:5], source[5:])
        lines.append(f"generation {' '.join(map(str, source))} = {generation.hex()}")
    marks = [wire.mark(HASH_KEY, GENERATION, b"photos/hello.txt"), wire.mark(HASH_KEY, b"\xff" * 16, b"a/b/c")]
    lines.append(f"digest {marks[0].hex()} {marks[1].hex()} = {wire.digest(marks).hex()}")
    write("marks.txt", "\n".join(lines) + "\n")
    write("checks.txt", "\n".join(checks()) + "\n")
    write("violations.txt", "\n".join(violations()) + "\n")


def checks():
    """The lines `kind offset length generation path = lanes check`, and the bytes behind them, if any."""
    yield "# Under hashKey 50 … 5f (Protocol §9.3): kind, offset, length, generation, path, their bytes; lanes and check."
    yield "# The bytes are counted: 00 01 … ff 00 …. The last twenty have one CRC-32C: their blocks of 16 bytes end in their own."
    path = b"photos/film.mov"
    places = [(wire.CHUNK, 0, run(0, count)) for count in (1, 7, 8, 9, 16, 23, 24, 25, 32, 48, 100, 1_000, 4_096)]
    for kind, offset, data in [*places, (wire.CHUNK, 1 << 32, run(0, 100)), (wire.HOLE, 3, b"")]:
        yield check_line(kind, offset, path, data)
    contents = []
    for number in range(20):
        blocks = [siphash(HASH_KEY, bytes([number, block]))[:12] for block in range(6)]
        contents.append(b"".join(block + wire.crc32c(block).to_bytes(4, "little") for block in blocks))
    assert len({wire.crc32c(content) for content in contents}) == 1
    assert len({wire.lanes(content) for content in contents}) == 20
    for content in contents:
        yield check_line(wire.CHUNK, 0, path, content)


def check_line(kind, offset, path, data):
    length = len(data) or 4_093
    made = wire.check(HASH_KEY, kind, path, GENERATION, offset, length, wire.lanes(data))
    shown = "counted" if data == run(0, len(data)) else data.hex()
    return f"{kind} {offset} {length} {GENERATION.hex()} {path.hex()} {shown} = {wire.lanes(data).hex()} {made.hex()}"


def main():
    names = set()
    for prefix, vectors in (("pairing-", pairing()), ("", openings()), ("", plans()), ("", ledgers()), ("", endings()), ("", addresses()), ("", streams())):
        for name, says, encoded in vectors:
            assert name not in names
            names.add(name)
            text = encoded.hex()
            lines = [text[start : start + 96] for start in range(0, len(text), 96)]
            write(prefix + name + ".hex", f"# {says}\n" + "\n".join(lines) + "\n")
    hashes()


main()

#!/usr/bin/env python3
"""Writes the vectors beside it. A second implementation: it follows Protocol.md and knows nothing of the Swift code.

Needs the package `cryptography` for tags and the command openssl for siphash.txt, where the hash here is checked.
"""

import os
import subprocess
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

HERE = os.path.dirname(os.path.abspath(__file__))


def number(size):
    return lambda value: value.to_bytes(size, "big")


u8, u16, u32, u64, u128 = (number(size) for size in (1, 2, 4, 8, 16))


def i64(value):
    return value.to_bytes(8, "big", signed=True)


def run(start, count):
    """Bytes that count up."""
    return bytes((start + index) % 256 for index in range(count))


# Protocol §5


def varint(value):
    for prefix, size in enumerate((1, 2, 4, 8)):
        if value < 1 << (size * 8 - 2):
            return (value | prefix << (size * 8 - 2)).to_bytes(size, "big")
    raise ValueError(value)


def fields(*pairs):
    assert all(one[0] < other[0] for one, other in zip(pairs, pairs[1:]))
    return b"".join(u8(tag) + varint(len(value)) + value for tag, value in pairs)


def frame(type, body=b""):
    return u8(type) + u32(len(body)) + body


def early(type, body=b""):
    """A frame before READY (Protocol §4.2)."""
    return u8(type) + u16(len(body)) + body


# Protocol §9


def siphash(key, data):
    mask = 2**64 - 1
    k0, k1 = (int.from_bytes(part, "little") for part in (key[:8], key[8:]))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def left(value, count):
        return (value << count | value >> (64 - count)) & mask

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[1] = left(v[1], 13) ^ v[0]
            v[0] = left(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = left(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = left(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = left(v[1], 17) ^ v[2]
            v[2] = left(v[2], 32)

    padded = data + bytes(-(len(data) + 1) % 8) + u8(len(data) % 256)
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    halves = b""
    for index, constant in ((2, 0xEE), (1, 0xDD)):
        v[index] ^= constant
        rounds(4)
        halves += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return halves


TAG_KEY, HASH_KEY = run(0x40, 16), run(0x50, 16)


def tag(kind, offset, length, generation, path, data, nonce, key=TAG_KEY):
    covered = u8(kind) + u64(offset) + u64(length) + generation + path + data
    return AESGCM(key).encrypt(nonce, b"", covered)


# Protocol §6.8 and §8.2

GENERATION = run(0xA0, 16)
nonces = (run(0xC0, 8) + u32(count) for count in range(2**32))


def record(path, kind, *more, generation=GENERATION):
    return fields((1, path), (2, u8(kind)), (3, generation), *more)


def item(body):
    return u8(1) + u32(len(body)) + body


def chunk(path, offset, data, generation=GENERATION):
    nonce = next(nonces)
    seal = nonce + tag(2, offset, len(data), generation, path, data, nonce)
    return u8(2) + u16(len(path)) + generation + u64(offset) + u32(len(data)) + seal + path + data


def hole(path, offset, length, generation=GENERATION):
    nonce = next(nonces)
    seal = nonce + tag(3, offset, length, generation, path, b"", nonce)
    return u8(3) + u16(len(path)) + generation + u64(offset) + u64(length) + seal + path


def content(path, data, generation=GENERATION):
    nonce = next(nonces)
    return u8(4) + u32(len(data)) + nonce + tag(2, 0, len(data), generation, path, data, nonce) + data


def data(sequence, *entries):
    plain = b"".join(entries)
    return frame(0x31, u64(sequence) + u8(0) + u32(len(plain)) + plain)


def zstd(sequence, *entries):
    """One zstd frame with a single raw block, as RFC 8878 has it."""
    plain = b"".join(entries)
    assert len(plain) < 256
    packed = bytes.fromhex("28b52ffd20") + u8(len(plain)) + (len(plain) << 3 | 1).to_bytes(3, "little") + plain
    return frame(0x31, u64(sequence) + u8(1) + u32(len(plain)) + packed)


def time(seconds, nanoseconds):
    return i64(seconds) + u32(nanoseconds)


def attribute(name, value):
    return u8(len(name)) + name + varint(len(value)) + value


def access(kind, permissions, id=0):
    return u8(kind) + u8(permissions) + u32(id)


ACL = (access(1, 6) + access(2, 7, 1000) + access(3, 4) + access(4, 5, 4294967295) + access(5, 7) + access(6, 0))


def known_answers():
    """The lines `name = hex` of the pairing's known answers that a frame carries."""
    return {
        "pA": "040ec67f0bae9fec54bb3e9cf3559b1a7b3e61460af670a2c7dfc427aeb7a3b8df"
        "259f0926b3f04df3e44d2a9664deee0969595fac451ced776b797e16028dd006",
        "pB": "042782388099221e8432d85ee14c4c9d15cda4c2f401fedcfa971fd8c6a8317430"
        "a9120a3444d605d2a76b629d8c223390f8e94c5eeb2b675216ceff10b195f7ae",
        "cA": "d2f7459f7b5e5e879a59b9a708fb88d638b3ebcc4bc07b67d49cd26c0a0f4cab",
        "cB": "f923724c49d9276c426ad2b6184ea07306bdf4acc58444c1551f26817e12b5ce",
    }


def pairing():
    answers = {name: bytes.fromhex(text) for name, text in known_answers().items()}
    modes = (("pair", 1), ("resume", 2), ("join", 3))
    for name, mode in modes:
        yield f"hello-c-{name}", f"HELLO_C, version 1, mode {name}", early(1, b"PEER" + bytes((1, 1, mode)) + u32(0))
        yield f"hello-s-{name}", f"HELLO_S, version 1, mode {name}", early(2, b"PEER" + bytes((1, mode)) + u32(0))
    yield "hello-c-later", "HELLO_C, versions 1 to 3, mode pair", early(1, b"PEER" + bytes((1, 3, 1)) + u32(0))
    yield "share-a", "PAIR_A with pA of peer-pair-v1", early(3, answers["pA"])
    yield "share-b", "PAIR_B with pB of peer-pair-v1", early(4, answers["pB"])
    yield "confirm-a", "CONF_A with cA of peer-pair-v1", early(5, answers["cA"])
    yield "confirm-b", "CONF_B with cB of peer-pair-v1", early(6, answers["cB"])
    yield "ready", "READY", early(7)
    reasons = "code-mismatch not-pairing code-expired busy version malformed unknown-peer".split()
    for number, reason in enumerate(reasons, 1):
        yield f"abort-{reason}", f"ABORT {number}", early(0x0F, u8(number))


def greeting(role, label, software, features, *more):
    return frame(0x10, fields((1, u8(role)), (2, label), (3, software), (4, u64(features)), *more))


def openings():
    yield "greeting-sender", "GREETING of a sender: laptop, peer 1.0, can decode zstd", greeting(
        1, b"laptop", b"peer 1.0", 1)
    yield "greeting-empty", "GREETING of a receiver with empty texts and no features", greeting(2, b"", b"", 0)
    yield "greeting-request", "GREETING of a receiver that wants the app org.example.notes", greeting(
        2, "Küche".encode(), b"peer 1.0", 1, (5, fields((1, b"org.example.notes"), (2, b"linux"))))
    options = u8(1) + b"a" + u32(0) + u8(5) + b"since" + u32(4) + b"\x00\xff20"
    yield "greeting-options", "GREETING that wants an app with the options a (empty) and since (00 ff 32 30)", greeting(
        2, b"desk", b"peer 1.0", 0, (5, fields((1, b"org.example.notes"), (2, b"linux"), (3, options))))
    yield "greeting-unknown", "GREETING with the unknown fields 6 and 200, and 9 in its request", greeting(
        2, b"desk", b"peer 9", 2**64 - 1,
        (5, fields((1, b"i"), (2, b"p"), (9, b"later"))), (6, b""), (200, run(0, 70)))

    def offer(kind, totals, flags, transfer=None, roots=None, app=None, more=()):
        optional = lambda tag, value: [] if value is None else [(tag, value)]
        return frame(0x11, fields(
            *optional(1, transfer), (2, u8(kind)), *optional(3, roots),
            *((tag, u64(total)) for tag, total in zip((4, 5, 6), totals)),
            *optional(7, app), (8, u32(flags)), *more))

    roots = u8(2) + u8(9) + b"notes.txt" + u8(1) + u8(6) + b"photos" + u8(3) + u8(6) + b"photoz"
    yield "offer-folders", "OFFER of a file, a directory and a symbolic link: 12 items, 3456 bytes, 8192 allocated", offer(
        1, (12, 3456, 8192), 0, roots=roots)
    yield "offer-resume", "OFFER that continues a transfer; estimated, compressible, the largest totals", offer(
        1, (2**63 - 1,) * 3, 3, transfer=run(0x10, 16), roots=u8(1) + u8(1) + b"d")
    names = u8(1) + u8(2) + b"\x80\xff" + u8(1) + u8(255) + b"\xc3" * 255
    yield "offer-names", "OFFER of directories whose names are 80 ff and 255 times c3", offer(
        1, (0, 0, 0), 0, roots=names)
    app = fields((1, b"org.example.notes"), (2, b"store"), (3, b"linux"), (4, b"2.1"))
    yield "offer-app", "OFFER of the app org.example.notes, estimated", offer(2, (7, 1 << 20, 1 << 20), 1, app=app)
    yield "offer-metadata", "OFFER of a directory: 3 items, 5 bytes, 4096 allocated, 987654321 bytes of metadata", offer(
        1, (3, 5, 4096), 0, roots=u8(1) + u8(1) + b"d", more=((9, u64(987654321)),))
    yield "offer-unknown", "OFFER of an app with the unknown fields 10, and 5 in the app", offer(
        2, (7, 8, 9), 2**32 - 1, app=app + fields((5, b"later")), more=((10, b"later"),))

    def accept(window, streams, features, *more):
        return frame(0x12, fields(
            (1, run(0x10, 16)), (2, run(0x20, 16)), (3, TAG_KEY), (4, HASH_KEY),
            (5, u64(window)), (6, u16(streams)), (7, u64(features)), *more))

    yield "accept", "ACCEPT: window 64 MiB, 4 streams, zstd", accept(1 << 26, 4, 1)
    yield "accept-smallest", "ACCEPT with the smallest window and one stream", accept(2621440, 1, 0)
    yield "accept-largest", "ACCEPT with the largest window and 64 streams", accept(2**64 - 1, 64, 2**64 - 1)
    traits = fields((1, u64(2**32 - 1)), (2, u32(63)), (3, u16(1023)), (4, u8(255)), (5, u32(2_000_000_000)))
    yield "accept-traits", "ACCEPT with refusals: files below 4 GiB, targets of 1023 bytes, all rules of names, 2 s", accept(
        1 << 26, 4, 512, (8, traits))
    yield "accept-able", "ACCEPT with refusals and traits without a bound", accept(1 << 26, 4, 512, (8, b""))
    yield "accept-unknown", "ACCEPT with the unknown field 9", accept(1 << 26, 4, 1, (9, b"\x00"))


def ledgers():
    marks = u128(0) + u128(1) + run(0x60, 16) + b"\xff" * 16
    yield "held-staged", "HELD, four complete items", frame(0x13, u8(1) + marks)
    yield "held-present", "HELD, one file that is at the destination", frame(0x13, u8(2) + run(0x60, 16))
    yield "held-taken", "HELD, two names that are at the destination", frame(0x13, u8(3) + run(0x60, 16) + run(0x70, 16))
    ranges = u64(0) + u64(1) + u64(2) + u64(1048576) + u64(1 << 40) + u64(2**63 - 1)
    partial = ((1, b"photos/film.mov"), (2, GENERATION), (3, ranges))
    yield "partial", "PARTIAL of photos/film.mov with three ranges", frame(0x14, fields(*partial))
    yield "partial-unknown", "PARTIAL with the unknown field 4", frame(0x14, fields(*partial, (4, b"later")))
    yield "held-end", "HELD_END: 4 items, 123456789 bytes", frame(0x15, fields((1, u64(4)), (2, u64(123456789))))
    yield "held-end-unknown", "HELD_END with the unknown field 255", frame(
        0x15, fields((1, u64(0)), (2, u64(2**64 - 1)), (255, b"later")))


def endings():
    yield "drop", "DROP of two items", frame(0x16, run(0x60, 16) + run(0x70, 16))
    yield "unsent", "UNSENT: photos/x vanished", frame(0x17, fields((1, b"photos/x"), (2, u8(1))))
    yield "unsent-message", "UNSENT: a name beyond the limits, with a message", frame(
        0x17, fields((1, b"photos/" + b"n" * 300), (2, u8(5)), (3, "zu länglich".encode())))
    yield "unsent-unknown", "UNSENT: a socket, with the unknown field 5", frame(
        0x17, fields((1, b"s"), (2, u8(4)), (5, b"later")))
    yield "unsent-differing", "UNSENT: photos/x, whose name something else has there", frame(
        0x17, fields((1, b"photos/x"), (2, u8(6))))
    yield "unsent-not-storable", "UNSENT: the symbolic link photoz, which the destination cannot hold", frame(
        0x17, fields((1, b"photoz"), (2, u8(7)), (4, u8(4))))
    finish = ((1, u64(12)), (2, u64(3456)), (3, u64(1)), (4, run(0x80, 16)))
    yield "finish", "FINISH: 12 items, 3456 bytes, one unsent", frame(0x18, fields(*finish))
    yield "finish-left-out", "FINISH: 4000 items were there already, 3 exist there and differ", frame(
        0x18, fields(*finish, (5, u64(4000)), (6, u64(3))))
    behind = b"".join(u8(len(name)) + name + u64(count) for name, count in (
        (b"security.capability", 1), (b"security.selinux", 4000)))
    yield "finish-behind", "FINISH: 5 items are withheld, two attributes left behind", frame(
        0x18, fields(*finish, (7, u64(5)), (8, behind)))
    yield "finish-unknown", "FINISH with the unknown field 9", frame(0x18, fields(*finish, (9, b"")))
    for phase, name in enumerate(("verifying", "importing", "durable"), 1):
        yield f"progress-{name}", f"PROGRESS: phase {phase}, 5 of 12", frame(0x19, u8(phase) + u64(5) + u64(12))
    done = ((1, u64(12)), (2, u64(3456)))
    yield "done", "DONE: 12 items, 3456 bytes", frame(0x1A, fields(*done))
    losses = b"".join(u8(kind) + u64(kind * 100) for kind in range(1, 9))
    yield "done-losses", "DONE with a hundred losses of kind 1, two hundred of kind 2 and so on to 8", frame(
        0x1A, fields(*done, (3, losses)))
    yield "done-not-stored", "DONE: 3 items are not stored", frame(0x1A, fields(*done, (4, u64(3))))
    yield "done-unknown", "DONE with the unknown field 5", frame(0x1A, fields(*done, (5, b"later")))
    refused = ((1, b"photos/a:b"), (2, GENERATION), (3, u8(1)))
    yield "refused", "REFUSED: the name photos/a:b is not allowed", frame(0x1C, fields(*refused))
    yield "refused-message", "REFUSED with a message and the unknown field 5", frame(
        0x1C, fields(*refused, (4, b"Invalid argument"), (5, b"later")))
    yield "receipt", "RECEIPT", frame(0x1B)
    yield "ping", "PING 1", frame(0x1E, u64(1))
    yield "pong", "PONG with the largest token", frame(0x1F, u64(2**64 - 1))
    yield "close", "CLOSE 2", frame(0x20, fields((1, u16(2)), (2, b"interrupted")))
    yield "close-exists", "CLOSE 6 with hint and name", frame(
        0x20, fields((1, u16(6)), (2, b"an entry exists"), (3, b"Move it."), (4, b"\xffname")))
    yield "close-space", "CLOSE 7 with bytes and items needed and available", frame(
        0x20, fields((1, u16(7)), (2, b"not enough space"), *((tag, u64(tag * 1000)) for tag in (5, 6, 7, 8))))
    yield "close-needed", "CLOSE 7 that says only what is needed", frame(
        0x20, fields((1, u16(7)), (2, b"not enough space"), (5, u64(5000))))
    yield "close-unknown", "CLOSE of the unknown code 65535 with the unknown field 9", frame(
        0x20, fields((1, u16(65535)), (2, b""), (9, b"later")))


def streams():
    yield "join", "JOIN of stream 3, which replaces none", frame(0x30, run(0x20, 16) + u32(3) + u32(0xFFFFFFFF))
    yield "join-replacing", "JOIN of stream 4 in the place of stream 3", frame(0x30, run(0x20, 16) + u32(4) + u32(3))
    yield "ack", "ACK: 7 frames written, 5 durable", frame(0x32, u64(7) + u64(5))
    yield "end", "END", frame(0x33)
    hello = b"Hello, peer!\n"
    size = lambda value: (4, u64(value))
    file = record(b"photos/hello.txt", 2, size(len(hello)), (5, u16(0o644)), (6, time(1_700_000_000, 5)))
    directory = record(b"photos", 1, (5, u16(0o755)), (6, time(0, 0)))
    yield "data-directory", "DATA 0: the directory photos", data(0, item(directory))
    yield "data-content", "DATA 1: the file photos/hello.txt with its content", data(
        1, item(file) + content(b"photos/hello.txt", hello))
    yield "data-empty-file", "DATA 2: an empty file without any metadata", data(2, item(record(b"e", 2, size(0))))
    yield "data-symbolic-link", "DATA: a symbolic link with time and owner", data(
        2**64 - 1, item(record(b"l", 3, (6, time(1, 999_999_999)), (7, b"../a%20b/\xff"), (8, u32(0) + u32(2**32 - 1)))))
    yield "data-hard-link", "DATA 3: a hard link photos/again to photos/hello.txt", data(
        3, item(record(b"photos/again", 4, (7, b"photos/hello.txt"))))
    attributes = attribute(b"user.a", b"") + attribute(b"user.mime_type", b"text/plain") + attribute(b"user.z", run(0, 100))
    yield "data-file-full", "DATA 4: the record of a file of 2^63-1 bytes with every field", data(
        4, item(record(b"big", 2, size(2**63 - 1), (5, u16(0o7777)), (6, time(-1, 500_000_000)),
                       (8, u32(1000) + u32(100)), (9, attributes), (10, ACL))))
    yield "data-directory-full", "DATA 5: a directory with every field", data(
        5, item(record(b"d", 1, (5, u16(0o2775)), (6, time(2**63 - 1, 0)), (8, u32(1) + u32(2)),
                       (9, attributes), (10, ACL), (11, access(1, 7) + access(3, 5) + access(6, 0)))))
    yield "data-time-first", "DATA 6: a file of the first second that can be said", data(
        6, item(record(b"old", 2, size(0), (6, time(-(2**63), 999_999_999)))))
    yield "data-unknown", "DATA 7: a record with the unknown fields 12 and 255", data(
        7, item(record(b"f", 2, size(0), (5, u16(0)), (12, b"later"), (255, run(0, 64)))))
    path = b"photos/film.mov"
    yield "data-chunk", "DATA 8: 100 bytes at 2^32", data(8, chunk(path, 1 << 32, run(0, 100)))
    yield "data-hole", "DATA 9: a hole from 1 to the end of the largest file", data(9, hole(path, 1, 2**63 - 2))
    mixed = (
        item(directory), item(file) + content(b"photos/hello.txt", hello), chunk(path, 0, b"abc"), hole(path, 3, 4093),
        chunk(path, 4096, b"xyz"), item(record(path, 2, size(4099))), item(record(b"\x80 a%20b", 3, (7, b"."))))
    yield "data-mixed", "DATA 10: entries of all four kinds", data(10, *mixed)
    yield "data-zstd", "DATA 11: the directory photos, packed", zstd(11, item(directory))


def write(name, text):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(text)


def hashes():
    """siphash.txt by openssl, and marks, generations and tags by the functions above."""
    lines = ["# SipHash-2-4-128 of 00 01 02 … under the key 00 … 0f: the n-th line is that of n bytes. By openssl."]
    for count in range(64):
        command = ["openssl", "mac", "-macopt", "hexkey:" + run(0, 16).hex(), "-macopt", "size:16", "SIPHASH"]
        found = subprocess.run(command, input=run(0, count), capture_output=True, check=True).stdout.decode()
        assert bytes.fromhex(found.strip()) == siphash(run(0, 16), run(0, count))
        lines.append(found.strip().lower())
    write("siphash.txt", "\n".join(lines) + "\n")

    lines = ["# Under hashKey 50 … 5f (Protocol §9.1 and §9.2)."]
    for generation, path in ((GENERATION, b"photos/hello.txt"), (bytes(16), b"\xff"), (b"\xff" * 16, b"a/b/c")):
        lines.append(f"staged {generation.hex()} {path.hex()} = {siphash(HASH_KEY, u8(1) + generation + path).hex()}")
    for size, seconds, nanoseconds, path in ((13, 1_700_000_000, 5, b"photos/hello.txt"), (2**63 - 1, -1, 999_999_999, b"f")):
        said = u8(2) + u64(size) + time(seconds, nanoseconds) + path
        lines.append(f"present {size} {seconds} {nanoseconds} {path.hex()} = {siphash(HASH_KEY, said).hex()}")
    for target, path in ((b"../a", b"photos/link"), (b"\xff", b"l")):
        said = u8(5) + u64(len(target)) + target + path
        lines.append(f"link {target.hex()} {path.hex()} = {siphash(HASH_KEY, said).hex()}")
    for path in (b"photos/hello.txt", b"\xff"):
        lines.append(f"taken {path.hex()} = {siphash(HASH_KEY, u8(6) + path).hex()}")
    for source in ((66306, 131, 13, 1_700_000_000, 5, 1_700_000_001, 6), (2**64 - 1, 2**64 - 1, 0, -2, 0, -1, 1)):
        said = u8(3) + b"".join(u64(value) for value in source[:3]) + time(*source[3:5]) + time(*source[5:])
        lines.append(f"generation {' '.join(map(str, source))} = {siphash(HASH_KEY, said).hex()}")
    marks = [siphash(HASH_KEY, u8(1) + one) for one in (GENERATION + b"photos/hello.txt", b"\xff" * 16 + b"a/b/c")]
    digest = u128(sum(int.from_bytes(mark, "big") for mark in marks) % 2**128)
    lines.append(f"digest {marks[0].hex()} {marks[1].hex()} = {digest.hex()}")
    write("marks.txt", "\n".join(lines) + "\n")


def main():
    names = set()
    for prefix, vectors in (("pairing-", pairing()), ("", openings()), ("", ledgers()), ("", endings()), ("", streams())):
        for name, says, encoded in vectors:
            assert name not in names
            names.add(name)
            text = encoded.hex()
            lines = [text[start : start + 96] for start in range(0, len(text), 96)]
            write(prefix + name + ".hex", f"# {says}\n" + "\n".join(lines) + "\n")
    hashes()


main()

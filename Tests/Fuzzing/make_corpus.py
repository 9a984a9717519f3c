#!/usr/bin/env python3
"""Writes the first inputs of each target into Corpus/TARGET, from the vectors of the suites where
there are any.

An input that broke a promise once is a file whose name begins with "found-": it is written by hand,
and stays.

Usage: make_corpus.py [TARGET...]    (default: all)

Needs the command openssl, for keys and for records of TLS. Those are other bytes each time, so they
are only made where they are missing. """

import glob
import os
import ssl
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WIRE = f"{HERE}/../MigrationWireTests/Vectors"
INPUTS = {}
"""The inputs of each target, by name: bytes, or a function that makes them once."""


def add(target, name, content):
    INPUTS.setdefault(target, {})[name] = content


def vectors():
    """The frames of MigrationWireTests, by name."""
    found = {}
    for path in sorted(glob.glob(f"{WIRE}/*.hex")):
        with open(path, encoding="utf-8") as file:
            digits = "".join(line.strip() for line in file if not line.startswith("#"))
        found[os.path.basename(path)[:-4]] = bytes.fromhex(digits)
    return found


def varint(value):
    for size, limit in [(1, 6), (2, 14), (4, 30), (8, 62)]:
        if value < 1 << limit:
            return (value | (size.bit_length() - 1) << (size * 8 - 2)).to_bytes(size, "big")
    raise ValueError(value)


def fields(**values):
    """A field body, from a1=…, a2=… in ascending order."""
    return b"".join(bytes([int(tag[1:])]) + varint(len(value)) + value for tag, value in values.items())


def u(size, value):
    return value.to_bytes(size, "big")


def part(content):
    """Bytes with their length in front, as the targets read them."""
    return bytes([len(content)]) + content


# The wire


def string(data):
    """The string at the start of bytes, and the rest of them."""
    size = 1 << (data[0] >> 6)
    end = size + (int.from_bytes(data[:size], "big") & (1 << 8 * size - 2) - 1)
    return data[size:end], data[end:]


def records(frames):
    """The records of items in the DATA frames, and their pieces, as bodies of the journal's
    records."""
    for name, frame in frames.items():
        if not name.startswith("data-") or frame[13]:
            continue
        rest = frame[18:]
        while rest:
            kind, rest = rest[0], rest[1:]
            if kind == 1:
                record, rest = string(rest)
                yield f"{name}-item", 2, b"\0" + record
                yield f"{name}-sealed", 4, record
            elif kind == 4:
                rest = string(rest[8:])[1]
            else:
                hole = kind == 3
                generation, offset, rest = rest[:16], int.from_bytes(rest[16:24], "big"), rest[24:]
                if hole:
                    length, rest = int.from_bytes(rest[:8], "big"), rest[8:]
                check, (path, rest) = rest[:8], string(rest[8:])
                if not hole:
                    data, rest = string(rest)
                    length = len(data)
                yield f"{name}-range", 3, bytes([hole]) + generation + u(8, offset) + u(8, offset + length) + check + path


def wire():
    frames = vectors()
    for name, frame in frames.items():
        if len(frame) > 900:
            continue
        if name.startswith("pairing-"):
            add("pairing", name, frame)
            continue
        add("frames", name, bytes([len(name)]) + frame)
        add("streams" if frame[0] >= 0x30 else "messages", name, frame[:1] + frame[5:])
    add("streams", "close", frames["close"][:1] + frames["close"][5:])
    add("frames", "many", b"\x0b" + b"".join(frame for name, frame in frames.items() if len(frame) < 40 and "pairing" not in name))
    add("pairing", "tls", bytes.fromhex("16030102000100"))
    packed = frames["data-zstd"]
    add("compressed", "zstd", packed[16:18] + packed[18:])
    journal = list(records(frames))
    path, other = b"root/1", b"root/2"
    journal += [
        ("discarded", 5, path), ("synced", 6, u(8, 60)), ("concluded", 7, u(8, 1) + u(8, 9)), ("imported", 8, b""),
        ("tree", 9, b"root"), ("moving", 10, u(8, 7) + u(2, len(path)) + path + other), ("void", 11, u(8, 52)),
        ("exposed", 12, b""), ("existing", 13, b"\1"), ("refused", 14, b"\x10" + bytes(16) + b"\1" + u(8, 9) + path),
        ("placing", 15, u(2, len(path)) + path + other), ("opened", 1, b"peer journal 1\n" + bytes(16)),
    ]
    journal = [(name, kind, body) for name, kind, body in journal if len(body) < 256]
    tree = b"\3" + b"\0\0" + b"\1\2\4abcd" + b"\3\1"
    for name, kind, body in journal:
        add("journal", name, bytes([kind]) + part(body))
        add("recovery", name, b"\0" + tree + bytes([kind]) + part(body))
    small = [bytes([kind]) + part(body) for _, kind, body in journal if len(body) < 90]
    add("journal", "many", b"".join(small)[:500])
    for shape in range(0, 32, 3):
        add("recovery", f"many-{shape}", bytes([shape]) + tree + b"".join(small)[:900])
    add("recovery", "torn", b"\0" + tree + small[0] + b"\x80" + part(b"garbage"))


def remembered():
    frames = vectors()
    begin = {"a1": bytes(16), "a2": b"\1", "a3": b"key", "a4": bytes(32), "a5": b"desk", "a6": b"desk:1", "a7": bytes(16)}
    begin["a8"] = u(8, 3) + u(8, 4) + u(8, 1) + u(8, 2)
    sources = {"a9": u(4, 2) + b"/a" + u(4, 2) + b"/b"}
    destination = {"a10": b"/here", "a11": u(2, 7)}
    begun = {"a1": bytes(16), "a2": frames["offer"]}
    refused = u(4, len(frames["not-stored-state"])) + frames["not-stored-state"]
    done = fields(**begun, a3=b"\1", a4=u(8, 1), a5=u(8, 2), a6=refused, a7=u(8, 5), a8=frames["done"])
    begun = fields(**begun)

    def plan(name, newest, *parts):
        return {"a12": u(2, newest), "a13": frames[name], "a14": b"".join(u(4, len(part)) + part for part in parts)}

    add("transfers", "sender", fields(**begin, **sources, **plan("plan-folders", 0, b"")))
    add("transfers", "sender-begun", fields(**begin, **sources, **plan("plan-resume", 1, begun, begun, b"")))
    add("transfers", "sender-done", fields(**begin, **sources, **plan("plan-folders", 0, done)))
    begin["a2"] = b"\2"
    add("transfers", "receiver", fields(**begin, **destination, **plan("plan-files", 0, done)))


def paths():
    for index, path in enumerate([b"photos/hello.txt", b"a", b"../a", b"a//b", b"a/./b", b"/a", b"a/", b"a\0b", b".", b"..a",
                                  b"x/" * 30 + b"y", b"n" * 255, b"n" * 256, b"\xff/\xc3\xa9", "e\u0301/\u202etxt".encode()]):
        add("paths", str(index), path)
    name = b"src/lib/a.tar.gz"
    for index, pattern in enumerate([
            b"*.gz", b"/src", b"src/", b"**/lib/", b"src/**", b"src/**/a*", b"!*.gz", b"[a-c]*", b"[!a]*", b"[[:alpha:]]*",
            b"a.tar.g?", b"\\*", b"a\\", b"[a", b"[[:none:]]", b"#a", b"a\\ ", b"**", b"***", b"*a*a*a*a*b", b"[]a]", b"[a-]",
            b"src/lib/a.tar.gz", b"\xff*", "[ä-ü]".encode(), b"a\r\nb \n#c\n!d"]):
        add("patterns", str(index), pattern + b"\0" + name)


# TLS and keys


def openssl(*words, input=None):
    return subprocess.run(["openssl", *words], input=input, check=True, capture_output=True).stdout


def identity():
    pem = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    key = openssl("pkcs8", "-topk8", "-nocrypt", "-outform", "DER", input=pem)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pem)
        file.flush()
        certificate = openssl("req", "-x509", "-key", file.name, "-subj", "/CN=a", "-outform", "DER", "-days", "9999")
    return pem, key, certificate


def handshake():
    """The first records of a client and a server of Python: the hello, and the answer."""
    pem, _, certificate = identity()
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pem + openssl("x509", "-inform", "DER", input=certificate))
        file.flush()
        contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)]
        for context in contexts:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(file.name)
        (client_in, client_out), (server_in, server_out) = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        client = contexts[0].wrap_bio(client_in, client_out)
        server = contexts[1].wrap_bio(server_in, server_out, server_side=True)
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = client_out.read()
        server_in.write(hello)
        try:
            server.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return hello, server_out.read()


def tls():
    add("tls-server", "hello", lambda: b"\xff" + handshake()[0])
    add("tls-server", "hello-in-parts", lambda: b"\1" + handshake()[0])
    add("tls-client", "answer", lambda: b"\xff" + handshake()[1][:1000])
    for name, record in [("alert", "15030300020228"), ("change", "140303000101"), ("data", "170303000568656c6c6f"), ("empty", "1603030000")]:
        for target in ["tls-server", "tls-client"]:
            add(target, name, b"\xff" + bytes.fromhex(record))
    add("tls-session", "both", bytes([0x48, 0x4a, 0xfc, 0xfd, 0xfe, 0xff]))
    add("tls-session", "keys", bytes([0x11, 0x11, 0x11, 0x11, 0x13, 0x13, 0x13, 0x13, 0x44, 0x45]))
    add("tls-attack", "changed", b"\x20\x00\x09\x01")
    add("tls-attack", "invented", b"\x20\x00\x00\x00" + bytes.fromhex("1703030002aaaa"))
    add("keys", "identity", lambda: b"\0" + b"".join(u(2, len(x)) + x for x in identity()[1:]))
    add("keys", "certificate", lambda: b"\1" + identity()[2])
    frames = vectors()
    add("keys", "share-a", b"\2" + frames["pairing-share-a"][3:])
    add("keys", "share-b", b"\2" + frames["pairing-share-b"][3:])


def main(arguments):
    import seeds
    for fill in [wire, remembered, paths, tls, seeds.fill]:
        fill(*([add, fields, u, part, varint] if fill is seeds.fill else []))
    unknown = set(arguments) - set(INPUTS)
    if unknown:
        print(f"There is no target {sorted(unknown)[0]}.", file=sys.stderr)
        return 2
    for target in arguments or sorted(INPUTS):
        folder = f"{HERE}/Corpus/{target}"
        os.makedirs(folder, exist_ok=True)
        for name, content in INPUTS[target].items():
            path = f"{folder}/{name}"
            if callable(content):
                if os.path.exists(path):
                    continue
                content = content()
            with open(path, "wb") as file:
                file.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The first inputs of the targets that have no vectors: messages, files and texts as the program
writes them, and numbers for the targets that decode events."""

import plistlib
import random
import struct

WALKS = {"ledger": 200, "broker": 48, "admission": 48, "codes": 120, "race": 60, "stream-count": 120, "stream-ends": 60,
         "ranges": 60, "sessions": 120, "channel": 120}
"""The targets that decode events, and how long their longest first input is."""


def fill(add, fields, u, part, varint):
    walks(add)
    relays(add, u)
    messages(add, fields, u, part)
    credentials(add, fields, u, varint)
    bundles(add)
    texts(add)
    kernel(add)
    discovery(add)


def walks(add):
    for target, longest in WALKS.items():
        dice = random.Random(target)
        for index in range(6):
            add(target, f"random-{index}", dice.randbytes(longest >> index // 2))
    add("sessions", "whole", bytes([
        1, 11, 1, 0, 12, 0, 0, 2, 3, 4, 2, 5, 1, 6, 7, 8, 9, 2, 3, 4, 0, 13, 10]))


def relays(add, u):
    head = b"\1" + bytes(16) + b"\7relay:1"
    frames = {
        "challenge": (1, b"PEER\1" + bytes(16)), "place": (2, u(4, 5724)), "ring": (3, bytes(16) + b"\4" + bytes(6)),
        "ring-6": (3, bytes(16) + b"\6" + bytes(18)), "joined": (4, b"\4" + bytes(6)), "ping": (5, b""), "pong": (6, b""),
        "refused": (15, b"\4" + u(2, 10)), "cut": (7, b"PEER\7" + u(2, 0)), "register": (17, head + bytes(32)), "call": (18, head + b"\1" + u(4, 5724) + bytes(32)),
        "meet": (18, head + b"\2" + bytes(48)), "answer": (19, head + bytes(48)), "wait": (20, bytes(16))}
    for name, (kind, body) in frames.items():
        add("relays", name, bytes([kind]) + u(2, len(body)) + body)
    add("relays", "code", b"5724-4829-1367")
    add("relays", "token", b"0001-0203-0405-0607-0809-0a0b-0c0d-0e0f")


def messages(add, fields, u, part):
    option = b"\1a\2xy"
    error = {"a10": b"domain", "a11": u(8, 5), "a12": b"text", "a13": u(4, 1) + b"k" + u(4, 1) + b"v"}
    hosts = {"describe": b"\1", "export": b"\2" + fields(a1=b"linux", a2=option), "appended": b"\4", "cancel": b"\5",
             "import": b"\3" + fields(a1=b"/d", a2=b"org.a", a3=b"s", a4=b"linux", a5=b"1"), "failed": b"\4" + fields(**error)}
    extensions = {"ready": b"\1" + fields(a1=b"\3"), "described": b"\2" + fields(a1=u(8, 9), a2=b"1", a3=b"\1"),
                  "append": b"\3" + fields(a1=b"a/b"), "link": b"\3" + fields(a1=b"a", a2=b"b", a3=u(8, 1) + u(4, 2)),
                  "progress": b"\4" + fields(a1=u(4, 500)), "ended": b"\5", "broken": b"\5" + fields(**error),
                  "notice": b"\6" + fields(a1=b"\1")}
    for name, message in [*hosts.items(), *extensions.items()]:
        add("extension", name, message)
        add("packets", name, b"\0" + part(message))
    add("packets", "more", b"\1" + part(b"abc") + b"\0" + part(b"d"))
    add("packets", "two", b"\0" + part(b"abc") + b"\0" + part(b"") + b"\7" + part(b"d"))


def credentials(add, fields, u, varint):
    attributes = b"\1\1" + varint(1) + b"u" + b"\2\1" + varint(1) + b"s"
    time = u(8, 1000) + u(4, 5_000_000)
    item = fields(a1=b"\1", a2=attributes, a3=b"secret", a4=time, a5=time)
    requests = {
        "add": b"\1" + fields(a1=b"\1", a2=attributes, a3=b"a", a6=b"secret", a7=b"\3"),
        "copy": b"\2" + fields(a1=b"\1", a4=time, a7=b"\3", a8=u(4, 1)),
        "update": b"\3" + fields(a1=b"\2", a5=time, a6=b"x", a9=b"\x0c\3" + u(8, 256), a10=b"a"),
        "delete": b"\4" + fields(a1=b"\1"), "account": b"\5" + fields(a1=b"u")}
    replies = {"item": b"\1" + fields(a1=item, a2=b"a"), "ended": b"\2" + fields(a1=u(4, 0)), "state": b"\3" + fields(a1=b"\1"), "none": b"\3"}
    for name, message in [*requests.items(), *replies.items()]:
        add("credentials", name, message)
    add("credentials", "stored", item)
    for name, message in requests.items():
        add("broker", name, b"\0\0" + bytes([len(message)]) + message + b"\1")
    add("vault", "item", b"\1\0\x09\1" + item)
    add("vault", "cut", b"\1\0\x09\0" + item)
    add("vault", "sealed", b"\0PCR\1" + bytes(60))
    add("vault", "accounts", b"\2authorized u\nrevoked v w\n")
    add("vault", "key", b"\3PCK\1" + bytes(32) + u(8, 1) + u(8, 2) + b"/home")


def bundles(add):
    info = {"CFBundleIdentifier": "org.example", "CFBundleExecutable": "app", "CFBundleShortVersionString": "1"}
    lists = {
        "info": info, "aliases": info | {"PeerAliases": [{"BundleIdentifier": "a", "Platform": "linux", "StoreIdentifier": "s"}, 1]},
        "point": {"EXAppExtensionAttributes": {"EXExtensionPointIdentifier": "com.apple.app-migration"}},
        "access": {"com.apple.developer.app-migration.data-container-access": ["org.example"]},
        "groups": {"com.apple.security.application-groups": ["group.a", "..", 7]}, "other": {"a": True, "b": 1.5, "c": b"data", "d": []}}
    for name, values in lists.items():
        add("bundles", name, plistlib.dumps(values))
        add("bundles", f"{name}-binary", plistlib.dumps(values, fmt=plistlib.FMT_BINARY))
    add("bundles", "short", b"<plist><dict><key>a</key><array><string>&amp;b</string></array></dict></plist>")
    add("bundles", "deep", b"<plist>" + b"<array>" * 40 + b"</array>" * 40 + b"</plist>")
    add("records", "owner", b"org.example org.example.Clip\n")
    add("records", "mark", b"00112233445566778899aabbccddeeff restoring\n")
    add("records", "import", b'{"date":5,"transfer":"00","failure":{"domain":"d","code":1,"text":"t","userInfo":{"k":"v"}}}')


def texts(add):
    for index, text in enumerate([
            "192.0.2.7", "192.0.2.0/24", "fe80::1%lo", "::ffff:192.0.2.7/120", "2001:db8::/32", "laptop", "laptop:80", ":80", "80",
            "[::1]:80", "[fe80::1%lo]", "::1", "a:b:c", "1234-5670", "12 34 56 74", "0.0.0.0/0"]):
        add("addresses", str(index), text.encode())
    for index, text in enumerate([
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "POST /exchange HTTP/1.1\r\nOrigin: http://127.0.0.1:80\r\nX-Peer-Ticket: 0\r\n\r\n",
            "POST /send HTTP/1.1\r\nX-Peer-Secret: 0\r\nContent-Length: 7\r\n\r\nto=a\nb=", "GET /events HTTP/1.1\r\n\r\n"]):
        add("requests", str(index), text.encode())


def kernel(add):
    def message(kind, body, flags=2):
        return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 1) + body

    def attribute(kind, value):
        return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

    link = struct.pack("=BBHiII", 0, 0, 1, 2, 0x41, 0) + attribute(3, b"eth0\0") + attribute(18, attribute(1, b"veth\0") + attribute(4, b"bridge\0"))
    address = struct.pack("=BBBBI", 2, 24, 0, 0, 2) + attribute(1, bytes([10, 0, 0, 1])) + attribute(8, struct.pack("=I", 0x20))
    v6 = struct.pack("=BBBBI", 10, 64, 0, 0, 2) + attribute(2, bytes.fromhex("fe80" + "00" * 13 + "01"))
    for name, content in {"link": message(16, link), "address": message(20, address), "v6": message(20, v6),
                          "done": message(3, bytes(4)), "error": message(2, struct.pack("=i", -16)), "deleted": message(17, link)}.items():
        add("routes", name, content)
    add("routes", "all", message(16, link) + message(20, address) + message(20, v6) + message(3, bytes(4), flags=0x12))


def discovery(add):
    name = b"\x0d_peer-migrate\x04_tcp\x05local\x00"
    question = struct.pack(">HHHHHH", 0, 0, 1, 0, 0, 0) + name + struct.pack(">HH", 12, 1)
    label = b"\x06laptop\xc0\x0c"
    pointer = struct.pack(">HHHHHH", 0, 0x8400, 0, 1, 0, 0) + name + struct.pack(">HHIH", 12, 1, 120, len(label)) + label
    for target in ["dns", "discovery"]:
        add(target, "question", question)
        add(target, "pointer", pointer)
    add("discovery", "events", bytes([4, 0x10, 0, 0, 2, 5, 0xff, 0, 1, 1, 30, 0, 3, 2, 40, 3, 12, 250]) + question)

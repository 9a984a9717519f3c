"""Passes connections on, and tells which key exchange TLS 1.3 uses in each: that is said before
anything is encrypted.

Usage: key_exchange.py PORT   passes connections on to PORT of 127.0.0.1; prints the port that it takes them on, and then a
                              line for each handshake: the name of the group
"""

import os
import sys

sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from relay import Relay  # noqa: E402

HANDSHAKE, SERVER_HELLO, KEY_SHARE = 22, 2, 51
GROUPS = {0x0017: "P-256", 0x001D: "X25519", 0x11EC: "X25519MLKEM768"}
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random number of a ServerHello that asks for another ClientHello (RFC 8446, 4.1.3)."""


def number(data, start, size):
    return int.from_bytes(data[start : start + size], "big")


def handshake_bytes(data):
    """The plain handshake records at the beginning of a stream."""
    found, start = b"", 0
    while len(data) >= start + 5:
        size = number(data, start + 3, 2)
        if data[start] == HANDSHAKE:
            found += data[start + 5 : start + 5 + size]
        start += 5 + size
    return found


def group_of(hello):
    """The group that a ServerHello's body names; None if it asks for another ClientHello."""
    start = 35 + hello[34]
    start += 3
    end = start + 2 + number(hello, start, 2)
    start += 2
    while start < end:
        kind, size = number(hello, start, 2), number(hello, start + 2, 2)
        if kind == KEY_SHARE:
            group = number(hello, start + 4, 2)
            return None if hello[2:34] == RETRY else GROUPS.get(group, f"group {group:#06x}")
        start += 4 + size
    return "no key share"


def find_group(data):
    """The group of the first ServerHello that decides it; None until it has come."""
    data = handshake_bytes(data)
    while len(data) >= 4 and len(data) >= 4 + number(data, 1, 3):
        size = number(data, 1, 3)
        group = group_of(data[4 : 4 + size]) if data[0] == SERVER_HELLO else None
        if group is not None:
            return group
        data = data[4 + size :]
    return None


class Handshakes(Relay):
    """Prints the group of each connection that it passes on."""

    def __init__(self, port):
        super().__init__(port, look=self.look_at)
        self.seen = {}
        """What came on each connection from the receiver until its group was known, then None."""

    def look_at(self, number, part):
        data = self.seen.get(number, b"")
        if data is not None:
            group = find_group(data + part)
            self.seen[number] = data + part if group is None else None
            if group is not None:
                print(group, flush=True)


def main(arguments):
    relay = Handshakes(int(arguments[0]))
    print(relay.port, flush=True)
    relay.run()


if __name__ == "__main__":
    main(sys.argv[1:])

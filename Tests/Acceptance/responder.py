"""Answers questions for one instance of `_peer-migrate._tcp` by multicast, as RFC 6762 and 6763 say
it, and no better than that.

Usage: responder.py LABEL INSTANCE PORT ADDRESS...
  LABEL     the label, with Python's escapes
  INSTANCE  16 digits for the TXT record, or - for none
  ADDRESS   of the host, IPv4 or IPv6

Writes `up` when it listens at the interface `net`, or at `lo` where there is no other.
"""
import socket
import struct
import sys

PORT = 5353
GROUPS = {socket.AF_INET: "224.0.0.251", socket.AF_INET6: "ff02::fb"}
A, PTR, TXT, AAAA, SRV, ANY = 1, 12, 16, 28, 33, 255
CACHE_FLUSH = 0x8000


def name(*labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(owner, kind, data, flush=True):
    return owner + struct.pack("!HHIH", kind, 1 | (CACHE_FLUSH if flush else 0), 120, len(data)) + data


def answer(label, instance, port, addresses):
    service = name(b"_peer-migrate", b"_tcp", b"local")
    own = bytes([len(label)]) + label + service
    host = name(b"responder-" + str(port).encode(), b"local")
    text = b"id=" + instance.encode()
    records = [record(service, PTR, own, flush=False), record(own, SRV, struct.pack("!HHH", 0, 0, port) + host)]
    records.append(record(own, TXT, b"\0" if instance == "-" else bytes([len(text)]) + text))
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        records.append(record(host, AAAA if ":" in address else A, socket.inet_pton(family, address)))
    return struct.pack("!6H", 0, 0x8400, 0, 1, 0, len(records) - 1) + b"".join(records)


def listening(family, index):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET:
        one.bind(("", PORT))
        group = struct.pack("4s4si", socket.inet_aton(GROUPS[family]), bytes(4), index)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, group)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
    else:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(("::", PORT))
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(family, GROUPS[family]) + struct.pack("I", index))
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    return one


def main(label, instance, port, *addresses):
    import select

    names = {name: index for index, name in socket.if_nameindex()}
    index = names.get("net", names["lo"])
    packet = answer(label.encode().decode("unicode_escape").encode("latin-1"), instance, int(port), addresses)
    sockets = []
    for family in GROUPS:
        try:
            sockets.append(listening(family, index))
        except OSError:
            pass
    print("up", flush=True)
    while True:
        for one in select.select(sockets, [], [])[0]:
            question = one.recv(9000)
            # A question, about the service or one of its names.
            if len(question) > 12 and not question[2] & 0x80 and b"_peer-migrate" in question:
                try:
                    one.sendto(packet, (GROUPS[one.family], PORT))
                except OSError:
                    pass


main(*sys.argv[1:])

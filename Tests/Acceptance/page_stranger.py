"""Another user of the machine, who wants the assistant's page. The first argument is the user's
number, the second the page's port, the third what the user does. The answers are printed."""

import contextlib
# The user need not be able to read Python's own folder.
import encodings.ascii  # noqa: F401
import encodings.idna  # noqa: F401
import os
import re
import socket
import sys

TICKET = re.compile(rb"\b[0-9a-f]{32}\b")


def asked(port, ticket, source):
    """Connects from an address, and asks for the secret; returns the whole answer."""
    with contextlib.suppress(OSError), socket.socket() as one:
        one.settimeout(20)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(source)
        one.connect(("127.0.0.1", port))
        one.sendall(request(port, ticket))
        return b"".join(iter(lambda: one.recv(4096), b"")).decode()
    return ""


def request(port, ticket):
    return (f"POST /exchange HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
            f"X-Peer-Ticket: {ticket}\r\nContent-Length: 0\r\n\r\n").encode()


def ports_of_others(port):
    """The ports of others' connections to the page, which each user may read."""
    with open("/proc/self/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return [int(row[1].split(":")[1], 16) for row in rows
            if int(row[2].split(":")[1], 16) == port and row[3] == "01" and int(row[7]) != os.geteuid()]


def seen(path):
    """What a user sees of a file; nothing if that is forbidden."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""


def tickets():
    """What looks like a ticket in the words that programs were started with, and in files that they name."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        words = seen(f"/proc/{name}/cmdline") + b"\0" + seen(f"/proc/{name}/environ")
        found.update(TICKET.findall(words))
        for path in re.findall(rb"/[^\0]*peer-assistant[^\0]*", words):
            found.update(TICKET.findall(seen(path)))
            with contextlib.suppress(OSError):
                found.update(TICKET.findall(b" ".join(os.listdir(os.path.dirname(path)))))
    return [ticket.decode() for ticket in found]


def main(user, port, *what):
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    match what:
        case ["ask", ticket]:
            for source in [("127.0.0.2", number) for number in ports_of_others(port)] + [("127.0.0.1", 0)]:
                print(asked(port, ticket, source).split("\r\n")[0] or "no answer", flush=True)
        case ["leave", ticket]:
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.sendall(request(port, ticket))
        case ["search", count]:
            for _ in range(int(count)):
                for ticket in tickets():
                    for source in [("127.0.0.2", number) for number in ports_of_others(port)] + [("127.0.0.1", 0)]:
                        if " 200 " in (answer := asked(port, ticket, source)):
                            print(answer.split("\r\n")[-1], flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])

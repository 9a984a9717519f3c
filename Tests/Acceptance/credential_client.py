"""The program of an app that speaks to its broker in bytes, as docs/SecretsAndSignIn.md describes them,
without the kit.

Each line of standard input is an expression, and each line of standard output its value as JSON.
"""

import array
import json
import os
import socket
import sys

ACCOUNT, SERVICE, LABEL = 1, 2, 3
MORE = 32 << 10


def environment(name):
    return os.environ.get(name)


def own_socket():
    """The socket that leads to the broker; no program that this one starts inherits it."""
    number = int(os.environ["PEER_CREDENTIALS"].split(":")[0])
    os.set_inheritable(number, False)
    return socket.socket(fileno=os.dup(number))


def varint(value):
    for size, bits in ((1, 0), (2, 1), (4, 2)):
        if value < 1 << size * 8 - 2:
            return (value | bits << size * 8 - 2).to_bytes(size, "big")
    raise ValueError(value)


def fields(*pairs):
    return b"".join(bytes([tag]) + varint(len(value)) + value for tag, value in pairs if value is not None)


def attributes(account=None, service=None, label=None):
    return b"".join(
        bytes([number, 1]) + varint(len(text)) + text.encode()
        for number, text in ((ACCOUNT, account), (SERVICE, service), (LABEL, label)) if text is not None)


def adding(secret="", group=None, **named):
    return b"\x01" + fields((1, b"\x01"), (2, attributes(**named)), (3, group and group.encode()), (6, secret.encode()), (7, b"\0"))


def copying(limit=2**32 - 1, group=None, **named):
    return b"\x02" + fields(
        (1, b"\x01"), (2, attributes(**named) or None), (3, group and group.encode()), (7, b"\x03"), (8, limit.to_bytes(4, "big")))


def updating(secret=None, to=None, **named):
    return b"\x03" + fields(
        (1, b"\x01"), (2, attributes(**named) or None), (6, secret and secret.encode()), (9, to and attributes(**to)))


def deleting(**named):
    return b"\x04" + fields((1, b"\x01"), (2, attributes(**named) or None))


def asking(user):
    return b"\x05" + fields((1, user.encode()))


def send(request, *descriptors):
    with own_socket() as broker:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        return broker.sendmsg([request], rights)


def ask(request):
    """Sends a request with a socket for its answer; returns that socket."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        send(request, there.fileno())
    return here


def messages(answer):
    """The messages that arrive on a socket until it ends."""
    whole = b""
    with answer:
        while packet := answer.recv(MORE):
            whole += packet[1:]
            if packet[0] == 0:
                yield whole
                whole = b""


def parse(message):
    """The values of a message by their tags."""
    place, found = 0, {}
    while place < len(message):
        tag = message[place]
        size = 1 << (message[place + 1] >> 6)
        count = int.from_bytes(message[place + 1:place + 1 + size], "big") & ((1 << size * 8 - 2) - 1)
        place += 1 + size
        found[tag] = message[place:place + count]
        place += count
    return found


def texts(encoded):
    """Attributes that are texts, by their numbers."""
    place, found = 0, {}
    while place < len(encoded):
        number = encoded[place]
        size = 1 << (encoded[place + 2] >> 6)
        count = int.from_bytes(encoded[place + 2:place + 2 + size], "big") & ((1 << size * 8 - 2) - 1)
        place += 2 + size
        found[number] = encoded[place:place + count].decode()
        place += count
    return found


def do(request):
    """The answer: the status, and of each item its owner, its label, its account and its secret."""
    found = []
    for message in messages(ask(request)):
        values = parse(message[1:])
        if message[0] == 1:
            item = parse(values[1])
            named = texts(item[2])
            found.append([values[2].decode(), named.get(LABEL), named.get(ACCOUNT), item[3].decode()])
        elif message[0] == 2:
            return [int.from_bytes(values[1], "big", signed=True), *found]
        else:
            return ["account", values[1][0] if 1 in values else None]
    return ["no answer", *found]


def add(secret="", **named):
    return do(adding(secret, **named))[0]


def copy(**named):
    return do(copying(**named))


def update(secret=None, to=None, **named):
    return do(updating(secret, to, **named))[0]


def delete(**named):
    return do(deleting(**named))[0]


def user(name):
    return do(asking(name))


def attempt(action, *arguments):
    """The result of an action, or the name of the error."""
    try:
        found = action(*arguments)
        if hasattr(found, "close"):
            found.close()
            return "done"
        return found
    except OSError as error:
        return os.strerror(error.errno)


def main():
    for line in sys.stdin:
        try:
            found = eval(line)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        print(json.dumps(found), flush=True)


main()

"""Relays (Protocol.md, §16): what a device says to one, and a relay that may lie."""

import contextlib
import hashlib
import hmac
import os
import socket
import struct
import threading

from pairing import DAMM

CHALLENGE, PLACE, RING, JOINED, PING, PONG, CUT, REFUSED = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0F
REGISTER, CALL, ANSWER, MEET = 0x11, 0x12, 0x13, 0x14
TOKEN, ABSENT, BUSY = 2, 3, 4


def frame(kind, body=b""):
    return struct.pack(">BH", kind, len(body)) + body


def exactly(plain, count):
    data = b""
    while len(data) < count:
        part = plain.recv(count - len(data))
        if not part:
            raise EOFError("the relay's connection has ended")
        data += part
    return data


def read(plain):
    """The next frame: its type and its body."""
    kind, length = struct.unpack(">BH", exactly(plain, 3))
    return kind, exactly(plain, length)


def place(address):
    """A host of IPv4 and a port, as RING and JOINED state them."""
    host, port = address
    return b"\4" + socket.inet_aton(host) + struct.pack(">H", port)


def proof(token, challenge, request):
    return hmac.digest(token, b"peer-relay-v1\0" + challenge + request, hashlib.sha256)


def place_of(number):
    """The place with these digits in front of its check digit."""
    interim = 0
    for digit in str(number):
        interim = int(DAMM[interim][int(digit)])
    return number * 10 + interim


def token_of(text):
    return bytes.fromhex(text.strip().replace("-", ""))


class Asking:
    """A device's connection to a relay, up to the first answer."""

    def __init__(self, port, token, name, host="127.0.0.1"):
        self.plain = socket.create_connection(("127.0.0.1", port), 20, (host, 0))
        self.token, self.name = token, name.encode()
        kind, body = read(self.plain)
        assert (kind, body[:5], len(body)) == (CHALLENGE, b"PEER\1", 21), (kind, body)
        self.challenge = body[5:]

    def ask(self, kind, fields=b""):
        body = b"\1" + os.urandom(16) + bytes([len(self.name)]) + self.name + fields
        request = struct.pack(">BH", kind, len(body) + 32) + body
        self.plain.sendall(request + proof(self.token, self.challenge, request))
        return read(self.plain)

    def register(self):
        """Registers; returns the place."""
        kind, body = self.ask(REGISTER)
        assert kind == PLACE, (kind, body)
        return int.from_bytes(body, "big")

    def call(self, place):
        return self.ask(CALL, b"\1" + struct.pack(">I", place))

    def answer(self, call):
        return self.ask(ANSWER, call)


class Relay(threading.Thread):
    """A relay that does what it should, as far as its methods are not replaced."""

    def __init__(self, token, port=0):
        super().__init__(daemon=True)
        self.token = token
        self.listening = socket.create_server(("127.0.0.1", port))
        self.port = self.listening.getsockname()[1]
        self.registrations, self.meetings, self.calls = {}, {}, {}
        self.heard = []
        """The bytes of each caller behind JOINED."""
        self.lock = threading.Lock()
        self.start()

    # What a lie replaces

    def target(self, kind, value):
        """The registration that a caller is joined with."""
        return (self.registrations if kind == 1 else self.meetings).get(value)

    def stated(self, address):
        return address

    def passing(self, number, count, data):
        """The bytes that are passed on, of those of a caller that have come behind `count` others on
        the call with this number; none for the end."""
        return data

    def place(self):
        return place_of(100 + len(self.registrations))

    # What it does

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                plain, address = self.listening.accept()
                threading.Thread(target=self.serve, args=(plain, address), daemon=True).start()

    def close(self):
        self.listening.close()

    def serve(self, plain, address):
        with contextlib.suppress(OSError, EOFError, KeyError), plain:
            plain.settimeout(60)
            challenge = os.urandom(16)
            plain.sendall(frame(CHALLENGE, b"PEER\1" + challenge))
            kind, body = read(plain)
            request, given = frame(kind, body)[:-32], body[-32:]
            if not hmac.compare_digest(given, proof(self.token, challenge, request)):
                plain.sendall(frame(REFUSED, bytes([TOKEN, 0, 0])))
                return
            fields = body[18 + body[17]:-32]
            if kind == REGISTER:
                self.register(plain)
            elif kind == CALL:
                value = int.from_bytes(fields[1:], "big") if fields[0] == 1 else fields[1:]
                self.join(plain, address, self.target(fields[0], value))
            elif kind == ANSWER:
                with self.lock:
                    caller = self.calls.pop(fields)
                caller.receiver, caller.receiver_address = plain, address
                caller.answered.set()
                caller.over.wait()

    def register(self, plain):
        with self.lock:
            place = self.place()
            self.registrations[place] = plain
        plain.sendall(frame(PLACE, struct.pack(">I", place)))
        while True:
            kind, body = read(plain)
            if kind == MEET:
                self.meetings[body] = plain
            elif kind == PING:
                plain.sendall(frame(PONG))

    def join(self, plain, address, target):
        if target is None:
            plain.sendall(frame(REFUSED, bytes([ABSENT, 0, 0])))
            return
        caller = Caller(plain)
        with self.lock:
            number = len(self.heard)
            self.heard.append(b"")
            self.calls[caller.call] = caller
        self.ring(target, caller.call, address)
        try:
            if caller.answered.wait(10):
                plain.sendall(frame(JOINED, place(self.stated(address))))
                caller.receiver.sendall(frame(JOINED, place(self.stated(caller.receiver_address))))
                self.pass_on(number, caller)
        finally:
            caller.over.set()

    def ring(self, target, call, address):
        target.sendall(frame(RING, call + place(self.stated(address))))

    def pass_on(self, number, caller):
        ends = [caller.plain, caller.receiver]
        threads = [
            threading.Thread(target=self.pump, args=(*pair, given), daemon=True)
            for pair, given in ((ends, number), (ends[::-1], None))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def pump(self, source, sink, number):
        """Passes the bytes of one direction on; the caller's has the call's number."""
        count = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if number is not None:
                    self.heard[number] += data
                    data = self.passing(number, count, data)
                if not data:
                    break
                count += len(data)
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Caller:
    """A call that waits for its answer."""

    def __init__(self, plain):
        self.plain, self.receiver, self.call = plain, None, os.urandom(16)
        self.receiver_address = None
        self.answered, self.over = threading.Event(), threading.Event()

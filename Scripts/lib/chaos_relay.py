"""The relay between the two sides of a round of chaos, which breaks what passes through it."""

import collections
import selectors
import socket
import struct
import threading
import time

from outside import Failure, require
from watcher import Watcher


class Link:
    """One connection through the relay: its two sockets, and what is between them."""

    def __init__(self, near, far):
        self.ends = (near, far)
        self.held = [b"", b""]  # Read from an end, and not yet written to the other one.
        self.ended = [False, False]  # The end has said that nothing more comes.
        self.shut = [False, False]  # The end was told that nothing more comes.
        self.half_open = False
        self.corrupt = None  # The end whose next bytes are changed.
        self.is_corrupt = False
        self.header = [b"", b""]  # What has come of the next TLS record's header.
        self.rest = [0, 0]  # How many bytes of the record are still to come.

    def bodies(self, end, part):
        """The places in what an end has just sent that are in the body of a TLS record, as ranges."""
        found, place = [], 0
        while place < len(part):
            if self.rest[end]:
                count = min(self.rest[end], len(part) - place)
                found.append(range(place, place + count))
                self.rest[end] -= count
                place += count
            else:
                more = part[place:place + 5 - len(self.header[end])]
                self.header[end] += more
                place += len(more)
                if len(self.header[end]) == 5:
                    self.rest[end] = int.from_bytes(self.header[end][3:])
                    self.header[end] = b""
        return found


class Relay(Watcher, threading.Thread):
    """Passes bytes between senders and the receiver's port, and breaks what it is told to break.

    One thread owns all sockets. Others have things done by `do`, which waits until they are.
    """

    PART = 64 << 10

    may_stick = False
    """Whether a single connection may get stuck: see `read` and `open_half`."""

    def __init__(self, target, rate, draw, tell):
        threading.Thread.__init__(self, name="relay", daemon=True)
        Watcher.__init__(self)
        self.target, self.rate, self.random, self.tell = target, rate, draw, tell
        self.links = []
        self.passed = 0
        """How many bytes senders have sent into the relay, whatever became of them."""
        self.limit = None
        """After so many bytes nothing passes any more, for a self-test."""
        self.tokens, self.refilled = 0.0, time.monotonic()
        self.stalled_until = self.refused_until = 0.0
        self.orders = collections.deque()
        self.is_over = False
        self.bell, self.rope = socket.socketpair()
        self.bell.setblocking(False)
        self.selector.register(self.bell, selectors.EVENT_READ)
        self.listening = None
        self.port = 0
        self.listen()

    # Orders from other threads

    def do(self, function, *arguments):
        """Runs something on the relay's thread and gives back what it gave."""
        done, answer = threading.Event(), []
        self.orders.append((function, arguments, done, answer))
        self.rope.send(b"!")
        require(done.wait(10), "the relay of this script does not answer")
        return answer[0]

    def cut(self, how_many, reset):
        """Ends connections, all or one of them, by RST or by FIN; how many."""
        living = [link for link in self.links if not link.half_open]
        if how_many == 1 and living:
            living = [self.random.choice(living)]
        for link in living:
            self.drop(link, reset)
        return len(living)

    def open_half(self):
        """From now on what the ends send is swallowed, and neither hears of the other's end; how many connections."""
        living = [link for link in self.links if not link.half_open]
        if self.may_stick and living and self.random.random() < 0.5:
            living = [self.random.choice(living)]
        for link in living:
            link.half_open = True
            link.held = [b"", b""]
        return len(living)

    def corrupt(self, end):
        """One bit of what comes next from an end (0 the sender's) will change; whether there is a connection."""
        living = [link for link in self.links if not link.half_open and link.corrupt is None]
        if living:
            self.random.choice(living).corrupt = end
        return len(living)

    def stall(self, seconds):
        self.stalled_until = max(self.stalled_until, time.monotonic() + seconds)
        return len(self.links)

    def refuse(self, seconds):
        """Takes no connections for a while: nobody listens."""
        self.refused_until = time.monotonic() + seconds
        if self.listening is not None:
            self.selector.unregister(self.listening)
            self.listening.close()
            self.listening = None
        return 1

    def close(self):
        self.is_over = True
        self.rope.send(b"!")
        self.join(10)

    # The thread

    def run(self):
        while not self.is_over:
            now = time.monotonic()
            for key, mask in self.selector.select(self.arrange(now)):
                if key.fileobj is self.bell:
                    self.bell.recv(4096)
                elif key.fileobj is self.listening:
                    self.accept()
                elif key.data in self.links:
                    self.serve(key.data, key.data.ends.index(key.fileobj), mask)
            while self.orders:
                function, arguments, done, answer = self.orders.popleft()
                answer.append(function(*arguments))
                done.set()
        for link in list(self.links):
            self.drop(link, True)
        for one in (self.listening, self.bell, self.rope):
            if one is not None:
                one.close()
        self.selector.close()

    def arrange(self, now):
        """Asks the selector for what is wanted now; how long it may wait."""
        self.tokens = min(self.tokens + (now - self.refilled) * self.rate, self.PART + self.rate * 0.02)
        self.refilled = now
        if self.listening is None and now >= self.refused_until:
            self.listen()
        is_stalled = now < self.stalled_until or self.limit is not None and self.passed >= self.limit
        is_waiting_for_tokens = False
        for link in self.links:
            for end, one in enumerate(link.ends):
                mask = 0
                if link.half_open:
                    mask = 0 if link.ended[end] else selectors.EVENT_READ
                elif not is_stalled:
                    if not link.held[end] and not link.ended[end]:
                        if end == 1 or self.tokens >= 4096:
                            mask |= selectors.EVENT_READ
                        else:
                            is_waiting_for_tokens = True
                    if link.held[1 - end]:
                        mask |= selectors.EVENT_WRITE
                self.watch(one, link, mask)
        if is_waiting_for_tokens:
            return 0.003
        later = [moment - now for moment in (self.stalled_until, self.refused_until) if moment > now]
        return max(0.001, min([0.5, *later]))

    def listen(self):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Little may be on its way in the relay, or every cut would cost more than a cut of a cable does.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 << 10)
        if self.port:
            listening.bind(("127.0.0.1", self.port))
        else:
            self.port = bind_low(listening, self.random)
        listening.listen(64)
        listening.setblocking(False)
        self.listening = listening
        self.selector.register(listening, selectors.EVENT_READ)

    def accept(self):
        try:
            near, _ = self.listening.accept()
        except OSError:
            return
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 128 << 10)
        far.settimeout(2)
        try:
            far.connect(("127.0.0.1", self.target))
        except OSError:
            reset(near)
            far.close()
            return
        for one in (near, far):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links.append(Link(near, far))

    def serve(self, link, end, mask):
        try:
            if mask & selectors.EVENT_WRITE and link.held[1 - end]:
                sent = link.ends[end].send(link.held[1 - end])
                link.held[1 - end] = link.held[1 - end][sent:]
            if mask & selectors.EVENT_READ:
                self.read(link, end)
            if not link.half_open:
                for one in (0, 1):
                    if link.ended[one] and not link.held[one] and not link.shut[1 - one]:
                        link.ends[1 - one].shutdown(socket.SHUT_WR)
                        link.shut[1 - one] = True
            if all(link.ended) and not any(link.held):
                self.drop(link, False)
        except BlockingIOError:
            pass
        except OSError:
            if not link.half_open:
                self.drop(link, True)
                return
            # The other end does not hear of it.
            self.watch(link.ends[end], link, 0)
            link.ended[end] = True
            if all(link.ended):
                self.drop(link, False)

    def read(self, link, end):
        size = self.PART if end == 1 or link.half_open else int(min(self.PART, max(1, self.tokens)))
        part = link.ends[end].recv(size)
        if not part:
            link.ended[end] = True
            return
        if end == 0:
            self.passed += len(part)
            self.tokens -= len(part)
        if link.half_open:
            return
        bodies = link.bodies(end, part)
        if link.corrupt == end and not link.is_corrupt and bodies:
            # TLS protects the bodies of records. A length that is changed shows only when more bytes come, and on a
            # data stream they need not: its end waits, and only the control connection has a heartbeat.
            places = range(len(part)) if self.may_stick else self.random.choice(bodies)
            place = self.random.choice(places)
            part = part[:place] + bytes([part[place] ^ 1 << self.random.randrange(8)]) + part[place + 1:]
            link.is_corrupt = True
            self.tell("corrupted", f"{'sender to receiver' if end == 0 else 'receiver to sender'}, byte {place}")
        link.held[end] = part

    def drop(self, link, by_reset):
        for one in link.ends:
            self.watch(one, link, 0)
            self.watched.pop(one, None)
            if by_reset:
                reset(one)
            else:
                one.close()
        self.links.remove(link)


def reset(one):
    """Closes a connection with RST."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def bind_low(listening, draw):
    """Binds below the ports that the system gives to outgoing connections, one of which could else take a receiver's
    place while it is dead."""
    for _ in range(200):
        port = draw.randrange(10_000, 32_000)
        try:
            listening.bind(("127.0.0.1", port))
            return port
        except OSError:
            continue
    raise Failure("no port is free")


def free_port(draw):
    with socket.socket() as one:
        return bind_low(one, draw)

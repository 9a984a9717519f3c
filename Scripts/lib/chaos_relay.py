"""The relay between the two sides of a round of chaos, which breaks connections."""

import collections
import selectors
import socket
import struct
import threading
import time

from outside import Failure, require
from watcher import Watcher


class Link:
    """One connection through the relay: its two sockets, and the bytes between them."""

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
        """The positions in the bytes that an end has just sent that are in the body of a TLS
        record, as ranges."""
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
    """Passes bytes between senders and the receiver's port, and breaks connections on request.

    One thread owns all sockets. Other threads act through `do`, which waits for the result.
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
        """How many bytes senders have sent into the relay, including lost ones."""
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
        """Runs a function on the relay's thread and returns its result."""
        done, answer = threading.Event(), []
        self.orders.append((function, arguments, done, answer))
        self.rope.send(b"!")
        require(done.wait(10), "the relay of this script does not answer")
        return answer[0]

    def cut(self, how_many, reset):
        """Ends connections, all or one of them, by RST or by FIN; returns their number."""
        living = [link for link in self.links if not link.half_open]
        if how_many == 1 and living:
            living = [self.random.choice(living)]
        for link in living:
            self.drop(link, reset)
        return len(living)

    def open_half(self):
        """From now on, the relay swallows the ends' bytes, and neither learns of the other's end;
        returns the number of connections."""
        living = [link for link in self.links if not link.half_open]
        if self.may_stick and living and self.random.random() < 0.5:
            living = [self.random.choice(living)]
        for link in living:
            link.half_open = True
            link.held = [b"", b""]
        return len(living)

    def corrupt(self, end):
        """Changes one bit of the next bytes from an end (0 is the sender); returns whether there is
        a connection."""
        living = [link for link in self.links if not link.half_open and link.corrupt is None]
        if living:
            self.random.choice(living).corrupt = end
        return len(living)

    def stall(self, seconds):
        self.stalled_until = max(self.stalled_until, time.monotonic() + seconds)
        return len(self.links)

    def refuse(self, seconds):
        """Accepts no connections for a while, as without a listener."""
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
        """Tells the selector what to wait for; returns how long it may wait."""
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
        # Only a few bytes may be inside the relay; otherwise every cut would cost more than a cut
        # of a cable.
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
            # The other end is not told.
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
            # TLS protects the bodies of records. A changed length shows only when more bytes come.
            # On a data stream they need not come: its end waits, and only the control connection
            # has a heartbeat.
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
    """Binds below the ports that the system gives to outgoing connections, one of which could
    otherwise take a receiver's port while it is dead."""
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

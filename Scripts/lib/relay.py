"""A relay between senders and the port of a receiver: slow, distant, or broken on request."""

import collections
import contextlib
import random
import selectors
import socket
import struct
import threading
import time

from outside import Failure, require

SENDER, RECEIVER = 0, 1
"""The ends of a connection through the relay."""


class Way:
    """The bytes from one end of a connection to the other."""

    def __init__(self):
        self.travelling = collections.deque()  # When it arrives, and the bytes.
        self.unconfirmed = collections.deque()  # When its end hears that it arrived, and how many bytes.
        self.flight = 0  # How many bytes are read, and not yet confirmed.
        self.has_ended = self.is_shut = False  # Nothing more comes; the other end was told.
        self.is_swallowed = False
        self.is_spoilt = False
        self.must_spoil = False
        self.header = b""  # What has come of the next TLS record's header.
        self.rest = 0  # How many bytes of the record are still to come.

    def bodies(self, part):
        """The positions in bytes that have just come that are in the body of a TLS record, as
        ranges."""
        found, place = [], 0
        while place < len(part):
            if self.rest:
                count = min(self.rest, len(part) - place)
                found.append(range(place, place + count))
                self.rest -= count
                place += count
            else:
                more = part[place:place + 5 - len(self.header)]
                self.header += more
                place += len(more)
                if len(self.header) == 5:
                    self.rest = int.from_bytes(self.header[3:])
                    self.header = b""
        return found


class Link:
    """One connection through the relay: its two sockets, and the way from each to the other."""

    def __init__(self, number, ends, opened):
        self.number, self.ends, self.opened = number, ends, opened
        self.ways = (Way(), Way())

    @property
    def is_half_open(self):
        return all(way.is_swallowed for way in self.ways)


class Relay(threading.Thread):
    """Passes bytes between senders and a port of this device.

    All senders share `rate` bytes a second. Bytes of a sender arrive `delays[SENDER]` seconds late,
    and those of the receiver `delays[RECEIVER]`. At most `flight` bytes of a way of a connection are
    read and not yet confirmed, so none is faster than `flight` in both delays together. A
    connection that ends without a byte, as a look whether anything listens does, is not passed on.
    With `draw`, its port stays its own while it refuses connections.

    One thread owns all sockets. Other threads act through `do`, which waits for the result.
    """

    PART = 256 << 10
    BUFFER = 128 << 10
    """The bytes that the kernel holds in addition, on either side: any more would make a cut cost
    more than the cut of a cable."""

    def __init__(self, target, rate=1 << 40, delays=(0, 0), flight=64 << 10, draw=None, tell=lambda *_: None, look=lambda *_: None):
        super().__init__(name="relay", daemon=True)
        self.target, self.rate, self.delays, self.flight = target, rate, delays, flight
        self.draw, self.random, self.tell, self.look = draw, draw or random.Random(), tell, look
        self.links = []
        self.count = 0
        """How many connections there were."""
        self.most = 0
        """The most simultaneous connections."""
        self.spoilt = 0
        """How many bytes were changed."""
        self.passed = 0
        """How many bytes senders have sent into the relay, including lost ones."""
        self.samples = collections.deque(maxlen=1 << 17)
        """The last times at which bytes came from senders, and how many had come by then."""
        self.limit = None
        """After so many bytes a sender's bytes pass no more."""
        self.tokens, self.refilled = 0.0, time.monotonic()
        self.stalled_until = self.refused_until = 0.0
        self.orders = collections.deque()
        self.is_over = False
        self.selector, self.watched = selectors.DefaultSelector(), {}
        self.bell, self.rope = socket.socketpair()
        self.bell.setblocking(False)
        self.selector.register(self.bell, selectors.EVENT_READ, self.obey)
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

    def cut(self, how_many, by_reset):
        """Ends connections, all or one of them, by RST or by FIN; returns their number."""
        living = self.living()
        if how_many == 1 and living:
            living = [self.random.choice(living)]
        for link in living:
            self.drop(link, by_reset)
        return len(living)

    def cut_one(self, number):
        """Ends a connection without a farewell; connections are counted from 0."""
        for link in self.numbered(number):
            self.drop(link, False)

    def open_half(self):
        """From now on, the relay swallows the ends' bytes, and neither learns of the other's end;
        returns the number of connections."""
        living = self.living()
        for link in living:
            for way in link.ways:
                way.is_swallowed = True
                way.travelling.clear()
        return len(living)

    def mute(self, number):
        """Passes nothing more to the sender on one connection; the receiver does not notice."""
        for link in self.numbered(number):
            link.ways[RECEIVER].is_swallowed = True

    def spoil(self, end, number=None):
        """Changes one bit of the next bytes from an end, on a connection or on any one; -1 is the
        newest. Returns whether there is such a connection."""
        living = self.numbered(number)
        if number is None:
            living = [link for link in self.living() if not any(way.must_spoil for way in link.ways)]
        if living:
            way = self.random.choice(living).ways[end]
            way.must_spoil, way.is_spoilt = True, False
        return len(living)

    def stall(self, seconds):
        """Passes nothing for a while, without an error at either end."""
        self.stalled_until = max(self.stalled_until, time.monotonic() + seconds)
        return len(self.links)

    def refuse(self, seconds):
        """Accepts no connections for a while, as without a listener."""
        self.refused_until = time.monotonic() + seconds
        if self.listening is not None:
            self.forget(self.listening)
            self.listening.close()
            self.listening = None
        return 1

    def close(self):
        self.is_over = True
        with contextlib.suppress(OSError):
            self.rope.send(b"!")
        self.join(10)

    # The thread

    def run(self):
        while not self.is_over:
            for key, mask in self.selector.select(self.arrange(time.monotonic())):
                if isinstance(key.data, Link):
                    if key.data in self.links:
                        self.serve(key.data, key.data.ends.index(key.fileobj), mask)
                else:
                    key.data(key.fileobj)
        for link in list(self.links):
            self.drop(link, True)
        for one in {*self.watched, self.listening, self.bell, self.rope} - {None}:
            one.close()
        self.selector.close()

    def obey(self, bell):
        bell.recv(4096)
        while self.orders:
            function, arguments, done, answer = self.orders.popleft()
            answer.append(function(*arguments))
            done.set()

    def living(self):
        return [link for link in self.links if not link.is_half_open]

    def numbered(self, number):
        return self.links[-1:] if number == -1 else [link for link in self.links if link.number == number]

    def arrange(self, now):
        """Tells the selector what to wait for; returns how long it may wait."""
        self.tokens = min(self.tokens + (now - self.refilled) * self.rate, (64 << 10) + self.rate * 0.02)
        self.refilled = now
        if self.listening is None and now >= self.refused_until:
            self.listen()
        moments = [now + 0.5, self.stalled_until, self.refused_until]
        for link in list(self.links):
            if self.end(link, now):
                continue
            masks = [0, 0]
            for end, way in enumerate(link.ways):
                while way.unconfirmed and way.unconfirmed[0][0] <= now:
                    way.flight -= way.unconfirmed.popleft()[1]
                if way.is_swallowed or now >= self.stalled_until:
                    if way.travelling and way.travelling[0][0] <= now:
                        masks[1 - end] |= selectors.EVENT_WRITE
                    if self.may_read(end, way):
                        masks[end] |= selectors.EVENT_READ
                    elif end == SENDER and self.tokens < 4096:
                        moments.append(now + 0.003)
                moments += [queue[0][0] for queue in (way.travelling, way.unconfirmed) if queue]
            for one, mask in zip(link.ends, masks):
                self.watch(one, link, mask)
        return max(0.001, min(moment for moment in moments if moment > now) - now)

    def may_read(self, end, way):
        if way.has_ended or way.is_swallowed:
            return not way.has_ended
        if end == SENDER and (self.tokens < 4096 or self.limit is not None and self.passed >= self.limit):
            return False
        return way.flight < self.flight

    def end(self, link, now):
        """Tells the ends what has ended; whether the whole connection has."""
        if now >= self.stalled_until and not link.is_half_open:
            for end, way in enumerate(link.ways):
                if way.has_ended and not way.travelling and not way.is_shut:
                    way.is_shut = True
                    with contextlib.suppress(OSError):
                        link.ends[1 - end].shutdown(socket.SHUT_WR)
        has_ended = all(way.has_ended and not way.travelling for way in link.ways)
        if has_ended:
            self.drop(link, False)
        return has_ended

    def listen(self):
        self.listening, self.port = bind_low(self.draw, [self.port] if self.port or self.draw is None else None)
        # The window of TCP is told with the first packet.
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.BUFFER)
        self.listening.listen(64)
        self.listening.setblocking(False)
        self.watch(self.listening, self.accept, selectors.EVENT_READ)

    def accept(self, listening):
        with contextlib.suppress(OSError):
            near, _ = listening.accept()
            near.setblocking(False)
            self.watch(near, self.connect, selectors.EVENT_READ)

    def connect(self, near):
        """Passes on a connection that has said something, or has ended."""
        self.forget(near)
        try:
            if not near.recv(1, socket.MSG_PEEK):
                near.close()
                return
        except OSError:
            near.close()
            return
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.BUFFER)
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
        # It is established one way there and back late.
        self.links.append(Link(self.count, (near, far), time.monotonic() + sum(self.delays)))
        self.count += 1
        self.most = max(self.most, len(self.links))

    def serve(self, link, end, mask):
        try:
            if mask & selectors.EVENT_WRITE:
                self.deliver(link, 1 - end)
            if mask & selectors.EVENT_READ:
                self.read(link, end)
        except BlockingIOError:
            pass
        except OSError:
            if not link.is_half_open:
                self.drop(link, True)
                return
            # The other end is not told.
            link.ways[end].has_ended = True

    def deliver(self, link, end):
        way, now = link.ways[end], time.monotonic()
        while way.travelling and way.travelling[0][0] <= now:
            when, part = way.travelling[0]
            sent = link.ends[1 - end].send(part)
            way.unconfirmed.append((max(when, now) + self.delays[1 - end], sent))
            if sent < len(part):
                way.travelling[0] = when, part[sent:]
                return
            way.travelling.popleft()

    def read(self, link, end):
        way = link.ways[end]
        size = self.PART
        if not way.is_swallowed:
            size = min(size, self.flight - way.flight, max(1, int(self.tokens)) if end == SENDER else size)
        part = link.ends[end].recv(size)
        if not part:
            way.has_ended = True
            return
        now = time.monotonic()
        if end == SENDER:
            self.passed += len(part)
            self.tokens -= len(part)
            self.samples.append((now, self.passed))
        if way.is_swallowed:
            return
        if end == RECEIVER:
            self.look(link.number, part)
        way.flight += len(part)
        way.travelling.append((max(now, link.opened) + self.delays[end], self.changed(way, end, part)))

    def changed(self, way, end, part):
        """The bytes, one of them changed where that is wanted."""
        bodies = way.bodies(part)
        if not way.must_spoil or way.is_spoilt or not bodies:
            return part
        # TLS protects the bodies of records. A changed length shows only when more bytes come. On a
        # data stream they need not come: its end waits, and only the control connection has a
        # heartbeat.
        place = self.random.choice(self.random.choice(bodies))
        way.is_spoilt = True
        self.spoilt += 1
        self.tell("corrupted", f"{'receiver to sender' if end else 'sender to receiver'}, byte {place}")
        return part[:place] + bytes([part[place] ^ 1 << self.random.randrange(8)]) + part[place + 1:]

    def watch(self, one, data, mask):
        before = self.watched.get(one, 0)
        if mask == before:
            return
        if not before:
            self.selector.register(one, mask, data)
        elif mask:
            self.selector.modify(one, mask, data)
        else:
            self.selector.unregister(one)
        self.watched[one] = mask

    def forget(self, one):
        self.watch(one, None, 0)
        self.watched.pop(one, None)

    def drop(self, link, by_reset):
        for one in link.ends:
            self.forget(one)
            if by_reset:
                reset(one)
            else:
                one.close()
        self.links.remove(link)


def reset(one):
    """Closes a connection with RST."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def bind_low(draw, ports=None):
    """A socket with its port, below the ports that the system gives to outgoing connections, one of
    which could otherwise take a receiver's port while it is dead."""
    for port in ports or (draw.randrange(10_000, 32_000) for _ in range(200)):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
            return one, one.getsockname()[1]
        except OSError:
            one.close()
    raise Failure("no port is free")


def free_port(draw):
    one, port = bind_low(draw)
    one.close()
    return port

"""A relay with the delay of a distant country: bytes take their time, and only a limited number is
on its way."""

import collections
import selectors
import socket
import threading
import time

from watcher import Watcher


def speaks(connection):
    """Whether a connection sends anything; a probe that only checks for a listener ends without
    data."""
    connection.settimeout(10)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except OSError:
        return False
    finally:
        connection.settimeout(None)


class Direction:
    """The bytes that one end of a connection sends to the other."""

    def __init__(self, source, target, opened):
        self.source, self.target, self.opened = source, target, opened
        self.travelling = collections.deque()  # When it arrives, and the bytes.
        self.unconfirmed = collections.deque()  # When the source's end would hear that it arrived, and how many bytes.
        self.flight = 0
        self.ended = self.shut = False


class FarLink(Watcher, threading.Thread):
    """Passes bytes both ways, each half of `delay` seconds late. At most `flight` bytes of a
    direction of a connection are unconfirmed at a time, so none is faster than `flight` in `delay`.
    A new connection takes a `delay` to be established.

    One thread owns all sockets.
    """

    PART = 256 << 10
    BUFFER = 128 << 10
    """The bytes that the kernel holds in addition, on either side."""

    def __init__(self, port, delay=0.05, flight=4 << 20):
        threading.Thread.__init__(self, name="far link", daemon=True)
        Watcher.__init__(self)
        self.target, self.delay, self.flight = port, delay, flight
        self.count = 0
        """How many connections there were."""
        self.most = 0
        """The most simultaneous connections."""
        self.passed = 0
        """How many bytes senders have sent into it."""
        self.passed_on = {}
        """The same by connection."""
        self.samples = []
        """Times, and how many bytes had come from senders by then."""
        self.to_cut = set()
        self.links = []
        self.is_over = False
        self.listening = socket.socket()
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.BUFFER)
        self.listening.bind(("127.0.0.1", 0))
        self.listening.listen(64)
        self.listening.setblocking(False)
        self.port = self.listening.getsockname()[1]
        self.selector.register(self.listening, selectors.EVENT_READ)
        self.start()

    def close(self):
        self.is_over = True
        self.join(15)

    def cut(self, number):
        """Cuts a connection without a farewell; connections are counted from 0."""
        self.to_cut.add(number)

    def run(self):
        while not self.is_over:
            for key, mask in self.selector.select(self.arrange()):
                if key.fileobj is self.listening:
                    self.accept()
                else:
                    self.serve(key.data, key.fileobj, mask)
            for link in [link for link in self.links if link[2] in self.to_cut]:
                self.to_cut.discard(link[2])
                self.drop(link)
        for link in list(self.links):
            self.drop(link)
        self.listening.close()
        self.selector.close()

    def accept(self):
        near, _ = self.listening.accept()
        if not speaks(near):
            near.close()
            return
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.BUFFER)
        try:
            far.connect(("127.0.0.1", self.target))
        except OSError:
            near.close()
            far.close()
            return
        for one in (near, far):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened = time.monotonic() + self.delay
        self.links.append((Direction(near, far, opened), Direction(far, near, opened), self.count))
        self.passed_on[self.count] = 0
        self.count += 1
        self.most = max(self.most, len(self.links))

    def arrange(self):
        """Tells the selector what to wait for; returns how long it may wait."""
        now = time.monotonic()
        soonest = now + 0.2
        for link in list(self.links):
            masks = {link[0].source: 0, link[0].target: 0}
            for way in link[:2]:
                while way.unconfirmed and way.unconfirmed[0][0] <= now:
                    way.flight -= way.unconfirmed.popleft()[1]
                if way.travelling and way.travelling[0][0] <= now:
                    masks[way.target] |= selectors.EVENT_WRITE
                elif way.ended and not way.travelling and not way.shut:
                    way.shut = True
                    try:
                        way.target.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass
                if not way.ended and way.flight < self.flight:
                    masks[way.source] |= selectors.EVENT_READ
                times = [queue[0][0] for queue in (way.travelling, way.unconfirmed) if queue and queue[0][0] > now]
                soonest = min([soonest, *times])
            if link[0].shut and link[1].shut:
                self.drop(link)
                continue
            for one, mask in masks.items():
                self.watch(one, link, mask)
        return max(0, soonest - now)

    def serve(self, link, one, mask):
        if link not in self.links:
            return
        try:
            for way in link[:2]:
                if way.target is one and mask & selectors.EVENT_WRITE:
                    self.deliver(way)
                if way.source is one and mask & selectors.EVENT_READ:
                    self.take(link, way)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(link)

    def take(self, link, way):
        part = way.source.recv(min(self.PART, self.flight - way.flight))
        if not part:
            way.ended = True
            return
        sent = max(time.monotonic(), way.opened)
        if way is link[0]:
            self.passed += len(part)
            self.passed_on[link[2]] += len(part)
            self.samples.append((time.monotonic(), self.passed))
        way.flight += len(part)
        way.travelling.append((sent + self.delay / 2, part))
        way.unconfirmed.append((sent + self.delay, len(part)))

    def deliver(self, way):
        now = time.monotonic()
        while way.travelling and way.travelling[0][0] <= now:
            when, part = way.travelling[0]
            sent = way.target.send(part)
            if sent < len(part):
                way.travelling[0] = (when, part[sent:])
                return
            way.travelling.popleft()

    def drop(self, link):
        for one in (link[0].source, link[0].target):
            self.watch(one, link, 0)
            self.watched.pop(one, None)
            one.close()
        self.links.remove(link)

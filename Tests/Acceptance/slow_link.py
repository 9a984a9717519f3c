"""A relay that slows a transfer down, and can corrupt it or fall silent."""

import math
import socket
import threading
import time

from far_link import speaks
from outside import MIB


class SlowLink:
    """A relay that passes every byte on, but slowly from the sender to the receiver, so that a
    transfer lasts.

    Its connections share its rate. It can change a byte, fall silent, or stop one connection's
    bytes to the sender. It can also stop all bytes to the receiver after a given number.
    """

    RATE = 8 * MIB

    def __init__(self, port, rate=RATE):
        self.target = port
        self.rate = rate
        self.lock = threading.Lock()
        self.free_at = 0.0
        self.count = 0
        self.to_spoil = set()
        self.spoilt = 0
        self.may_pass = threading.Event()
        self.may_pass.set()
        self.muted = set()
        self.most = math.inf
        self.closed = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.passed = 0
        self.sockets = []
        self.threads = []
        self.accepting = self.start(self.accept)

    def start(self, *work):
        thread = threading.Thread(target=work[0], args=work[1:], daemon=True)
        thread.start()
        return thread

    def accept(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            if not speaks(near):
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 10)
                far.settimeout(None)
            except OSError:
                # No program listens just now.
                near.close()
                continue
            self.sockets += [near, far]
            self.threads += [self.start(self.forward, near, far, self.count), self.start(self.forward, far, near, None, self.count)]
            self.count += 1

    def spoil(self, number):
        """Changes the next byte that arrives on a connection from the sender; -1 is the newest."""
        self.to_spoil.add(self.count - 1 if number < 0 else number)

    def freeze(self):
        """Passes nothing more, without an error at either end."""
        self.may_pass.clear()

    def let_pass(self, count):
        """Passes so many bytes to the receiver, rounded up to the size of a read, and then nothing
        more."""
        self.most = count

    def mute(self, number):
        """Passes nothing more to the sender on one connection; the receiver does not notice."""
        self.muted.add(number)

    def forward(self, source, target, number, answered=None):
        try:
            while True:
                part = source.recv(65536)
                if not part:
                    break
                self.may_pass.wait()
                if answered in self.muted:
                    continue
                if number is not None and self.passed >= self.most:
                    self.closed.wait()
                    break
                if number in self.to_spoil:
                    self.to_spoil.discard(number)
                    self.spoilt += 1
                    # Far enough from the start to lie in the body of a record.
                    at = min(len(part) - 1, 8)
                    part = part[:at] + bytes([part[at] ^ 1]) + part[at + 1:]
                target.sendall(part)
                if number is not None:
                    time.sleep(self.carry(len(part)))
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def carry(self, count):
        """Counts passed bytes; returns for how many seconds they keep the link busy from now on."""
        with self.lock:
            self.passed += count
            now = time.monotonic()
            self.free_at = max(now, self.free_at) + count / self.rate
            return self.free_at - now

    def close(self):
        """Ends its connections and its threads."""
        self.may_pass.set()
        self.closed.set()
        # First accepts nothing more; then wakes the threads that wait for bytes.
        for sockets, threads in (([self.listening], [self.accepting]), (self.sockets, self.threads)):
            for one in sockets:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            for thread in threads:
                thread.join(15)
            for one in sockets:
                one.close()

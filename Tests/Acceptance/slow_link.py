"""A relay through which a transfer lasts, which can spoil it, or fall silent."""

import math
import socket
import threading
import time

from far_link import speaks
from outside import MIB


class SlowLink:
    """A relay that passes every byte on, but slowly from the sender to the receiver, so that a transfer lasts.

    Its connections share its rate. It can change a byte, fall silent, keep back what one connection brings the sender, or
    all that comes to the receiver behind so many bytes.
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
                # Nobody is there just now.
                near.close()
                continue
            self.sockets += [near, far]
            self.threads += [self.start(self.forward, near, far, self.count), self.start(self.forward, far, near, None, self.count)]
            self.count += 1

    def spoil(self, number):
        """Changes the next byte that comes on a connection from the sender; -1 is the newest."""
        self.to_spoil.add(self.count - 1 if number < 0 else number)

    def freeze(self):
        """Nothing comes through any more, and nobody is told."""
        self.may_pass.clear()

    def let_pass(self, count):
        """Brings the receiver so many bytes, rounded up to what is read at a time, and then nothing more."""
        self.most = count

    def mute(self, number):
        """The sender hears nothing more on a connection, and the receiver is not told."""
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
                    # Far enough from its start to lie in the body of a record.
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
        """Counts bytes that have passed; for how many seconds they keep the link busy from now on."""
        with self.lock:
            self.passed += count
            now = time.monotonic()
            self.free_at = max(now, self.free_at) + count / self.rate
            return self.free_at - now

    def close(self):
        """Ends its connections and its threads."""
        self.may_pass.set()
        self.closed.set()
        # First nobody comes any more; then whoever waits for bytes is woken.
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

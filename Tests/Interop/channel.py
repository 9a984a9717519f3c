"""One connection (Protocol.md §4.1, §4.2, §5, §7.4): TLS, frames, PING, CLOSE.

There are no threads. `Channel.next` returns a message that has arrived; `wait` sleeps until data
arrives on one of several channels. A test can write any bytes with `write`.
"""

import select
import socket
import struct
import time

from OpenSSL import SSL

import pairing
import tls
import wire
from forms import Violation, require

PATIENCE = 60
PING_AFTER, DEAD_AFTER = 5, 15


class Cut(Exception):
    """The connection ended without close_notify."""


class Ended(Exception):
    """The connection ended with close_notify."""


class Silent(Exception):
    """Nothing came for too long."""


class Aborted(Exception):
    """ABORT, of either end; `reason` is its number, and `more` has the values behind it."""

    def __init__(self, reason, **more):
        super().__init__(f"ABORT {reason}")
        self.reason, self.more = reason, more
        self.is_told = False
        """Whether the other end has said it: it gets no answer (§4.2)."""

    def is_worth_a_try(self):
        """Whether the other end may admit this one later."""
        return self.reason == wire.BUSY and self.more.get("wait") != 2


class Closed(Exception):
    """The other end said CLOSE; `said` is the message."""

    def __init__(self, said):
        super().__init__(f"CLOSE {said.code}: {said.message or said.cause or ''}")
        self.said, self.code = said, said.code


class Channel:
    """One connection, from the handshake to close_notify."""

    def __init__(self, plain, identity, is_server, groups=tls.GROUPS):
        self.plain, self.identity, self.is_server = plain, identity, is_server
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setblocking(False)
        self.tls = SSL.Connection(tls.context(identity, groups), plain)
        self.buffer, self.over, self.is_early = bytearray(), None, True
        self.is_control = False
        """A control connection sends PING, and ends after silence."""
        self.answers_pings = True
        self.addresses = None
        """The newest ADDRESSES of the other end."""
        self.last_said = self.last_heard = time.monotonic()
        self.trace = []
        """All messages after READY, as (is own, message), without the payload of DATA."""
        self.tls.set_accept_state() if is_server else self.tls.set_connect_state()
        self.retry(self.tls.do_handshake, 10)
        certificate = self.tls.get_peer_certificate()
        self.peer = tls.fingerprint(certificate.to_cryptography().public_key())
        require(self.peer != identity.fingerprint, "the other end shows this end's own key")
        self.exported = self.tls.export_keying_material(b"EXPORTER-Channel-Binding", 32)

    def fileno(self):
        return self.plain.fileno()

    def retry(self, action, seconds):
        """Repeats an action that has to wait for the socket."""
        limit = time.monotonic() + seconds
        while True:
            try:
                return action()
            except SSL.WantReadError:
                ready = select.select([self], [], [], max(0, limit - time.monotonic()))[0]
            except SSL.WantWriteError:
                ready = select.select([], [self], [], max(0, limit - time.monotonic()))[1]
            except (SSL.Error, OSError) as error:
                raise Cut(str(error)) from None
            if not ready:
                raise Silent("no step of TLS")

    # Bytes

    def write(self, data):
        """Writes any bytes. Reads meanwhile, so that two ends never wait for each other."""
        limit = time.monotonic() + PATIENCE
        data = memoryview(data)
        while data:
            try:
                data = data[self.tls.send(data[:16384]):]
            except (SSL.WantWriteError, SSL.WantReadError):
                self.pump()
                select.select([self], [self], [], 1)
                if time.monotonic() > limit or self.over:
                    raise Cut("nothing more is taken") from None
            except (SSL.Error, OSError) as error:
                raise Cut(str(error)) from None
        self.last_said = time.monotonic()

    def pump(self):
        """Reads everything that has arrived, also the data that TLS has already decrypted."""
        while self.over is None:
            try:
                self.buffer += self.tls.recv(1 << 16)
                self.last_heard = time.monotonic()
            except SSL.WantReadError:
                return
            except SSL.ZeroReturnError:
                self.over = Ended("close_notify")
            except (SSL.Error, OSError) as error:
                self.over = Cut(str(error))

    def is_ready(self):
        """Whether `next` returns a frame or raises the end."""
        self.pump()
        head = 3 if self.is_early else 5
        if self.over or len(self.buffer) < head:
            return self.over is not None
        size = int.from_bytes(self.buffer[1:head], "big")
        # `take` refuses a frame that is too long without waiting for it.
        return size > wire.MAX_BODY or len(self.buffer) >= head + size

    def take(self):
        """The type and body of the next frame, or None."""
        if not self.is_ready():
            return None
        head = 3 if self.is_early else 5
        size = head + int.from_bytes(self.buffer[1:head], "big") if len(self.buffer) >= head else head
        require(size <= 5 + wire.MAX_BODY, f"a frame of {size} bytes")
        if len(self.buffer) < size:
            raise self.over
        found = self.buffer[0], bytes(self.buffer[head:size])
        del self.buffer[:size]
        return found

    # Messages before READY

    def say_early(self, name, /, **values):
        self.write(wire.early_frame(name, **values))

    def hear_early(self, *names, seconds=PATIENCE):
        """The next frame, which has to be one of these; ABORT is raised."""
        wait([self], seconds)
        found = self.take()
        if found is None:
            raise Silent(f"no {' or '.join(names)}")
        said = wire.early_message(*found)
        if said.name == "ABORT" and "ABORT" not in names:
            aborted = Aborted(**said.values)
            aborted.is_told = True
            raise aborted
        require(said.name in names, f"{said.name} for {' or '.join(names)}")
        return said

    def ready(self):
        """From here on frames are those after READY."""
        self.is_early = False

    # Messages after READY

    def say(self, name, /, **values):
        self.trace.append((True, wire.Message(name, {key: value for key, value in values.items() if key != "payload"})))
        self.write(wire.frame(name, **values))

    def next(self):
        """The next message, or None. Answers PING, keeps ADDRESSES, skips unknown types, raises CLOSE."""
        while (found := self.take()) is not None:
            said = wire.message(*found)
            if said is None:
                continue
            self.trace.append((False, wire.Message(said.name, {key: value for key, value in said.values.items() if key != "payload"})))
            if said.name == "CLOSE":
                raise Closed(said)
            if said.name == "PING" and self.answers_pings:
                self.say("PONG", token=said.token)
            if said.name == "ADDRESSES":
                self.addresses = said
            if said.name not in ("PING", "PONG", "ADDRESSES"):
                return said
        return None

    def hear(self, *names, seconds=PATIENCE):
        """The next message, which has to be one of these."""
        limit = time.monotonic() + seconds
        while (said := self.next()) is None:
            if time.monotonic() > limit:
                raise Silent(f"no {' or '.join(names)}")
            wait([self], limit - time.monotonic())
        require(not names or said.name in names, f"{said.name} for {' or '.join(names)}")
        return said

    def heard(self, name):
        """Every message of a name that came so far."""
        return [said for is_own, said in self.trace if not is_own and said.name == name]

    # The end

    def update_key(self):
        try:
            tls.update_key(self.tls)
        except (SSL.Error, OSError) as error:
            raise Cut(str(error)) from None

    def close(self):
        """Sends close_notify, and closes."""
        try:
            self.tls.shutdown()
        except (SSL.Error, OSError):
            pass
        self.plain.close()
        self.over = self.over or Ended("closed here")

    def cut(self):
        """Ends the connection silently, as a network does."""
        if self.plain.fileno() == -1:
            return
        self.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.plain.close()
        self.over = self.over or Cut("cut here")


def wait(channels, seconds, *others):
    """Sleeps until data arrives on a channel or another descriptor; returns those with data.

    Looks before it sleeps: TLS may have decrypted data already. Sends PING on control connections.
    """
    limit = time.monotonic() + seconds
    while True:
        ready = [channel for channel in channels if channel.is_ready()]
        now = time.monotonic()
        for channel in channels:
            if channel.is_control and channel.over is None:
                if now - channel.last_said > PING_AFTER:
                    channel.say("PING", token=int(now * 1000))
                if now - channel.last_heard > DEAD_AFTER:
                    raise Silent("the control connection")
        asleep = 0 if ready else max(0, min(limit - now, 1))
        woken = select.select([one for one in channels if one.over is None] + list(others), [], [], asleep)[0]
        ready += [one for one in woken if one in others]
        if ready or now >= limit:
            return ready


def connect(host, port, identity, pin=None, **options):
    """A connection to a server, whose key must be `pin` if it is given."""
    channel = Channel(socket.create_connection((host, port), timeout=10), identity, False, **options)
    if pin is not None and channel.peer != pin:
        channel.close()
        raise Violation("another key than the pinned one")
    return channel


def pair(channel, digits, spend=lambda: None, **versions):
    """The client's pairing up to READY (§4.2). A CONF_B that does not fit raises Mismatch. `spend` is
    called when the other end has shown its share, and spends a try of the code (§4.3)."""
    hello = wire.early_frame("HELLO_C", mode=wire.PAIR, **{"lowest": wire.SPOKEN, "highest": wire.SPOKEN, **versions})
    exchange = pairing.Exchange(True, digits)
    channel.write(hello + wire.early_frame("PAIR_A", point=exchange.share))
    said = channel.hear_early("HELLO_S")
    ids = (pairing.identity("client", channel.identity.fingerprint, channel.exported),
           pairing.identity("server", channel.peer, channel.exported))
    aad, share = pairing.hellos(hello, wire.early_frame(said.name, **said)), channel.hear_early("PAIR_B").point
    spend()
    try:
        keys = exchange.keys(share, *ids, aad)
    except pairing.Mismatch as error:
        channel.say_early("ABORT", reason=wire.MALFORMED)
        raise Violation(str(error)) from None
    channel.say_early("CONF_A", mac=keys.conf_a)
    if not pairing.is_equal(channel.hear_early("CONF_B").mac, keys.conf_b):
        channel.say_early("ABORT", reason=wire.MISMATCH)
        raise pairing.Mismatch("the receiver does not know the code")
    channel.say_early("READY")
    channel.ready()


def enter(channel, mode):
    """The client's way to READY with a known key: resume or join."""
    channel.say_early("HELLO_C", mode=mode, lowest=wire.SPOKEN, highest=wire.SPOKEN)
    channel.hear_early("HELLO_S")
    channel.say_early("READY")
    channel.ready()

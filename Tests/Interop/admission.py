"""How a receiver admits connections (Protocol.md §4.2–§4.4, §7.3): handshake, modes, JOIN."""

import channel
import pairing
import wire
from forms import Violation


class Stream:
    """A data stream that has joined."""

    def __init__(self, link, number):
        self.link, self.number, self.written, self.durable = link, number, 0, 0


class Admission:
    """The part of a receiver that admits connections."""

    def admit(self):
        """Takes one connection to READY, and to JOIN. A connection that fails changes nothing."""
        plain = self.listening.accept()[0]
        try:
            link = self.shake(plain)
        except (channel.Cut, channel.Silent, Violation, AttributeError):
            plain.close()
            return
        try:
            said = link.hear_early("HELLO_C", seconds=10)
            self.judge_version(said)
            {wire.PAIR: self.pair, wire.RESUME: self.resumed, wire.JOIN: self.join}[said.mode](link, wire.early_frame(said.name, **said), said.mode)
        except channel.Aborted as error:
            self.abort(link, error)
        except Violation:
            self.abort(link, channel.Aborted(wire.MALFORMED))
        except (channel.Cut, channel.Ended, channel.Silent):
            link.close()

    def shake(self, plain):
        return channel.Channel(plain, self.identity, True)

    def turn_away(self, link, code, message):
        """Ends a data connection after HELLO_S; the session continues."""
        self.turned_away.append(message)
        link.say("CLOSE", code=code, message=message[:900])
        link.close()

    def judge_version(self, said):
        if not said.lowest <= self.options.highest or not self.options.lowest <= said.highest:
            raise channel.Aborted(wire.VERSION, lowest=self.options.lowest, highest=self.options.highest)

    def abort(self, link, error):
        self.aborts.append(error.reason)
        if error.is_told:
            link.close()
            return
        moment = {"wait": 0, "place": 0} if error.reason == wire.BUSY else {}
        try:
            link.say_early("ABORT", reason=error.reason, **{**moment, **error.more})
            link.close()
        except channel.Cut:
            link.close()

    def hello(self, link, mode):
        link.say_early("HELLO_S", version=self.options.highest, mode=mode)

    def pair(self, link, client, mode):
        if self.control is not None or self.pin is not None:
            raise channel.Aborted(wire.BUSY)
        exchange, share = pairing.Exchange(False, pairing.digits_of(self.code)), link.hear_early("PAIR_A", seconds=10).point
        server = wire.early_frame("HELLO_S", version=self.options.highest, mode=mode)
        ids = (pairing.identity("client", link.peer, link.exported), pairing.identity("server", self.identity.fingerprint, link.exported))
        try:
            keys = exchange.keys(share, *ids, pairing.hellos(client, server))
        except pairing.Mismatch:
            raise channel.Aborted(wire.MALFORMED) from None
        link.write(server + wire.early_frame("PAIR_B", point=exchange.share))
        confirmation = link.hear_early("CONF_A", seconds=10).mac
        if not self.tries:
            raise channel.Aborted(wire.USED)
        # The try is spent before it is compared.
        self.tries -= 1
        if not pairing.is_equal(confirmation, keys.conf_a):
            raise channel.Aborted(wire.MISMATCH)
        self.tries = 0
        link.say_early("CONF_B", mac=keys.conf_b)
        link.hear_early("READY", seconds=10)
        self.pin, self.has_paired = link.peer, True
        self.begin(link)

    def resumed(self, link, _, mode):
        if link.peer != self.pin:
            raise channel.Aborted(wire.UNKNOWN)
        self.hello(link, mode)
        link.hear_early("READY", seconds=10)
        if self.control:
            # The newer session fences the older one off.
            self.end(code=13, message="a newer session of this transfer has begun")
        self.has_paired = False
        self.begin(link)

    def join(self, link, _, mode):
        if link.peer != self.pin or not self.control or not self.may_join:
            raise channel.Aborted(wire.UNKNOWN)
        if self.options.turn_away and (reason := self.options.turn_away(self)):
            raise channel.Aborted(reason)
        self.hello(link, mode)
        link.hear_early("READY", seconds=10)
        link.ready()
        try:
            said = link.hear("JOIN", seconds=10)
        except Violation as error:
            self.turn_away(link, 3, str(error))
            return
        wrong = None
        if said.session != self.session:
            wrong = f"the session {said.session.hex()} is not the running one, {self.session.hex()}"
        elif said.stream in self.used:
            wrong = f"the stream {said.stream} may not join: {max(self.used) + 1} may"
        elif said.replaces != wire.NONE and said.replaces not in self.used:
            # That JOIN was lost, and with it the number that it replaced.
            self.used.update(range(said.replaces + 1))
            self.cut_streams()
        self.cut_streams(said.replaces)
        if not wrong and len(self.streams) >= self.options.streams:
            wrong = f"{len(self.streams)} streams are here, and {self.options.streams} may be"
        if wrong:
            self.turn_away(link, 16, wrong)
            return
        self.used.add(said.stream)
        self.streams.append(Stream(link, said.stream))

"""An end that speaks TLS and pairs correctly, and then writes any bytes that a script wants.

    script = Script().replace("ACK", wire.frame("ACK", written=9, durable=0)).cut("PROGRESS")
    script.attach(receiver)

A script changes the frames that one end writes, on all of its connections, before and after READY.
It names a frame by its message and by a number: the first OFFER, the third DATA. The end itself, a
Sender or a Receiver, knows nothing of it. Values for `replace` and `before` are bytes, or functions
of the frame's bytes; they need not be frames.
"""

import collections

import wire


def split(data, is_early):
    """The frames in some bytes, as (name, bytes); bytes that are no frame have no name."""
    table, head = (wire.EARLY, 3) if is_early else (wire.MESSAGES, 5)
    while data:
        size = head + int.from_bytes(data[1:head], "big")
        known = table.get(data[0])
        yield (known[0] if known else None), data[:size]
        data = data[size:]
        if known and known[0] == "READY":
            # The same bytes may contain the next frame.
            table, head = wire.MESSAGES, 5


class Script:
    """The frames of one end that other bytes replace."""

    def __init__(self):
        self.steps = []
        self.seen = collections.Counter()
        """How many frames of each name the end wanted to write."""
        self.changed = 0
        """How many frames were changed."""
        self.links = []

    # Steps

    def step(self, name, action, number=0):
        """`action(link, frame)` returns a list of bytes that replace the frame."""
        self.steps.append((name, number, action))
        return self

    def replace(self, name, value, number=0):
        return self.step(name, lambda _, frame: [made(value, frame)], number)

    def before(self, name, value, number=0):
        return self.step(name, lambda _, frame: [made(value, frame), frame], number)

    def repeat(self, name, times=2, number=0):
        return self.step(name, lambda _, frame: [frame] * times, number)

    def swap(self, name, number=0):
        """The frame comes behind the next one of its connection."""
        def hold(link, frame):
            link.held_back.append(frame)
            return []

        return self.step(name, hold, number)

    def cut(self, name, number=0):
        """The connection ends without a word in place of the frame."""
        return self.step(name, lambda link, _: link.cut() or [], number)

    def end(self, name, number=0):
        """The connection ends properly in place of the frame."""
        return self.step(name, lambda link, _: link.close() or [], number)

    # The end

    def attach(self, end):
        """From now on this script has the connections of a Sender or a Receiver."""
        name = "shake" if hasattr(end, "shake") else "connect"
        usual = getattr(end, name)
        setattr(end, name, lambda *more: self.on(usual(*more)))
        return end

    def on(self, link):
        """From now on this script has one connection."""
        write, link.held_back = link.write, []

        def scripted(data):
            for name, frame in split(bytes(data), link.is_early):
                late, link.held_back = link.held_back, []
                for part in [*self.instead(link, name, frame), *late]:
                    write(part)

        link.write = scripted
        self.links.append(link)
        return link

    def instead(self, link, name, frame):
        number = self.seen[name]
        self.seen[name] += 1
        for wanted, at, action in self.steps:
            if wanted == name and at == number:
                self.changed += 1
                return action(link, frame)
        return [frame]


def refer(sender):
    """Lets a sender send the chunks of its files as pieces of a base that the receiver has not told.

    By §6.10 the receiver refuses each of these files once, with NOT_STORED 27, and takes all others;
    a part of kind 2 fails.
    """
    usual = sender.piece
    sender.piece = lambda kind, *more: usual(wire.BASE if kind == wire.CHUNK else kind, *more)
    return sender


def made(value, frame):
    return value(frame) if callable(value) else value


# Ways to spoil a frame


def head_of(frame, is_early):
    return 3 if is_early else 5


def spoiled(is_early):
    """Ways to spoil any frame, by their names: functions of its bytes."""
    head = head_of(b"", is_early)

    def with_length(frame, length):
        return frame[:1] + (length % 256 ** (head - 1)).to_bytes(head - 1, "big") + frame[head:]

    def with_body(frame, body):
        return with_length(frame[:head] + body, len(body))

    return {
        "without its body": lambda frame: with_body(frame, b""),
        "a byte shorter": lambda frame: with_body(frame, frame[head:-1]),
        "a byte longer": lambda frame: with_body(frame, frame[head:] + b"\0"),
        "of a huge length": lambda frame: with_length(frame, -1),
        "of ones": lambda frame: with_body(frame, b"\xff" * len(frame[head:])),
        "of zeros": lambda frame: with_body(frame, bytes(len(frame[head:]))),
        "with a flipped bit": lambda frame: with_body(frame, flipped(frame[head:])),
        "of an unknown type": lambda frame: b"\x6f" + frame[1:],
        "that is noise": lambda frame: bytes((at * 151 + 7) % 256 for at in range(len(frame))),
    }


def flipped(body):
    """The body with a bit changed in its middle."""
    at = len(body) // 2
    return body[:at] + bytes(byte ^ 1 for byte in body[at:at + 1]) + body[at + 1:]

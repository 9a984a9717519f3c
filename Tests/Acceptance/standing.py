"""The promises while something hangs, and how checks observe them.

What hangs goes on when the check says so: whatever comes before has not waited for it, however
long it takes on a busy machine.
"""

import contextlib

from interop import interop

if interop() is None:
    import channel
    import wire
    from stranger import Stranger

BUSY, WRONG = 4, 1
INTERRUPTED = 2


def length(work):
    """How long the disk hangs: longer than every limit except that of silence, or far beyond that
    limit."""
    return 60 if work.is_long else 3


def long_ago(work):
    """How long the disk has been hanging when an end is told to end."""
    return 60 if work.is_long else 0


def refusal(port):
    """Why another sender may not pair, before it says its share."""
    other = Stranger().connect(port)
    try:
        other.hello(wire.PAIR)
        return "asked for its share"
    except channel.Aborted as end:
        return end.reason
    finally:
        other.cut()


def answer(port, code):
    """The reason why another sender may not pair."""
    other = Stranger().connect(port)
    try:
        other.pair(code)
        return "paired"
    except channel.Aborted as end:
        return end.reason
    finally:
        other.cut()


def has_ended(process):
    """Whether a process has reported its end, although threads of it still wait for the disk."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"
    return True


def shown(found):
    return f"PONG after {1000 * max(found.values()):.0f} ms at most"

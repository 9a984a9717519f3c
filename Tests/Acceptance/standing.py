"""The promises while something hangs, and how checks observe them."""

import contextlib

from attack_hostile import Gone, Hostile

PROMPT, SOON = 1.0, 2.0
"""How many seconds a PING may go unanswered, and how many seconds an end that is told to end may
take."""

BUSY, WRONG = "abort 4", "abort 1"
INTERRUPTED = 2


def length(work):
    """How long the disk hangs: longer than every limit except that of silence, or far beyond that
    limit."""
    return 60 if work.is_long else 3


def long_ago(work):
    """How long the disk has been hanging when an end is told to end."""
    return 60 if work.is_long else 0


def answer(place, port, code):
    """The answer to another sender that wants to pair."""
    other = Hostile(place)
    try:
        other.connect("127.0.0.1", port).ask(f"pair {code}")
        return "paired"
    except Gone as gone:
        return str(gone)
    finally:
        other.end()


def has_ended(process):
    """Whether a process has reported its end, although threads of it still wait for the disk."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"
    return True


def shown(found):
    return f"PONG after {1000 * max(found.values()):.0f} ms at most"

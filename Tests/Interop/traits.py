"""The traits of a destination (Protocol.md §6.3, §6.6)."""

import os

import wire

UTF8, PLAIN, NO_DOT, NO_SPACE, FOLDS, NO_LINKS, ASCII, LOWER = 1, 2, 4, 8, 16, 32, 64, 128


def name_is_allowed(name, rules):
    if rules & PLAIN and any(byte < 0x20 or byte in b'"*:<>?\\|' for byte in name):
        return False
    if rules & NO_DOT and name.endswith(b".") or rules & NO_SPACE and name.endswith(b" "):
        return False
    if rules & ASCII and not name.isascii():
        return False
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return not rules & UTF8
    return not (rules & LOWER and text != text.lower())


def within(moment, traits):
    """A time in nanoseconds as the destination keeps it."""
    if moment < (traits.get("earliest", -2**63) + 1) * 10**9:
        return traits.get("earliest", -2**63) * 10**9
    return min(moment, traits.get("latest", 2**63) * 10**9)


def refusal(item, traits, gone):
    """The reason (§6.5) to leave an item out, or None. `gone` has the reasons of earlier paths."""
    rules = traits.get("rules", 0)
    parent, _, name = item.path.rpartition(b"/")
    if gone.get(parent) in wire.DESTINATIONS:
        return 22
    if not name_is_allowed(name, rules):
        return 16
    if len(name) > traits.get("longestName", 255):
        return 17
    if item.kind == wire.SYMLINK and rules & NO_LINKS:
        return 19
    if item.kind == wire.FILE and item.size > traits.get("largestFile", wire.LARGEST):
        return 20
    if item.kind == wire.SYMLINK and len(os.readlink(item.place)) > traits.get("longestTarget", 4095):
        return 21
    return None

"""Items that a sender leaves out because of marks (Protocol.md §6.3, §6.4, §9.2)."""

import os

import tree
import wire

PRESENT, DIFFERING, REMOVED = 0, 33, -1
"""Why an item is left out: PRESENT and REMOVED have no NOT_STORED, the others are its reasons."""


def leave_out(items, held, accepted):
    """The items to send, and (path, why) of the others. `held` has the marks by kind."""
    kept, left, gone, firsts = [], [], {}, {}
    whole = together(items)
    for item in items:
        target = item.target
        if target and target.path in gone:
            # Another name of such a file is looked up by its own path, and becomes a file itself.
            item = tree.Item(item.path, item.whole, item.status, firsts.get(target.path))
        why = reason(item, held, accepted, item.path in whole)
        if why is None:
            kept.append(item)
            if target and item.kind == wire.FILE:
                firsts[target.path] = item
            continue
        gone[item.path] = why
        left.append((item.path, why))
    return kept, left


def together(items):
    """The paths of items that belong together with others."""
    files = {item.path for item in items if item.kind != wire.DIRECTORY}
    folders = {item.path.rpartition(b"/")[0] for item in items if item.path.rpartition(b"/")[2] in (b".git", b".hg", b".svn")}
    found = {item.path for item in items
             if any(item.path[:end] in folders for end, byte in enumerate(item.path) if byte == ord("/"))}
    for path in files:
        for ending in (b"-journal", b"-shm", b"-wal"):
            base = path.removesuffix(ending)
            if base != path and base in files:
                found |= {base, path}
    return found


def reason(item, held, accepted, is_whole):
    """Why an item is left out; None for an item to send."""
    known = accepted.traits or {}
    if item.kind != wire.DIRECTORY:
        if item.kind == wire.SYMLINK:
            equal = wire.mark_of_symlink(accepted.hashKey, os.readlink(item.place), item.path)
        else:
            grain = known.get("granularity", 1)
            moment = within(item.status.st_mtime_ns, known) // grain * grain
            equal = wire.mark_of_file(accepted.hashKey, item.status.st_size, divmod(moment, 10**9), item.path)
        is_taken = wire.mark_of_path(accepted.hashKey, item.path) in held[wire.THERE]
        if equal in held[wire.THERE_EQUAL] | held[wire.ARRIVED] and (is_taken or not is_whole):
            return PRESENT
        if is_taken:
            return DIFFERING
        if equal in held[wire.REMOVED] and not is_whole:
            return REMOVED
    return None


def within(moment, traits):
    """A time in nanoseconds as the destination keeps it."""
    if moment < (traits.get("earliest", -2**63) + 1) * 10**9:
        return traits.get("earliest", -2**63) * 10**9
    return min(moment, traits.get("latest", 2**63) * 10**9)

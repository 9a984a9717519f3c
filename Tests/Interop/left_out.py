"""Items that a sender leaves out because of marks or traits (Protocol.md §6.3, §6.4, §9.2)."""

import os

import traits
import tree
import wire

PRESENT, DIFFERING, WITHHELD = 0, 6, 7
"""Why an item is left out: PRESENT has no UNSENT, the others are its reasons."""


def leave_out(items, held, accepted):
    """The items to send, and (path, why, refusal) of the others. `held` has the marks by kind."""
    kept, left, gone, firsts = [], [], {}, {}
    for item in items:
        target = item.target
        if target and target.path in gone:
            # Another name of such a file is looked up by its own path, and becomes a file itself.
            item = tree.Item(item.path, item.whole, item.status, firsts.get(target.path))
        why, refusal = reason(item, held, accepted, gone)
        if why is None:
            kept.append(item)
            if target and item.kind == wire.FILE:
                firsts[target.path] = item
            continue
        gone[item.path] = why
        left.append((item.path, why, refusal))
    return kept, left


def reason(item, held, accepted, gone):
    """Why an item is left out, with a reason of REFUSED; (None, None) for an item to send."""
    known = accepted.traits or {}
    if item.kind != wire.DIRECTORY:
        if item.kind == wire.SYMLINK:
            equal = wire.mark_of_symlink(accepted.hashKey, os.readlink(item.place), item.path)
        else:
            grain = known.get("granularity", 1)
            moment = item.status.st_mtime_ns // grain * grain
            equal = wire.mark_of_file(accepted.hashKey, item.status.st_size, divmod(moment, 10**9), item.path)
        if equal in held[wire.THERE_EQUAL]:
            return PRESENT, None
        if wire.mark_of_path(accepted.hashKey, item.path) in held[wire.THERE]:
            return DIFFERING, None
    refusal = traits.refusal(item, known, gone)
    return (WITHHELD, refusal) if refusal else (None, None)

"""The plan (Protocol.md §6.2, §6.3, §7.5, §10): a sender's parts, and what both ends make of a failure."""

import os

import tree
import wire

EXITS = {2: 5, 5: 4, 6: 4, 7: 6, 8: 4, 10: 7, 11: 9, 12: 4, 15: 4, 16: 5, 17: 4, 18: 4, 19: 4, 20: 4, 21: 4, 22: 0}
"""The exit codes of both ends by the codes of CLOSE, VERDICT and FAILED; 1 for every other code."""
CODES = {*range(1, 23)}
"""The known codes (§10)."""
RESUMABLE = {2, 7, 9, 10, 11, 16, 17, 18, 19}
"""The codes after which a later session may continue a part."""
ROLES = {"home"}
"""The known roles of folders."""


class Failed(Exception):
    """A part has failed, here or, with `said`, at the other end."""

    def __init__(self, code, message="", said=None, **details):
        super().__init__(f"FAILED {code}: {message}")
        self.code, self.said, self.values = code, said, {"code": code, "message": message or None, **details}


def recorded(code):
    """A code as an end records it."""
    return code if code in CODES else 1


def exit_code(results):
    """The exit code of a plan, of the result of each part: its code, and whether all of it arrived."""
    # Code 22 is no failure: the newest state is at the receiver.
    results = [(0, True) if code == 22 else (code, is_all) for code, is_all in results]
    if all(result == (0, True) for result in results):
        return 0
    return 8 if any(code == 0 for code, _ in results) else EXITS.get(results[0][0], 1)


def is_whole(unsent, not_stored, judged):
    """Whether all of a finished part arrived. FIFOs and items that differ at the destination do not count."""
    is_lost = any(reason in wire.DESTINATIONS or reason in wire.SENDERS and reason != 4 for reason in unsent)
    return not not_stored and "without" not in judged and not is_lost


def usual_code(part, request):
    """A receiver's code for a part, by what it tells: it takes folders, or the app of its request."""
    kind, identifier = part["kind"], part.get("identifier")
    if kind not in (wire.FOLDERS, wire.APP, wire.APP_OF_FILES) or kind == wire.FOLDERS and identifier and identifier not in ROLES:
        return 17
    return wire.TAKEN if (kind, identifier) == ((wire.APP, request["identifier"]) if request else (wire.FOLDERS, None)) else 15


def fixed(plan):
    """Everything of a PLAN that a later one must repeat (§9.7)."""
    def of_part(part):
        app = {name: value for name, value in part.get("app", {}).items() if name != "version"}
        return {**part, "bytes": None, "items": None, "allocated": None, "app": app, "roots": [name for _, name in part.get("roots", [])]}

    return plan.unknown, [of_part(part) for part in plan.parts]


class Part:
    """One part at the sender.

    `sources` are folders, or their places by the names of the roots; those of an app with an extension
    have its archive as their content. `more` are fields of the part in PLAN.
    """

    def __init__(self, sources, kind=wire.FOLDERS, **more):
        if not isinstance(sources, dict):
            sources = {os.path.basename(os.path.abspath(source)): source for source in sources}
        self.sources, self.kind, self.more = {os.fsencode(root): os.fsencode(place) for root, place in sources.items()}, kind, more
        self.number = self.judged = self.code = self.finished = self.done = None
        """Its place in the plan, its verdict, its result, the totals of its FINISH, and its DONE."""
        self.is_offered, self.unsent = False, []
        kinds = [(tree.kind_of(os.lstat(tree.reach(os.path.abspath(place)))), root) for root, place in sorted(self.sources.items())]
        self.roots = [root for root in kinds if root[0]]

    def told(self):
        """The part as PLAN has it."""
        name = os.fsdecode(b", ".join(self.sources)[:80]).encode(errors="replace").decode()
        return {"kind": self.kind, "name": name, "roots": None if self.kind == wire.APP else self.roots,
                "sources": [bytes(8)] * (1 if self.kind == wire.APP else len(self.roots)), **self.more}

    def look(self):
        """Walks the sources that are not left out; the items, and the paths of special files."""
        without = [self.roots[number][1] for number, _ in self.judged.get("without", [])]
        items, special = tree.walk({root: place for root, place in self.sources.items() if root not in without})
        if self.kind == wire.APP:
            items = [item for item in items if b"/" in item.path]
            for item in items:
                item.path = item.path.split(b"/", 1)[1]
        return items, special

    def is_left(self):
        """Whether this session has to offer it."""
        return not self.is_offered and (self.judged["code"] == wire.TAKEN or self.judged["code"] == wire.FINISHED and self.done is None)

    def result(self):
        return self.code, self.done is not None and is_whole([reason for _, reason in self.unsent], self.done.notStored, self.judged)

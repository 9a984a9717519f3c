"""The faults of the rounds of chaos, counted by phase and kind."""

import collections


QUOTA = 3
"""How many kills, and how many cuts, must count in a round on average."""

TRANSFERRING = "transferring"  # Content is under way.
FINISHING = "finishing"  # Everything was transmitted; the receiver verifies.
IMPORTING = "importing"  # The receiver puts it in its place.
ANSWERING = "answering"  # The receiver is done, and the sender does not know it yet.
WAITING = "waiting"  # One side is away: dead, or not connected again yet.
PHASES = [TRANSFERRING, FINISHING, IMPORTING, ANSWERING, WAITING]
LATE = [FINISHING, IMPORTING, ANSWERING]

KILLS = ["kill sender", "kill receiver"]
CUTS = ["cut all", "cut one", "corrupt", "half-open"]
OTHERS = ["stall", "long stall", "refuse"]


class Tally:
    """The faults of all rounds."""

    def __init__(self):
        self.faults = collections.Counter()
        self.rounds = 0
        self.content = self.passed = self.twice = 0
        self.longest = self.longest_end = 0.0
        self.signals = collections.Counter()
        self.differences = self.hangs = 0
        self.failures = []
        self.lengths = {phase: [] for phase in LATE}

    def counted(self, kinds):
        return sum(number for (_, kind, counts), number in self.faults.items() if counts and kind in kinds)

    def length(self, phase):
        """The undisturbed duration of a phase, in seconds: the median of the observed ones."""
        seen = sorted(self.lengths[phase][-50:])
        return seen[len(seen) // 2] if seen else 0.05

    def misses(self):
        """The unreached parts of the quota, as lines."""
        wanted = QUOTA * self.rounds
        lines = []
        for what, kinds in (("kills", KILLS), ("cuts", CUTS)):
            found = self.counted(kinds)
            if found < wanted:
                lines.append(f"only {found} {what} counted in {self.rounds} rounds, not {wanted}")
        return lines

    def table(self):
        kinds = KILLS + CUTS + OTHERS
        header = ["phase", *kinds, "kills", "cuts"]
        rows = []
        for phase, counts in [(phase, True) for phase in PHASES] + [("not counted", False)]:
            numbers = [
                sum(n for (p, k, c), n in self.faults.items()
                    if k == kind and c == counts and (p == phase or not counts))
                for kind in kinds
            ]
            sums = [sum(n for n, kind in zip(numbers, kinds) if kind in group) for group in (KILLS, CUTS)]
            rows.append([phase, *map(str, numbers + sums)])
        sums = [str(sum(int(row[column]) for row in rows[:-1])) for column in range(1, len(header))]
        rows.insert(-1, ["all counted", *sums])
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
        return [
            " | ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                       for column, (cell, width) in enumerate(zip(row, widths)))
            for row in [header, *rows]
        ]

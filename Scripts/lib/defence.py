"""The form of a defence that can be taken out of a weakened build."""

import collections

Defence = collections.namedtuple("Defence", "name what tests changes")
"""A defence: its name in PEER_WEAKENED, a clause about the defence, the names of tests that must
notice its absence (named_tests.py), and changes of the sources.

A change is a file below Sources, its present text, which is there exactly once, and the text that
replaces it. In that text, WEAKENED stands for the switch: a condition that is true in a process
that runs without the defence."""

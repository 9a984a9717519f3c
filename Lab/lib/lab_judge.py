"""Runs in the machine of Lab/files: compares the received files with the sent ones, as far as the
disk there can hold them.

Usage:
  lab_judge.py trees SOURCE DEST SCRATCH [SENDER RECEIVER]   the last two are the events of the two ends
  lab_judge.py pairs DEST SENDER RECEIVER [FOLDER]           the pairs arrived, in a folder of another name perhaps
  lab_judge.py some DEST                                     makes some of the pairs there
  lab_judge.py merged DEST SENDER RECEIVER skip|replace      the pairs were sent to a folder that had some of them

SCRATCH is a folder on the disk, for trials. On a mistake, it prints it and ends with 1.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from disk_cases import Wrong, agree, counted, events, exact, is_left_out, judge_merged_pairs, judge_pairs, judge_tree, make_some_of_pairs  # noqa: E402

BEFORE = "/tmp/before.json"


def trees(source, destination, scratch, *ends):
    os.makedirs(scratch, exist_ok=True)
    found = [events(path) for path in ends] or [[], []]
    return judge_tree(source, destination, *found, scratch=scratch)


def pairs(destination, sender, receiver, folder="pairs"):
    named = agree(events(sender), events(receiver))
    judge_pairs(destination, named, folder)
    return named


def some(destination):
    with open(BEFORE, "w", encoding="ascii") as file:
        json.dump({name.hex(): content.hex() for name, content in make_some_of_pairs(destination).items()}, file)
    return {}


def merged(destination, sender, receiver, mode):
    with open(BEFORE, encoding="ascii") as file:
        before = {bytes.fromhex(name): bytes.fromhex(content) for name, content in json.load(file).items()}
    named = agree(events(sender), events(receiver))
    differing = {exact(event) for event in events(sender, "notStored") if is_left_out(event)}
    judge_merged_pairs(destination, named.keys() | differing, before, is_replaced=mode == "replace")
    return named


def main(words):
    try:
        named = {"trees": trees, "pairs": pairs, "some": some, "merged": merged}[words[0]](*words[1:])
        print(f"as promised; not stored: {counted(list(named.values()))}")
    except Wrong as wrong:
        print(wrong)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

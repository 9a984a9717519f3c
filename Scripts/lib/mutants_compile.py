"""Finds out which changes of the engine do not compile, and leaves them out."""

import collections
import os
import re

from outside import Failure, require

ERROR = re.compile(r"^(/.*\.swift):(\d+):(\d+): error: (.*)$", re.M)


def leave_out_what_fails(engine, folder, said):
    """Leaves out the places at which the compiler found errors; returns their number."""
    left_out = set()
    for path, line, column, _ in ERROR.findall(said):
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
        if name in engine.sources:
            left_out.update(engine.blame(name, int(line), int(column)))
    for place in left_out:
        place.is_tried = False
    return len(left_out)


def choose_cases(engine, folder, cases, typecheck):
    """Finds the cases that can be skipped: a switch that needs each of its cases has none."""
    waiting = collections.defaultdict(list)
    for place in cases:
        waiting[place.file, place.owner].append(place)
    # All at once if there is a default; otherwise one after the other, in all switches at the same
    # time.
    first = True
    while waiting:
        trial = {}
        for key, places in waiting.items():
            trial[key] = list(places) if first else [places.pop(0)]
            for place in trial[key]:
                place.is_tried = True
        for path, line, column, _ in ERROR.findall(typecheck()):
            for place in engine.blame(os.path.relpath(path, folder), int(line), int(column)):
                if place.kind == "case" and place in trial.get((place.file, place.owner), ()):
                    place.is_tried = False
        if first:
            waiting = {key: places for key, places in waiting.items() if not places[0].is_tried}
            first = False
        else:
            waiting = {key: places for key, places in waiting.items() if places}


def leave_out_least(engine, folder, typecheck):
    """Leaves out changes that do not compile. Cases come last: they are tried only in functions
    without errors."""
    cases = [place for source in engine.sources.values() for place in source.places if place.kind == "case" and place.is_tried]
    for place in cases:
        place.is_tried = False
    leave_out_all(engine, folder, typecheck)
    choose_cases(engine, folder, cases, typecheck)
    leave_out_all(engine, folder, typecheck)


def leave_out_all(engine, folder, typecheck):
    for _ in range(20):
        said = typecheck()
        if not ERROR.search(said):
            return
        require(leave_out_what_fails(engine, folder, said), f"the engine itself does not compile:\n{said[:4000]}")
    raise Failure("the wrapped engine does not compile")

"""Proof that a soak finds growth and leftovers, with invented samples and folders."""

import os

from outside import MIB, equal, require
from self_tests import run
from soak_judge import FRAME, Sample, columns, rows, verdict
from soak_leftovers import undocumented


def self_test():
    """Runs all tests; the exit code."""
    failed = run(TESTS, "peer-soak-")
    print(f"soak: self-test: {'failed' if failed else 'passed'}")
    return failed


def samples(minutes, memory=lambda at: 8 * MIB, descriptors=lambda at: 17, threads=lambda at: 5):
    """Samples of a process, one every 3 s; each value is a function of the minute."""
    return [
        Sample(at, "one", int(memory(at / 60)), 9 * MIB, 20 * MIB, descriptors(at / 60), threads(at / 60), True)
        for at in range(0, 60 * minutes, 3)]


def judged(found, minutes=10):
    """The names of the values that grow, by the verdict."""
    return [name for name, is_flat, _ in verdict(rows(found, "one", 60, minutes)) if not is_flat]


def what_stays_is_flat(_):
    equal(judged(samples(10)), [], "grows")


def the_first_minute_does_not_count(_):
    equal(judged(samples(10, memory=lambda at: (1 if at < 1 else 8) * MIB)), [], "grows")


def memory_that_grows_is_found(_):
    equal(judged(samples(10, memory=lambda at: (8 + 0.06 * at) * MIB)), ["memory"], "grows")


def within_the_tolerance_it_is_flat(_):
    equal(judged(samples(10, memory=lambda at: (8 + 0.04 * at) * MIB)), [], "grows")


def one_more_frame_under_way_is_flat(_):
    """Two are not."""
    for frames, is_flat in ((1, True), (2, False)):
        table = rows(samples(10, memory=lambda at, frames=frames: 3 * MIB + (at > 5) * frames * FRAME), "one", 60, 10)
        equal(verdict(table, frames=1)[0][1], is_flat, f"whether {frames} frames are flat")
        equal(verdict(table)[0][1], False, "whether that is flat without a transfer")


def less_than_before_is_flat(_):
    equal(judged(samples(10, memory=lambda at: (8 - 0.5 * at) * MIB, threads=lambda at: 5 - (at > 5))), [], "grows")


def one_descriptor_in_ten_minutes_is_found(_):
    equal(judged(samples(10, descriptors=lambda at: 17 + (at >= 9))), ["descriptors"], "grows")


def one_thread_is_found(_):
    equal(judged(samples(10, threads=lambda at: 5 + (at >= 5))), ["threads"], "grows")


def a_moment_is_no_growth(_):
    """In the last minute, some samples fall into a transfer's end."""
    equal(judged(samples(10, memory=lambda at: (80 if 9.3 < at < 9.5 else 8) * MIB, threads=lambda at: 50 if 9.3 < at < 9.5 else 5)), [], "grows")


def samples_within_rounds_are_not_judged(_):
    busy = [sample._replace(anonymous=80 * MIB, is_judged=False) for sample in samples(10)]
    equal(judged(sorted(samples(10) + busy)), [], "grows")
    equal(rows(busy, "one", 60, 10), [], "rows")


def too_little_to_judge_is_no_success(_):
    equal(judged(samples(2), 2), ["all"], "grows")
    equal(judged([]), ["all"], "grows")


def what_cannot_be_read_is_no_success(_):
    equal(judged([sample._replace(descriptors=None) for sample in samples(10)]), ["descriptors"], "grows")


def what_comes_after_the_end_belongs_to_the_last_minute(_):
    found = rows(samples(11), "one", 60, 10)
    equal((len(found), found[-1].samples), (10, 40), "rows, and samples in the last")


def columns_end_at_the_same_place(_):
    equal(columns([["a", "long"], ["longer", "b"]]), ["     a | long", "longer |    b"], "lines")


def files_that_stay_in_a_home_are_found(folder):
    """Those that are documented are not."""
    for path in ("transfers", "staging/org.example.test", "trash", "apps/a/bundle/TestApp", "locks", "credentials/a"):
        os.makedirs(f"{folder}/{path}")
    with open(f"{folder}/locks/org.example.test", "w", encoding="ascii"):
        pass
    equal(undocumented(folder), [], "is left")
    os.makedirs(f"{folder}/transfers/0123-receive")
    os.makedirs(f"{folder}/trash/org.example.test")
    require({"transfers/0123-receive", "trash/org.example.test"} == set(undocumented(folder)), "not all of it is found")


TESTS = [
    what_stays_is_flat, the_first_minute_does_not_count, memory_that_grows_is_found, within_the_tolerance_it_is_flat, one_more_frame_under_way_is_flat,
    less_than_before_is_flat, one_descriptor_in_ten_minutes_is_found, one_thread_is_found, a_moment_is_no_growth,
    samples_within_rounds_are_not_judged, too_little_to_judge_is_no_success, what_cannot_be_read_is_no_success,
    what_comes_after_the_end_belongs_to_the_last_minute, columns_end_at_the_same_place, files_that_stay_in_a_home_are_found,
]

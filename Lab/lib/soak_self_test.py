"""Proof that a soak finds growth and leftovers, with invented samples and folders."""

import contextlib
import os
import random
from types import SimpleNamespace

import soak_alone
import soak_leftovers
from outside import MIB, Failure, equal, require
from self_tests import run
from soak_judge import FRAME, Sample, columns, rows, verdict
from soak_leftovers import Leftovers, undocumented
from soak_rounds import Folders
from soak_run import Soak
from soak_standing import broker_among


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


@contextlib.contextmanager
def replaced(owner, **values):
    """Other values for names of a module, an object or the environment."""
    before = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def outcomes(folder, is_alone, found, file=None):
    """The outcome of each check of leftovers, with these processes, and with a file that has
    appeared in the system's temporary folder."""
    system = f"{folder}/system"
    os.makedirs(system, exist_ok=True)
    with replaced(soak_leftovers, processes=lambda: found, TEMPORARY=[system]), replaced(os, environ={**os.environ, "TMPDIR": f"{folder}/own"}):
        one = Leftovers(f"{folder}/place", is_alone, [system] if is_alone else [], {})
        if file:
            with open(f"{system}/{file}", "w", encoding="ascii"):
                pass
        one.look()
        table = one.look()
        return {name.replace(system, "/tmp"): is_good for name, is_good, _ in one.checks()}, table


def without_processes_of_its_own_a_run_skips_their_checks(folder):
    strangers = {1: (0, "S", "init"), 5: (1, "S", "stranger"), 6: (1, "Z", "stranger")}
    checks, table = outcomes(folder, False, strangers, file="theirs")
    equal(checks, {"left over, temporary folders": True, "left over, /tmp": None, "left over, processes": None, "left over, zombies": None}, "outcomes")
    equal((table["processes"], table["zombies"]), ("-", "-"), "the table")


def files_processes_and_zombies_that_stay_are_found(folder):
    own = {1: (0, "S", "bash"), os.getpid(): (1, "R", "python3")}
    equal(outcomes(folder, True, own)[0], {"left over, temporary folders": True, "left over, processes": True, "left over, zombies": True}, "outcomes")
    checks, table = outcomes(folder, True, {**own, 5: (1, "S", "peer"), 6: (1, "Z", "peer")}, file="ours")
    equal(set(checks.values()), {False}, "outcomes with a file, a process and a zombie")
    equal((table["processes"], table["zombies"]), (2, 1), "the table")


def an_app_without_a_broker_is_no_success(_):
    before = {1: (0, "S", "bash"), 5: (1, "S", "peer")}
    equal(broker_among({**before, 7: (1, "S", "TestApp"), 8: (7, "S", "peer app run")}, {*before, 7}), 8, "the broker")
    for found in ({**before, 7: (1, "S", "TestApp")}, {**before, 7: (1, "S", "peer")}, {**before, 8: (7, "S", "broker")}):
        fails("no broker", lambda found=found: broker_among(found, {*before, 7}))


def fails(words, action):
    """Requires that an action fails with these words."""
    try:
        action()
    except Failure as failure:
        require(words in str(failure), failure)
        return
    raise Failure(f"no failure with '{words}'")


class Stand:
    """A soak's folders, on which nothing is possible."""

    def __init__(self, folder):
        self.folders = Folders.__new__(Folders)
        self.folders.__dict__.update(
            receiver=self, destination=folder, random=random.Random(1), place=self, do_plain=self.plain, tree=lambda: "", send=self.none,
            finish=self.none, is_found=lambda home: False)
        self.destination, self.folder, self.done = folder, lambda: folder, 0

    def plain(self, *_):
        self.done += 1

    @staticmethod
    def none(*_):
        return None


def a_round_counts_as_the_kind_that_it_was(folder):
    stand = Stand(folder)
    soak = Soak.__new__(Soak)
    stub = SimpleNamespace(require_going=Stand.none, disturb=Stand.none, settle=Stand.none, rounds=0)
    soak.__dict__.update(failures=[], done={}, replaced={}, long=stub, app=stub, sampler=stub)
    actions = {"no room": stand.folders.do_no_room, "found": stand.folders.do_found, "plain": stand.folders.do_plain}
    for name in actions:
        soak.round(name, actions)
    equal((soak.failures, soak.done, soak.replaced), ([], {"plain": 3}, {"no room": 1, "found": 1}), "rounds")


def alone_a_round_must_be_of_its_kind(folder):
    stand = Stand(folder)
    with replaced(soak_alone, is_alone=lambda: True):
        fails("no disk of its own", stand.folders.do_no_room)
        fails("does not find", stand.folders.do_found)
    equal(stand.done, 0, "plain rounds")


TESTS = [
    what_stays_is_flat, the_first_minute_does_not_count, memory_that_grows_is_found, within_the_tolerance_it_is_flat, one_more_frame_under_way_is_flat,
    less_than_before_is_flat, one_descriptor_in_ten_minutes_is_found, one_thread_is_found, a_moment_is_no_growth,
    samples_within_rounds_are_not_judged, too_little_to_judge_is_no_success, what_cannot_be_read_is_no_success,
    what_comes_after_the_end_belongs_to_the_last_minute, columns_end_at_the_same_place, files_that_stay_in_a_home_are_found,
    without_processes_of_its_own_a_run_skips_their_checks, files_processes_and_zombies_that_stay_are_found, an_app_without_a_broker_is_no_success,
    a_round_counts_as_the_kind_that_it_was, alone_a_round_must_be_of_its_kind,
]

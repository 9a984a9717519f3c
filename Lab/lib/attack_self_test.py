"""Proof that a busy machine does not excuse a process that works on after SIGTERM or sleeps, and
excuses a process that only waits for a processor."""

import contextlib
import os
import resource
import subprocess
import sys
import time

from attack_delay import Delay, lost
from attack_place import Place, Run
from outside import equal, require
from self_tests import run

BOUND = 1.0
"""The seconds that an attacked program may take for its end."""

PROGRAM = """
import hashlib, signal, sys, threading, time

BLOCK = bytes(1 << 20)

def work(clock, seconds):
    end = clock() + seconds
    while clock() < end:
        hashlib.sha256(BLOCK)

kind, seconds = sys.argv[1], float(sys.argv[2])
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print('{"event": "ready"}', flush=True)
if kind == "load":
    work(time.monotonic, seconds)
signal.sigwait({signal.SIGTERM})
if kind == "spin":
    # Hashing does not hold Python's lock.
    threads = [threading.Thread(target=work, args=(time.monotonic, seconds)) for _ in range(12)]
    for one in threads:
        one.start()
elif kind == "work":
    work(time.thread_time, seconds)
elif kind == "sleep":
    time.sleep(seconds)
"""
"""After SIGTERM, it spins in twelve threads for so long, works for so much processor time, or
sleeps. As a load, it spins from the beginning."""


@contextlib.contextmanager
def place():
    one = Place(sys.executable, False, None)
    try:
        yield one
    finally:
        one.clean()


@contextlib.contextmanager
def load():
    """Other processes that keep each processor busy."""
    words = [sys.executable, "-c", PROGRAM, "load", "60"]
    ones = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        for one in ones:
            one.stdout.readline()
        yield
    finally:
        for one in ones:
            one.kill()
            one.wait()
            one.stdout.close()


def work_of_children():
    """The processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def started(here, kind, seconds):
    one = Run(here, ["-c", PROGRAM, kind, str(seconds)])
    require(one.wait_event("ready"), f"the program does not start: {one.words()}")
    return one


def end_of(here, kind, seconds):
    """How long such a program takes for its end: as it counts, by the clock, and at least, since
    the processors worked so long for it."""
    before = work_of_children()
    one = started(here, kind, seconds)
    begun = time.monotonic()
    code, took = one.terminate(20)
    equal(code, 0, "its exit code")
    return took, one.ended_at - begun, work_of_children() - before


def require_late(took, real, own):
    """Requires an end that counts as late. The processors' work for the process is never lost,
    except a tenth for the kernel's clocks."""
    figure = f"{took:.2f} s of {real:.2f} s count"
    require(took > BOUND and took > 0.9 * own / (os.cpu_count() or 1), f"{figure}, after {own:.2f} s of its work")
    return figure


def threads_that_spin_on_are_not_excused(_):
    """On a machine with fewer processors, each of them mostly waits behind the others."""
    with place() as here:
        return require_late(*end_of(here, "spin", 4))


def beside_other_processes_they_are_not_excused_either(_):
    with place() as here, load():
        return require_late(*end_of(here, "spin", 4))


def a_process_that_sleeps_on_a_busy_machine_is_not_excused(_):
    with place() as here, load():
        return require_late(*end_of(here, "sleep", 2))


def a_process_that_waits_for_other_processes_is_excused(_):
    with place() as here, load():
        took, real, _ = end_of(here, "work", 0.2)
    require(took <= min(BOUND, 0.6 * real), f"{took:.2f} s of {real:.2f} s count")
    return f"{took:.2f} s of {real:.2f} s count"


def only_waiting_for_others_is_lost(_):
    for waited, busy, own, expected in [
            (3.3, 8, 8, 0), (3.3, 8, 9, 0), (3, 8, 4, 1.5), (2, 4, 0, 2), (0, 8, 0, 0), (1, 0, 0, 0), (60, 100, 0, Delay.MOST)]:
        equal(lost(waited, busy, own), expected, f"lost after waiting {waited} s, of {busy} s of work {own} s its own")


def a_process_that_has_ended_loses_nothing(_):
    with place() as here:
        one = started(here, "sleep", 0)
        one.terminate(20)
        code, took = one.terminate(20)
    equal(code, 0, "its exit code")
    require(took <= BOUND, f"{took:.2f} s count")


TESTS = [
    threads_that_spin_on_are_not_excused, beside_other_processes_they_are_not_excused_either,
    a_process_that_sleeps_on_a_busy_machine_is_not_excused, a_process_that_waits_for_other_processes_is_excused,
    only_waiting_for_others_is_lost, a_process_that_has_ended_loses_nothing,
]


def self_test():
    """Runs all tests; the exit code."""
    return run(TESTS, "peer-attack-")

"""Proof that a bench measures what it says: every work once with tiny data, and mistakes that must be found."""

import os
import subprocess
import sys
import xml.dom.minidom

from bench_chart import chart
from bench_contestants import Copy, Peer
from bench_data import many_files
from bench_packages import missing
from bench_profile import difference, instructions, system_calls
from bench_report import document, table
from bench_rounds import Case, hold
from bench_works import WORKS, Bench
from bench_place import Launched
from outside import Failure, Skip, check_line, equal, require

TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Spoiling:
    """A contestant that makes a mistake after a right copy."""

    def __init__(self, spoil):
        self.spoil = spoil

    def __call__(self, place, source, destination):
        run = Copy()(place, source, destination)
        self.spoil(f"{destination}/{os.path.basename(source)}")
        return run


@test
def every_work_runs(place, binaries):
    """Whoever is installed takes part; the report and the drawing hold all of them."""
    here = ["TLS", "cp"] + [name for name in ("rsync", "tar") if not missing(name)]
    found = []
    for name, (title, make) in WORKS.items():
        # All of them with a file and with a folder is enough.
        cases = make(Bench(place, binaries, here if name in ("big", "small") else [], is_quick=True))
        hold(place, cases, 1)
        equal(len(table(title, cases)) >= len(cases) + 2, True, f"{name}: a line each")
        found.append((name, title, cases))
    drawing = xml.dom.minidom.parseString(chart(document(place, found)))
    rows = sum(len(cases) for _, _, cases in found)
    compared = sum(len(cases) for _, _, cases in found if len(cases) > 1)
    equal(len(drawing.getElementsByTagName("rect")), compared, "bars")
    left_out = [name for name in ("rsync", "tar") if name not in here]
    return f"{rows} rows" + (f"; not installed, so not run: {', '.join(left_out)}" if left_out else "")


@test
def a_wrong_copy_is_found(place, _):
    source = place.source("right", many_files, 2, 3, [100])

    def flip(arrived):
        with open(f"{arrived}/0001/0001", "r+b") as file:
            byte = file.read(1)[0]
            file.seek(0)
            file.write(bytes([byte ^ 1]))

    for what, spoil in (("a flipped bit", flip), ("a lost file", lambda arrived: os.unlink(f"{arrived}/0000/0000"))):
        try:
            Case("spoilt", Spoiling(spoil), source).once(place)
        except Failure:
            continue
        raise Failure(f"{what} was not found")


@test
def costs_are_those_of_the_whole_tree(place, _):
    """Time and memory of a grandchild count, and the launcher's parent does not."""
    light = Launched(place, ["true"])
    light.wait()
    require(light.peak < 8 << 20 and light.cpu < 0.1, f"'true' cost {light.peak} bytes and {light.cpu} s")
    work = "import time\nwhile time.process_time() < 0.5: pass"
    heavy = Launched(place, ["sh", "-c", f"'{sys.executable}' -c '{work}'; true"])
    heavy.wait()
    require(heavy.cpu >= 0.5, f"half a second of work counted as {heavy.cpu} s")


@test
def nothing_goes_on_afterwards(place, _):
    """What a command has left behind ends with it when a bench is interrupted."""
    left = Launched(place, ["sh", "-c", "setsid sleep 300 & echo $!; exec sleep 300"], events=True)
    orphan = int(left.line(str.isdecimal)[1])
    left.end()
    require(not os.path.exists(f"/proc/{orphan}"), "a process was left behind")


@test
def a_failure_is_no_figure(place, _):
    try:
        Launched(place, ["false"]).wait()
    except Failure:
        return
    raise Failure("an exit code of 1 passed for a run")


@test
def a_link_delays_and_bounds(place, binaries):
    """A round trip of 200 ms is felt, several of them, and a rate holds."""
    source = place.source("far", many_files, 1, 1, [1])
    binary = next(iter(binaries.values()))
    far = Peer(binary, link=(100, 1 << 20, 0))(place, source, place.fresh("new"))
    require(far.moments["done"] > 0.8, f"over 200 ms all was done in {far.moments['done']:.2f} s")
    large = place.source("capped", many_files, 1, 1, [2_000_000])
    slow = Peer(binary, link=(0, 1 << 20, 2_000_000))(place, large, place.fresh("new"))
    require(slow.seconds > 0.7, f"2 MB at 2 MB/s took {slow.seconds:.2f} s")


@test
def counts_are_read(place, _):
    """What the tools of the profile write is understood."""
    if missing("valgrind") or missing("strace"):
        raise Skip("valgrind or strace is not installed")
    path = place.file("counted")
    subprocess.run(["strace", "-f", "-c", "-o", path, "true"], check=True)
    calls = system_calls(path)
    require(calls["execve"] == 1, f"execve was counted {calls['execve']} times")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={path}", "true"], check=True)
    counted = instructions(path)
    require(sum(counted.values()) > 10_000, "no instructions were counted")
    equal(sum(difference(counted, counted).values()), 0, "a work beyond itself")
    return None


def self_test(place, binaries):
    """Runs all tests; the exit code."""
    place.longest = 30
    failures = 0
    for function in TESTS:
        name = function.__name__.replace("_", " ")
        try:
            said = function(place, binaries)
            print(check_line(name, "ok", said or ""), flush=True)
        except Skip as skip:
            print(check_line(name, "skipped", skip), flush=True)
        except Exception as failure:  # Whatever goes wrong is this test's failure, and the others still run.
            failures += 1
            print(check_line(name, "FAILED", failure), flush=True)
    print(f"bench: self-test: {failures} failures")
    return 1 if failures else 0

"""Proof that a bench measures correctly: every work once with tiny data, and mistakes that must be
found."""

import concurrent.futures
import os
import subprocess
import sys
import time
import xml.dom.minidom

from bench_chart import chart
from bench_contestants import NUMBER, Floor, Peer
from bench_data import big_file, many_files
from bench_disk import SECONDS, can_mount, waiting_disk
from bench_place import Launched, Place
from bench_profile import difference, instructions, system_calls
from bench_report import result, table
from bench_rounds import Case, hold
from bench_works import CONTESTANTS, WORKS, Bench, missing
from outside import Failure, Skip, equal, require
from self_tests import run


def self_test(binary):
    """Runs all tests; the exit code."""
    def in_place(function):
        def tested(folder):
            place = Place(folder, longest=30)
            try:
                return function(place, binary)
            finally:
                place.clean()

        tested.__name__ = function.__name__
        return tested

    failed = run([in_place(function) for function in TESTS], "peer-bench-")
    print(f"bench: self-test: {'failed' if failed else 'passed'}")
    return failed


def every_work_runs(place, binary):
    """Every installed program takes part; the report and the drawing contain all of them."""
    here = [name for name in CONTESTANTS if not missing(name)]
    left_out = [name for name in CONTESTANTS if name not in here]
    names = set(WORKS)
    if not can_mount():
        names.remove("waiting")
        left_out.append("disks that wait")
    # For all of them, a file and a folder are enough.
    works = [
        Bench(place, {"peer": binary}, here if name in ("big", "small") else [], is_quick=True).measure(name, 1) for name in names]
    for work in works:
        require(len(table(work)) >= len(work["contestants"]) + 2, f"{work['work']}: a line each")
        if work["work"] in ("big", "small"):
            equal(len(work["contestants"]), len(here) + 1, f"{work['work']}: contestants")
            require(all(row["timesFloor"] for row in work["contestants"]), f"{work['work']}: no proportion to the floor")
    drawing = xml.dom.minidom.parseString(chart(works, "in memory"))
    rows = sum(len(work["contestants"]) for work in works)
    equal(len(drawing.getElementsByTagName("rect")), rows, "bars")
    return f"{rows} rows" + (f"; not here, so not run: {', '.join(left_out)}" if left_out else "")


def a_bytes_time_is_taken_off_and_the_first_round_is_not_counted(place, _):
    def lasting(place, source, destination):
        found = Floor()(place, source, destination)
        found.end = found.begin + (5 if source.endswith("least") else 7)
        return found

    cases = [Case("floor", lasting, place.source("some", many_files, 1, 2, [1]))]
    hold(place, cases, 3)
    row = result("some", "", cases)["contestants"][0]
    equal((row["runs"], round(row["lessOneByte"], 6), row["timesFloor"]), (3, 2, 1), "runs, seconds, proportion")


def a_wrong_copy_is_found(place, _):
    source = place.source("right", many_files, 2, 3, [100])

    def flip(arrived):
        with open(f"{arrived}/0001/0001", "r+b") as file:
            byte = file.read(1)[0]
            file.seek(0)
            file.write(bytes([byte ^ 1]))

    for what, spoil in (("a flipped bit", flip), ("a lost file", lambda arrived: os.unlink(f"{arrived}/0000/0000"))):
        def spoilt(place, source, destination):
            found = Floor()(place, source, destination)
            spoil(destination)
            return found

        try:
            Case("spoilt", spoilt, source).once(place)
        except Failure:
            continue
        raise Failure(f"{what} was not found")


def the_floor_carries_content_modes_and_times(place, _):
    """Content, modes and times of a file of several ranges, which both streams carry, of a small
    and of an empty one, in nested folders."""
    source, destination = place.source("floor", big_file, 3_456_789), place.fresh("new")
    os.makedirs(f"{source}/a/b/c")
    for path, text, mode in (("a/b/c/empty", "", 0o4751), ("a/small", "small", 0o600)):
        with open(f"{source}/{path}", "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(f"{source}/{path}", mode)
        os.utime(f"{source}/{path}", ns=(0, 1_234_567_891_234_567_891))
    Floor()(place, source, destination)
    for path in ("big", "a/b/c/empty", "a/small"):
        sent, arrived = os.stat(f"{source}/{path}"), os.stat(f"{destination}/{path}")
        equal((arrived.st_mode, arrived.st_mtime_ns), (sent.st_mode, sent.st_mtime_ns), path)
        require(content(f"{destination}/{path}") == content(f"{source}/{path}"), f"{path}: content")


def costs_are_those_of_the_whole_tree(place, _):
    """Time and memory of a grandchild count, and the launcher's parent does not."""
    light = Launched(place, ["true"])
    light.wait()
    require(light.peak < 8 << 20 and light.cpu < 0.1, f"'true' cost {light.peak} bytes and {light.cpu} s")
    work = "import time\nwhile time.process_time() < 0.5: pass"
    heavy = Launched(place, ["sh", "-c", f"'{sys.executable}' -c '{work}'; true"])
    heavy.wait()
    require(heavy.cpu >= 0.5, f"half a second of work counted as {heavy.cpu} s")


def nothing_goes_on_afterwards(place, _):
    """The processes that a command has left behind end with it when a bench is interrupted."""
    left = Launched(place, ["sh", "-c", "setsid sleep 300 & echo $!; exec sleep 300"])
    orphan = left.says(NUMBER)
    left.end()
    require(not os.path.exists(f"/proc/{orphan}"), "a process was left behind")


def a_failure_is_no_figure(place, _):
    try:
        Launched(place, ["false"]).wait()
    except Failure:
        return
    raise Failure("an exit code of 1 passed for a run")


def a_link_delays_and_bounds(place, binary):
    """A round trip of 200 ms is noticeable, so are several of them, and a rate limit holds."""
    source = place.source("far", many_files, 1, 1, [1])
    far = Peer(binary, link=(100, 1 << 20, 0))(place, source, place.fresh("new"))
    require(far.seconds > 1, f"over 200 ms all was done in {far.seconds:.2f} s")
    large = place.source("capped", many_files, 1, 1, [2_000_000])
    slow = Peer(binary, link=(0, 1 << 20, 2_000_000))(place, large, place.fresh("new"))
    require(slow.seconds > 0.7, f"2 MB at 2 MB/s took {slow.seconds:.2f} s")


def a_disk_waits(place, _):
    """Each open, read and create takes its time, and those of several threads take it
    simultaneously."""
    if not can_mount():
        raise Skip("nothing can be mounted by /dev/fuse")
    source, count = place.source("slow", many_files, 1, 100, [4096]), 100
    with waiting_disk(place, source) as folder:
        paths = [f"{folder}/0000/{name}" for name in sorted(os.listdir(f"{folder}/0000"))]
        alone, found = timed(map(content, paths))
        require(found == [content(path.replace(folder, source)) for path in paths], "other content")
        require(alone > 2 * count * SECONDS, f"opening and reading {count} files took {alone:.2f} s")
        with concurrent.futures.ThreadPoolExecutor(10) as threads:
            together, _ = timed(threads.map(content, paths))
        require(together < alone / 2, f"ten threads took {together:.2f} s, one {alone:.2f} s")
        created, _ = timed(map(lambda number: open(f"{folder}/{number}", "xb").close(), range(count)))
    require(created > count * SECONDS, f"creating {count} files took {created:.2f} s")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def timed(work):
    begin = time.monotonic()
    found = list(work)
    return time.monotonic() - begin, found


def counts_are_read(place, _):
    """The output of the profile's tools is understood."""
    if missing("profile"):
        raise Skip("valgrind or strace is not installed")
    path = place.file("counted")
    subprocess.run(["strace", "-f", "-c", "-o", path, "true"], check=True)
    calls = system_calls(path)
    require(calls["execve"] == 1, f"execve was counted {calls['execve']} times")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={path}", "true"], check=True)
    counted = instructions(path)
    require(sum(counted.values()) > 10_000, "no instructions were counted")
    equal(sum(difference(counted, counted).values()), 0, "a work beyond itself")


TESTS = [
    every_work_runs, a_bytes_time_is_taken_off_and_the_first_round_is_not_counted, a_wrong_copy_is_found,
    the_floor_carries_content_modes_and_times, costs_are_those_of_the_whole_tree, nothing_goes_on_afterwards, a_failure_is_no_figure,
    a_link_delays_and_bounds, a_disk_waits, counts_are_read,
]

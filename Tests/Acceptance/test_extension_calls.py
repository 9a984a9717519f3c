"""The system calls of an extension, tried in a kernel."""

import contextlib
import os
import platform
import resource
import shutil
import subprocess

import pytest

from apps import ID, Device, complaints, said
from bundles import make_bundle
from devices import small_file
from needs import compiler, landlock, needs
from outside import ROOT, equal, require
from surroundings import PLACES


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The extension that tries calls."""
    path = tmp_path_factory.mktemp("calls") / "Migration"
    subprocess.run(["cc", "-pthread", "-Wall", "-Wextra", "-Werror", "-o", path, f"{ROOT}/Tests/Acceptance/try_calls.c"], check=True)
    return path


@contextlib.contextmanager
def shared_memory(user):
    """The number of a segment of shared memory."""
    become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    made = subprocess.run([*become, "ipcmk", "-M", "4096"], capture_output=True, text=True, check=True).stdout
    number = made.split()[-1]
    try:
        yield number
    finally:
        subprocess.run(["ipcrm", "-m", number], check=False)


@contextlib.contextmanager
def real_time():
    """Lets a program that starts meanwhile take real-time priority, as root lets its audio programs;
    where root may not, it has no more than before."""
    limits = {limit: resource.getrlimit(limit) for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE)}
    with contextlib.suppress(ValueError):
        for limit in limits:
            resource.setrlimit(limit, (40, 40))
    try:
        yield
    finally:
        for limit, before in limits.items():
            resource.setrlimit(limit, before)


@needs(landlock, compiler)
@pytest.mark.parametrize("user,place", PLACES)
def test_calls_of_an_extension(work, program, user, place):
    """app: an extension can do nothing to other processes, to the kernel's objects and to
    attributes outside, and everything in its scratch directory"""
    if place:
        work.within = place(work)
    folder, _ = work.place(user)
    device = Device(work, folder, user)
    bundle = make_bundle(work.programs, f"{folder}/bundle", ID)
    shutil.copy(program, f"{bundle}/Extensions/Migration.appex/TestAppExtension")
    documents, outside = f"{folder}/container/Documents", f"{folder}/outside"
    os.makedirs(documents)
    small_file(outside, b"secret")
    for path in (outside, f"{folder}/container", documents):
        if user is not None:
            os.chown(path, user, user)
    os.utime(outside, (1, 1))
    before = os.stat(outside)
    with shared_memory(user) as segment, subprocess.Popen(["sleep", "100"], user=user) as other:
        try:
            small_file(f"{documents}/target", f"{outside} {segment} {other.pid}\n".encode())
            with real_time():
                check = device.start("app", "check", bundle, "--container", f"{folder}/container", "--json")
            # The program is no extension, and ends by itself.
            equal(check.wait(), 4, f"the exit code: {check.text()[-300:]}")
            kept = subprocess.run(["ipcs", "-m", "-i", segment], capture_output=True, text=True, check=False).stdout
            require(f"shmid={segment}" in kept, "the segment of shared memory is gone")
            equal(os.getpriority(os.PRIO_PROCESS, other.pid), os.getpriority(os.PRIO_PROCESS, 0), "the other's priority")
        finally:
            other.kill()
    lines = said(check)
    equal(lines[-1], "end", "the extension's last line")
    require("made: 712 1000.000005000" in lines, f"the item in scratch: {[line for line in lines if 'made' in line]}")
    equal([line for line in lines if "DONE" in line or "REFUSED" in line or "LOST" in line], [], "what it could, and could not")
    count = len([line for line in lines if ": refused (" in line])
    require(count >= (97 if platform.machine() == "x86_64" else 93), f"only {count} refusals")
    equal(complaints(check), [], "what is not kept")
    after = os.stat(outside)
    equal(
        [(status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns) for status in (before, after)][1],
        (before.st_mode, before.st_uid, 6, 1_000_000_000), "the file outside")
    work.figure = f"{count} calls refused"

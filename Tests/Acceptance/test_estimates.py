"""An app's data that differs from its extension's estimate, and transfers larger than a receiver's
user allows."""

import contextlib
import os
import re
import signal
import subprocess

import pytest

from apps import ID, Device, devices, send_again, untouched
from devices import PATIENCE, Receiver, end_well, random_file, sender
from disks import KINDS, Disk, needed
from needs import needs, terminals, tmpfs
from outside import MIB, equal, require, wait_for
from terminal import Terminal
from test_staying import Standing

LARGE = 200 * MIB


def figures(size):
    """A size as shown to people, in decimal units."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def same(old, new):
    """Requires that the app's large file has arrived unchanged."""
    subprocess.run(["cmp", old.container("Documents/large"), new.container("Documents/large")], check=True, timeout=PATIENCE)


def ends(receiver, sending, code):
    codes = receiver.wait(), sending.wait()
    require(codes == (code, code), f"exit codes {codes}, not {code}: {receiver.text()[-300:]} {sending.text()[-300:]}")
    return receiver.error(), sending.error()


@pytest.mark.takes(20)
@pytest.mark.parametrize("size", [
    pytest.param(1200 * MIB, id="1.2 GB"), pytest.param(3000 * MIB, id="3 GB", marks=pytest.mark.option("--long"))])
def test_far_more_than_estimated(work, size):
    """an export far above its estimate of 1 B arrives, without total and time left; the author is
    told"""
    old, new = devices(work, estimate="1")
    random_file(old.container("Documents/large"), size)
    receiver = new.receive()
    sending = old.send(receiver.port, receiver.pairing_code)
    end_well(sending, receiver)
    same(old, new)
    for process, phase in ((sending, "sending"), (receiver, "receiving")):
        beyond = [event for event in process.events("progress") if event["phase"] == phase and event["bytes"] > 1]
        require(beyond, f"no progress of '{process.name()}' beyond the estimate")
        for event in beyond:
            equal((event["totalBytes"], event["secondsLeft"]), (None, None), f"total and time left at '{process.name()}'")
        require(any(event["bytesPerSecond"] for event in beyond), f"no rate at '{process.name()}'")
        equal(process.events("progress")[-1]["totalBytes"], process.events("done")[0]["bytes"], "the total in the end")
    notices = [event["message"] for event in sending.events("notice") if "estimated" in event["message"]]
    equal(len(notices), 1, "notices about the estimate")
    require(f"{ID} estimated its export at 1 B, and it has {figures(size)}" in notices[0], notices[0])
    equal([event for event in receiver.events("notice") if "estimated" in event["message"]], [], "notices at the receiver")
    work.figure = f"{size / 1e9:.1f} GB in {sending.events('done')[0]['seconds']:.1f} s"


def test_an_estimate_that_is_near_enough(work):
    """an estimate that is slightly wrong: percentages until the end, and no message"""
    old, new = devices(work, estimate=str(40 * MIB))
    random_file(old.container("Documents/large"), 30 * MIB)
    receiver = new.receive()
    sending = old.send(receiver.port, receiver.pairing_code)
    end_well(sending, receiver)
    for process in (sending, receiver):
        require(all(event["totalBytes"] for event in process.events("progress")), f"no total at '{process.name()}'")
    equal([event for event in sending.events("notice") if "estimated" in event["message"]], [], "notices about the estimate")


@contextlib.contextmanager
def small_disk(work, kind):
    """Two devices, the new one with a disk of 512 MiB; returns both, and that disk's folder."""
    old_folder, _ = work.place()
    disk = Disk(kind, work)
    old, new = Device(work, old_folder), Device(work, disk.place("new"))
    old.write(kept="what was written", estimate="1")
    random_file(old.container("Documents/large"), LARGE)
    yield old, new, disk.folder


def room(folder):
    """The free space of a disk, and a receiver's reserve on it."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, min(1 << 30, status.f_blocks * status.f_frsize // 20)


@pytest.mark.takes(12)
@pytest.mark.parametrize("name", [pytest.param(name, id=name, marks=needs(needed(name))) for name in ("tmpfs", "XFS", "btrfs")])
def test_an_export_that_outgrows_the_disk(work, name):
    """an export outgrows the disk: exit 6 with figures on both sides before it is full, then it
    resumes"""
    with small_disk(work, KINDS[name]) as (old, new, folder):
        # Removed files take space until the disk has synchronized.
        os.sync()
        random_file(f"{folder}/filler", room(folder)[0] - 120 * MIB)
        os.sync()
        receiver = new.receive()
        sending = old.send(receiver.port, receiver.pairing_code)
        for error in ends(receiver, sending, 6):
            require(error["neededBytes"] > error["availableBytes"] > 0, f"the figures: {error}")
            equal(len(re.findall(r"[\d.,]+ (?:[kMG]?B|bytes)", error["message"])) >= 2, True, f"figures in {error['message']!r}")
            require(error["hint"].startswith("Free some space at the destination, and start again."), error["hint"])
        os.sync()
        free, reserve = room(folder)
        require(free > 0.8 * reserve, f"{free} bytes are free, and {reserve} should be")
        require(free < reserve + 16 * MIB, f"{free} bytes are free, and no more than {reserve} should be")
        # The same again, without free space.
        receiver = new.receive(is_inviting=False)
        ends(receiver, old.send(receiver.port, None), 6)
        untouched(new)
        os.remove(f"{folder}/filler")
        os.sync()
        # XFS frees the space of removed files in the background.
        wait_for("the space of the removed file", PATIENCE, lambda: room(folder)[0] > 150 * MIB)
        done = send_again(old, new).events("done")[0]
        same(old, new)
        require(done["heldBytes"] > 60 * MIB, f"only {done['heldBytes']} bytes were held")
        require(done["sentBytes"] < done["bytes"] - done["heldBytes"] + MIB, f"sent again: {done}")
        work.figure = f"{done['heldBytes'] / MIB:.0f} of {LARGE // MIB} MiB were held, {free / MIB:.0f} MiB stayed free"


@pytest.mark.takes(8)
@needs(tmpfs)
def test_another_program_takes_the_room(work):
    """another program fills the disk meanwhile: exit 6 with figures, before it is full"""
    with small_disk(work, KINDS["tmpfs"]) as (old, new, folder):
        receiver = new.receive()
        link = work.slow_link(receiver.port)
        sending = old.send(link.port, receiver.pairing_code)
        wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 4 * MIB for event in receiver.events("progress")))
        free, reserve = room(folder)
        random_file(f"{folder}/filler", free - reserve - 2 * MIB)
        for error in ends(receiver, sending, 6):
            require(error["neededBytes"] > error["availableBytes"], f"the figures: {error}")
        require(room(folder)[0] > 0, "the disk is full")
        os.remove(f"{folder}/filler")
        send_again(old, new)
        same(old, new)


def test_the_limit_of_an_app(work):
    """--max-size: a greater estimate is refused at once, a growing export in the middle, then it
    resumes"""
    old, new = devices(work, estimate=str(2 * MIB))
    random_file(old.container("Documents/large"), 40 * MIB)
    receiver = new.receive("--max-size", "1M")
    for error in ends(receiver, old.send(receiver.port, receiver.pairing_code), 6):
        require("the transfer has 2.1 MB, and the receiver takes at most 1.0 MB (--max-size)" in error["message"], error["message"])
    receiver = new.receive("--max-size", "20M")
    for error in ends(receiver, old.send(receiver.port, receiver.pairing_code), 6):
        require(
            "the session exceeds 20.0 MB, the most that the receiver takes (--max-size)" in error["message"], error["message"])
        require("greater --max-size" in error["hint"], f"the hint {error['hint']!r}")
    untouched(new)
    held = send_again(old, new, "--max-size", "1G").events("done")[0]["heldBytes"]
    same(old, new)
    require(10 * MIB < held < 25 * MIB, f"{held} bytes were held")


def test_the_limit_of_folders(work):
    """--max-size of folders: refused at once with both figures and a hint, and arrives with a
    greater one"""
    old, new = work.place()
    random_file(f"{old}/large", 10 * MIB)
    receiver = Receiver(work, new, options=["--max-size", "5M"])
    sending = sender(work, [f"{old}/large"], receiver.port, receiver.pairing_code)
    for error in ends(receiver, sending, 6):
        require("the transfer has 10.5 MB, and the receiver takes at most 5.0 MB (--max-size)" in error["message"], error["message"])
        require("greater --max-size" in error["hint"], f"the hint {error['hint']!r}")
    equal(os.listdir(new), [], "the destination holds")
    receiver = Receiver(work, new, options=["--max-size", "10.5M"])
    end_well(sender(work, [f"{old}/large"], receiver.port, receiver.pairing_code), receiver)
    equal(os.listdir(new), ["large"], "the destination holds")


def test_the_limit_of_a_growing_folder(work):
    """--max-size of a folder that grows: refused in the middle, and resumes with a greater one"""
    old, new = work.place()
    random_file(f"{old}/first", 80 * MIB)
    os.mkdir(f"{old}/tree")
    # The sender reads ahead, and a second stream would take another file; it has not read this one
    # when the first bytes arrive.
    last = f"{old}/tree/last"
    random_file(last, MIB)
    receiver = Receiver(work, new, options=["--max-size", "100M"])
    link = work.slow_link(receiver.port, 24 * MIB)
    sending = sender(work, ["--streams", "1", f"{old}/first", f"{old}/tree"], link.port, receiver.pairing_code)
    wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > MIB for event in receiver.events("progress")))
    random_file(last, 24 * MIB)
    for error in ends(receiver, sending, 6):
        require("(--max-size)" in error["message"], error["message"])
    equal([name for name in os.listdir(new) if not name.startswith(".")], [], "the destination holds")
    receiver = Receiver(work, new, options=["--max-size", "200M"])
    second = sender(work, [f"{old}/first", f"{old}/tree"], receiver.port, None)
    end_well(second, receiver)
    require(second.events("done")[0]["heldBytes"] > 0, "nothing was held")
    equal(os.path.getsize(f"{new}/tree/last"), 24 * MIB, "the size of what has grown")


def test_the_limit_after_a_rename(work):
    """--max-size just above a folder's size: items renamed between two sessions are sent again"""
    old, new = work.place()
    os.mkdir(f"{old}/tree")
    random_file(f"{old}/tree/before", 16 * MIB)
    most = ["--max-size", "17M"]
    receiver = Receiver(work, new, options=most)
    link = work.slow_link(receiver.port)
    sending = sender(work, [f"{old}/tree"], link.port, receiver.pairing_code)
    wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 6 * MIB for event in receiver.events("progress")))
    for process in (sending, receiver):
        process.signal(signal.SIGKILL)
        process.wait()
    os.rename(f"{old}/tree/before", f"{old}/tree/after")
    receiver = Receiver(work, new, options=most, is_inviting=False)
    second = sender(work, [f"{old}/tree"], receiver.port, None)
    end_well(second, receiver)
    equal(os.listdir(f"{new}/tree"), ["after"], "the destination holds")
    equal(os.path.getsize(f"{new}/tree/after"), 16 * MIB, "the size of what was renamed")


def test_the_limit_over_two_sessions(work):
    """--max-size: an export that exceeds it over two sessions is refused at its end, then
    resumes"""
    old, new = devices(work, estimate="1")
    random_file(old.container("Documents/large"), 30 * MIB)
    receiver = new.receive("--max-size", "20M")
    ends(receiver, old.send(receiver.port, receiver.pairing_code), 6)
    for _ in range(2):
        receiver = new.receive("--max-size", "20M", is_inviting=False)
        for error in ends(receiver, old.send(receiver.port, None), 6):
            require(
                "the transfer has 31.5 MB, and the receiver takes at most 20.0 MB (--max-size)" in error["message"], error["message"])
            require("greater --max-size" in error["hint"], f"the hint {error['hint']!r}")
        untouched(new)
    done = send_again(old, new, "--max-size", "32M").events("done")[0]
    same(old, new)
    require(done["heldBytes"] > 30 * MIB, f"only {done['heldBytes']} bytes were held")


def test_the_limit_of_each_transfer(work):
    """--keep --max-size: each transfer is judged separately, and the receiver stays"""
    old, new = work.place()
    sizes = (3, 10, 4)
    receiver = Standing(work, new, ["--max-size", "5M"])
    for number, size in enumerate(sizes):
        random_file(f"{old}/{size}", size * MIB)
        code = sender(work, [f"{old}/{size}"], receiver.port, receiver.shown(number + 1)).wait()
        equal(code, 6 if size > 5 else 0, f"exit code of {size} MiB")
    equal(sorted(os.listdir(new)), ["3", "4"], "the destination holds")
    receiver.stop()


@needs(terminals)
def test_the_question(work):
    """--ask for an app: about 1 B, may grow, at most the free space, or the allowed size"""
    old, new = devices(work, estimate="1")
    for options in ([], ["--max-size", "2M"]):
        asking = Terminal(
            work, ["receive", "--app", ID, "--listen", "127.0.0.1:0", "--ask", *options], (b"Accept this?", b"n"),
            settings={"PEER_HOME": new.home})
        code = asking.wait_for(rb"Code: (\d{4}-\d{4})").decode()
        port = int(asking.wait_for(rb"--to 127.0.0.1:(\d+)"))
        sending = old.send(port, code)
        equal((asking.wait(), sending.wait()), (4, 4), "exit codes")
        found = re.search(r"may grow to ([\d.]+ \w+) at most\s+Total: [^;]*; ([\d.]+ \w+) free here", asking.text())
        require(found, f"the question: {asking.text()[-500:]}")
        require("\nApps' data, which may hold what programs run:\n" in asking.text(), f"the heading: {asking.text()[-500:]}")
        if options:
            equal(found.group(1), "2.0 MB", "at most")
        else:
            free, reserve = room(new.home)
            require(abs(bytes_of(found.group(1)) - (free - reserve)) < 0.1 * free, f"at most {found.group(1)} of {free}")
            require(bytes_of(found.group(1)) <= bytes_of(found.group(2)), f"{found.group(0)}")


def bytes_of(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]


@needs(terminals)
def test_the_display(work):
    """a terminal shows bytes and a rate beyond the estimate, and no percentage"""
    old, new = devices(work, estimate="1")
    random_file(old.container("Documents/large"), 24 * MIB)
    receiver = new.receive()
    link = work.slow_link(receiver.port)
    sending = Terminal(
        work, ["send", "--app", ID, "--to", f"127.0.0.1:{link.port}"], (b"ode", receiver.pairing_code.encode()),
        settings={"PEER_HOME": old.home})
    equal((sending.wait(), receiver.wait()), (0, 0), "exit codes")
    lines = [line for line in sending.text().replace("\x1b[2K", "").split("\r") if line.startswith("Sending ")]
    beyond = [line for line in lines if re.search(r"\d+ items?, [\d.]+ MB +[\d.]+ [kM]B/s", line)]
    require(beyond, f"no line with bytes and a rate: {lines[-3:]}")
    require(not any("%" in line or "left" in line for line in beyond), f"{beyond[-1]}")

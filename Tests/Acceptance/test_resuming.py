"""Interruptions. On a disk, so that durable data must really be made durable."""

import math
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from devices import PATIENCE, Process, Receiver, end_well, own_port, random_file, sender, small_file
from needs import QUIET, disk_image, needs, tmpfs
from outside import IS_ROOT, MIB, NOBODY, equal, require, run_script, wait_for
from relay import SENDER


def progress(process):
    """How many bytes have arrived, according to the process."""
    events = process.events("progress")
    return events[-1]["bytes"] if events else 0


def wait_for_share(process, others, total, share):
    wait_for(f"{share:.0%} of the transfer", PATIENCE, lambda: progress(process) > share * total or not process.is_running())
    for one in [process, *others]:
        require(one.is_running(), f"'peer {one.arguments[0]}' ended too early with {one.code}: {one.text()[-300:]}")


def finish(old, new, *processes):
    """Requires that all succeed and that the trees are equal."""
    end_well(*processes)
    run_script("check-trees", "--inside", old, new)


@pytest.mark.takes(5)
@needs(tmpfs)
def test_a_full_disk(work):
    """the disk fills up: exit 6 on both sides, and the same command resumes after some was freed"""
    old, new = work.place()
    random_file(f"{old}/big", 24 * MIB)
    for number in range(200):
        small_file(f"{old}/small-{number}", b"%d" % number)
    work.mount(new, "-t", "tmpfs", "-o", "size=40m", "tmpfs")
    os.mkdir(f"{new}/in")
    receiver = Receiver(work, f"{new}/in")
    link = work.slow_link(receiver.port)
    paths = [f"{old}/{name}" for name in os.listdir(old)]
    first = sender(work, paths, link.port, receiver.pairing_code)
    wait_for("some of it", PATIENCE, lambda: progress(receiver) > 4 * MIB)
    random_file(f"{new}/filler", 28 * MIB)
    codes = first.wait(), receiver.wait()
    require(codes == (6, 6), f"exit codes {codes}: {first.text()[-200:]} {receiver.text()[-200:]}")
    os.remove(f"{new}/filler")
    receiver = Receiver(work, f"{new}/in")
    second = sender(work, paths, receiver.port, None)
    finish(old, f"{new}/in", second, receiver)
    held = second.events("done")[0]["heldBytes"]
    require(held > MIB, f"only {held} bytes were held")
    work.figure = f"{held / MIB:.0f} of 24 MiB were held"


def sent(process):
    return process.events("done")[0]["sentBytes"]


@pytest.mark.takes(8)
@pytest.mark.parametrize("at_sender", [
    pytest.param(True, id="the sender, and no code is asked for"), pytest.param(False, id="the receiver, while the sender waits")])
def test_killed_past_ninety_percent(work, at_sender):
    """512 MiB, one side killed past 90 % and run again: little is sent again"""
    total = 512 * MIB
    old, _ = work.place()
    _, new = work.place(on_disk=True)
    random_file(f"{old}/big", total)
    receiver = Receiver(work, new, port=own_port())
    # The limit leaves a quarter of a second for the kill.
    first = sender(work, [f"{old}/big", "--limit", "200M"], receiver.port, receiver.pairing_code)
    wait_for_share(first, [receiver], total, 0.9)
    (first if at_sender else receiver).signal(signal.SIGKILL)
    (first if at_sender else receiver).wait()
    begin = time.monotonic()
    if at_sender:
        second = sender(work, [f"{old}/big"], receiver.port, None)
        end_well(second, receiver)
        again = sent(second) - total // 10
    else:
        # The sender may be back before there is a code.
        end_well(first, Receiver(work, new, port=receiver.port, is_inviting=False))
        again = sent(first) - total
    # An interruption may cost a window of 24 MiB (docs/Resuming.md), and the data written without
    # acknowledgement.
    work.figure = f"{max(0, again) / MIB:.0f} MiB again, {time.monotonic() - begin:.2f} s"
    require(again < 40 * MIB, work.figure)
    run_script("check-trees", "--inside", old, new)


def interrupted(work, at_sender, number=signal.SIGKILL, size=64 * MIB):
    """A transfer of one file, interrupted at about a half; returns its folders, and the
    processes."""
    old, new = work.place(on_disk=True)
    random_file(f"{old}/file", size)
    receiver = Receiver(work, new, port=own_port())
    link = work.slow_link(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], size, 0.4)
    (sending if at_sender else receiver).signal(number)
    (sending if at_sender else receiver).wait()
    link.close()
    return old, new, sending, receiver


@pytest.mark.takes(5)
def test_a_file_edited_between_two_runs(work):
    """a file is edited between two runs, with its size and time restored"""
    old, new, _, receiver = interrupted(work, True)
    status = os.stat(f"{old}/file")
    with open(f"{old}/file", "r+b") as file:
        file.seek(MIB)
        file.write(b"changed")
    os.utime(f"{old}/file", ns=(status.st_atime_ns, status.st_mtime_ns))
    again = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, again, receiver)
    work.figure = f"{sent(again) / MIB:.0f} MiB sent in the second run"


@pytest.mark.takes(5)
def test_a_file_that_keeps_changing(work):
    """a file that changes every 10 ms: exit 8, named, everything else arrives"""
    old, new = work.place(on_disk=True)
    os.mkdir(f"{old}/folder")
    # Reading it takes longer than the time between two changes.
    random_file(f"{old}/folder/restless", 96 * MIB)
    for number in range(50):
        small_file(f"{old}/folder/{number}")
    is_over = threading.Event()

    def write():
        with open(f"{old}/folder/restless", "r+b", buffering=0) as file:
            count = 0
            while not is_over.wait(0.01):
                count += 1
                os.pwrite(file.fileno(), b"%d" % count, count % (96 * MIB))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        receiver = Receiver(work, new)
        sending = sender(work, [f"{old}/folder"], receiver.port, receiver.pairing_code)
        codes = sending.wait(), receiver.wait()
    finally:
        is_over.set()
        thread.join()
    equal(codes, (8, 8), "exit codes")
    named = [(event["path"], event["reason"]) for event in sending.events("unsent")]
    equal(named, [("folder/restless", "keepsChanging")], "what was not sent")
    writer = sending.events("unsent")[0]["message"]
    require(writer.endswith(f", process {os.getpid()}, writes to it"), f"the program that writes: {writer}")
    equal(sorted(os.listdir(f"{new}/folder")), sorted(str(number) for number in range(50)), "what arrived")


@pytest.mark.takes(15)
def test_a_changed_byte_on_the_wire(work):
    """a changed byte on the wire, on either connection: the transfer resumes"""
    old, new = work.place()
    random_file(f"{old}/file", 48 * MIB)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, rate=24 * MIB)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    # The control connection is the first. It is quiet, so its byte changes when the next ping
    # comes.
    for connection, share in ((1, 0.1), (0, 0.2), (-1, 0.5)):
        wait_for_share(sending, [receiver], 48 * MIB, share)
        link.do(link.spoil, SENDER, connection)
    finish(old, new, sending, receiver)
    work.figure = f"{link.spoilt} bytes changed, {len(sending.events('interrupted'))} sessions lost"


def test_a_second_receiver_is_refused(work):
    """a second 'peer receive' on one destination: exit 4, the first is named"""
    _, new = work.place()
    receiver = Receiver(work, new)
    second = Process(work, ["receive", new, "--listen", "127.0.0.1:0", "--json"])
    equal(second.wait(), 4, "exit code")
    message = second.error()["message"]
    require(f"(process {receiver.pid})" in message, message)
    receiver.still_waits()
    work.figure = message.replace(new, "...")


@pytest.mark.takes(5)
def test_an_interrupted_sender(work):
    """Ctrl-C at the sender: 130; the receiver waits, and the same command resumes"""
    old, new, sending, receiver = interrupted(work, True, signal.SIGINT)
    equal(sending.code, 130, "exit code")
    equal(sending.error()["hint"], "Run the same command again to go on.", "hint")
    wait_for("'interrupted' at the receiver", PATIENCE, lambda: receiver.events("interrupted"))
    again = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, again, receiver)
    work.figure = f"{sent(again) / MIB:.0f} of 64 MiB sent in the second run"


@pytest.mark.takes(5)
def test_a_terminated_receiver(work):
    """SIGTERM at the receiver: 143, the sender 5, and both commands resume"""
    old, new, sending, receiver = interrupted(work, False, signal.SIGTERM)
    equal((receiver.code, sending.wait()), (143, 5), "exit codes")
    equal(receiver.error()["hint"], "Run the same command again to go on.", "hint")
    staged = next(name for name in os.listdir(new) if name.startswith(".peer-"))
    again = Receiver(work, new, port=receiver.port)
    note = again.event("notice")["message"]
    require(staged in note and f"'peer forget {staged[6:14]}'" in note, f"the note about the unfinished transfer: {note}")
    second = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, second, again)
    work.figure = f"{sent(second) / MIB:.0f} of 64 MiB sent in the second run"


@pytest.mark.takes(5)
def test_a_receiver_gives_up(work):
    """Ctrl-C at the sender, which does not come back: the receiver gives up with 5"""
    old, new = work.place()
    random_file(f"{old}/file", 64 * MIB)
    receiver = Receiver(work, new, options=["--give-up-after", "2s"])
    link = work.slow_link(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 64 * MIB, 0.2)
    sending.signal(signal.SIGINT)
    begin = time.monotonic()
    equal((sending.wait(), receiver.wait()), (130, 5), "exit codes")
    work.figure = f"after {time.monotonic() - begin:.1f} s"
    require(time.monotonic() - begin > 1.5, work.figure)
    require(not os.path.lexists(f"{new}/file"), "the destination holds the file")


@pytest.mark.takes(20)
def test_a_silent_network(work):
    """a silent network: both notice, not before 10 s; Ctrl-C twice ends both

    The figure shows how soon: other programs on the processors delay it.
    """
    old, new = work.place()
    random_file(f"{old}/file", 64 * MIB)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 64 * MIB, 0.2)
    link.do(link.stall, math.inf)
    begin = time.monotonic()
    wait_for("both to notice", PATIENCE, lambda: sending.events("interrupted") and receiver.events("interrupted"))
    noticed = time.monotonic() - begin
    for process in (sending, receiver):
        process.signal(signal.SIGINT)
        process.signal(signal.SIGINT)
    begin = time.monotonic()
    equal((sending.wait(), receiver.wait()), (130, 130), "exit codes")
    work.figure = f"noticed after {noticed:.1f} s, ended after {time.monotonic() - begin:.2f} s"
    require(noticed > 10, work.figure)


@pytest.mark.takes(30)
@needs(disk_image)
def test_a_disk_that_stalls(work):
    """a disk that hangs for 20 s does not count as a dead device"""
    old, new = work.place()
    image = f"{work.path}/image"
    with open(image, "wb") as file:
        file.truncate(512 * MIB)
    equal(subprocess.run(["mkfs.ext4", "-q", image], **QUIET).returncode, 0, "exit code of mkfs.ext4")
    work.mount(new, "-o", "loop", image)
    os.rmdir(f"{new}/lost+found")
    random_file(f"{old}/file", 128 * MIB)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, rate=32 * MIB)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 128 * MIB, 0.2)
    equal(subprocess.run(["fsfreeze", "-f", new], **QUIET).returncode, 0, "freezing")
    try:
        before = progress(sending)
        time.sleep(20)
        during = progress(sending)
    finally:
        subprocess.run(["fsfreeze", "-u", new], **QUIET)
    finish(old, new, sending, receiver)
    equal((sending.events("interrupted"), receiver.events("interrupted")), ([], []), "interruptions")
    work.figure = f"{(during - before) / MIB:.0f} MiB arrived meanwhile"


@pytest.mark.takes(5)
def test_resume_list_and_forget(work):
    """resume list and forget, on both sides"""
    old, new, _, receiver = interrupted(work, True)
    identifier = wait_for("the transfer in the list", PATIENCE, lambda: listed(work, old))
    busy = Process(work, ["forget", identifier])
    equal(busy.wait(), 4, "exit code while the receiver runs")
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    staged = [name for name in os.listdir(new) if name.startswith(".peer-")]
    equal(staged, [f".peer-{identifier}"], "what is staged")
    equal(Process(work, ["forget", identifier[:6]]).wait(), 0, "exit code of forget")
    equal((os.listdir(new), listed(work, old)), ([], None), "what is left")
    equal(Process(work, ["forget", identifier]).wait(), 2, "exit code of another forget")


@pytest.mark.takes(5)
def test_data_without_a_record(work):
    """received data whose record is gone: resume list names it, and forget removes it"""
    _, new, first, receiver = interrupted(work, True)
    for process in (first, receiver):
        process.signal(signal.SIGKILL)
        process.wait()
    shutil.rmtree(f"{work.home(None)}/peer/transfers")
    listing = Process(work, ["resume", "list", "--json"])
    equal(listing.wait(), 0, "exit code of resume list")
    [leftover] = listing.events("leftover")
    equal(os.listdir(new), [f".peer-{leftover['id']}"], "what is staged")
    equal(Process(work, ["forget", leftover["id"]]).wait(), 0, "exit code of forget")
    equal(os.listdir(new), [], "what is left")


def listed(work, old):
    """The ID of the transfer that is being sent from a folder."""
    listing = Process(work, ["resume", "list", "--json"])
    equal(listing.wait(), 0, "exit code of resume list")
    for event in listing.events("transfer"):
        if event["role"] == "sender" and event["sources"][0]["path"].startswith(old):
            return event["id"]
    return None


@pytest.mark.takes(5)
def test_a_damaged_journal(work):
    """a damaged journal: left, reported, and everything is sent again"""
    old, new, first, receiver = interrupted(work, False)
    first.signal(signal.SIGKILL)
    first.wait()
    staged = next(name for name in os.listdir(new) if name.startswith(".peer-"))
    with open(f"{new}/{staged}/journal", "r+b") as file:
        file.seek(60)
        file.write(b"damage")
    again = Receiver(work, new, port=receiver.port)
    second = sender(work, [f"{old}/file"], receiver.port, None)
    end_well(second, again)
    equal(sorted(os.listdir(new)), sorted(["file", staged]), "the destination holds")
    require(again.events("notice"), "no notice")
    work.figure = again.events("notice")[0]["message"].replace(staged, ".peer-...")


@pytest.mark.takes(5)
def test_an_interrupted_import(work):
    """an interrupted import, as an unprivileged user, with directories that the user may not
    enter, and something new in one"""
    user = NOBODY if IS_ROOT else None
    old, new = work.place(user, on_disk=True)
    os.mkdir(f"{old}/folder")
    for number in range(400):
        os.mkdir(f"{old}/folder/{number}")
        small_file(f"{old}/folder/{number}/file")
    os.mkdir(f"{old}/folder/empty")
    random_file(f"{old}/large", 64 * MIB)
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", old], check=True)
    receiver = Receiver(work, new, user, port=own_port())
    link = work.slow_link(receiver.port, rate=16 * MIB)
    sending = sender(work, [f"{old}/folder", f"{old}/large"], link.port, receiver.pairing_code, user)
    # Then the directories are durable, and are not looked at again.
    wait_for_share(sending, [receiver], 64 * MIB, 0.9)
    sending.signal(signal.SIGKILL)
    receiver.signal(signal.SIGKILL)
    sending.wait(), receiver.wait()
    link.close()
    # As if the process had died after it set the directories' final permissions.
    staged = next(name for name in os.listdir(new) if name.startswith(".peer-"))
    for name in os.listdir(f"{new}/{staged}/tree/folder"):
        if os.path.isdir(f"{new}/{staged}/tree/folder/{name}"):
            os.chmod(f"{new}/{staged}/tree/folder/{name}", 0)
    small_file(f"{old}/folder/empty/file")
    again = Receiver(work, new, user, port=receiver.port)
    second = sender(work, [f"{old}/folder", f"{old}/large"], receiver.port, None, user)
    finish(old, new, second, again)

"""Interruptions. On a disk, so that durable data must really be made durable."""

import os
import signal
import subprocess
import threading
import time

import pytest

from devices import PATIENCE, Process, Receiver, end_well, own_port, random_file, sender, small_file
from needs import QUIET, disk_image, needs
from outside import IS_ROOT, MIB, NOBODY, equal, require, run_script, wait_for


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
    named = [(event["path"], event["reason"]) for event in sending.events("notStored")]
    equal(named, [("folder/restless", "keepsChanging")], "what was not sent")
    equal(sorted(os.listdir(f"{new}/folder")), sorted(str(number) for number in range(50)), "what arrived")


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


def listed(work, old):
    """The ID of the transfer that is being sent from a folder."""
    listing = Process(work, ["resume", "list", "--json"])
    equal(listing.wait(), 0, "exit code of resume list")
    for event in listing.events("transfer"):
        if event["role"] == "sender" and event["sources"][0]["path"].startswith(old):
            return event["id"]
    return None


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

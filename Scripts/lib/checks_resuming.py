"""Acceptance of what happens when something is interrupted."""

import os
import shutil
import signal
import subprocess
import threading
import time

from checks import check
from devices import Process, Receiver, SlowLink, random_file, sender, small_file, transfer
from outside import GIB, IS_ROOT, MIB, NOBODY, Skip, equal, require, run_script, wait_for


def progress(process):
    """How many bytes the process says have arrived."""
    events = process.events("progress")
    return events[-1]["bytes"] if events else 0


def wait_for_share(process, others, total, share):
    wait_for(f"{share:.0%} of the transfer", 120, lambda: progress(process) > share * total or not process.is_running())
    for one in [process, *others]:
        require(one.is_running(), f"'peer {one.arguments[0]}' ended too early with {one.code}: {one.text()[-300:]}")


def finish(old, new, *processes):
    """Requires that all end well and that the trees are equal; when the last of them ended."""
    codes = tuple(process.wait(120) for process in processes)
    require(set(codes) == {0}, f"exit codes {codes}: {' '.join(process.text()[-300:] for process in processes)}")
    ended = time.monotonic()
    run_script("check-trees", "--inside", old, new)
    return ended


@check("disk full in the middle: exit 6 on both sides, and after some was freed the same command goes on")
def disk_full(work):
    if not IS_ROOT:
        raise Skip("only root can mount a small disk")
    old, new = work.place()
    random_file(f"{old}/big", 24 * MIB)
    for number in range(200):
        small_file(f"{old}/small-{number}", b"%d" % number)
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", new], stderr=subprocess.PIPE, check=False)
    if mount.returncode != 0:
        raise Skip("no tmpfs can be mounted")
    work.mounts.append(new)
    os.mkdir(f"{new}/in")
    receiver = Receiver(work, f"{new}/in")
    link = SlowLink(receiver.port)
    try:
        paths = [f"{old}/{name}" for name in os.listdir(old)]
        first = sender(work, paths, link.port, receiver.pairing_code)
        wait_for("some of it", 30, lambda: progress(receiver) > 4 * MIB)
        random_file(f"{new}/filler", 28 * MIB)
        codes = first.wait(60), receiver.wait(60)
        require(codes == (6, 6), f"exit codes {codes}: {first.text()[-200:]} {receiver.text()[-200:]}")
        os.remove(f"{new}/filler")
        receiver = Receiver(work, f"{new}/in")
        second = sender(work, paths, receiver.port, None)
        finish(old, f"{new}/in", second, receiver)
        held = second.events("done")[0]["heldBytes"]
        require(held > MIB, f"only {held} bytes were held")
        return f"{held / MIB:.0f} of 24 MiB were held"
    finally:
        link.close()


def sent(process):
    return process.events("done")[0]["sentBytes"]


def killed_past_ninety(work, at_sender):
    """One side is killed when nine tenths have arrived, and started again; how much more was sent, and how long it took."""
    total = 2 * GIB
    work.room_for(2 * total)
    old, full = work.place()
    _, new = work.place()
    random_file(f"{old}/big", total)
    try:
        _, _, whole = transfer(work, old, full)
        shutil.rmtree(full)
        receiver = Receiver(work, new)
        first = sender(work, [f"{old}/big"], receiver.port, receiver.pairing_code)
        wait_for_share(first, [receiver], total, 0.9)
        (first if at_sender else receiver).signal(signal.SIGKILL)
        (first if at_sender else receiver).wait(10)
        begin = time.monotonic()
        if at_sender:
            second = sender(work, [f"{old}/big"], receiver.port, None)
            took = finish(old, new, second, receiver) - begin
            again = sent(second)
        else:
            took = finish(old, new, first, Receiver(work, new, port=receiver.port)) - begin
            again = sent(first) - total
        figure = f"{again / MIB:.0f} MiB again ({again / total:.1%}), {took:.2f} s of {whole:.2f} s"
        require(again < 0.12 * total and took < whole / 4, figure)
        return figure
    finally:
        work.drop(old)
        work.drop(new)


@check("2 GiB, the sender killed past 90 %, run again: no code, little sent")
def _(work):
    return killed_past_ninety(work, True)


@check("2 GiB, the receiver killed past 90 %, run again while the sender waits")
def _(work):
    return killed_past_ninety(work, False)


def interrupted(work, at_sender, number=signal.SIGKILL, size=64 * MIB):
    """A transfer of one file that was interrupted at about a half; its folders, and the processes."""
    old, new = work.place()
    random_file(f"{old}/file", size)
    receiver = Receiver(work, new)
    link = SlowLink(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], size, 0.4)
    (sending if at_sender else receiver).signal(number)
    (sending if at_sender else receiver).wait(15)
    link.close()
    return old, new, sending, receiver


@check("a file edited in place, size and time restored, between two runs")
def _(work):
    old, new, _, receiver = interrupted(work, True)
    status = os.stat(f"{old}/file")
    with open(f"{old}/file", "r+b") as file:
        file.seek(MIB)
        file.write(b"changed")
    os.utime(f"{old}/file", ns=(status.st_atime_ns, status.st_mtime_ns))
    again = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, again, receiver)
    return f"{sent(again) / MIB:.0f} MiB sent in the second run"


@check("a file that changes every 10 ms: exit 8, named, everything else arrives")
def _(work):
    old, new = work.place()
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
        codes = sending.wait(60), receiver.wait(30)
    finally:
        is_over.set()
        thread.join()
    equal(codes, (8, 8), "exit codes")
    named = [(event["path"], event["reason"]) for event in sending.events("unsent")]
    equal(named, [("folder/restless", "keepsChanging")], "what was not sent")
    equal(sorted(os.listdir(f"{new}/folder")), sorted(str(number) for number in range(50)), "what arrived")


@check("a changed byte on the wire, on either connection: the transfer goes on")
def _(work):
    old, new = work.place()
    random_file(f"{old}/file", 48 * MIB)
    receiver = Receiver(work, new)
    link = SlowLink(receiver.port, rate=24 * MIB)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    # The control connection is the first. It is quiet, so its byte changes when the next ping comes.
    for connection, share in ((1, 0.1), (0, 0.2), (-1, 0.5)):
        wait_for_share(sending, [receiver], 48 * MIB, share)
        link.spoil(connection)
    finish(old, new, sending, receiver)
    link.close()
    return f"{link.spoilt} bytes changed, {len(sending.events('interrupted'))} sessions lost"


@check("a second 'peer receive' on one destination: exit 4, the first is named")
def _(work):
    _, new = work.place()
    receiver = Receiver(work, new)
    second = Process(work, ["receive", new, "--listen", "127.0.0.1:0", "--json"])
    equal(second.wait(), 4, "exit code")
    message = second.error()["message"]
    require(f"(process {receiver.pid})" in message, message)
    receiver.still_waits()
    receiver.end()
    return message.replace(new, "...")


@check("Ctrl-C at the sender: 130; the receiver waits, and the same command goes on")
def _(work):
    old, new, sending, receiver = interrupted(work, True, signal.SIGINT)
    equal(sending.code, 130, "exit code")
    wait_for("'interrupted' at the receiver", 5, lambda: receiver.events("interrupted"))
    again = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, again, receiver)
    return f"{sent(again) / MIB:.0f} of 64 MiB sent in the second run"


@check("SIGTERM at the receiver: 143, the sender 5, and both commands go on")
def _(work):
    old, new, sending, receiver = interrupted(work, False, signal.SIGTERM)
    equal((receiver.code, sending.wait(5)), (143, 5), "exit codes")
    again = Receiver(work, new, port=receiver.port)
    second = sender(work, [f"{old}/file"], receiver.port, None)
    finish(old, new, second, again)
    return f"{sent(second) / MIB:.0f} of 64 MiB sent in the second run"


@check("Ctrl-C at the sender, and nobody comes back: the receiver gives up with 5")
def _(work):
    old, new = work.place()
    random_file(f"{old}/file", 64 * MIB)
    receiver = Receiver(work, new, options=["--give-up-after", "2s"])
    link = SlowLink(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 64 * MIB, 0.2)
    sending.signal(signal.SIGINT)
    begin = time.monotonic()
    equal((sending.wait(5), receiver.wait(10)), (130, 5), "exit codes")
    took = time.monotonic() - begin
    link.close()
    require(1.5 < took < 5, f"after {took:.1f} s")
    require(not os.path.lexists(f"{new}/file"), "the destination holds the file")
    return f"after {took:.1f} s"


@check("a silent network: both notice within 20 s; a second Ctrl-C ends at once")
def _(work):
    old, new = work.place()
    random_file(f"{old}/file", 64 * MIB)
    receiver = Receiver(work, new)
    link = SlowLink(receiver.port)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 64 * MIB, 0.2)
    link.freeze()
    begin = time.monotonic()
    wait_for("both to notice", 20, lambda: sending.events("interrupted") and receiver.events("interrupted"))
    noticed = time.monotonic() - begin
    for process in (sending, receiver):
        process.signal(signal.SIGINT)
        process.signal(signal.SIGINT)
    begin = time.monotonic()
    equal((sending.wait(5), receiver.wait(5)), (130, 130), "exit codes")
    ended = time.monotonic() - begin
    link.close()
    require(noticed > 10, f"noticed after {noticed:.1f} s")
    require(ended < 2, f"ended after {ended:.1f} s")
    return f"noticed after {noticed:.1f} s, ended after {ended:.2f} s"


@check("a disk that stalls for 20 s is not taken for a dead device")
def _(work):
    if not IS_ROOT:
        raise Skip("not root")
    old, new = work.place()
    image = f"{os.path.dirname(new)}/image"
    with open(image, "wb") as file:
        file.truncate(512 * MIB)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False, "timeout": 60}
    tools = [shutil.which(tool) for tool in ("mkfs.ext4", "fsfreeze", "mount")]
    if None in tools or subprocess.run(["mkfs.ext4", "-q", image], **quiet).returncode != 0:
        raise Skip("no ext4 can be made")
    if subprocess.run(["mount", "-o", "loop", image, new], **quiet).returncode != 0:
        raise Skip("no loop device can be mounted")
    work.mounts.append(new)
    os.rmdir(f"{new}/lost+found")
    random_file(f"{old}/file", 128 * MIB)
    receiver = Receiver(work, new)
    link = SlowLink(receiver.port, rate=32 * MIB)
    sending = sender(work, [f"{old}/file"], link.port, receiver.pairing_code)
    wait_for_share(sending, [receiver], 128 * MIB, 0.2)
    equal(subprocess.run(["fsfreeze", "-f", new], **quiet).returncode, 0, "freezing")
    try:
        before = progress(sending)
        time.sleep(20)
        during = progress(sending)
    finally:
        subprocess.run(["fsfreeze", "-u", new], **quiet)
    finish(old, new, sending, receiver)
    link.close()
    equal((sending.events("interrupted"), receiver.events("interrupted")), ([], []), "interruptions")
    return f"{(during - before) / MIB:.0f} MiB arrived meanwhile"


@check("resume list and forget, on both sides")
def _(work):
    old, new, _, receiver = interrupted(work, True)
    identifier = wait_for("the transfer in the list", 5, lambda: listed(work, old))
    busy = Process(work, ["forget", identifier])
    equal(busy.wait(), 4, "exit code while the receiver runs")
    receiver.signal(signal.SIGKILL)
    receiver.wait(5)
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


@check("a damaged journal: set aside, told, and everything is sent again")
def _(work):
    old, new, first, receiver = interrupted(work, False)
    first.signal(signal.SIGKILL)
    first.wait(5)
    staged = next(name for name in os.listdir(new) if name.startswith(".peer-"))
    with open(f"{new}/{staged}/journal", "r+b") as file:
        file.seek(60)
        file.write(b"damage")
    again = Receiver(work, new, port=receiver.port)
    second = sender(work, [f"{old}/file"], receiver.port, None)
    codes = second.wait(60), again.wait(30)
    equal(codes, (0, 0), "exit codes")
    equal(sorted(os.listdir(new)), sorted(["file", f"{staged}.refused-1"]), "the destination holds")
    require(again.events("notice"), "no notice")
    return again.events("notice")[0]["message"].replace(staged, ".peer-...")


@check("an end that was interrupted, as an unprivileged user, with directories nobody may enter")
def _(work):
    user = NOBODY if IS_ROOT else None
    old, new = work.place(user)
    os.mkdir(f"{old}/folder")
    for number in range(400):
        os.mkdir(f"{old}/folder/{number}")
        small_file(f"{old}/folder/{number}/file")
    random_file(f"{old}/folder/large", 64 * MIB)
    if user is not None:
        subprocess.run(["chown", "-hR", f"{user}:{user}", old], check=True)
    receiver = Receiver(work, new, user)
    link = SlowLink(receiver.port, rate=16 * MIB)
    sending = sender(work, [f"{old}/folder"], link.port, receiver.pairing_code, user)
    wait_for_share(sending, [receiver], 64 * MIB, 0.6)
    sending.signal(signal.SIGKILL)
    receiver.signal(signal.SIGKILL)
    sending.wait(5), receiver.wait(5)
    link.close()
    # As if the process had died after it gave the directories their final rights.
    staged = next(name for name in os.listdir(new) if name.startswith(".peer-"))
    for name in os.listdir(f"{new}/{staged}/tree/folder"):
        if os.path.isdir(f"{new}/{staged}/tree/folder/{name}"):
            os.chmod(f"{new}/{staged}/tree/folder/{name}", 0)
    again = Receiver(work, new, user, port=receiver.port)
    second = sender(work, [f"{old}/folder"], receiver.port, None, user)
    finish(old, new, second, again)

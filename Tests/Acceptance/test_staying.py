"""A receiver that stays: one transfer after the other, and its memory of them."""

import os
import signal
import socket

import pytest

from devices import PATIENCE, Process, Waiting, random_file, sender, small_file
from outside import IS_ROOT, MIB, equal, require, run_script, wait_for
from test_resuming import progress


class Standing(Waiting):
    """A receiver that stays. The number of earlier events locates the events of each transfer."""

    def __init__(self, work, destination, options=(), port=0, is_inviting=True):
        self.destination = destination
        # A plain user sees the descriptors only of a process that can be debugged.
        if not IS_ROOT:
            work.environment["PEER_DEBUGGABLE"] = "1"
        super().__init__(work, [destination, "--keep", *options], port=port, is_inviting=is_inviting)

    def shown(self, count):
        """The code that is shown after so many others. One that is shown again is no other one."""
        def codes():
            return list(dict.fromkeys(event["code"] for event in self.events("code")))

        wait_for(f"code {count}", PATIENCE, lambda: len(codes()) >= count)
        return codes()[count - 1]

    def figures(self):
        """Its memory in bytes, its descriptors and its threads."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            resident = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))
        return resident, len(os.listdir(f"/proc/{self.pid}/fd")), len(os.listdir(f"/proc/{self.pid}/task"))

    def heaps(self):
        """How many heaps the C library has made for threads, beside the main one: they begin at
        multiples of their greatest size."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as file:
            maps = [line.split() for line in file]
        return sum(
            len(words) == 5 and words[1] == "rw-p" and int(words[0].split("-")[0], 16) % (64 * MIB) == 0 for words in maps)

    def settled(self):
        """The same, once the transfer's resources are released."""
        found = []

        def is_still():
            found.append(self.figures())
            return len(found) > 30 and found[-1][1:] == found[-30][1:]

        wait_for("figures that stay", PATIENCE, is_still)
        return found[-1]

    def stop(self, number=signal.SIGTERM):
        self.signal(number)
        return self.wait()


def sources(old, number, count=20):
    folder = f"{old}/{number}"
    os.mkdir(folder)
    for name in range(count):
        small_file(f"{folder}/{name}", b"%d of %d\n" % (name, number))
    return folder


def one_more(work, receiver, old, number):
    """One complete transfer, with the next code."""
    folder = sources(old, number)
    sending = sender(work, [folder], receiver.port, receiver.shown(number))
    equal(sending.wait(), 0, f"exit code of sender {number}: {sending.text()[-300:]}")
    return folder


@pytest.mark.takes(12)
def test_many_transfers(work):
    """--keep: many transfers in a row, one killed and resumed: each arrives, and memory,
    descriptors and threads are as after the first"""
    old, new = work.place()
    count = 50 if work.is_long else 8
    receiver = Standing(work, new)
    one_more(work, receiver, old, 1)
    # The permanent resources of a first transfer exist by now.
    one_more(work, receiver, old, 2)
    begin = receiver.settled()
    for number in range(3, count + 1):
        if number != 5:
            one_more(work, receiver, old, number)
            continue
        folder = f"{old}/{number}"
        os.mkdir(folder)
        random_file(f"{folder}/big", 24 * MIB)
        code = receiver.shown(number)
        before = len(receiver.events("progress"))
        first = sender(work, [folder, "--limit", "20M"], receiver.port, code)
        wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 4 * MIB for event in receiver.events("progress")[before:]))
        first.signal(signal.SIGKILL)
        receiver.event("interrupted")
        again = sender(work, [folder], receiver.port, None)
        equal(again.wait(), 0, f"exit code of the sender that came back: {again.text()[-300:]}")
        require(again.events("done")[0]["heldBytes"] > MIB, "nothing was held")
    receiver.shown(count + 1)
    equal([event["event"] for event in receiver.events() if event["event"] in ("listening", "error")], ["listening"], "told once")
    equal(len(receiver.events("done")), count, "transfers done")
    codes = [event["code"] for event in receiver.events("code")]
    equal(len(set(codes)), count + 1, "codes")
    end = receiver.settled()
    require(end[0] < begin[0] + 8 * MIB, f"{begin[0]} bytes of memory became {end[0]}")
    equal(end[1:], begin[1:], "descriptors and threads at the end")
    equal(receiver.heaps(), 0, "heaps of threads")
    equal(os.listdir(f"{work.home(None)}/peer/transfers"), [], "what is remembered of transfers whose receipt came")
    run_script("check-trees", "--inside", old, new)
    equal(receiver.stop(), 143, "exit code")
    equal(receiver.error()["code"], 143, "the last word")
    work.figure = f"{count}: {begin[0] / MIB:.0f} and {end[0] / MIB:.0f} MiB, {end[1]} descriptors, {end[2]} threads"


def test_a_sender_without_a_receipt(work):
    """--keep: two senders cut off before DONE learn the result later, beside another transfer"""
    old, new = work.place()
    receiver = Standing(work, new)
    missed = []
    for number in (1, 2):
        folder = sources(old, number)
        # The receiver's last messages are lost when the connections are cut.
        link = work.link(receiver.port, delays=(0, 0.5))
        sending = sender(work, [folder, "--give-up-after", "0"], link.port, receiver.shown(number))
        receiver.event("done", number)
        link.do(link.cut, 0, False)
        equal(sending.wait(), 5, "exit code of a sender that was cut off")
        missed.append(folder)
    receiver.shown(3)
    # The third is in the middle of its transfer while the others ask.
    third = f"{old}/3"
    os.mkdir(third)
    random_file(f"{third}/big", 24 * MIB)
    going = sender(work, [third, "--limit", "8M"], receiver.port, receiver.shown(3))
    wait_for("the third", PATIENCE, lambda: progress(receiver) > MIB)
    said = len(receiver.events("done"))
    for folder in missed:
        again = sender(work, [folder, "--give-up-after", "20"], receiver.port, None)
        equal(again.wait(), 0, f"exit code of one that asks again: {again.text()[-300:]}")
        equal((again.events("done")[0]["items"], again.events("done")[0]["sentBytes"]), (21, 0), "what it is told")
    require(going.is_running(), "the transfer in between has ended")
    equal(going.wait(), 0, "exit code of the third")
    equal(len(receiver.events("done")), said + 1, "what the receiver's user heard")
    run_script("check-trees", "--inside", old, new)
    equal(receiver.stop(signal.SIGINT), 130, "exit code")


def test_failures_do_not_end_the_run(work):
    """--keep: a taken name and a sender that stays away are errors at once, and the next transfer
    follows"""
    old, new = work.place()
    receiver = Standing(work, new, ["--give-up-after", "1"])
    folder = one_more(work, receiver, old, 1)
    taken = sender(work, [folder], receiver.port, receiver.shown(2))
    equal(taken.wait(), 4, "exit code of a sender whose name is taken")
    equal(receiver.event("error")["code"], 4, "what the receiver tells")
    big = f"{old}/big"
    os.mkdir(big)
    random_file(f"{big}/one", 24 * MIB)
    away = sender(work, [big, "--limit", "8M"], receiver.port, receiver.shown(3))
    wait_for("some of it", PATIENCE, lambda: progress(receiver) > 2 * MIB)
    away.signal(signal.SIGKILL)
    equal(receiver.event("error", 2)["code"], 5, "what the receiver tells of one that is away")
    one_more(work, receiver, old, 4)
    require(receiver.is_running(), "the receiver has ended")
    # It knows the sender that is away, and still allows other processes to discard the transfer,
    # and the sender to come back.
    listed = Process(work, ["resume", "list", "--json"])
    equal(listed.wait(), 0, "exit code of resume list")
    ours = [event for event in listed.events("transfer") if event["role"] == "receiver"]
    equal([event["inUse"] for event in ours], [False], "in use")
    open_code = receiver.shown(5)
    back = sender(work, [big], receiver.port, None)
    equal(back.wait(), 0, f"exit code of the one that came back: {back.text()[-300:]}")
    require(back.events("done")[0]["heldBytes"] > MIB, "nothing was held")
    equal([event["code"] for event in receiver.events("error")], [4, 5], "errors")
    run_script("check-trees", "--inside", old, new)
    # The code that was open when the sender came back is shown again, and works.
    equal(receiver.event("code", 6)["code"], open_code, "the code that is shown again")
    small_file(f"{old}/last")
    equal(sender(work, [f"{old}/last"], receiver.port, open_code).wait(), 0, "exit code with that code")
    equal(receiver.stop(), 143, "exit code")


@pytest.mark.takes(4)
def test_a_restart(work):
    """--keep: after a kill and restart, unfinished and finished transfers are known, by the same
    key"""
    old, new = work.place()
    receiver = Standing(work, new)
    big = f"{old}/big"
    os.mkdir(big)
    random_file(f"{big}/one", 24 * MIB)
    going = sender(work, [big, "--limit", "8M"], receiver.port, receiver.pairing_code)
    wait_for("some of it", PATIENCE, lambda: progress(receiver) > 4 * MIB)
    going.signal(signal.SIGKILL)
    receiver.event("interrupted")
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    again = Standing(work, new)
    require(again.port == receiver.port, "the port is another one")
    # A transfer in between does not change the key that the first sender knows.
    one_more(work, again, old, 1)
    back = sender(work, [big], again.port, None)
    equal(back.wait(), 0, f"exit code of the one that came back: {back.text()[-300:]}")
    run_script("check-trees", "--inside", old, new)
    equal(again.stop(), 143, "exit code")


@pytest.mark.takes(5)
def test_a_service_that_starts_again(work):
    """--keep: a sender waits for a receiver that SIGTERM has ended, and goes on; NOTIFY_SOCKET hears
    when it is ready"""
    old, new = work.place()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"{work.path}/manager")
        manager.settimeout(PATIENCE)
        work.environment["NOTIFY_SOCKET"] = f"{work.path}/manager"
        receiver = Standing(work, new)
        equal(manager.recv(100), b"READY=1", "what the manager of services hears")
        del work.environment["NOTIFY_SOCKET"]
    random_file(f"{old}/big", 8 * MIB)
    sending = sender(work, [f"{old}/big", "--limit", "4M"], receiver.port, receiver.shown(1))
    wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > MIB for event in receiver.events("progress")))
    equal(receiver.stop(), 143, "exit code of the receiver")
    wait_for("a sender that waits", PATIENCE, lambda: sending.events("interrupted"))
    Standing(work, new, port=receiver.port, is_inviting=False)
    equal(sending.wait(), 0, f"exit code of the sender: {sending.text()[-300:]}")


@pytest.mark.takes(5)
def test_a_folder_for_each_device(work):
    """--into: what each device sends arrives in a folder of the name that it has here, and stays in
    the folder where it began"""
    old, new = work.place()
    into = ["--remember", "--into", "{device}/all"]
    receiver = Standing(work, new, into)
    small_file(f"{old}/Documents")
    random_file(f"{old}/big", 8 * MIB)

    def send(name, code=None, options=("--remember",), home=None):
        return Process(
            work, ["send", f"{old}/{name}", "--to", f"127.0.0.1:{receiver.port}", *options, "--code-file", "-", "--json"],
            "" if code is None else code + "\n", home=home)

    def folders(name):
        return sorted(folder for folder in os.listdir(new) if os.path.exists(f"{new}/{folder}/all/{name}"))

    equal(send("Documents", receiver.shown(1)).wait(), 0, "exit code of a device that is not known yet")
    listed = Process(work, ["device", "list", "--json"])
    listed.wait()
    known = next(device["id"] for device in listed.events("device") if device["role"] == "receiver")
    equal(folders("Documents"), [known[:12]], "its folder")
    equal(send("Documents", receiver.shown(2), (), f"{work.path}/other").wait(), 0, "exit code of a stranger with the same name")
    equal(len(folders("Documents")), 2, "folders after the stranger")
    equal(Process(work, ["device", "name", known[:12], "old/laptop"]).wait(), 0, "exit code of device name")
    slow = send("big", options=("--remember", "--limit", "2M"))
    wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 0 for event in receiver.events("progress")[-1:]
                                                 if event["totalBytes"] > 8_000_000))
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    equal(Process(work, ["device", "name", known[:12], "another"]).wait(), 0, "exit code of device name")
    receiver = Standing(work, new, into, receiver.port, is_inviting=False)
    equal(slow.wait(), 0, f"exit code of the known device: {slow.text()[-300:]}")
    equal(folders("big"), ["old_laptop"], "the folder where it began")
    require(all(os.stat(f"{new}/{folder}").st_mode & 0o7777 == 0o755 for folder in os.listdir(new)), "modes of the folders")
    receiver.stop()


@pytest.mark.takes(4)
def test_known_devices(work):
    """--remember: the second transfer needs no code, also of a receiver that was started again; a
    forgotten device does, at once"""
    old, new = work.place()
    receiver = Standing(work, new, ["--remember"])

    def send(number, code=None):
        sending = Process(
            work, ["send", sources(old, number), "--to", f"127.0.0.1:{receiver.port}", "--remember",
                   "--code-file", "-", "--json"], "" if code is None else code + "\n")
        return sending.wait(), sending

    code, sending = send(0, receiver.shown(1))
    equal(code, 0, f"exit code of the first sender: {sending.text()[-300:]}")
    equal(sending.events("paired")[0]["known"], False, "the first device is known")
    equal(receiver.stop(), 143, "exit code of the receiver")
    receiver = Standing(work, new, ["--remember"], receiver.port)
    code, sending = send(1)
    equal(code, 0, f"exit code of the known sender: {sending.text()[-300:]}")
    equal(sending.events("paired")[0]["known"], True, "the second device is known")
    listed = Process(work, ["device", "list", "--json"])
    equal(listed.wait(), 0, "exit code of device list")
    devices = listed.events("device")
    equal({(device["role"], device["transfers"]) for device in devices}, {("sender", 2), ("receiver", 2)}, "known devices")
    one = next(device for device in devices if device["role"] == "receiver")
    equal(Process(work, ["device", "forget", one["id"][:8]]).wait(), 0, "exit code of forget")
    code, sending = send(2)
    equal(code, 3, f"exit code of a forgotten sender: {sending.text()[-300:]}")
    for process, words in ((sending, "the other device knows this one no more"), (receiver, "refused 127.0.0.1: its key is not known here")):
        require(any(words in event["message"] for event in process.events("notice")), f"{process.name()}: {process.text()[-300:]}")
    equal(sorted(os.listdir(new)), ["0", "1"], "the destination holds")
    receiver.stop()


@pytest.mark.takes(5)
def test_a_line(work):
    """--keep: a known device that comes while another one is served is told its place and waits;
    with --no-wait, a sender ends with 10"""
    old, new = work.place()
    receiver = Standing(work, new, ["--remember"])
    homes = [f"{work.path}/device-{number}" for number in range(3)]

    def send(device, source, *options, code=""):
        return Process(
            work, ["send", source, "--to", f"127.0.0.1:{receiver.port}", "--remember", "--code-file", "-", "--json", *options],
            code + "\n", home=homes[device])

    for device in (0, 1):
        equal(send(device, sources(old, device), code=receiver.shown(device + 1)).wait(), 0, "exit code of a pairing")
    code = receiver.shown(3)
    random_file(f"{old}/big", 8 * MIB)
    before = len(receiver.events("progress"))
    served = send(0, f"{old}/big", "--limit", "3M")
    wait_for("some of it", PATIENCE, lambda: any(event["bytes"] for event in receiver.events("progress")[before:]))
    waiting, third = send(1, sources(old, 3)), sources(old, 4)
    wait_for("its place", PATIENCE, lambda: waiting.events("queued"))
    equal([event["place"] for event in waiting.events("queued")], [1], "places")
    stranger = send(2, third, "--no-wait", code=code)
    equal((stranger.wait(), stranger.events("error")[0]["kind"]), (10, "busy"), "exit code of a sender that does not wait")
    require("serves 2 others first" in stranger.events("error")[0]["message"], stranger.text()[-300:])
    equal((served.wait(), waiting.wait()), (0, 0), "exit codes")
    equal([event["place"] for event in waiting.events("queued")], [1], "places")
    equal(sorted(os.listdir(new)), ["0", "1", "3", "big"], "the destination holds")
    receiver.stop()


@pytest.mark.takes(5)
def test_several_at_once(work):
    """--keep --at-once 2: two senders are served at the same time, and a third one is told its place;
    one with a name that is arriving waits for that; each event about a transfer names it"""
    old, new = work.place()
    receiver = Standing(work, new, ["--at-once", "2", "--remember"])
    # The two last until the third one is told its place: from then on, who comes first depends on the time.
    links = [work.slow_link(receiver.port, MIB // 4) for _ in range(2)]

    def send(source, home, code="", port=receiver.port):
        return Process(
            work, ["send", source, "--to", f"127.0.0.1:{port}", "--remember", "--code-file", "-", "--json"],
            code + "\n", home=f"{work.path}/{home}")

    equal(send(sources(old, 0), "known", receiver.shown(1)).wait(), 0, "exit code of a pairing")
    running = []
    for number in (1, 2):
        os.mkdir(f"{old}/at-{number}")
        random_file(f"{old}/at-{number}/big", 8 * MIB)
        code = receiver.shown(number + 1 + len(running))
        running.append(send(f"{old}/at-{number}", f"device-{number}", code, links[number - 1].port))
        wait_for("some of it", PATIENCE, lambda: any(event["bytes"] > 0 for event in running[-1].events("progress")))
        if number == 1:
            taken = send(f"{old}/at-1", "other", receiver.shown(3))
            wait_for("its place", PATIENCE, lambda: taken.events("queued"))
            require("another device sends 'at-1' to the same folder at this moment" in taken.events("interrupted")[0]["reason"], taken.text()[-300:])
    waiting = send(sources(old, 3), "known")
    wait_for("its place", PATIENCE, lambda: waiting.events("queued"))
    require(all(one.is_running() for one in running), "the two are not served at the same time")
    equal({event["place"] for event in waiting.events("queued")}, {1}, "places")
    for link in links:
        link.do(setattr, link, "rate", 1 << 40)
    equal([one.wait() for one in (*running, waiting)], [0, 0, 0], "exit codes")
    # By now the name is there.
    equal(taken.wait(), 4, f"exit code of one with the same name: {taken.text()[-300:]}")
    equal(sorted(os.listdir(new)), ["0", "3", "at-1", "at-2"], "the destination holds")
    run_script("check-trees", "--inside", old, new)
    told = [event for event in receiver.events() if event["event"] in ("paired", "progress", "done", "error")]
    require(all("transfer" in event for event in told), "an event about a transfer does not name it")
    equal(receiver.stop(), 143, "exit code")

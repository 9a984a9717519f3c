"""The second implementation's receiver (Tests/Interop), against the program's sender."""

import os

import pytest

from apps import ID, Device
from devices import random_file, sender, small_file
from interop import ended, interop, listening, roots
from needs import needs, own_mounts, root
from outside import IS_ROOT, MIB, NOBODY, equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
    import channel
    import wire


def some(work, large=3, user=None):
    """A folder with files of 2 MiB, small ones, and links; and a destination."""
    old, new = work.place(user)
    folder = f"{old}/data"
    os.mkdir(folder)
    for number in range(large):
        random_file(f"{folder}/large-{number}", 2 * MIB + number)
    for number in range(5):
        small_file(f"{folder}/small-{number}", b"%d\n" % number)
    small_file(f"{folder}/void", b"")
    os.symlink("nowhere", f"{folder}/link")
    os.link(f"{folder}/small-1", f"{folder}/twin")
    return old, new


def all_through(work, old, new, *words, code=0, **values):
    """A whole transfer of the program's to this receiver, and the process."""
    with listening(new, **values) as receiver:
        program = sender(work, [*roots(old), *words], receiver.port, receiver.code)
        receiver.run(60)
        ended(program, code)
        return receiver, program


def once(condition, action):
    """A hook that does something the first time that a condition holds."""
    state = []

    def hook(receiver, entry):
        if not state and condition(receiver, entry):
            state.append(True)
            action(receiver)

    return hook


def raise_cut(_):
    raise channel.Cut("by the test")


def cut_all(receiver):
    receiver.control.cut()
    raise channel.Cut("by the test")


def bytes_of(receiver):
    return sum(held.bytes() for part in receiver.parts if part.archive for held in part.archive.held.values())


def unsent(receiver):
    return sorted((said.path, said.reason) for said in receiver.part.unsent)


# Streams


def test_a_broken_stream_is_replaced(work):
    """interop: the receiver breaks a stream in the middle of a file: the program replaces it"""
    old, new = some(work)
    joins = []

    def note(receiver):
        joins.append(len(receiver.used))

    receiver, program = all_through(
        work, old, new, "--streams", "2", turn_away=note,
        before_entry=once(lambda receiver, _: bytes_of(receiver) > 3 * MIB, raise_cut))
    run_script("check-trees", "--inside", old, new)
    require(len(receiver.used) >= 3, f"streams {receiver.used}")
    equal(program.events("interrupted"), [], "interruptions that the program told")


# From session to session


def test_a_cut_session_is_resumed(work):
    """interop: the receiver cuts all connections: the program resumes, and sends only the rest"""
    old, new = some(work)
    held = []

    def cut(receiver):
        held.append(bytes_of(receiver))
        cut_all(receiver)

    receiver, program = all_through(
        work, old, new, before_entry=once(lambda receiver, _: bytes_of(receiver) > 3 * MIB, cut))
    run_script("check-trees", "--inside", old, new)
    done = program.events("done")[0]
    require(done["heldBytes"] >= held[0] > 3 * MIB, f"{done['heldBytes']} bytes are held, of {held}")
    equal(receiver.sessions, 2, "sessions")
    work.figure = f"{done['heldBytes']} bytes held"


def test_drop(work):
    """interop: the program names held items that vanished or changed in DROP"""
    old, new = some(work)

    def change(receiver):
        os.unlink(f"{old}/data/small-0")
        small_file(f"{old}/data/small-2", b"another state")
        cut_all(receiver)

    # When the small files have come.
    hook = once(lambda receiver, _: b"data/small-2" in receiver.part.archive.held and bytes_of(receiver) > MIB, change)
    # The same run has walked before: to it the file has vanished.
    receiver, _ = all_through(work, old, new, code=8, before_entry=hook)
    equal(unsent(receiver), [(b"data/small-0", 1)], "NOT_STORED")
    run_script("check-trees", "--inside", old, new)
    require(receiver.part.dropped >= 2, f"{receiver.part.dropped} marks in DROP")


def test_done_answers_an_offer(work):
    """interop: DONE is lost: the program resumes, and DONE answers its OFFER"""
    old, new = some(work, 1)
    plans = []
    with listening(new, judge=plans.append) as receiver:
        answer = receiver.answer
        receiver.answer = lambda: (setattr(receiver, "answer", answer), receiver.end())
        program = sender(work, roots(old), receiver.port, receiver.code)
        receiver.run(60)
        ended(program, 0)
        equal(receiver.sessions, 2, "sessions")
        equal([said.plan for said in plans], [None, receiver.plan_id], "the plans that PLAN names")
    run_script("check-trees", "--inside", old, new)


# Items that the program leaves out


def of_stat(key, path, name):
    status = os.lstat(path)
    return wire.mark_of_file(key, status.st_size, divmod(status.st_mtime_ns, 10**9), name)


def test_marks_of_existing_items(work):
    """interop: marks of kinds 2 and 3: the program leaves these items out and counts them"""
    old, new = some(work, 1)
    place = f"{old}/data"
    there = (
        [lambda key: of_stat(key, f"{place}/small-0", b"data/small-0"), lambda key: wire.mark_of_symlink(key, b"nowhere", b"data/link")],
        [lambda key, name=name: wire.mark_of_path(key, name) for name in (b"data/small-0", b"data/small-1", b"data/link", b"data/void")])
    receiver, program = all_through(work, old, new, there=there)
    equal((receiver.part.finished.present, receiver.part.finished.differing), (2, 2), "present and differing")
    equal(unsent(receiver), [(b"data/small-1", 33), (b"data/void", 33)], "NOT_STORED")
    done = program.events("done")[0]
    equal((done["present"], done["differing"]), (2, 2), "what the program tells")
    equal(sorted(os.listdir(f"{new}/data")), ["large-0", "small-2", "small-3", "small-4", "twin"], "what arrived")
    equal(os.stat(f"{new}/data/twin").st_nlink, 1, "names of the file")


def test_what_belongs_together(work):
    """interop: marks of kind 2 alone: the program sends what belongs together whole, or nothing of it"""
    old, new = some(work, 1)
    os.makedirs(f"{old}/data/work/.git")
    held = ("small-0", "whole.db", "whole.db-wal")
    names = ("db", "db-wal", "work/.git/HEAD", "work/file")
    for name in (*held[1:], *names):
        small_file(f"{old}/data/{name}")
    # A database without the mark of its log, and a folder under version control without those of its directories.
    told = [name for name in (*held, *names) if name != "db-wal"]
    there = ([lambda key, name=name: of_stat(key, f"{old}/data/{name}", b"data/" + name.encode()) for name in told], [])
    receiver, _ = all_through(work, old, new, there=there)
    equal((receiver.part.finished.present, receiver.part.finished.differing), (3, None), "present and differing")
    equal([name for name in (*held, *names) if os.path.exists(f"{new}/data/{name}")], list(names), "what arrived")


def test_largest_file(work):
    """interop: `largestFile` in ACCEPT: of a larger file the program sends the ITEM alone: exit code 8"""
    old, new = some(work, 1)
    kinds = []
    receiver, program = all_through(
        work, old, new, code=8, accept={"traits": {"largestFile": MIB}},
        before_entry=lambda _, entry: kinds.append(entry.kind) if entry.path == b"data/large-0" else None,
        refuse=lambda record: 20 if record["path"] == b"data/large-0" else None)
    equal(kinds, [wire.ITEM], "the entries of the file")
    equal(program.events("done")[0]["notStored"], 1, "what the program tells")


def test_refused(work):
    """interop: NOT_STORED: the program does not send the item again: exit code 8"""
    old, new = some(work)
    hook = once(lambda receiver, _: receiver.part.archive.refused() and bytes_of(receiver) > 2 * MIB, cut_all)
    receiver, program = all_through(
        work, old, new, code=8, before_entry=hook,
        refuse=lambda record: {b"data/small-3": 16, b"data/link": 19, b"data/large-0": 20}.get(record["path"]))
    named = {event["path"] for event in program.events("notStored")}
    equal(named, {"data/small-3", "data/link", "data/large-0"}, "what the program names")
    require(not os.path.lexists(f"{new}/data/link"), "what was refused is there")
    equal((receiver.sessions, program.events("done")[0]["notStored"]), (2, 3), "sessions and items not stored")


def test_items_that_cannot_be_sent(work):
    """interop: a FIFO: NOT_STORED 4 and exit code 0; an unreadable file: NOT_STORED 2 and exit code 8"""
    user = NOBODY if IS_ROOT else None
    old, new = some(work, 1, user)
    os.mkfifo(f"{old}/data/queue")
    receiver, program = all_through(work, old, new)
    equal(unsent(receiver), [(b"data/queue", 4)], "NOT_STORED")
    small_file(f"{old}/data/closed")
    os.chmod(f"{old}/data/closed", 0)
    with listening(work.place()[1]) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code, user=user)
        receiver.run(60)
        ended(program, 8)
        equal(unsent(receiver), [(b"data/closed", 2), (b"data/queue", 4)], "NOT_STORED")


@needs(root)
def test_owners_and_attributes_left_behind(work):
    """interop: --owners: records have owners; FINISH names the attributes left behind"""
    old, new = work.place(on_disk=True)
    small_file(f"{old}/file")
    os.chown(f"{old}/file", 1234, 5678)
    os.setxattr(f"{old}/file", "trusted.kept.here", b"1")
    receiver, _ = all_through(work, old, new, "--owners")
    [record] = [held.record for held in receiver.part.archive.held.values()]
    equal((record["owner"], receiver.part.finished.lostAttributes), ((1234, 5678), [(b"trusted.kept.here", 1)]), "the owner, and what is left behind")


def test_losses(work):
    """interop: losses in DONE: the program reports them"""
    old, new = some(work, 1)
    _, program = all_through(work, old, new, done={"losses": [(1, 3), (5, 7)], "unknown": {99: b"later"}})
    work.figure = str(program.events("done")[0]["losses"])
    equal(len(program.events("done")[0]["losses"]), 2, "losses that are told")


# Frames and fields that are skipped, and others that are not


def test_unknown_frames_and_fields(work):
    """interop: the program skips unknown frames above 0x80 and fields with unknown tags"""
    old, new = some(work)
    unknown = {"unknown": {200: b"later"}}

    def strange(receiver, _):
        for link in [receiver.control, *(stream.link for stream in receiver.streams)]:
            link.write(wire.frame_of(0x81, b"unknown") + wire.frame_of(0xFF, b""))

    all_through(work, old, new, greeting=unknown, verdict=unknown, accept=unknown, done=unknown, before_frame=strange)
    run_script("check-trees", "--inside", old, new)


@pytest.mark.parametrize("version", [2, 4])
def test_a_version_that_was_not_offered(work, version):
    """interop: HELLO_S with a version that the program does not speak: exit code 3"""
    old, new = some(work, 1)
    with listening(new) as receiver:
        receiver.options.highest = receiver.options.lowest = version
        receiver.judge_version = lambda _: None
        program = sender(work, roots(old), receiver.port, receiver.code)
        while program.is_running():
            receiver.turn(0.05)
        work.figure = f"exit {program.code}: {program.error()['message']}"
        equal(program.code, 3, "exit code")
        equal(receiver.sessions, 0, "sessions")


# Apps


@needs(own_mounts)
def test_an_app_is_asked_for(work):
    """interop: the program sends an app's data upon a request with options"""
    device = Device(work, work.place()[0])
    device.write(kept="what was written")
    new = work.place()[1]
    request = {"identifier": ID, "platform": "interop", "options": [(b"count", b"7")]}
    with listening(new, greeting={"request": request}) as receiver:
        program = device.send(receiver.port, receiver.code)
        receiver.run(60)
        ended(program, 0)
        [part] = receiver.plan.parts
        equal((part["kind"], part.get("roots"), part["identifier"]), (wire.APP, None, ID), "the part")
    with open(f"{new}/Documents/kept", "rb") as file:
        equal(file.read(), b"what was written", "the app's file")

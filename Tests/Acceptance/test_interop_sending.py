"""The second implementation's sender, step by step, against the program's receiver."""

import concurrent.futures
import os
import signal
import time

import pytest

from devices import PATIENCE, Receiver, end_well, own_port, random_file, small_file
from interop import close_of, ended, failure_of, interop, paired, roots, to_data
from needs import needs
from outside import MIB, equal, require, run_script, wait_for

pytestmark = needs(interop)

if interop() is None:
    import channel
    import wire


def some(work, large=3, on_disk=False):
    """A folder with files of 700 KiB, small ones, and links; and a destination."""
    old, new = work.place(on_disk=on_disk)
    folder = f"{old}/data"
    os.mkdir(folder)
    for number in range(large):
        random_file(f"{folder}/large-{number}", 700_000)
    for number in range(5):
        small_file(f"{folder}/small-{number}", b"%d\n" % number)
    small_file(f"{folder}/void", b"")
    os.symlink("nowhere", f"{folder}/link")
    os.link(f"{folder}/small-1", f"{folder}/twin")
    return old, new


def done(made, receiver, old, new):
    """Requires that a transfer has succeeded."""
    end_well(receiver)
    run_script("check-trees", "--inside", old, new)
    equal(made.part.done.notStored, None, "items not stored")


class Stop(Exception):
    """A test's own end of sending."""


def stop_at(number):
    """Lets so many frames go, and ends the sending."""
    def before(_, count):
        if count == number:
            raise Stop

    return before


# Streams


@pytest.mark.parametrize("breaks", [1, 3])
def test_a_broken_stream_is_replaced(work, breaks):
    """interop: streams that break while frames are under way are replaced, and nothing is lost"""
    old, new = some(work, 4)
    receiver = Receiver(work, new)

    def cut(every, number):
        if number and number % 3 == 0 and number // 3 <= breaks:
            max(every.streams, key=lambda stream: len(stream.waiting)).link.plain.shutdown(2)

    made = paired(receiver, roots(old), streams=2, frame=100_000, before_frame=cut)
    made.session()
    done(made, receiver, old, new)
    require(made.joined >= 2 + breaks, f"{made.joined} streams have joined")


def test_a_join_that_was_lost(work):
    """interop: a stream replaces one that never joined: all streams end, and all frames arrive"""
    old, new = some(work, 4)
    receiver = Receiver(work, new)

    def lose(every, number):
        if number == 5:
            every.streams[0].link.plain.shutdown(2)
            # The number of a JOIN that was lost with its connection.
            lost, every.number = every.number, every.number + 1
            every.streams[0].number = lost

    made = paired(receiver, roots(old), streams=2, frame=100_000, before_frame=lose)
    made.session()
    done(made, receiver, old, new)
    # Both ended, and both were replaced.
    require(made.joined >= 4, f"{made.joined} streams have joined")


@pytest.mark.parametrize("wrong", ["another session", "a number that is used", "one too many"])
def test_a_join_is_turned_away(work, wrong):
    """interop: the program turns a JOIN away with CLOSE 16, and the session continues"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    count = made.verdict.streams if wrong == "one too many" else 1
    for _ in range(count):
        made.streams.open()
    link = made.open_stream()
    number = 0 if wrong == "a number that is used" else 900
    link.say("JOIN", session=bytes(16) if wrong == "another session" else made.verdict.session, stream=number, replaces=wire.NONE)
    said = close_of(lambda: link.hear())
    work.figure = f"CLOSE {said.code}: {said.message}"
    equal(said.code, 16, "the code")
    both = {"another session": (bytes(16).hex(), made.verdict.session.hex()), "a number that is used": ("stream 0", "joined before"),
            "one too many": (str(count), str(made.verdict.streams))}[wrong]
    require(all(value in said.message for value in both), f"{said.message!r} has not {both}")
    go_on(made)
    done(made, receiver, old, new)


@pytest.mark.takes(11)
def test_a_join_that_does_not_come(work):
    """interop: a connection without JOIN within 10 s of READY gets CLOSE 16, no other one"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    link = made.open_stream()
    said = close_of(lambda: link.hear(seconds=PATIENCE))
    equal(said.code, 16, "the code")
    require("10 s" in said.message, f"{said.message!r} has not the time")
    go_on(made)
    done(made, receiver, old, new)


@pytest.mark.parametrize("count", [4, 16])
def test_joins_at_once(work, count):
    """interop: connections that are made and join at the same moment are all served"""
    old, new = some(work, 4)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old), streams=count, frame=50_000))
    require(made.verdict.streams >= count, f"{made.verdict.streams} streams may be joined")
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        links = list(pool.map(lambda _: made.open_stream(), range(count)))
    made.streams.open_link = lambda: links.pop()
    for _ in range(count):
        made.streams.open()
    go_on(made)
    done(made, receiver, old, new)
    equal(made.joined, count, "streams that have joined")


def test_a_first_frame_that_is_no_join(work):
    """interop: a data connection that begins with ACK gets CLOSE 3, and the session continues"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    link = made.open_stream()
    link.say("ACK", written=0, durable=0)
    equal(close_of(lambda: link.hear()).code, 3, "code")
    go_on(made)
    done(made, receiver, old, new)


def test_close_on_a_stream(work):
    """interop: CLOSE 11 on a data stream ends the session, as on the control connection"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.streams.open().link.say("CLOSE", code=11, message="the test ends here")
    ended(receiver, 9)


def go_on(made):
    """From where data may be sent to the end."""
    made.send()
    made.finish()
    made.streams.end()
    made.receipt()


# From session to session


@pytest.mark.parametrize("streams_of", [1, 3])
def test_a_cut_sender_comes_back(work, streams_of):
    """interop: all connections are cut; the sender resumes, and sends only the rest"""
    old, new = some(work, 4)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), streams=streams_of, frame=100_000, before_frame=stop_at(18))
    with pytest.raises(Stop):
        made.session()
    sent = made.streams.frames
    made.streams.drain()
    made.cut()
    made.options.before_frame = None
    made.resume()
    to_data(made)
    require(made.held[1] and made.partial, f"{len(made.held[1])} items are held, and {len(made.partial)} parts")
    equal(made.held_end.items, len(made.held[1]), "items of HELD_END")
    held = sum(item.size for item in made.items if wire.mark(made.key, item.generation(made.key), item.path) in made.held[1])
    parts = sum(end - start for said in made.partial.values() for start, end in said.ranges)
    equal(made.held_end.bytes, held + parts, "bytes of HELD_END")
    go_on(made)
    done(made, receiver, old, new)
    require(made.sent_bytes <= 4 * 700_000 + 100 - held - parts, "what was held was sent again")
    work.figure = f"{sent} frames, then {held + parts} bytes held"


def test_a_receiver_that_was_killed(work):
    """interop: the program is killed and started again: it holds all written data"""
    old, new = some(work, 4)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = paired(receiver, roots(old), frame=100_000, before_frame=stop_at(12))
    with pytest.raises(Stop):
        made.session()
    made.streams.drain()
    written = 12 * 100_000
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    made.cut()
    made.options.before_frame = None
    again = Receiver(work, new, port=port, is_inviting=False)
    made.resume()
    to_data(made)
    require(made.held_end.bytes > written * 0.8, f"{made.held_end.bytes} bytes are held of {written}")
    go_on(made)
    done(made, again, old, new)


def test_drop(work):
    """interop: held items that vanished from the source are named in DROP"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), frame=100_000, before_frame=stop_at(16))
    with pytest.raises(Stop):
        made.session()
    made.streams.drain()
    made.cut()
    made.options.before_frame = None
    os.unlink(f"{old}/data/large-0")
    small_file(f"{old}/data/large-1", b"another state")
    made.resume()
    made.session()
    dropped = [said for is_own, said in made.control.trace if is_own and said.name == "DROP"]
    require(sum(len(said.marks) for said in dropped) >= 2, f"{dropped}")
    done(made, receiver, old, new)


def test_finish_that_does_not_fit(work):
    """interop: a FINISH with another digest: FAILED 3 with both digests; nothing arrives"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.send()
    made.marks[0] = bytes(16)
    said = failure_of(made, made.finish)
    work.figure = said.message
    equal(said.code, 3, "code")
    require(wire.digest(made.marks).hex() in said.message, f"{said.message!r} has not the digest that was said")
    ended(receiver, 1)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_check_that_does_not_fit(work, is_packed):
    """interop: a check that does not fit, also of a compressed frame: CLOSE 3 with both checks; the
    next run takes everything, and that piece again"""
    old, new = some(work)
    small_file(f"{old}/data/large-2", b"text" * 200_000)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = to_data(paired(receiver, roots(old), features=wire.ZSTD if is_packed else 0))
    piece = made.piece
    made.checks = []

    def spoiled(kind, item, generation, offset, length, data=b""):
        if len(made.checks) or item.path != b"data/large-2":
            return piece(kind, item, generation, offset, length, data)
        entry, other = piece(kind, item, generation, offset, length, data), bytearray(data)
        other[-1] ^= 1
        found = next(one for one in wire.entries(wire.item(item.record(made.key)) + entry, made.key) if one.kind != wire.ITEM)
        fits = wire.check(made.key, kind, item.path, generation, offset, length, bytes(other))
        made.checks.append((item.path, offset, found.check.hex(), fits.hex()))
        return entry[:-1] + other[-1:]

    made.piece = spoiled
    said = close_of(lambda: go_on(made))
    work.figure = said.message
    equal(said.code, 3, "code")
    path, offset, came, fits = made.checks[0]
    require(all(value in said.message for value in (os.fsdecode(path), str(offset), came, fits)), f"{said.message!r} has not {made.checks[0]}")
    ended(receiver, 1)
    made.cut()
    receiver = Receiver(work, new, port=port, is_inviting=False)
    made.resume()
    made.session()
    require(path not in made.partial, "the piece was held")
    done(made, receiver, old, new)


def test_a_file_that_changes_while_it_is_read(work):
    """interop: a file that changes starts afresh in another generation"""
    old, new = some(work, 2)
    receiver = Receiver(work, new)

    def change(_, number):
        if number == 4:
            random_file(f"{old}/data/large-0", 600_000)

    made = paired(receiver, roots(old), frame=100_000, before_frame=change)
    made.session()
    done(made, receiver, old, new)
    require(made.sent_bytes > 1_400_000, "nothing was sent twice")


def test_entries_that_come_twice(work):
    """interop: a piece that is held is ignored; a piece that is held in part brings CLOSE 3"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old), frame=100_000))
    item = next(item for item in made.items if item.path == b"data/large-0")
    generation = item.generation(made.key)
    with open(item.place, "rb") as file:
        content = file.read()
    for offset, end in ((0, 100), (100, 300), (50, 250), (0, 300)):
        made.put(made.piece(wire.CHUNK, item, generation, offset, end - offset, content[offset:end]))
    made.flush()
    made.streams.drain()
    made.put(made.piece(wire.CHUNK, item, generation, 299, 2, content[299:301]))
    said = close_of(lambda: (made.flush(), made.streams.drain()))
    work.figure = said.message
    equal(said.code, 3, "code")
    ended(receiver, 1)


def test_a_link_to_a_link(work):
    """interop: a hard link whose target is another hard link: FAILED 3 at FINISH"""
    old, new = some(work, 1)
    os.link(f"{old}/data/twin", f"{old}/data/twix")
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    twin, twix = (next(item for item in made.items if item.path == path) for path in (b"data/twin", b"data/twix"))
    twix.target = twin
    said = failure_of(made, lambda: go_on(made))
    equal(said.code, 3, f"the code of {said.message!r}")
    ended(receiver, 1)


def test_fencing(work):
    """interop: a newer session: the older one gets CLOSE 13, and its streams end"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    stream = made.streams.open()
    older, session = made.control, made.verdict.session
    made.resume()
    to_data(made)
    equal(close_of(lambda: older.hear()).code, 13, "code")
    with pytest.raises((channel.Cut, channel.Ended, channel.Closed)):
        stream.link.hear("ACK")
    link = made.open_stream()
    link.say("JOIN", session=session, stream=77, replaces=wire.NONE)
    with pytest.raises((channel.Cut, channel.Ended, channel.Closed)):
        link.hear("ACK")
    require(made.verdict.session != session, "the session's id")
    go_on(made)
    done(made, receiver, old, new)


def test_done_answers_an_offer(work):
    """interop: DONE is lost; the program, killed and started again, answers the OFFER with it"""
    old, new = some(work, 1)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = to_data(paired(receiver, roots(old)))
    made.send()
    made.finish()
    made.cut()
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    made.part.done = None
    again = Receiver(work, new, port=port, is_inviting=False)
    made.resume()
    made.greet()
    made.plan()
    require(not made.offer(), "the OFFER was accepted")
    equal((made.part.done.items, made.part.done.bytes), made.part.finished, "totals")
    made.receipt()
    ended(again, 0)
    run_script("check-trees", "--inside", old, new)


@pytest.mark.parametrize("code, exit_code", [(2, None), (16, None), (3, 1), (5, 4), (9, 1), (11, 9), (99, 1)])
def test_close_of_the_sender(work, code, exit_code):
    """interop: CLOSE of the sender: the program exits with the code of section 10, or waits"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.control.say("CLOSE", code=code, message="the test ends here")
    made.control.close()
    if exit_code is None:
        made.resume()
        made.session()
        done(made, receiver, old, new)
        return
    ended(receiver, exit_code)
    # Its words are shown only where the code does not say all.
    equal("the test ends here" in receiver.text(), code in (3, 11, 99), receiver.text()[-300:])


@pytest.mark.takes(16)
def test_silence(work):
    """interop: the program ends a silent session with CLOSE 16 after 15 s; the sender resumes"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old))
    # Before the last message: a busy machine only makes the time longer.
    begin = time.monotonic()
    to_data(made)
    made.control.answers_pings = made.control.is_control = False
    equal(close_of(lambda: made.control.hear(seconds=PATIENCE)).code, 16, "code")
    took = time.monotonic() - begin
    work.figure = f"{took:.1f} s"
    require(14 < took < 30, work.figure)
    made.cut()
    made.resume()
    made.session()
    done(made, receiver, old, new)


@pytest.mark.parametrize("reason, code", [(1, 8), (2, 8), (3, 8), (4, 0), (5, 8)])
def test_unsent(work, reason, code):
    """interop: NOT_STORED: the program names the item, and exits with 8, or with 0 for special files"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.unsent.append((b"data/other", reason))
    go_on(made)
    ended(receiver, code)
    equal([event["path"] for event in receiver.events("unsent")], ["data/other"], "what the program names")


def test_a_receiver_that_stays(work):
    """interop: --keep: a second transfer runs before the RECEIPT of the first one"""
    old, new = some(work, 1)
    receiver = Receiver(work, new, options=["--keep"])
    first = to_data(paired(receiver, roots(old)))
    first.send()
    first.finish()
    first.cut()
    receiver.pairing_code = receiver.event("code", 2)["code"]
    os.rename(f"{old}/data", f"{old}/more")
    second = paired(receiver, [f"{old}/more"])
    second.session()
    os.rename(f"{old}/more", f"{old}/data")
    first.part.done = None
    first.resume()
    first.greet()
    first.plan()
    require(not first.offer(), "the OFFER was accepted")
    equal((first.part.done.items, first.part.done.bytes), first.part.finished, "totals")
    first.receipt()
    equal(sorted(os.listdir(new)), ["data", "more"], "what arrived")
    receiver.signal(signal.SIGTERM)
    ended(receiver, 143)


# Frames and fields that are skipped, and others that are not


def test_unknown_frames_and_fields(work):
    """interop: the program skips unknown frames above 0x80 and unknown fields; below 0x80: CLOSE 3"""
    old, new = some(work)
    receiver = Receiver(work, new)
    unknown = {"unknown": {200: b"later"}}
    made = paired(receiver, roots(old), greeting=unknown, plan=unknown, offer=unknown)

    def strange(every, number):
        for link in [made.control, *(stream.link for stream in every.streams)]:
            link.write(wire.frame_of(0x81 + number, b"unknown") + wire.frame_of(0xFF, b""))

    made.options.before_frame = strange
    put = wire.RECORD.put
    wire.RECORD.put = lambda values: put({**values, **unknown})
    try:
        made.session()
    finally:
        wire.RECORD.put = put
    done(made, receiver, old, new)
    receiver = Receiver(work, work.place()[1])
    made = to_data(paired(receiver, roots(old)))
    made.control.write(wire.frame_of(0x7F, b""))
    equal(close_of(lambda: made.control.hear()).code, 3, "code")
    ended(receiver, 1)


def test_ways(work):
    """interop: WAYS in a session without a relay changes nothing; the seventeenth: CLOSE 3"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), features=wire.ZSTD | wire.WAYS)
    way = bytes([192, 0, 2, 7]), 47470
    made.options.before_frame = lambda every, number: made.control.say("WAYS", listening=[way], dialling=[way])
    made.session()
    require(made.other.features & wire.WAYS and not made.control.ways, "the program's own ways")
    done(made, receiver, old, new)
    receiver = Receiver(work, work.place()[1])
    made = to_data(paired(receiver, roots(old), features=wire.ZSTD | wire.WAYS))
    for _ in range(17):
        made.control.say("WAYS", dialling=[way])
    equal(close_of(lambda: made.control.hear()).code, 3, "code")
    ended(receiver, 1)


@pytest.mark.takes(7)
def test_pings(work):
    """interop: the program answers PING with PONG, and sends PING after 5 s of silence"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    # Before the last message: a busy machine only makes the time longer.
    begin = time.monotonic()
    made.control.say("PING", token=0xFEDCBA9876543210)
    wait_for("PONG", PATIENCE, lambda: made.control.next() or made.control.heard("PONG"))
    equal(made.control.heard("PONG")[0].token, 0xFEDCBA9876543210, "the token")
    wait_for("PING", PATIENCE, lambda: channel.wait([made.control], 0.2) and made.control.next() or made.control.heard("PING"))
    took = time.monotonic() - begin
    work.figure = f"{took:.1f} s"
    # 15 s of silence end the session.
    require(4.5 < took < 15, work.figure)
    go_on(made)
    done(made, receiver, old, new)


def test_key_updates(work):
    """interop: the sending key is updated before each frame, on every connection"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), frame=100_000)

    def update(every, _):
        for link in [made.control, *(stream.link for stream in every.streams)]:
            link.update_key()
        made.control.say("PING", token=1)
        time.sleep(0.03)

    made.options.before_frame = update
    made.session()
    done(made, receiver, old, new)


def test_key_updates_without_end(work):
    """interop: more than 64 updates in a second end the connection"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    stream = made.streams.open()
    with pytest.raises((channel.Cut, channel.Ended, channel.Closed)):
        for _ in range(400):
            stream.link.update_key()
            stream.link.write(wire.frame_of(0x80, b""))
        stream.link.hear("ACK", seconds=PATIENCE)
    made.cut()

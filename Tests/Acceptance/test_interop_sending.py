"""The second implementation's sender, step by step, against the program's receiver."""

import os
import signal
import time

import pytest

from devices import PATIENCE, Receiver, end_well, own_port, random_file, small_file
from interop import close_of, ended, interop, paired, roots, to_data
from needs import needs
from outside import equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
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


def test_a_broken_stream_is_replaced(work, breaks=3):
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


def go_on(made):
    """From where data may be sent to the end."""
    made.send()
    made.finish()
    made.streams.end()
    made.receipt()


# From session to session


def test_a_cut_sender_comes_back(work, streams_of=3):
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


@pytest.mark.parametrize("code, exit_code", [(2, None), (3, 1), (99, 1)])
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


@pytest.mark.parametrize("reason, code", [(1, 8), (4, 0)])
def test_unsent(work, reason, code):
    """interop: NOT_STORED: the program names the item, and exits with 8, or with 0 for special files"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, roots(old)))
    made.unsent.append((b"data/other", reason))
    go_on(made)
    ended(receiver, code)
    equal([(event["path"], event["by"]) for event in receiver.events("notStored")], [("data/other", "sender")], "what the program names")


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


def test_addresses(work):
    """interop: ADDRESSES in a session without a relay changes nothing; the seventeenth: CLOSE 3"""
    old, new = some(work, 1)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), features=wire.ZSTD | wire.ADDRESSES)
    way = bytes([192, 0, 2, 7]), 47470
    made.options.before_frame = lambda every, number: made.control.say("ADDRESSES", listening=[way], dialling=[way])
    made.session()
    require(made.other.features & wire.ADDRESSES and not made.control.addresses, "the program's own addresses")
    done(made, receiver, old, new)
    receiver = Receiver(work, work.place()[1])
    made = to_data(paired(receiver, roots(old), features=wire.ZSTD | wire.ADDRESSES))
    for _ in range(17):
        made.control.say("ADDRESSES", dialling=[way])
    equal(close_of(lambda: made.control.hear()).code, 3, "code")
    ended(receiver, 1)


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

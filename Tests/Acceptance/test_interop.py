"""The second implementation (Tests/Interop) and the program: whole trees, and pairing."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from devices import Receiver, end_well, other_code, random_file, sender, small_file
from interop import answer, ended, interop, listening, paired, roots
from needs import needs
from outside import MIB, ROOT, equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
    import channel
    import pairing
    import tls
    import wire
    from channel import Aborted, wait


def varied(work):
    """Folders on a disk, which has attributes and holes, with a varied tree to send."""
    old, new = work.place(on_disk=True)
    run_script("make-tree", f"{old}/tree", "--files", "100")
    random_file(f"{old}/large", 5 * MIB)
    small_file(f"{old}/text", b"a line of text that shrinks\n" * 40_000)
    os.mkdir(f"{old}/empty")
    return old, new


@pytest.mark.parametrize("values", [
    pytest.param({}, id="one stream, zstd"),
    pytest.param({"streams": 5}, id="five streams, zstd"),
    pytest.param({"streams": 3, "features": 0}, id="three streams, no feature"),
    pytest.param({"features": 0, "window": 300_000}, id="a window of one frame"),
    pytest.param({"frame": 1_048_576}, id="pieces of 1 MiB"),
    pytest.param({"offer": {"metadata": 500_000}}, id="an offer with metadata"),
])
def test_a_tree_is_sent_to_the_program(work, values):
    """interop: a varied tree, sent to the program"""
    old, new = varied(work)
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old), **values)
    made.session()
    end_well(receiver)
    run_script("check-trees", "--inside", old, new)
    if "window" in values:
        # This end bounds itself by less than the program's window.
        require(made.verdict.window > 300_000, "the window")
    equal((made.part.done.items, made.part.done.bytes), (receiver.events("done")[0]["items"], receiver.events("done")[0]["bytes"]), "totals")
    packed = made.streams.is_packed
    equal(packed, bool(values.get("features", 1)), "zstd in both GREETINGs")
    require(not packed or receiver.events("done")[0]["savedBytes"] > MIB // 2, "nothing was saved by zstd")


@pytest.mark.parametrize("values, words", [
    pytest.param({}, [], id="as it is"),
    pytest.param({}, ["--streams", "6", "--compress", "always"], id="six streams, all compressed"),
    pytest.param({"features": 0}, ["--compress", "always"], id="no feature"),
    pytest.param({}, ["--compress", "never"], id="a sender without zstd"),
    pytest.param({"window": 2_621_440, "streams": 1}, ["--streams", "4"], id="the smallest window, one stream"),
])
def test_a_tree_is_taken_from_the_program(work, values, words):
    """interop: a varied tree, taken from the program"""
    old, new = varied(work)
    encodings = set()

    def look(one, said):
        encodings.add(said.encoding)

    with listening(new, before_frame=look, **values) as receiver:
        program = sender(work, [*roots(old), *words], receiver.port, receiver.code)
        receiver.run(60)
        ended(program, 0)
        require(values.get("features", 1) or 1 not in encodings, "zstd without the feature")
        # With --compress auto the program compresses only for a slow network.
        require("always" not in words or not values.get("features", 1) or 1 in encodings, "zstd is not used")
        equal(bool(receiver.other.features & wire.ZSTD), "never" not in words, "zstd in the GREETING")
    run_script("check-trees", "--inside", old, new)


def test_by_the_command_line(work):
    """interop: sender.py and receiver.py as programs, to each other"""
    old, new = work.place()
    os.mkdir(f"{old}/folder")
    random_file(f"{old}/folder/file", 3 * MIB)
    os.mkfifo(f"{old}/folder/queue")
    moment = os.stat(f"{old}/folder").st_mtime_ns
    folder = f"{ROOT}/Tests/Interop"
    receiver = subprocess.Popen([sys.executable, f"{folder}/receiver.py", "--into", new], stdout=subprocess.PIPE, text=True)
    told = json.loads(receiver.stdout.readline())
    send = subprocess.run([sys.executable, f"{folder}/sender.py", "--to", f"127.0.0.1:{told['port']}", "--code", told["code"], "--streams", "2",
                           f"{old}/folder"], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    said = [json.loads(line) for line in receiver.communicate(timeout=60)[0].splitlines()]
    equal((send.returncode, receiver.returncode, said[-1]["items"]), (0, 0, 2), "exit codes and items")
    equal([event for event in said if event["event"] == "unsent"], [{"event": "unsent", "path": "folder/queue", "reason": 4}], "what is not sent")
    os.unlink(f"{old}/folder/queue")
    os.utime(f"{old}/folder", ns=(moment, moment))
    run_script("check-trees", "--inside", old, new)


def test_a_wrong_code_and_the_right_one(work):
    """interop: a wrong code gets ABORT 1, the right one ABORT 4 during the delay; then it pairs"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    right, receiver.pairing_code = receiver.pairing_code, other_code(receiver.pairing_code)
    with pytest.raises(Aborted, match="ABORT 1"):
        paired(receiver, [f"{old}/file"])
    receiver.pairing_code = right
    begin = time.monotonic()
    paired(receiver, [f"{old}/file"]).session()
    require(time.monotonic() - begin > 0.5, "the right code was compared at once")
    end_well(receiver)


def test_two_exchanges_under_one_code(work):
    """interop: two exchanges under one code: the first pairs, the second gets ABORT 3 or 4"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    first, second = (begun(receiver) for _ in range(2))
    confirm(first)
    equal(first[0].hear_early("CONF_B").mac, first[1].conf_b, "CONF_B")
    confirm(second)
    work.figure = f"ABORT {answer(second[0])}"
    require(work.figure in ("ABORT 3", "ABORT 4"), work.figure)
    first[0].say_early("READY")
    first[0].ready()
    first[0].hear("GREETING")
    third = channel.connect("127.0.0.1", receiver.port, tls.Identity())
    asked(third, receiver)
    equal(answer(third), wire.BUSY, "the answer to a third one")
    first[0].cut()


def begun(receiver):
    """A connection on which everything before CONF_A is said, and the keys."""
    link = channel.connect("127.0.0.1", receiver.port, tls.Identity())
    hello, exchange = asked(link, receiver)
    said, share = link.hear_early("HELLO_S"), link.hear_early("PAIR_B").point
    ids = pairing.identity("client", link.identity.fingerprint, link.exported), pairing.identity("server", link.peer, link.exported)
    return link, exchange.keys(share, *ids, pairing.hellos(hello, wire.early_frame(said.name, **said)))


def asked(link, receiver, highest=wire.SPOKEN):
    """Says HELLO_C and PAIR_A at once: the receiver answers nothing before it has both."""
    exchange = pairing.Exchange(True, pairing.digits_of(receiver.pairing_code))
    hello = wire.early_frame("HELLO_C", mode=wire.PAIR, lowest=min(highest, wire.SPOKEN), highest=highest)
    link.write(hello + wire.early_frame("PAIR_A", point=exchange.share))
    return hello, exchange


def confirm(exchange):
    exchange[0].say_early("CONF_A", mac=exchange[1].conf_a)


@pytest.mark.parametrize("frames, reason", [
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 4, "highest": 9})], 5, id="a later version"),
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 1, "highest": 1})], 5, id="version 1"),
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 4, "highest": 3})], 6, id="versions the wrong way round"),
    pytest.param([("HELLO_C", {"mode": 4, "lowest": 3, "highest": 3})], 6, id="an unknown mode"),
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 3, "highest": 3, "flags": 1})], 6, id="a flag"),
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 3, "highest": 3, "magic": b"PEAR"})], 6, id="another magic"),
    pytest.param([("READY", {})], 6, id="READY first"),
    pytest.param([("HELLO_C", {"mode": 2, "lowest": 3, "highest": 3})], 7, id="resume with an unknown key"),
    pytest.param([("HELLO_C", {"mode": 3, "lowest": 3, "highest": 3})], 7, id="join with an unknown key"),
    pytest.param([("HELLO_C", {"mode": 1, "lowest": 3, "highest": 3}), ("PAIR_A", {"point": bytes(65)})], 6, id="a share that is no point"),
])
def test_aborts_of_the_program(work, frames, reason):
    """interop: the program answers with ABORT before READY"""
    receiver = Receiver(work, work.place()[1])
    link = channel.connect("127.0.0.1", receiver.port, tls.Identity())
    link.write(b"".join(wire.early_frame(name, **values) for name, values in frames))
    equal(answer(link), reason, "ABORT")
    require(receiver.is_running(), "the receiver ended")


def test_versions_that_meet(work):
    """interop: a client that speaks versions 3 to 9 is answered with 3"""
    receiver = Receiver(work, work.place()[1])
    link = channel.connect("127.0.0.1", receiver.port, tls.Identity())
    asked(link, receiver, 9)
    equal(link.hear_early("HELLO_S").version, wire.SPOKEN, "the version that was chosen")


def test_wrong_codes_of_the_program(work):
    """interop: the program gets ABORT 1 for wrong codes, then ABORT 3: exit code 3"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        for step in (1, 2, 3, 4):
            program = sender(work, [f"{old}/file"], receiver.port, other_code(receiver.code, step) if step < 4 else receiver.code)
            while program.is_running():
                receiver.turn(0.05)
            ended(program, 3)
        equal(receiver.aborts, [1, 1, 1, 3], "ABORTs")


@pytest.mark.parametrize("reason, code", [(2, 3), (3, 3), (5, 1), (6, 3), (7, 4)])
def test_aborts_of_a_receiver(work, reason, code):
    """interop: the program gets ABORT instead of HELLO_S"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        def pair(link, *_):
            raise Aborted(reason)

        receiver.pair = pair
        program = sender(work, [f"{old}/file"], receiver.port, receiver.code)
        while program.is_running():
            receiver.turn(0.05)
        work.figure = f"exit {program.code}: {program.error()['message']}"
        ended(program, code)
        equal(receiver.aborts, [reason], "ABORTs")


def test_a_busy_receiver_is_asked_again(work):
    """interop: the program gets ABORT 4 three times, tries again, and sends"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        pair = receiver.pair

        def busy(link, *more):
            if len(receiver.aborts) < 3:
                raise Aborted(wire.BUSY)
            pair(link, *more)

        receiver.pair = busy
        program = sender(work, [f"{old}/file"], receiver.port, receiver.code)
        receiver.run()
        ended(program, 0)
        equal(receiver.aborts, [4, 4, 4], "ABORTs")
    run_script("check-trees", "--inside", old, new)


@pytest.mark.parametrize("more, count", [
    pytest.param({"wait": 0, "place": 0}, None, id="a moment"), pytest.param({"wait": 1, "place": 1}, None, id="a place in a line"),
    pytest.param({"wait": 1, "place": 3}, 1, id="a place in a line, and --no-wait"),
    pytest.param({"wait": 9, "place": 0}, None, id="an unknown wait"), pytest.param({}, None, id="an older program"),
    pytest.param({"wait": 2, "place": 0}, 1, id="never in this run")])
def test_how_long_a_receiver_is_busy(work, more, count):
    """interop: ABORT 4 says whether the program tries again"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        pair = receiver.pair

        def busy(link, *others):
            if len(receiver.aborts) < 2:
                raise Aborted(wire.BUSY, **more)
            pair(link, *others)

        receiver.pair = busy
        options = ["--no-wait"] if more.get("wait") == 1 and count else []
        program = sender(work, [f"{old}/file", *options], receiver.port, receiver.code)
        while program.is_running():
            receiver.turn(0.05)
        ended(program, 10 if count else 0)
        places = [event["place"] for event in program.events("queued")]
        equal(places, [1] if more.get("wait") == 1 and not count else [], "places in the line")
        equal(len(receiver.aborts), count or 2, "ABORTs")


def test_an_older_receiver(work):
    """interop: ABORT 5 alone comes from an older program: the sender's user has to install a
    current one there"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        def pair(*_):
            raise Aborted(wire.VERSION)

        receiver.pair = pair
        program = sender(work, [f"{old}/file"], receiver.port, receiver.code)
        while program.is_running():
            receiver.turn(0.05)
        ended(program, 1)
        work.figure = program.error()["message"]
        require("older" in program.text(), program.text()[-300:])


def test_a_look_without_a_byte_means_nothing(work):
    """interop: connections that end without a byte change nothing, at either receiver"""
    old, new = work.place()
    small_file(f"{old}/file")
    program = Receiver(work, new)
    with socket.create_connection(("127.0.0.1", program.port)):
        pass
    paired(program, [f"{old}/file"]).session()
    end_well(program)
    with listening(work.place()[1]) as receiver:
        with socket.create_connection(("127.0.0.1", receiver.port)):
            pass
        wait([], 1, receiver.listening)
        receiver.turn()
        equal((receiver.tries, receiver.aborts), (3, []), "tries and ABORTs")

"""The second implementation (Tests/Interop) and the program: whole trees, and pairing."""

import json
import os
import socket
import subprocess
import sys

import pytest

from devices import Receiver, end_well, random_file, sender, small_file
from interop import ended, interop, listening, paired, roots
from needs import needs
from outside import MIB, ROOT, equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
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
    pytest.param({"streams": 5}, id="five streams, zstd"),
    pytest.param({"streams": 3, "features": 0}, id="three streams, no feature"),
    pytest.param({"features": 0, "window": 300_000}, id="a window of one frame"),
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
    pytest.param({}, ["--streams", "6", "--compress", "always"], id="six streams, all compressed"),
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


@pytest.mark.parametrize("more, count", [
    pytest.param({"wait": 0, "place": 0}, None, id="a moment"), pytest.param({"wait": 1, "place": 1}, None, id="a place in a line"),
    pytest.param({"wait": 1, "place": 3}, 1, id="a place in a line, and --no-wait"),
    pytest.param({"wait": 9, "place": 0}, None, id="an unknown wait"),
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


def test_another_version_of_the_receiver(work):
    """interop: ABORT 5: the sender's user has to install the current program on both devices"""
    old, new = work.place()
    small_file(f"{old}/file")
    with listening(new) as receiver:
        def pair(*_):
            raise Aborted(wire.VERSION, lowest=wire.SPOKEN + 1, highest=wire.SPOKEN + 1)

        receiver.pair = pair
        program = sender(work, [f"{old}/file"], receiver.port, receiver.code)
        while program.is_running():
            receiver.turn(0.05)
        ended(program, 1)
        work.figure = program.error()["message"]
        require("Install the current peer on both" in program.text(), program.text()[-300:])


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

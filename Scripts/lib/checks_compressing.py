"""Acceptance of compression: over a slow network, of what does not shrink, where it is not wanted, and without the library."""

import ctypes.util
import os
import sysconfig

from checks import check
from devices import Process, Receiver, SlowLink, random_file, small_file
from outside import MIB, Skip, equal, require, run_script

RATE = 20_000_000
LIBRARY = "libzstd.so.1"


def need_library():
    if ctypes.util.find_library("zstd") is None:
        raise Skip(f"{LIBRARY} is not here")


def make_text(folder, size):
    """Real source files, many small ones and some large, as often as it takes."""
    sources = []
    for top, ending in (("/usr/include", ".h"), (sysconfig.get_paths()["stdlib"], ".py")):
        for place, _, names in os.walk(top):
            sources += [f"{place}/{name}" for name in sorted(names) if name.endswith(ending)]
    count = written = 0
    while written < size:
        for source in sources:
            if written >= size:
                break
            with open(source, "rb") as file:
                content = file.read()
            directory = f"{folder}/{count // 1000}"
            os.makedirs(directory, exist_ok=True)
            small_file(f"{directory}/{count}", content)
            count += 1
            written += len(content)
        require(written > MIB, "there is no text on this machine to send")


def move(work, old, options=(), rate=None, new=None):
    """Sends the folder `old/tree` to a place of its own; both sides' results, and what crossed the network."""
    new = new or work.place()[1]
    receiver = Receiver(work, new)
    link = SlowLink(receiver.port, rate or 10**12)
    sending = Process(
        work, ["send", f"{old}/tree", "--to", f"127.0.0.1:{link.port}", "--code-file", "-", "--json", *options],
        receiver.pairing_code + "\n")
    codes = sending.wait(180), receiver.wait(30)
    link.close()
    require(codes == (0, 0), f"exit codes {codes}: {sending.text()[-300:]} {receiver.text()[-300:]}")
    run_script("check-trees", "--inside", old, new)
    results = [process.events("done")[0] for process in (sending, receiver)]
    for result in results:
        equal(result["sentBytes"] + result["savedBytes"], result["bytes"], "content sent and saved")
    work.drop(new)
    return results[0], results[1], sending, link.passed


@check("text over 20 MB/s: auto sends less than half of the bytes")
def _(work):
    need_library()
    old, _ = work.place()
    make_text(f"{old}/tree", 128 * MIB)
    _, plain, _, plain_bytes = move(work, old, ["--compress", "never"], RATE)
    _, packed, _, packed_bytes = move(work, old, rate=RATE)
    equal(plain["savedBytes"], 0, "what 'never' saved")
    require(packed_bytes < plain_bytes / 2, f"{packed_bytes} bytes crossed the network, without compression {plain_bytes}")
    # How much faster that is depends on who else needs this machine; Scripts/bench measures it.
    return f"{plain_bytes / packed_bytes:.1f} times fewer bytes, {plain['seconds'] / packed['seconds']:.1f} times as fast"


@check("noise over 20 MB/s: nothing is compressed")
def _(work):
    need_library()
    old, _ = work.place()
    os.mkdir(f"{old}/tree")
    random_file(f"{old}/tree/noise", 64 * MIB)
    sent, _, _, passed = move(work, old, rate=RATE)
    require(sent["savedBytes"] == 0, f"{sent['savedBytes']} bytes saved of noise")
    return f"{passed / sent['bytes'] * 100 - 100:.1f} % more than the content crossed the network"


@check("--compress always, never")
def _(work):
    need_library()
    old, _ = work.place()
    os.mkdir(f"{old}/tree")
    random_file(f"{old}/tree/noise", 4 * MIB)
    small_file(f"{old}/tree/text", b"again and again\n" * MIB)
    sent, received, sending, passed = move(work, old, ["--compress", "always"])
    require(4 * MIB < passed < 5 * MIB, f"{passed} bytes crossed the network")
    require(sent["savedBytes"] > 15 * MIB and received["savedBytes"] > 15 * MIB, f"saved: {sent} {received}")
    equal(sending.events("notice"), [], "notices")
    sent, _, _, passed = move(work, old, ["--compress", "never"])
    require(sent["savedBytes"] == 0 and passed > 20 * MIB, f"{passed} bytes crossed the network")


@check("without libzstd: not compressed, and said only where it was asked for")
def _(work):
    old, new = work.place()
    os.mkdir(f"{old}/tree")
    small_file(f"{old}/tree/text", b"again and again\n" * MIB)
    hidden = f"{old}/hidden"
    os.mkdir(hidden)
    small_file(f"{hidden}/{LIBRARY}", b"")
    before = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = hidden
    try:
        for wish, notices in (("auto", []), ("always", ["nothing is compressed: libzstd.so.1 is not on this device"])):
            receiver = Receiver(work, new)
            sending = Process(
                work,
                ["send", f"{old}/tree", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--compress", wish],
                receiver.pairing_code + "\n")
            equal((sending.wait(), receiver.wait(30)), (0, 0), "exit codes")
            for process in (sending, receiver):
                equal(process.events("done")[0]["savedBytes"], 0, "what was saved")
                equal(process.errors(), "", "errors")
            equal([event["message"] for event in sending.events("notice")], notices, f"notices where it is {wish}")
            os.rename(f"{new}/tree", f"{new}/{wish}")
    finally:
        if before is None:
            del os.environ["LD_LIBRARY_PATH"]
        else:
            os.environ["LD_LIBRARY_PATH"] = before

"""Compression: over a slow network, of incompressible data, turned off, and without the library."""

import os


from devices import Process, Receiver, end_well, random_file, small_file
from needs import needs, zstd
from outside import MIB, equal, require, run_script

LIBRARY = "libzstd.so.1"


def move(work, old, options=(), rate=10**12):
    """Sends the folder `old/tree` to a new place; returns both results, the sender, and the bytes
    on the network."""
    _, new = work.place()
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, rate)
    sending = Process(
        work, ["send", f"{old}/tree", "--to", f"127.0.0.1:{link.port}", "--code-file", "-", "--json", *options],
        receiver.pairing_code + "\n")
    end_well(sending, receiver, seconds=240)
    link.close()
    run_script("check-trees", "--inside", old, new)
    results = [process.events("done")[0] for process in (sending, receiver)]
    one, other = ([result[name] for name in ("sentBytes", "savedBytes", "heldBytes")] for result in results)
    equal(one, other, "what crossed the wire, as both sides say")
    content = results[0]["bytes"]
    # Besides content, the records of items and the positions of chunks are sent.
    most = content + 400 * (results[0]["items"] + content // MIB + 1)
    require(content <= one[0] + one[1] <= most, f"content sent and saved: {one[0] + one[1]}, not {content}")
    work.drop(new)
    return results[0], results[1], sending, link.passed


@needs(zstd)
def test_compressing_always_and_never(work):
    """--compress always, never"""
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


def test_without_the_library(work):
    """without libzstd: data is not compressed, with a message only if compression was requested"""
    old, new = work.place()
    os.mkdir(f"{old}/tree")
    small_file(f"{old}/tree/text", b"again and again\n" * MIB)
    hidden = f"{old}/hidden"
    os.mkdir(hidden)
    small_file(f"{hidden}/{LIBRARY}", b"")
    work.environment["LD_LIBRARY_PATH"] = hidden
    for wish, notices in (("auto", []), ("always", ["nothing is compressed: libzstd.so.1 is not on this device"])):
        receiver = Receiver(work, new)
        sending = Process(
            work,
            ["send", f"{old}/tree", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--compress", wish],
            receiver.pairing_code + "\n")
        end_well(sending, receiver)
        for process in (sending, receiver):
            equal(process.events("done")[0]["savedBytes"], 0, "what was saved")
            equal(process.errors(), "", "errors")
        equal([event["message"] for event in sending.events("notice")], notices, f"notices where it is {wish}")
        os.rename(f"{new}/tree", f"{new}/{wish}")

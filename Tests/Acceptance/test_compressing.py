"""Compression: over a slow network, of incompressible data, turned off, and without the library."""

import os

import pytest

from devices import Process, Receiver, end_well, random_file, small_file
from needs import needs, text, text_sources, zstd
from outside import MIB, equal, require, run_script

RATE = 20_000_000
LIBRARY = "libzstd.so.1"


def make_text(folder, size):
    """Real source files, many small ones and some large, repeated to reach the size."""
    sources = list(text_sources())
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


@pytest.mark.takes(20)
@needs(zstd, text)
def test_text_over_a_slow_network(work):
    """text over 20 MB/s: 'always' sends less than half, and 'auto' never more than 'never'

    The compression of `auto` depends on the load of the processors, and is shown as a figure.
    """
    old, _ = work.place()
    make_text(f"{old}/tree", 96 * MIB)
    (plain, _, _, plain_bytes), (packed, _, _, packed_bytes), (chosen, _, _, chosen_bytes) = (
        move(work, old, ["--compress", wish], RATE) for wish in ("never", "always", "auto"))
    work.figure = ", ".join(
        f"{wish}: {plain_bytes / count:.1f} times fewer bytes, {plain['seconds'] / result['seconds']:.1f} times as fast"
        for wish, result, count in (("always", packed, packed_bytes), ("auto", chosen, chosen_bytes)))
    equal(plain["savedBytes"], 0, "what 'never' saved")
    require(packed_bytes < plain_bytes / 2, f"{packed_bytes} bytes crossed the network, without compression {plain_bytes}")
    for result in (packed, chosen):
        require(result["sentBytes"] <= plain["sentBytes"], f"more content sent than without compression: {result}")
    # Records and answers to pings differ from run to run.
    require(chosen_bytes < 1.01 * plain_bytes, f"{chosen_bytes} bytes crossed the network, without compression {plain_bytes}")


@pytest.mark.takes(5)
@needs(zstd)
def test_noise_over_a_slow_network(work):
    """noise over 20 MB/s: nothing is compressed"""
    old, _ = work.place()
    os.mkdir(f"{old}/tree")
    random_file(f"{old}/tree/noise", 64 * MIB)
    sent, _, _, passed = move(work, old, rate=RATE)
    require(sent["savedBytes"] == 0, f"{sent['savedBytes']} bytes saved of noise")
    work.figure = f"{passed / sent['bytes'] * 100 - 100:.1f} % more than the content crossed the network"


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

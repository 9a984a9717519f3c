"""Transfers without an address: `peer send` finds receivers that `peer receive` announces, by
multicast DNS."""

import os
import signal

import pytest

from devices import PATIENCE, end_well, random_file
from needs import needs, networks
from networks import Network
from outside import MIB, equal, require, run_script, wait_for
from test_finding import discover


class Receiving:
    """A receiver on a device of a network, and its code."""

    def __init__(self, device, destination, *options):
        self.device, self.destination = device, destination
        self.run = device.start("receive", destination, "--json", *options)
        self.code = self.event("code")["code"]
        self.port = self.event("listening")["port"]

    def event(self, name):
        def ready():
            require(self.run.is_running() or self.run.events(name), f"the receiver ended: {self.run.text()[-300:]}")
            return next(iter(self.run.events(name)), None)

        return wait_for(f"'{name}' at the receiver", PATIENCE, ready)


def trees(work):
    """A folder to send, and a destination."""
    old, new = work.place()
    os.mkdir(f"{old}/Documents")
    random_file(f"{old}/Documents/file", MIB)
    return old, new


def send(device, folder, code, *options):
    """Sends a folder to the receiver that it finds."""
    path = f"{device.work.path}/code-{len(device.work.processes)}"
    with open(path, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(code + "\n")
    return device.start("send", f"{folder}/Documents", "--code-file", path, "--json", *options)


def announced(device, *labels):
    """Waits until so many receivers are found."""
    return wait_for(f"{', '.join(labels)} to be found", PATIENCE, lambda: (found := discover(device)).keys() >= set(labels) and found)


@needs(networks)
@pytest.mark.takes(6)
@pytest.mark.parametrize("has_v4", [True, False], ids=["both families", "link-local addresses of IPv6 alone"])
def test_a_transfer_without_an_address(work, has_v4):
    """a sender finds the only receiver by itself"""
    network = Network(work, "old", "new", has_v4=has_v4)
    old, new = trees(work)
    receiving = Receiving(network["new"], new)
    sending = send(network["old"], old, receiving.code)
    end_well(sending, receiving.run)
    run_script("check-trees", "--inside", old, new)


@needs(networks)
@pytest.mark.takes(12)
def test_several_receivers(work):
    """three receivers, no terminal: none is chosen, and each is listed with its label"""
    network = Network(work, "old", "a", "b", "c")
    old, _ = trees(work)
    receiving = {name: Receiving(network[name], work.place()[1], "--label", f"box {name}") for name in "abc"}
    found = announced(network["old"], "box a", "box b", "box c")
    equal(len({event["instance"] for event in found.values()}), 3, "different numbers are")
    sending = send(network["old"], old, receiving["b"].code)
    equal(sending.wait(), 2, "the exit code is")
    for name in "abc":
        require(f"box {name}" in sending.text(), sending.text())
        require(receiving[name].run.is_running(), "a receiver has ended")
    address = found["box b"]["addresses"][0]
    chosen = send(network["old"], old, receiving["b"].code, "--to", f"{address}:{receiving['b'].port}")
    end_well(chosen, receiving["b"].run)


@needs(networks)
@pytest.mark.takes(6)
def test_no_announcement(work):
    """--no-announce: the receiver is not found, and sends nothing about itself on the network"""
    network = Network(work, "old", "new")
    _, new = trees(work)
    Receiving(network["new"], new, "--no-announce")
    equal(discover(network["old"]), {}, "found is")


@needs(networks)
@pytest.mark.takes(12)
def test_coming_back_elsewhere(work):
    """an interrupted transfer resumes at the receiver's new address, found and proved by its key"""
    network = Network(work, "old", "new")
    old, new = work.place()
    os.mkdir(f"{old}/Documents")
    random_file(f"{old}/Documents/file", 64 * MIB)
    receiving = Receiving(network["new"], new)
    first = send(network["old"], old, receiving.code, "--limit", "8M")
    wait_for("data on its way", PATIENCE, lambda: any(event["bytes"] > MIB for event in first.events("progress")))
    first.signal(signal.SIGKILL)
    receiving.run.signal(signal.SIGINT)
    first.wait()
    receiving.run.wait()
    network["new"].ip("addr", "del", "10.99.0.2/24", "dev", "net")
    network["new"].ip("addr", "add", "10.99.0.77/24", "dev", "net")
    again = network["new"].start("receive", new, "--json", "--listen", "47499")
    second = network["old"].start("send", f"{old}/Documents", "--json")
    end_well(second, again)
    require(second.events("resumed"), "it did not go on")
    run_script("check-trees", "--inside", old, new)

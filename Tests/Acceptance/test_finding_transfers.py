"""Transfers without an address: `peer send` finds receivers that `peer receive` announces, by
multicast DNS."""

import os
import re
import signal

import pytest

from devices import PATIENCE, end_well, random_file
from needs import avahi, needs, networks
from networks import SERVICE, Network
from outside import MIB, equal, require, run_script, wait_for
from terminal import Terminal
from test_finding import TAKEN, discover


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


@needs(networks, avahi)
@pytest.mark.takes(12)
def test_a_transfer_beside_avahi(work):
    """avahi-daemon on both devices: a sender finds the receiver, and avahi-browse sees it"""
    network = Network(work, "old", "new")
    for name in ("old", "new"):
        network[name].avahi()
    old, new = trees(work)
    receiving = Receiving(network["new"], new, "--label", "new laptop")
    for name in ("old", "new"):
        seen = wait_for(f"{SERVICE} in avahi-browse on the {name} device", PATIENCE, network[name].browse)
        require(any(line[3] == r"new\032laptop" and line[8] == str(receiving.port) for line in seen), f"avahi-browse saw {seen}")
    sending = send(network["old"], old, receiving.code)
    end_well(sending, receiving.run)
    run_script("check-trees", "--inside", old, new)
    wait_for("avahi-browse to see the end", PATIENCE, lambda: not network["old"].browse())


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
@pytest.mark.takes(12)
def test_a_choice(work):
    """three receivers: the user chooses one at the terminal, and enters the code that it shows"""
    network = Network(work, "old", "a", "b", "c")
    old, _ = trees(work)
    places = {name: work.place()[1] for name in "abc"}
    receiving = {name: Receiving(network[name], places[name], "--label", f"box {name}") for name in "abc"}
    announced(network["old"], "box a", "box b", "box c")
    person = Terminal(
        work, [*network["old"].enter[1:], work.binary, "send", f"{old}/Documents"], program="/usr/bin/nsenter")
    person.wait_for(rb"Which one\? \[1-3\] ")
    shown = dict(re.findall(r"^ +(\d)  ('box .') \(10\.99\.0\.\d\)$", person.text(), re.MULTILINE))
    equal(sorted(shown.values()), ["'box a'", "'box b'", "'box c'"], "shown are")
    person.type("4")
    person.wait_for(rb"type a number from 1 to 3")
    person.type(next(number for number, label in shown.items() if label == "'box b'"))
    person.wait_for(rb"Code shown on 'box b' \(10\.99\.0\.\d\): ")
    person.type(receiving["b"].code)
    equal(person.wait(), 0, "the exit code is")
    end_well(receiving["b"].run)
    run_script("check-trees", "--inside", old, places["b"])
    equal([os.listdir(places[name]) for name in "ac"], [[], []], "the others have")


@needs(networks)
@pytest.mark.takes(3)
def test_a_receiver_that_cannot_be_announced(work):
    """another program holds port 5353: the receiver is not announced, says so, and receives"""
    network = Network(work, "old", "new")
    old, new = trees(work)
    network["new"].background("python3", "-c", TAKEN).stdout.readline()
    receiving = Receiving(network["new"], new)
    require("cannot listen on" in receiving.event("unannounced")["reason"], receiving.run.text())
    sending = send(network["old"], old, receiving.code, "--to", f"10.99.0.2:{receiving.port}")
    end_well(sending, receiving.run)


@needs(networks)
@pytest.mark.takes(12)
def test_receivers_with_the_same_name(work):
    """two receivers with one label get different names"""
    network = Network(work, "old", "a", "b")
    for name in "ab":
        Receiving(network[name], work.place()[1], "--label", "twin")
    found = wait_for("two names", PATIENCE, lambda: len(found := discover(network["old"])) == 2 and found)
    require("twin" in found, f"found are {list(found)}")


@needs(networks)
@pytest.mark.takes(5)
def test_no_receiver(work):
    """a sender without an address ends with 5 and a hint if there is no receiver"""
    network = Network(work, "old", "new")
    old, _ = trees(work)
    sending = send(network["old"], old, "0000-0000")
    equal(sending.wait(), 5, "the exit code is")
    require(sending.error()["hint"], "there is no hint")


@needs(networks)
@pytest.mark.takes(6)
def test_no_announcement(work):
    """--no-announce: the receiver is not found, and sends nothing about itself on the network"""
    network = Network(work, "old", "new")
    _, new = trees(work)
    Receiving(network["new"], new, "--no-announce")
    equal(discover(network["old"]), {}, "found is")


@needs(networks)
@pytest.mark.takes(8)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_goodbye(work, number):
    """a receiver that ends says goodbye: it is no longer found"""
    network = Network(work, "old", "new")
    _, new = trees(work)
    receiving = Receiving(network["new"], new, "--label", "soon gone")
    announced(network["old"], "soon gone")
    listener = network["old"].background("python3", "-I", "-S", "-c", LISTENER)
    listener.stdout.readline()
    receiving.run.signal(number)
    receiving.run.wait()
    # Without a goodbye, this listener hears no more and ends without a result.
    equal(listener.stdout.readline(), b"goodbye\n", "the last word is")
    equal(discover(network["old"]), {}, "found is")


LISTENER = """
import socket, struct
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.bind(("224.0.0.251", 5353))
one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4si", socket.inet_aton("224.0.0.251"), bytes(4), socket.if_nametoindex("net")))
one.settimeout(60)
print("up", flush=True)
service = b"\\x0d_peer-migrate\\x04_tcp\\x05local\\0"
while True:
    packet = one.recv(9000)
    at = packet.find(service)
    # An answer whose first record is the service's: its time to live follows the class. On a busy
    # machine, a last announcement may come before it.
    if packet[2] & 0x80 and at == 12 and struct.unpack_from("!I", packet, at + len(service) + 4) == (0,):
        print("goodbye", flush=True)
        break
"""


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

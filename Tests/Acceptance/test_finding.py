"""Devices that find each other on a network: `peer discover`, and answers to it, by multicast
DNS."""

import os
import signal
import time

import pytest

from devices import PATIENCE, end_well
from needs import avahi, needs, networks
from networks import Network
from outside import equal, require, wait_for
from terminal import clean


def discover(device, *options):
    """Looks for devices; returns them by their labels."""
    run = device.start("discover", "--json", *options)
    end_well(run)
    equal(run.errors(), "", "standard error has")
    found = run.events()
    equal({event["event"] for event in found} - {"receiver"}, set(), "other events are")
    return {event["label"]: event for event in found}


@needs(networks)
@pytest.mark.takes(7)
def test_a_network_without_receivers(work):
    """no device waits: peer discover reports that, and ends with 0"""
    network = Network(work, "one", "two")
    person, program = network["one"].start("discover"), network["two"].start("discover", "--json")
    end_well(person, program)
    equal((person.output(), program.text()), ("", ""), "there is")
    require(person.errors().startswith("No waiting device found on this network.\npeer: hint: "), person.errors())


@needs(networks)
@pytest.mark.takes(5)
@pytest.mark.parametrize("has_v4", [True, False], ids=["both families", "link-local addresses of IPv6 alone"])
def test_a_receiver_is_found(work, has_v4):
    """a receiver is found with its addresses, port and number, in time"""
    network = Network(work, "old", "new", has_v4=has_v4)
    new = network["new"]
    own = ["10.99.0.2"] if has_v4 else []
    new.responder("new-laptop", "00000000deadbeef", "47471", new.link_local(), *own)
    begin = time.monotonic()
    found = discover(network["old"])
    took = time.monotonic() - begin
    equal(found, {"new-laptop": {
        "event": "receiver", "label": "new-laptop", "addresses": own + [new.link_local() + "%net"], "port": 47471,
        "instance": "00000000deadbeef"}}, "found is")
    require(2.9 < took < 30, f"it took {took:.1f} s")
    table = network["old"].start("discover", "--for", "2")
    end_well(table)
    address = "10.99.0.2:47471" if has_v4 else f"[{new.link_local()}%net]:47471"
    equal(table.output().split(), ["NAME", "ADDRESS", "new-laptop", address], "the table is")


@needs(networks)
@pytest.mark.takes(4)
def test_hostile_texts(work):
    """a label with control characters is escaped, and a responder without a number is shown"""
    network = Network(work, "old", "new")
    network["new"].responder(r"\x1b]0;gotcha\x07\x9b\r\n<b>\xff.local", "-", "1", "10.99.0.2")
    for options in ([], ["--json"]):
        run = network["old"].start("discover", "--for", "2", *options)
        end_well(run)
        clean(run.output(), "peer discover")
        require("gotcha" in run.output(), run.output())
        if options:
            equal([event["instance"] for event in run.events("receiver")], [None], "the numbers are")


@needs(networks)
@pytest.mark.takes(4)
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_search(work, number, code):
    """a search ends at once when it is interrupted"""
    run = Network(work, "one")["one"].start("discover", "--for", "1h")
    # Its threads begin when it can be interrupted.
    wait_for("the search", PATIENCE, lambda: len(os.listdir(f"/proc/{run.pid}/task")) > 1)
    run.signal(number)
    equal(run.wait(), code, "the exit code is")


@needs(networks)
@pytest.mark.takes(8)
def test_a_network_that_comes_later(work):
    """a network that appears during the search is searched as well"""
    network = Network(work, "old", "new")
    old = network["old"]
    network["new"].responder("late", "1" * 16, "47470", "10.99.0.2")
    old.ip("link", "set", "net", "down")
    run = old.start("discover", "--json", "--for", "6")
    time.sleep(2)
    old.ip("link", "set", "net", "up")
    end_well(run)
    equal([event["label"] for event in run.events()], ["late"], "found are")


@needs(networks)
@pytest.mark.takes(4)
def test_one_device_without_a_network(work):
    """both ends on one device without a network find each other"""
    one = Network(work, "one")["one"]
    one.responder("here", "2" * 16, "47470", "127.0.0.1")
    equal(discover(one)["here"]["addresses"], ["127.0.0.1"], "the addresses are")


TAKEN = """
import socket, time
for family in (socket.AF_INET, socket.AF_INET6):
    one = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    one.bind(("", 5353))
    globals()[f"held{family}"] = one
print("up", flush=True)
time.sleep(1000)
"""


@needs(networks)
@pytest.mark.takes(5)
def test_a_port_that_is_taken(work):
    """another program holds port 5353 exclusively: one sentence, exit code 1"""
    one = Network(work, "one", "two")["one"]
    one.background("python3", "-c", TAKEN).stdout.readline()
    run = one.start("discover")
    equal(run.wait(), 1, "the exit code is")
    lines = run.errors().splitlines()
    require(len(lines) == 2 and lines[0].startswith("peer: error: cannot search for devices: cannot listen on "), run.errors())
    require(lines[1].startswith("peer: hint: Another program has exclusive use of UDP port 5353"), run.errors())


@needs(networks, avahi)
@pytest.mark.takes(8)
def test_beside_avahi(work):
    """avahi-daemon and the search share the port, and neither takes packets from the other"""
    network = Network(work, "old", "new")
    network["old"].avahi()
    new = network["new"]
    new.responder("new-laptop", "3" * 16, "47470", "10.99.0.2")
    # Meanwhile avahi-daemon receives the responder's packets just as well.
    run = network["old"].start("discover", "--json")
    seen = wait_for("what avahi-browse sees", PATIENCE, network["old"].browse)
    end_well(run)
    equal([event["label"] for event in run.events()], ["new-laptop"], "found are")
    require(any(line[7:9] == ["10.99.0.2", "47470"] for line in seen), f"avahi-browse saw {seen}")

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


def discover(device, *options):
    """Looks for devices; returns them by their labels."""
    run = device.start("discover", "--json", *options)
    end_well(run)
    equal(run.errors(), "", "standard error has")
    found = run.events()
    equal({event["event"] for event in found} - {"receiver"}, set(), "other events are")
    return {event["label"]: event for event in found}


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

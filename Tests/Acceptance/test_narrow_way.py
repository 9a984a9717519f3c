"""A way that loses large packets, and the messages that say so."""

import pytest

from devices import end_well
from needs import needs, networks
from networks import Network, ip
from outside import run_script
from test_finding_transfers import Receiving, send, trees

MTU = 1280
STALL = 30
"""How many seconds the sender waits before it replaces a connection on which nothing moves."""


@needs(networks)
@pytest.mark.takes(STALL + 8)
def test_large_packets_vanish(work):
    """packets above 1280 bytes vanish without a word: the transfer stalls once, and completes"""
    network = Network(work, "old", "new", "third")
    # The switch drops packets that do not fit its ports, except for those that the kernel splits
    # later. The devices must make none of these.
    for number, name in enumerate(("old", "new")):
        ip("-n", network.space("switch"), "link", "set", f"port{number}", "mtu", str(MTU))
        network[name].ip("link", "set", "net", "gso_max_segs", "1")
    old, new = trees(work)
    receiving = Receiving(network["new"], new)
    sending = send(network["old"], old, receiving.code, "--to", f"10.99.0.2:{receiving.port}")
    end_well(sending, receiving.run)
    run_script("check-trees", "--inside", old, new)

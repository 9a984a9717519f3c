extension SenderTable {
  /// The actions of a run before it reaches the receiver.
  static let before = """
    # idle
    begin | walk; look up | looking up
    stop | finish terminated: interrupted | over
    # looking up
    nothing unfinished | probe | probing
    two unfinished | tell connecting target; dial to resume 7 | dialing
    one is done | tell done 9/900 sent 0 saved 0 held 900 in 0.0 unsent 3 losses 1 left out 0 not stored 1 left \
    behind 0 concluded 1200; forget 7; stop preparing | finishing done
    look-up fails | stop preparing | finishing failed: no memory (The received data is kept. Repair the disk, and \
    start again.)
    stop | stop preparing | finishing terminated: interrupted
    # searching
    walk fails | stop dialing | finishing usage: no source (Check the path, and that you may read it.)
    found none | stop preparing | finishing connectionLost: no device is waiting on this network (Start 'peer \
    receive' on the other device, in the same network, or give its address with --to. A \
    network for guests or a VPN may keep the devices apart, and firewalls must allow UDP port 5353.)
    found one | tell found a host of a; probe found(0) | probing
    found two | choose among a, b | choosing
    search fails | stop preparing | finishing failed: no socket
    stop | stop preparing; stop dialing | finishing terminated: interrupted
    # choosing
    walk fails | stop preparing | finishing usage: no source (Check the path, and that you may read it.)
    chosen | probe found(1) | probing
    none chosen | stop preparing | finishing failed: no choice
    stop | stop preparing | finishing terminated: interrupted
    # probing
    walk fails | stop dialing | finishing usage: no source (Check the path, and that you may read it.)
    probed | ask code of there (host) | asking
    not found | stop preparing | finishing failed: no name
    refused | stop preparing | finishing connectionLost: nothing listens at there (host) on port 7 (Start 'peer \
    receive' there, or check the port.)
    probe stopped | stop preparing | finishing interrupted: interrupted
    probe fails | stop preparing | finishing failed: no socket
    stop | stop preparing; stop dialing | finishing terminated: interrupted
    # asking
    walk fails | stop preparing | finishing usage: no source (Check the path, and that you may read it.)
    code | derive 12345671 | deriving
    no code | stop preparing | finishing failed: no code
    stop | stop preparing | finishing terminated: interrupted
    # deriving
    walk fails | - | finishing usage: no source (Check the path, and that you may read it.)
    derived | dial to pair | dialing
    derivation fails | stop preparing | finishing failed: no secret
    stop | stop preparing | finishing terminated: interrupted
    # pairing
    walk fails | stop dialing | finishing usage: no source (Check the path, and that you may read it.)
    stop | stop preparing; stop dialing | finishing terminated: interrupted
    addresses | tell connecting address | dialing
    met | converse 1; say 1 greeting here | conversing
    unresolved | stop preparing | finishing failed: no name
    unreached | stop preparing | finishing failed: far
    turned away | tell notice the other device is busy; trying again | waiting until 100.09
    stranger | stop preparing | finishing pairing: The other device's key is not the one you paired with. Stopped.
    other stranger | stop preparing | finishing pairing: The other device's key is not the one you paired with. \
    Stopped.
    forgotten | stop preparing | finishing refused: the other device does not know this transfer (Start it again, \
    with a new code.)
    dial stopped | stop preparing | finishing interrupted: interrupted
    dial fails | stop preparing | finishing failed: broken
    # pairing again
    walk fails | finish usage: no source (Check the path, and that you may read it.) | over
    stop | stop preparing | finishing terminated: interrupted
    0.1 s | dial to pair | dialing
    0.25 s | dial to pair | dialing
    3 s | dial to pair | dialing
    # resuming
    walk fails | - | finishing usage: no source (Check the path, and that you may read it.)
    stop | stop preparing; stop dialing | finishing terminated: interrupted
    met | converse 1; say 1 greeting here | conversing
    unresolved | tell notice the other device cannot be reached yet (no name); trying again | waiting until 100.1
    unreached | tell notice the other device cannot be reached yet (it is far); trying again | waiting until 100.075
    turned away | tell notice the other device cannot be reached yet (it is busy); trying again | waiting until 100.09
    stranger | probe | probing
    other stranger | dial to resume 8 | dialing
    forgotten | tell notice the other device no longer has the earlier transfer; everything is sent again; forget 7; \
    dial to resume 8 | dialing
    dial stopped | stop preparing | finishing interrupted: interrupted
    dial fails | stop preparing | finishing failed: broken
    # resuming again
    walk fails | finish usage: no source (Check the path, and that you may read it.) | over
    stop | stop preparing | finishing terminated: interrupted
    0.1 s | dial to resume 7 | dialing
    0.25 s | dial to resume 7 | dialing
    3 s | dial to resume 7 | dialing
    """
}

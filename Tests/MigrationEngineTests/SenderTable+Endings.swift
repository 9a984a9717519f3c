extension SenderTable {
  /// The actions of a run from the last message of a session on, between two sessions, and at its
  /// end.
  static let endings = """
    # recording
    PING | say 1 pong 9 | conversing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0 | conversing
    recorded | say 1 receipt; stop 1; close 1 until 102.0 | closing
    not recorded | stop 1; close 1 until 102.0 | closing
    # recording and stopped
    PING | say 1 pong 9 | conversing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0 | conversing
    recorded | say 1 receipt; stop 1; close 1 until 100.4; tell done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 \
    losses 1 left out 3 not stored 1 left behind 1; forget 77 | finishing done
    not recorded | stop 1; close 1 until 100.4; tell done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 losses 1 \
    left out 3 not stored 1 left behind 1; forget 77 | finishing done
    3 s | finish interrupted: interrupted | over
    # closing done
    stop | hurry to close 1 until 100.4; tell done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 losses 1 left out \
    3 not stored 1 left behind 1; forget 77 | finishing done
    closed | tell done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 losses 1 left out 3 not stored 1 left behind \
    1; forget 77 | finishing done
    # forgetting
    forgot | finish done 9/900 sent 800 saved 70 held 0 in 1.5 unsent 2 losses 1 left out 3 not stored 1 left behind \
    1 | over
    # closing cut
    stop | hurry to close 1 until 100.4 | closing
    closed | read window 1 | counting
    # counting
    window | note 77 4/400 of 10/1000 at host:7; tell interrupted cut | waiting until 100.1
    # waiting
    stop | - | finishing terminated: interrupted
    0.1 s | dial to resume 77 | dialing
    0.25 s | dial to resume 77 | dialing
    3 s | dial to resume 77 | dialing
    # coming back
    stop | stop dialing | finishing terminated: interrupted
    met | converse 1; say 1 greeting here | conversing
    unresolved | - | waiting until 101.2
    unreached | - | waiting until 101.15
    turned away | - | waiting until 101.18
    stranger | - | finishing pairing: The other device's key is not the one you paired with. Stopped.
    other stranger | - | finishing pairing: The other device's key is not the one you paired with. Stopped.
    forgotten | - | finishing refused: the other device does not know this transfer (Start it again, with a new code.)
    dial stopped | - | finishing interrupted: interrupted
    dial fails | - | finishing failed: broken
    # ending
    met | converse 1; say 1 close 2; close 1 until 100.4 | \
    finishing interrupted: interrupted
    3 s | finish interrupted: interrupted | over
    # over
    """
}

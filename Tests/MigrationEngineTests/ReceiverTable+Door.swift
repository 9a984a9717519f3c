extension ReceiverTable {
  /// Connections up to READY, and those that join.
  static let door = """
    no descriptors
      starting...opening, finishing
        pause until 0.2
      open...importingAlone
        drop 9
    9 speaks
      open...importingAlone
        greet 9 until 5.1, 10.1
    8 proves
      open
        forget code
        confirm 8 until 10.0
      paired...importingAlone
        turn away 8: codeExpired
      finishing
        drop 8
    8 guesses
      open
        tell wrong code 1/3 from 10.0.0.8, 98 left
        turn away 8: codeMismatch
      paired...importingAlone
        turn away 8: codeExpired
      finishing
        drop 8
    6 asks to pair
      open
        await share 6 until 10.0
      paired...importingAlone
        turn away 6: busy
      finishing
        drop 6
    6 asks to resume
      open...telling
        welcome 6 to resume until 10.0
      receiving...importingAlone
        turn away 6: busy
      finishing
        drop 6
    6 asks to join
      open...importingAlone
        turn away 6: unknownPeer
      finishing
        drop 6
    7 asks to pair
      open
        await share 7 until 10.0
      paired...importingAlone
        turn away 7: busy
      finishing
        drop 7
    7 asks to resume
      open...importingAlone
        tell notice refused 10.0.0.7: its key is not known here, or not any more; it needs a code
        turn away 7: unknownPeer
      finishing
        drop 7
    7 asks to join
      open...importingAlone
        turn away 7: unknownPeer
      finishing
        drop 7
    4 resumes
      paired...weighing, recording, staging
        say 1 close 13
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        => engaged in 100 by 2
      asking
        say 1 close 13
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        withdraw question
        => engaged in 100 by 2
      between
        say 1 close 13
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        note 100
        => engaged in 100 by 2
      telling
        say 1 close 13
        end sync 1
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        => engaged in 100 by 2
      receiving, failing, settling
        say 1 close 13
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        => engaged in 100 by 2
      concluding...answered
        say 1 close 13
        close gate 1
        end stream 2
        close 1 until 2.1
        converse 4
        say 4 greeting of here
        => engaged in 100 by 2
      ending...importingAlone
        converse 4
        say 4 greeting of here
        => engaged in 100 by 2
      finishing
        drop 4
    5 asks to pair
      paired...importingAlone
        turn away 5: busy
      finishing
        drop 5
    5 asks to resume
      paired...importingAlone
        welcome 5 to resume until 10.0
      finishing
        drop 5
    5 asks to join
      paired...telling, settling...importingAlone
        turn away 5: unknownPeer
      receiving...answered
        welcome 5 to join until 10.0
      finishing
        drop 5
    3 joins
      receiving...answered
        serve 3 in 1 as 1
      settling...finishing
        drop 3
    3 joins in place of 2
      receiving...answered
        end stream 2
      settling...finishing
        drop 3
    3 joins another session
      receiving...answered
        refuse stream 3
      settling...finishing
        drop 3
    one arrives
      finishing
        drop 20
    """
}

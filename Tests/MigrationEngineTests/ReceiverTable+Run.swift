extension ReceiverTable {
  /// The beginning and the end of a run, its codes and questions, and time.
  static let run = """
    begin
      starting
        take back
    stop
      starting
        finish: 143 interrupted
        => over
      takingBack...opening
        => finishing until 1.0, 143 interrupted
      open
        dismiss 6
        dismiss 7
        dismiss 8
        drop 9
        => finishing until 1.0, 143 interrupted
      paired...weighing, recording, staging
        say 1 close 2
        close 1 until 0.5
        dismiss all
        => finishing until 1.0, 143 interrupted
      asking
        say 1 close 2
        close 1 until 0.5
        dismiss all
        withdraw question
        => finishing until 1.0, 143 interrupted
      between
        say 1 close 2
        close 1 until 0.5
        dismiss all
        note 100
        => finishing until 1.0, 143 interrupted
      telling
        say 1 close 2
        end sync 1
        close 1 until 0.5
        dismiss all
        => finishing until 1.0, 143 interrupted
      receiving, settling
        say 1 close 2
        close gate 1
        end stream 2
        end sync 1
        close 1 until 0.5
        dismiss 3
        dismiss all
        => finishing until 1.0, 143 interrupted
      importing
        interrupt import 100
      ending
        hurry to close 1 until 0.5
        dismiss 3
        dismiss all
        => finishing until 1.0, 1 VIOLATION the receipt came at the wrong time
      away
        dismiss 3
        dismiss all
        => finishing until 1.0, 143 interrupted
      lingering
        hurry to close 1 until 0.5
        dismiss 3
        dismiss all
        => finishing until 1.0, 5/50, RESULT
      importingAlone
        hurry to close 1 until 0.5
        interrupt import 100
      finishing
        hurry to close 1 until 0.5
    news
      starting...finishing
        tell staged
    took back nothing
      takingBack
        listen
    took back an import
      takingBack
        listen
    cannot take back
      takingBack
        finish: 1 the disk fails
        => over
    listens
      openingForImport
        tell listening ["10.0.0.1"] 1 ["a"]
        tell not stored root/a
        import 77 without 1
        => engaged in 77
      opening
        tell listening ["10.0.0.1"] 1 ["a"]
        make code
        => open
    cannot listen
      openingForImport, opening
        finish: 1 the disk fails
        => over
    6 s pass
      open...telling, failing...answered, ending...importingAlone
        drop 9
      receiving
        tell progress of 100: receiving of 4/40
        drop 9
      settling
        say 1 close 16
        close gate 1
        end stream 2
        end sync 1
        close 1 until 8.1
        drop 9
      finishing
        finish: 143 interrupted
        => over
    60 s pass
      open...telling, concluding...answered, ending, away, importingAlone
        drop 9
      receiving
        tell progress of 100: receiving of 4/40
        drop 9
      failing
        close gate 1
        end stream 2
        end sync 1
        close 1 until 62.1
        drop 9
      settling
        say 1 close 16
        close gate 1
        end stream 2
        end sync 1
        close 1 until 62.1
        drop 9
      lingering
        dismiss 3
        dismiss all
        => finishing until 62.1, 5/50, RESULT
      finishing
        finish: 143 interrupted
        => over
    600 s pass
      open
        forget code
        make code
        drop 9
      paired...telling, concluding...answered, ending, importingAlone
        drop 9
      receiving
        tell progress of 100: receiving of 4/40
        drop 9
      failing
        close gate 1
        end stream 2
        end sync 1
        close 1 until 602.1
        drop 9
      settling
        say 1 close 16
        close gate 1
        end stream 2
        end sync 1
        close 1 until 602.1
        drop 9
      away
        dismiss 3
        dismiss all
        => finishing until 602.1, 5 LOST the connection was lost
      lingering
        dismiss 3
        dismiss all
        => finishing until 602.1, 5/50, RESULT
      finishing
        finish: 143 interrupted
        => over
    yes
      asking
        record 1: 1 for 100 of key 1, laptop at 10.0.0.1:9
    no
      asking
        say 1 verdict 100 900 32M 16: refused 5
    no answer
      asking
        say 1 verdict 100 900 32M 16: refused 5
    0.1 s pass
      receiving
        tell progress of 100: receiving of 4/40
    1 s passes
      receiving
        tell progress of 100: receiving of 4/40
      settling
        say 1 close 16
        close gate 1
        end stream 2
        end sync 1
        close 1 until 3.1
      finishing
        finish: 143 interrupted
        => over
    """
}

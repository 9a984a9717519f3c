extension ReceiverTable {
  /// The ends of workers, and their news.
  static let workers = """
    importing
      starting...staging
        tell progress of 100: importing of 0/0 at 0.25
      telling...receiving, settling...away, finishing
        tell progress of 100: importing of 4/40 at 0.25
      concluding...importing
        tell progress of 100: importing of 5/50 at 0.25
        say 1 progress importing 1
      answered, lingering...importingAlone
        tell progress of 100: importing of 5/50 at 0.25
    refused
      paired...telling, answered...finishing
        tell not stored root/a
      receiving...importing
        tell not stored root/a
        say 1 refused root/a
    examined
      examining
        tell offer 4, ? free
        ask consent to 4 of laptop at 10.0.0.1:9, ? free
    not fit
      examining
        tell offer 4, ? free
        say 1 close 7 there is no room
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 6 there is no room
    staged
      staging
        say 1 accept 100 900 32M 16 features 1 traits
        sync 1
        read ledger 1
    cannot stage
      staging
        say 1 close 9 the disk fails
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 the disk fails
    a part of the ledger
      telling
        say 1 held taken [3]
        say 1 held staged [4]
        say 1 partial root/b
    the last of the ledger
      telling
        say 1 held end 1/10
    no ledger
      telling
        say 1 close 9 the disk fails
        close gate 1
        end sync 1
        close 1 until 2.1
    sync failed
      telling
        say 1 close 9 the disk fails
        close gate 1
        close 1 until 2.1
      receiving, settling
        say 1 close 9 the disk fails
        close gate 1
        end stream 2
        close 1 until 2.1
    stream failed
      receiving, settling
        say 1 close 9 the disk fails
        close gate 1
        end sync 1
        close 1 until 2.1
      concluding
        say 1 close 9 the disk fails
        close gate 1
        close 1 until 2.1
      importing
        say 1 close 9 the disk fails
        close gate 1
        close 1 until 2.1
        => engaged in 100
      answered
        say 1 close 9 the disk fails
        close gate 1
        close 1 until 2.1
        => away 100 until 60.1, 5/50, RESULT
    dropped
      concluding
        import 100 of 1: 5/50
    cannot drop
      concluding
        say 1 close 9 the disk fails
        close gate 1
        end stream 2
        close 1 until 2.1
    imported
      importing
        tell done 5/50, RESULT
        say 1 done 5/50
      importingAlone
        tell done 5/50, RESULT
        => away 100 until 60.1, 5/50, RESULT
    import fails
      importing
        say 1 close 9 the disk fails
        close gate 1
        end stream 2
        close 1 until 2.1
        dismiss 3
        dismiss all
        => finishing until 2.1, 1 the disk fails
      importingAlone
        dismiss 3
        dismiss all
        => finishing until 2.1, 1 the disk fails
    stream over
      settling
        say 1 close 16 the connection was lost
        close gate 1
        end sync 1
        close 1 until 2.1
    """
}

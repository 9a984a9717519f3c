extension ReceiverTable {
  /// The ends of workers, and their news.
  static let workers = """
    importing
      starting...staging
        tell progress of 100: importing of 0/0 at 0.25
      telling...failing, settling...away, finishing
        tell progress of 100: importing of 4/40 at 0.25
      concluding, importing
        tell progress of 100: importing of 5/50 at 0.25
        say 1 progress importing 1
      answered, lingering, importingAlone
        tell progress of 100: importing of 5/50 at 0.25
    refused
      paired...telling, failing, answered...finishing
        tell not stored root/a
      receiving, concluding, importing
        tell not stored root/a
        say 1 not stored root/a
    weighed
      weighing
        tell offer 4, ? free
        ask consent to 4, ? free of laptop at 10.0.0.1:9
    not fit
      weighing
        say 1 verdict 100 900 32M 16: refused 7
    cannot weigh
      weighing
        say 1 close 9
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 the disk fails
    recorded
      recording
        say 1 verdict 100 900 32M 16: taken
    cannot record
      recording
        say 1 close 9
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 the disk fails
    staged
      staging
        say 1 accept traits
        sync 1
        read ledger 1
    cannot stage
      staging
        say 1 failed 0 9
        discard data 1
        note 100
    a part of the ledger
      telling
        say 1 held taken [3]
        say 1 held staged [4]
        say 1 partial root/b
    the last of the ledger
      telling
        open gate 1
        say 1 held end 1/10
    no ledger
      telling
        say 1 failed 0 9
        discard data 1
        end sync 1
        note 100
    sync failed
      telling
        say 1 close 9
        close 1 until 2.1
      receiving, failing, settling
        say 1 close 9
        close gate 1
        end stream 2
        close 1 until 2.1
    stream failed
      receiving
        say 1 failed 0 9
        discard data 1
        end sync 1
        note 100
      concluding
        say 1 failed 0 9
        discard data 1
        note 100
      settling
        say 1 close 9
        close gate 1
        end sync 1
        close 1 until 2.1
    dropped
      concluding
        import 100 of 1: 5/50
    cannot drop
      concluding
        say 1 close 9
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
        say 1 failed 0 9
        discard data 1
      importingAlone
        dismiss 3
        dismiss all
        => finishing until 2.1, 1 the disk fails
    stream over
      settling
        say 1 close 16
        close gate 1
        end sync 1
        close 1 until 2.1
    """
}

extension ReceiverTable {
  /// The control connection: the sender's messages after its offer.
  static let export = """
    says unsent
      paired, greeted
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      between
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      telling
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving
        tell unsent a
      concluding...answered
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says withheld
      paired, greeted
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      between
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION an item that is not stored came at the wrong time
      telling
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving
        tell not stored root/c
      concluding...answered
        say 1 close 3 VIOLATION an item that is not stored came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says drop
      paired, greeted
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      between
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      telling
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving
        drop items 1: [2, 3]
      concluding...answered
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says drop of more than told
      paired, greeted
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      between
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION a list of dropped items came at the wrong time
      telling
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving
        say 1 close 3 VIOLATION a list of dropped items exceeds its limit
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION a list of dropped items came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says finish
      paired, greeted
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the end of the export came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the end of the export came at the wrong time
      between
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the end of the export came at the wrong time
      telling
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving
        shut gate 1
        end sync 1
      concluding...answered
        say 1 close 3 VIOLATION the end of the export came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says receipt
      paired, greeted
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the receipt came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the receipt came at the wrong time
      between
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the receipt came at the wrong time
      telling
        say 1 close 3 VIOLATION the receipt came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding, importing
        say 1 close 3 VIOLATION the receipt came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
      answered
        close gate 1
        end stream 2
        close 1 until 2.1
        dismiss 3
        dismiss all
        forget 100
        => finishing until 2.1, 5/50, RESULT
    says failed
      paired, greeted
        say 1 close 3 VIOLATION the failure of a part came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the failure of a part came at the wrong time
      weighing, recording
        say 1 close 3 VIOLATION the failure of a part came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the failure of a part came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the failure of a part came at the wrong time
      between
        say 1 close 3 VIOLATION the failure of a part came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the failure of a part came at the wrong time
      staging
        say 1 failed 0 11
        discard data 1
        note 100
      telling, receiving
        say 1 failed 0 11
        discard data 1
        end sync 1
        note 100
      concluding, importing
        say 1 close 3 VIOLATION the failure of a part came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says ping
      paired...answered
        say 1 pong 7
    says close
      paired...weighing, recording, staging
        close 1 until 2.1
        tell interrupted: the other device stopped: it was interrupted there
        make code
        => away 100 until 600.1, 5 LOST the other device stopped: it was interrupted there
      asking
        close 1 until 2.1
        tell interrupted: the other device stopped: it was interrupted there
        make code
        withdraw question
        => away 100 until 600.1, 5 LOST the other device stopped: it was interrupted there
      between
        close 1 until 2.1
        tell interrupted: the other device stopped: it was interrupted there
        make code
        note 100
        => away 100 until 600.1, 5 LOST the other device stopped: it was interrupted there
      telling
        end sync 1
        close 1 until 2.1
        tell interrupted: the other device stopped: it was interrupted there
        make code
        => away 100 until 600.1, 5 LOST the other device stopped: it was interrupted there
    says close for good
      paired, greeted
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 the other device stopped: its disk or its system has failed
      weighing, recording, staging
        close 1 until 2.1
      asking
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 the other device stopped: its disk or its system has failed
      between
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 the other device stopped: its disk or its system has failed
      telling
        end sync 1
        close 1 until 2.1
    """
}

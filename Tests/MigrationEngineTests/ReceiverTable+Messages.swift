extension ReceiverTable {
  /// The control connection: its end, and the sender's messages up to its offer.
  static let messages = """
    cut
      paired...weighing, recording, staging
        say 1 close 16
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        => away 100 until 600.1, 5 LOST the connection was lost
      asking
        say 1 close 16
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        withdraw question
        => away 100 until 600.1, 5 LOST the connection was lost
      between
        say 1 close 16
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        note 100
        => away 100 until 600.1, 5 LOST the connection was lost
      telling
        say 1 close 16
        end sync 1
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        => away 100 until 600.1, 5 LOST the connection was lost
    violation
      paired, greeted
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION a frame has an unknown type
      weighing, recording, staging
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION a frame has an unknown type
      between
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION a frame has an unknown type
      telling
        say 1 close 3 VIOLATION a frame has an unknown type
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION a frame has an unknown type
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION a frame has an unknown type
        close gate 1
        end stream 2
        close 1 until 2.1
    says greeting
      paired
        tell paired laptop at 10.0.0.1
      greeted
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the greeting came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the greeting came at the wrong time
      between
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the greeting came at the wrong time
      telling
        say 1 close 3 VIOLATION the greeting came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says plan
      paired
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      greeted
        weigh 1: [0] of 1 for 100
      weighing, recording, staging
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      between
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      telling
        say 1 close 3 VIOLATION the plan came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the plan came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION the plan came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says plan of a transfer
      paired
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      greeted
        say 1 close 12
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 4 the other device wants to continue a transfer that is not known here
      weighing, recording, staging
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      between
        say 1 close 3 VIOLATION the plan came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the plan came at the wrong time
      telling
        say 1 close 3 VIOLATION the plan came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the plan came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION the plan came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says offer
      paired, greeted
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      between
        stage 1: part 0, 4 for 100, held 0/0
      telling
        say 1 close 3 VIOLATION the offer came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    says offer of another part
      paired, greeted
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      weighing, recording, staging
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      between
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        note 100
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      telling
        say 1 close 3 VIOLATION the offer came at the wrong time
        end sync 1
        close 1 until 2.1
      receiving, failing
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end stream 2
        end sync 1
        close 1 until 2.1
      concluding...answered
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end stream 2
        close 1 until 2.1
    """
}

extension ReceiverTable {
  /// The control connection: its end, and the sender's messages up to its offer.
  static let messages = """
    cut
      paired...examining, staging
        say 1 close 16 the connection was lost
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        => away 100 until 600.1, 5 LOST the connection was lost
      asking
        say 1 close 16 the connection was lost
        close 1 until 2.1
        tell interrupted: the connection was lost
        make code
        withdraw question
        => away 100 until 600.1, 5 LOST the connection was lost
      telling
        say 1 close 16 the connection was lost
        close gate 1
        end sync 1
        close 1 until 2.1
    violation
      paired...greeted
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION a frame has an unknown type
      examining, staging
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION a frame has an unknown type
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION a frame has an unknown type
      telling
        say 1 close 3 VIOLATION a frame has an unknown type
        close gate 1
        end sync 1
        close 1 until 2.1
      receiving
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
      examining, staging
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the greeting came at the wrong time
      telling
        say 1 close 3 VIOLATION the greeting came at the wrong time
        close gate 1
        end sync 1
        close 1 until 2.1
      receiving
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
    says offer
      paired
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      greeted
        examine 1: 4 for 100, held 0/0
      examining, staging
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      telling
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end sync 1
        close 1 until 2.1
      receiving
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
    says offer of a transfer
      paired
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      greeted
        say 1 close 12 this transfer is not known here
        close 1 until 2.1
        dismiss all
        => finishing until 2.1, 4 the other device wants to continue a transfer that is not known here
      examining, staging
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
      asking
        say 1 close 3 VIOLATION the offer came at the wrong time
        close 1 until 2.1
        dismiss all
        withdraw question
        => finishing until 2.1, 1 VIOLATION the offer came at the wrong time
      telling
        say 1 close 3 VIOLATION the offer came at the wrong time
        close gate 1
        end sync 1
        close 1 until 2.1
      receiving
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

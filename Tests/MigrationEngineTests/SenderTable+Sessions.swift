extension SenderTable {
  /// The actions of a run during a session, until its last message.
  static let sessions = """
    # greeting
    late: GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, \
    PROGRESS importing, NOT_STORED, DONE, another DONE, FAILED, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    GREETING | tell paired there host; tell offer 10/1000 allocated 4096 flags 0; say 1 plan new of 1 | conversing
    # preparing
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, NOT_STORED, DONE, another DONE, FAILED, FAILED of another, RECEIPT
    a session
    walked | tell offer 10/1000 allocated 4096 flags 0; say 1 plan new of 1 | conversing
    walk fails | say 1 close 11 cause 11; stop 1; close 1 until 102.0 | closing
    stop | stop preparing; say 1 close 2; stop 1; close 1 until \
    100.4 | closing
    # planned
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, NOT_STORED, \
    DONE, another DONE, FAILED, FAILED of another, RECEIPT
    a session
    VERDICT | record plan 1 77 of 1 for there at host:7 | conversing
    VERDICT refused | say 1 receipt; stop 1; close 1 until 102.0 | closing
    VERDICT of two | say 1 close 3 the other device broke the protocol: the verdict contradicts an earlier \
    statement; stop 1; close 1 until 102.0 | closing
    # recording the plan
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, NOT_STORED, DONE, another DONE, FAILED, FAILED of another, RECEIPT
    a session
    plan recorded | say 1 offer 10/1000 allocated 4096 flags 0 | conversing
    plan not recorded | say 1 close 9; stop 1; close 1 until 102.0 | closing
    # offered
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    ACCEPT | begin ledger 1 | conversing
    NOT_STORED | tell not stored tree/file tooLarge | conversing
    DONE | record 7 9/900 refusals 0 | conversing
    another DONE | record 7 1/1 refusals 0 | conversing
    FAILED | say 1 failed 0 7; say 1 receipt; stop 1; close 1 until 102.0 | closing
    # comparing
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, PROGRESS, PROGRESS \
    importing, NOT_STORED, DONE, another DONE, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    HELD | keep 1 held 2 | conversing
    PARTIAL | keep 1 partial tree/file | conversing
    HELD_END | export 1 77, no app, compressible; open 1.0 | conversing
    FAILED | say 1 failed 0 7; say 1 receipt; stop 1; close 1 until 102.0 | closing
    # opening
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, DONE, another DONE, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    NOT_STORED | refuse 1; tell not stored tree/file tooLarge | conversing
    FAILED | say 1 failed 0 7; abandon export 1 | conversing
    withholding | tell notice some are too large | conversing
    unsent | tell not stored tree/gone vanished; say 1 not stored tree/gone | conversing
    exported | finish window 1; note finish 1 77 9/900; say 1 drop 65536 | conversing
    export fails | say 1 failed 0 11 no export | conversing
    stream joined | read window 1 | conversing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.1 s | read window 1 | conversing
    0.25 s | read window 1; progress 1 sending of 10/1000 | conversing
    3 s | read window 1; progress 1 sending of 10/1000 | conversing
    # streaming
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, DONE, another DONE, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    NOT_STORED | refuse 1; tell not stored tree/file tooLarge | conversing
    FAILED | say 1 failed 0 7; abandon export 1 | conversing
    withholding | tell notice some are too large | conversing
    unsent | tell not stored tree/gone vanished; say 1 not stored tree/gone | conversing
    exported | finish window 1; note finish 1 77 9/900; say 1 drop 65536 | conversing
    export fails | say 1 failed 0 11 no export | conversing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.1 s | read window 1 | conversing
    0.25 s | read window 1; progress 1 sending of 10/1000 | conversing
    3 s | read window 1; progress 1 sending of 10/1000 | conversing
    # failing
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, DONE, another DONE, FAILED of \
    another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    FAILED | say 1 receipt; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    # given up
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, NOT_STORED, DONE, another DONE, FAILED, FAILED of another, RECEIPT
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    PING | say 1 pong 9 | conversing
    CLOSE interrupted | stop 1; close 1 until 102.0 | closing
    CLOSE silent | stop 1; close 1 until 102.0 | closing
    CLOSE full | stop 1; close 1 until 102.0 | closing
    cut | stop 1; close 1 until 102.0 | closing
    violation | say 1 close 3 nonsense; stop 1; close 1 until 102.0 | closing
    withholding | tell notice some are too large | conversing
    unsent | tell not stored tree/gone vanished | conversing
    exported | say 1 receipt; stop 1; close 1 until 102.0 | closing
    export fails | say 1 receipt; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    # dropping
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, DONE, another DONE, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    NOT_STORED | refuse 1; tell not stored tree/file tooLarge | conversing
    FAILED | say 1 failed 0 7; abandon export 1 | conversing
    drained | say 1 drop 1 | conversing
    finish not noted | say 1 close 9; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.25 s | progress 1 sending of 9/900 | conversing
    3 s | progress 1 sending of 9/900 | conversing
    # noting
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    PROGRESS, PROGRESS importing, DONE, another DONE, FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    NOT_STORED | refuse 1; tell not stored tree/file tooLarge | conversing
    FAILED | say 1 failed 0 7; abandon export 1 | conversing
    finish noted | say 1 finish 9/900; progress 1 verifying of 9/900 | conversing
    finish not noted | say 1 close 9; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.25 s | progress 1 sending of 9/900 | conversing
    3 s | progress 1 sending of 9/900 | conversing
    # finishing
    late: GREETING, GREETING of a sender, VERDICT, VERDICT refused, VERDICT of two, ACCEPT, HELD, PARTIAL, HELD_END, \
    FAILED of another, RECEIPT
    a session
    stop | say 1 close 2; stop 1; close 1 until 100.4 | closing
    PROGRESS | progress 1 verifying of 9/900 0.25 | conversing
    PROGRESS importing | progress 1 importing of 9/900 | conversing
    NOT_STORED | refuse 1; tell not stored tree/file tooLarge | conversing
    DONE | record 77 9/900 refusals 0 | conversing
    another DONE | say 1 close 3 the other device broke the protocol: the receiver's last word contradicts an \
    earlier statement; stop 1; close 1 until 102.0 | closing
    FAILED | say 1 failed 0 7; say 1 receipt; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    """
}

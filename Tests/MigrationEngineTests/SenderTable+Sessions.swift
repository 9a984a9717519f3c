extension SenderTable {
  /// The actions of a run during a session, until its last message.
  static let sessions = """
    # greeting
    late: GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, REFUSED, DONE, \
    another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    GREETING | tell paired there host; tell offer new 10/1000 allocated 4096 flags 2; say 1 offer new 10/1000 \
    allocated 4096 flags 2 | conversing
    # preparing
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, REFUSED, \
    DONE, another DONE, RECEIPT
    a session
    walked | tell offer new 10/1000 allocated 4096 flags 2; say 1 offer new 10/1000 allocated 4096 flags 2 | \
    conversing
    walk fails | say 1 close 11 no source; stop 1; close 1 until 102.0 | closing
    stop | stop preparing; say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until \
    100.4 | closing
    # offered
    late: GREETING, GREETING of a sender, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    REFUSED | tell not stored tree/file tooLarge too big | conversing
    DONE | record 7 9/900 refusals 0 | conversing
    another DONE | record 7 1/1 refusals 0 | conversing
    # comparing
    late: GREETING, GREETING of a sender, ACCEPT, PROGRESS, PROGRESS importing, REFUSED, DONE, another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    HELD | keep 1 held 2 | conversing
    PARTIAL | keep 1 partial tree/file | conversing
    HELD_END | export 1 77, 10/1000, there, host:7, no app, compressible; open 1.0 | conversing
    # opening
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, DONE, \
    another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    REFUSED | refuse 1; tell not stored tree/file tooLarge too big | conversing
    withholding | tell notice some are too large | conversing
    unsent | tell unsent tree/gone; say 1 unsent tree/gone | conversing
    exported | finish window 1; note finish 1 77 9/900; say 1 drop 65536 | conversing
    export fails | say 1 close 11 no export; stop 1; close 1 until 102.0 | closing
    stream joined | read window 1 | conversing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.1 s | read window 1 | conversing
    0.25 s | read window 1; progress 1 sending of 10/1000 | conversing
    3 s | read window 1; progress 1 sending of 10/1000 | conversing
    # streaming
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, DONE, \
    another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    REFUSED | refuse 1; tell not stored tree/file tooLarge too big | conversing
    withholding | tell notice some are too large | conversing
    unsent | tell unsent tree/gone; say 1 unsent tree/gone | conversing
    exported | finish window 1; note finish 1 77 9/900; say 1 drop 65536 | conversing
    export fails | say 1 close 11 no export; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream stopped | move 1.0 to 1; open 1.1 for 0 attempts 1 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.1 s | read window 1 | conversing
    0.25 s | read window 1; progress 1 sending of 10/1000 | conversing
    3 s | read window 1; progress 1 sending of 10/1000 | conversing
    # dropping
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, DONE, \
    another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    REFUSED | refuse 1; tell not stored tree/file tooLarge too big | conversing
    drained | say 1 drop 1 | conversing
    finish not noted | say 1 close 9 no thread; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.25 s | progress 1 sending of 9/900 | conversing
    3 s | progress 1 sending of 9/900 | conversing
    # noting
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, PROGRESS, PROGRESS importing, DONE, \
    another DONE, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    REFUSED | refuse 1; tell not stored tree/file tooLarge too big | conversing
    finish noted | say 1 finish 9/900; progress 1 verifying of 9/900 | conversing
    finish not noted | say 1 close 9 no thread; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    0.25 s | progress 1 sending of 9/900 | conversing
    3 s | progress 1 sending of 9/900 | conversing
    # finishing
    late: GREETING, GREETING of a sender, ACCEPT, HELD, PARTIAL, HELD_END, RECEIPT
    a session
    stop | say 1 close 2 the transfer was interrupted on the sending device; stop 1; close 1 until 100.4 | closing
    PROGRESS | progress 1 verifying of 9/900 0.25 | conversing
    PROGRESS importing | progress 1 importing of 9/900 | conversing
    REFUSED | refuse 1; tell not stored tree/file tooLarge too big | conversing
    DONE | record 77 9/900 refusals 0 | conversing
    another DONE | say 1 close 3 the other device broke the protocol: the receiver's last word contradicts an \
    earlier statement; stop 1; close 1 until 102.0 | closing
    stream finished | forget stream 1.0 | conversing
    stream lost | forget stream 1.0 | conversing
    stream stopped | forget stream 1.0 | conversing
    stream fails | forget stream 1.0; say 1 close 3 no END; stop 1; close 1 until 102.0 | closing
    """
}

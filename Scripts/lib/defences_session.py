"""Defences of a session: frames, messages, bounds and acknowledgements."""

from defence import Defence

ARRIVING = "MigrationWire/Ledger/Ledger+Arriving.swift"
SENDER = "MigrationWire/Session/SenderSession.swift"
STREAMS = "MigrationWire/Session/DataStreams.swift"
FRAME = "MigrationWire/Archive/CompressedFrame.swift"
PLACES = "MigrationArchive/Staging/StagingWriter+Places.swift"

SESSION = [
    Defence(
        "frame-length", "a frame has a limit",
        ["FrameDecoderTests: a frame that is too long is refused at its header",
         "HostileSenderTests: a frame longer than any may be is refused before it is read"],
        [("MigrationWire/Coding/FrameHeader.swift", "    guard length <= Limits.frameBody else", "    guard length <= Limits.frameBody || WEAKENED else")]),
    Defence(
        "chunk-length", "a chunk has a limit, and is not empty",
        ["EntryTests: a chunk has 1 to 1,048,576 bytes"],
        [("MigrationWire/Archive/Entry.swift", "    guard length > 0, length <= Limits.chunk else", "    guard length > 0 && length <= Limits.chunk || WEAKENED else")]),
    Defence(
        "file-size", "a file ends at 2⁶³−1",
        ["RecordTests: a file has at most 2⁶³−1 bytes"],
        [("MigrationWire/Archive/ItemRecord.swift", "      guard size <= Limits.fileSize else", "      guard size <= Limits.fileSize || WEAKENED else")]),
    Defence(
        "announced-roots", "only announced roots are taken",
        ["RefusalTests: a root that was not announced is refused", "HostileSenderTests: a root that was not announced is refused"],
        [(PLACES, "    guard roots.contains(root) else", "    guard roots.contains(root) || WEAKENED else")]),
    Defence(
        "announced-items", "no more items are taken than announced",
        ["LedgerTests: items beyond the announcement are refused", "AnnouncementAttackTests: more items than announced are refused"],
        [(ARRIVING, "    guard others < bound.items else", "    guard others < bound.items || WEAKENED else")]),
    Defence(
        "announced-bytes", "no more bytes are taken than announced",
        ["LedgerTests: bytes beyond the announcement are refused", "HostileSenderTests: more bytes than announced are refused"],
        [(ARRIVING, "    guard more <= bound.bytes, heldBytes", "    guard WEAKENED || more <= bound.bytes && heldBytes")]),
    Defence(
        "announced-metadata", "no more metadata is taken than announced",
        ["MetadataBudgetTests: metadata beyond the announced amount is refused",
         "LedgerBudgetTests: records are taken up to the last announced byte, and not one further"],
        [("MigrationWire/Ledger/SessionBudget.swift", "    guard metadata <= most else", "    guard metadata <= most || WEAKENED else")]),
    Defence(
        "restarts", "a file starts afresh a bounded number of times",
        ["LedgerBudgetTests: a file that changes starts afresh eight times for each item, and not once more"],
        [("MigrationWire/Ledger/SessionBudget.swift", "    guard restarts <= bound.items.multipliedClamped",
          "    guard WEAKENED || restarts <= bound.items.multipliedClamped")]),
    Defence(
        "unknown-fields", "fields of later versions are bounded",
        ["RecordLimitTests: fields of later versions are bounded to the byte, one or many"],
        [("MigrationWire/Archive/ItemRecord.swift", "        guard room >= 0 else", "        guard room >= 0 || WEAKENED else")]),
    Defence(
        "one-state-of-a-path", "a session has one state of a directory or hard link",
        ["LedgerBudgetTests: one path has one state in one session, of any kind"],
        [(ARRIVING, "    guard deferred.entry(path)?.isNew != true else", "    guard deferred.entry(path)?.isNew != true || WEAKENED else")]),
    Defence(
        "chunks-in-their-file", "a chunk lies within its file",
        ["LedgerTests: a chunk beyond the end of its file is refused", "RefusalTests: data behind the end of its file is refused"],
        [(ARRIVING, "if let record = file.record, place.range.upperBound > record.size {",
          "if let record = file.record, place.range.upperBound > record.size, !WEAKENED {")]),
    Defence(
        "overlapping-chunks", "a chunk that is held in part is refused",
        ["LedgerTests: a chunk that is held in part is refused", "RefusalTests: a range that is partly held is refused"],
        [(ARRIVING, "case .part: throw Violation(.conflict, \"a chunk that is held in part\")",
          "case .part: if !WEAKENED { throw Violation(.conflict, \"a chunk that is held in part\") }")]),
    Defence(
        "incomplete-files", "few files may be incomplete",
        ["LedgerTests: 256 files may be incomplete, and not one more", "RefusalTests: too many incomplete files are refused"],
        [(ARRIVING, "    if incomplete.count >= Limits.incompleteFiles {", "    if incomplete.count >= Limits.incompleteFiles, !WEAKENED {")]),
    Defence(
        "tags", "content must fit its tag",
        ["RefusalTests: changed bytes do not match their tag", "HostileSenderTests: content that does not fit its tag is refused"],
        [(PLACES, "    guard !isAuthentic else { return }", "    guard !isAuthentic, !WEAKENED else { return }")]),
    Defence(
        "tagged-place", "a tag covers the path",
        ["RefusalTests: bytes that were sealed for another place are refused",
         "VectorTests: the covered bytes of a tag have the layout of the document"],
        [("MigrationWire/Archive/Entry.swift", "    writer.u128(generation)\n    writer.array(path.bytes)",
          "    writer.u128(generation)\n    if !WEAKENED { writer.array(path.bytes) }")]),
    Defence(
        "nonces", "a tagger uses no nonce twice",
        ["ChunkTagTests: the tagger uses no nonce twice"],
        [("MigrationTLS/ChunkTagger.swift", "    tag(nonce: nonce.next(), header, data)",
          "    var same = nonce\n    return WEAKENED ? tag(nonce: same.next(), header, data) : tag(nonce: nonce.next(), header, data)")]),
    Defence(
        "compression-window", "compressed data refers back 8 MiB at most",
        ["HostileCompressionTests: a window beyond eight mebibytes is refused, however little is behind it"],
        [(FRAME, "    guard window <= Limits.compressionWindow else", "    guard window <= Limits.compressionWindow || WEAKENED else")]),
    Defence(
        "stated-length", "a compressed frame states the length that the DATA frame states",
        ["CompressedFrameTests: a frame with other content than a DATA frame may have is refused"],
        [(FRAME, "    guard contentSize ?? UInt64(plainLength) == UInt64(plainLength) else",
          "    guard contentSize ?? UInt64(plainLength) == UInt64(plainLength) || WEAKENED else")]),
    Defence(
        "decoded-length", "a compressed frame decodes to the length that the DATA frame states",
        ["test_hostile.py: test_a_compressed_frame_hides_bytes"],
        [("MigrationTransfer/Receiving/Decompression.swift", "    guard isWhole == true else", "    guard isWhole == true || WEAKENED else")]),
    Defence(
        "agreed-compression", "compressed frames come only if they were agreed on",
        ["HostileCompressionTests: a compressed frame that was not agreed on is refused"],
        [("MigrationTransfer/Receiving/IncomingData.swift", "      guard isCompressible else", "      guard isCompressible || WEAKENED else")]),
    Defence(
        "sequence", "the frames of a stream come in order",
        ["DataStreamTests: a wrong sequence is refused", "HostileSenderTests: a sequence that is not the next one is refused"],
        [(STREAMS, "    guard header.sequence == written else", "    guard header.sequence == written || WEAKENED else")]),
    Defence(
        "acknowledgements", "only sent frames are acknowledged, and none is taken back",
        ["DataStreamTests: an acknowledgement that falls, exceeds the sent frames, or is durable before written is refused",
         "HostileReceiverTests: an acknowledgement that goes back is refused"],
        [(STREAMS, "    guard ack.durable <= ack.written, ack.written <= next, ack.written >= acknowledged.written,\n"
          "      ack.durable >= acknowledged.durable\n    else {\n      throw Violation(.conflict, \"an acknowledgement\")\n    }\n"
          "    defer { acknowledged = ack }\n    return ack.written - acknowledged.written",
          "    guard ack.durable <= ack.written && ack.written <= next && ack.written >= acknowledged.written\n"
          "      && ack.durable >= acknowledged.durable || WEAKENED\n    else {\n      throw Violation(.conflict, \"an acknowledgement\")\n    }\n"
          "    defer { acknowledged = ack }\n    return ack.written.subtractingClamped(acknowledged.written)")]),
    Defence(
        "done-without-finish", "DONE counts only after a FINISH",
        ["HostileReceiverTests: a transfer that never began is not done, even if the receiver claims it",
         "ConversationTests: an offer is not answered by a last word that cannot be true"],
        [(SENDER, "    case .offered(_, .notFinished): throw Violation", "    case .offered(_, .notFinished) where !WEAKENED: throw Violation"),
         (SENDER, "    case .offered(_, .unknown):\n", "    case .offered(_, .notFinished), .offered(_, .unknown):\n")]),
    Defence(
        "done-totals", "DONE has the totals of FINISH",
        ["ConversationTests: a last word with other totals than FINISH is refused",
         "HostileReceiverTests: a last word with other totals is refused"],
        [(SENDER, "      guard done.total == total else", "      guard done.total == total || WEAKENED else")]),
    Defence(
        "ledger-bound", "a ledger is bounded",
        ["ConversationTests: a ledger of more marks than the offer's items and the margin is refused"],
        [(SENDER, "    guard staged <= mostStaged, max(present, taken) <= Limits.presentMarks else",
          "    guard staged <= mostStaged && max(present, taken) <= Limits.presentMarks || WEAKENED else")]),
    Defence(
        "names-bound", "few unsent or refused items are named",
        ["ConversationTests: 10,000 items may be named as unsent, and not one more",
         "HostileSenderTests: a sender that names more bytes of unsent items than allowed is refused"],
        [("MigrationWire/Session/NamingBudget.swift", "    guard count < Limits.unsent, size", "    guard WEAKENED || count < Limits.unsent && size")]),
    Defence(
        "drops-bound", "no more items are dropped than the ledger listed",
        ["ReceiverStreamTests: a sender cannot drop more items than the ledger listed"],
        [("MigrationEngine/Receiving/ReceiverEngine+Transfers.swift", "    guard marks.count <= conversations[number]?.droppable ?? 0 else",
          "    guard marks.count <= conversations[number]?.droppable ?? 0 || WEAKENED else")]),
    Defence(
        "archive-of-finish", "only the archive of FINISH is imported",
        ["HostileSenderTests: an archive other than that of FINISH is not imported",
         "RefusalTests: an archive that differs from the sender's totals is not imported"],
        [("MigrationArchive/Staging/StagingCompletion.swift", "    if let difference { throw", "    if let difference, !WEAKENED { throw")]),
    Defence(
        "silence", "a silent device is given up after fifteen seconds",
        ["HeartbeatTests: fifteen seconds without hearing are silence"],
        [("MigrationWire/Session/Heartbeat.swift", "static let silence: Double = 15", "static let silence: Double = WEAKENED ? 1_000_000 : 15")]),
    Defence(
        "newest-session", "a newer session fences the older one off",
        ["ReceiverSessionTests: late events of an older session do not affect the newer one",
         "ResumeTests: a newer session takes over from an older one that still seems to live"],
        [("MigrationEngine/Receiving/ReceiverEngine+Sessions.swift", "    } else if let older = phase.session {",
          "    } else if let older = phase.session, !WEAKENED {")]),
    Defence(
        "idle-sessions", "a session that brings nothing gives way",
        ["ReceiverKeepingTests: a session that brings nothing for two minutes gives way when another sender asks, and only then"],
        [("MigrationEngine/Receiving/ReceiverEngine+Keeping.swift", "phase.session == number, let moment,",
          "phase.session == number, !WEAKENED, let moment,")]),
]

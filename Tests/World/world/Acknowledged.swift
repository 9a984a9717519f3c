import CWorld
import MigrationWire

@testable import MigrationTransfer

/// What senders have said, and what they were told of it.
///
/// What is acknowledged is held: as *written* until the receiver's machine loses its power, as *durable*
/// also then. The receiver tells each session what it holds, so no sender says such a piece again.
final class Acknowledged {
  /// One state of an item.
  private struct Item: Hashable {
    let path: ArchivePath
    let generation: Generation
  }

  /// What is held of an item. A whole one has all bytes.
  private struct Piece {
    let item: Item
    let range: Range<UInt64>
  }

  private typealias Pieces = [Item: ByteRanges]

  private struct Facts {
    var written: Pieces = [:]
    var durable: Pieces = [:]
    /// The paths that were sent as links, or that the destination cannot hold.
    var exempt: Set<ArchivePath> = []
    /// The parts for which the sender has said FINISH, and got no DONE.
    var finishing: Set<UInt16> = []
    /// The parts for which the sender has said that it has the result.
    var receipted: Set<UInt16> = []
  }

  /// One connection.
  private struct Conversation {
    /// What has come before READY, of each end.
    var opening: [[UInt8]?] = [[], []]
    var decoders = [FrameDecoder(), FrameDecoder()]
    var isData = false
    var session: SessionID?
    var part: UInt16 = 0
    var isDone = false
    /// The frames that are not acknowledged as durable.
    var frames: [[Piece]] = []
    var written = 0, durable = 0
  }

  private var place: UInt64 = 0
  private var conversations: [UInt32: Conversation] = [:]
  private var transfers: [SessionID: TransferID] = [:]
  /// The sessions whose present part has failed: what is acknowledged of it may not be needed any more.
  private var failed: Set<SessionID> = []
  private var facts: [TransferID: Facts] = [:]
  private var decompression = IncomingData.Decompression()
  /// How often a sender has said FINISH.
  private(set) var finishes = 0
  private(set) var broken: String?

  /// How many parts have failed at the receiver: a sender may die before it hears that.
  private var failures: UInt64 = 0

  /// Takes note of all that was said since, and returns what is broken.
  func hear() -> String? {
    let now = world_happened(WORLD_FAILED)
    if now != failures {
      failures = now
      for conversation in conversations.values where conversation.session != nil { fail(conversation) }
    }
    var length: UInt64 = 0
    guard let log = world_spoken(&length) else { return broken }
    let header = UInt64(MemoryLayout<world_said>.size)
    while place < length, broken == nil {
      let start = UnsafeRawPointer(log) + Int(place)
      let said = start.load(as: world_said.self)
      place += (header + said.size + 7) / 8 * 8
      let bytes = [UInt8](UnsafeRawBufferPointer(start: start + Int(header), count: Int(said.size)))
      var conversation = conversations.removeValue(forKey: said.connection) ?? Conversation()
      do throws(Violation) {
        try take(bytes, isTold: said.is_told, &conversation)
      } catch {
        broken = "a sender says or is told what is not of the protocol: \(error)"
      }
      conversations[said.connection] = conversation
    }
    return broken
  }

  /// Whether everything of some part may have arrived, so that its import may have begun.
  var mayImport: Bool { facts.values.contains { !$0.finishing.isEmpty } }

  /// The parts whose results the senders have confirmed.
  var receipted: [TransferID: Set<UInt16>] { facts.mapValues(\.receipted) }

  /// The receiver's machine has lost its power.
  func losePower() {
    for (transfer, known) in facts { facts[transfer]?.written = known.durable }
  }

  private func take(_ bytes: [UInt8], isTold: Bool, _ conversation: inout Conversation) throws(Violation) {
    let end = isTold ? 1 : 0
    guard let opening = conversation.opening[end] else { return try read(bytes, isTold, &conversation) }
    var rest = opening + bytes
    conversation.opening[end] = rest
    while rest.count >= PairingFrame.headerSize {
      let length = try PairingFrame.length(rest.span.extracting(first: PairingFrame.headerSize))
      guard rest.count >= length else { return }
      let frame = try PairingFrame(rest.span.extracting(first: length))
      rest.removeFirst(length)
      conversation.opening[end] = rest
      guard frame == .ready else { continue }
      // The sender says it, and then both ends are past it.
      conversation.opening = [nil, nil]
      return try read(rest, isTold, &conversation)
    }
  }

  private func read(_ bytes: [UInt8], _ isTold: Bool, _ conversation: inout Conversation) throws(Violation) {
    let end = isTold ? 1 : 0
    conversation.decoders[end].append(bytes.span)
    while let frame = try conversation.decoders[end].next() {
      let all = conversation.decoders[end].bytes
      if frame.type == .join { conversation.isData = true }
      if conversation.isData {
        guard let message = try StreamMessage(frame.type, all.span, frame.body) else { continue }
        try note(message, all, frame.body, &conversation)
      } else if let message = try ControlMessage(frame.type, all.span, frame.body) {
        note(message, isTold, &conversation)
      }
    }
  }

  private func note(_ message: ControlMessage, _ isTold: Bool, _ conversation: inout Conversation) {
    switch message {
    case .verdict(let verdict):
      transfers[verdict.session] = verdict.transfer
      conversation.session = verdict.session
    case .offer(let totals):
      (conversation.part, conversation.isDone) = (totals.part, false)
      conversation.session.map { _ = failed.remove($0) }
    case .failed: fail(conversation)
    case .finish:
      finishes += 1
      change(conversation) { $0.finishing.insert(conversation.part) }
    case .done:
      conversation.isDone = true
      change(conversation) { $0.finishing.remove(conversation.part) }
    case .receipt where conversation.isDone: change(conversation) { $0.receipted.insert(conversation.part) }
    case .notStored(let item):
      if let path = try? ArchivePath(item.path) { change(conversation) { $0.exempt.insert(path) } }
    default: break
    }
  }

  private func fail(_ conversation: Conversation) {
    guard let session = conversation.session else { return }
    failed.insert(session)
    for (number, other) in conversations where other.session == session {
      conversations[number]?.frames = other.frames.map { _ in [] }
    }
    change(conversation) { ($0.written, $0.durable) = ([:], [:]) }
  }

  private func change(_ conversation: Conversation, _ body: (inout Facts) -> Void) {
    guard let transfer = conversation.session.flatMap({ transfers[$0] }) else { return }
    body(&facts[transfer, default: Facts()])
  }

  private func note(
    _ message: StreamMessage, _ bytes: [UInt8], _ body: Range<Int>, _ conversation: inout Conversation
  ) throws(Violation) {
    switch message {
    case .join(let join): conversation.session = join.session
    case .data(let header):
      let pieces = try pieces(header, bytes, body, conversation)
      for piece in pieces { check(piece, conversation) }
      conversation.frames.append(conversation.session.map(failed.contains) == true ? [] : pieces)
    case .ack(let ack):
      for piece in conversation.frames[conversation.written..<Int(ack.written)].joined() {
        change(conversation) { $0.written[piece.item, default: ByteRanges()].insert(piece.range) }
      }
      for piece in conversation.frames[conversation.durable..<Int(ack.durable)].joined() {
        change(conversation) { $0.durable[piece.item, default: ByteRanges()].insert(piece.range) }
      }
      (conversation.written, conversation.durable) = (Int(ack.written), Int(ack.durable))
    case .end, .close: break
    }
  }

  private func pieces(
    _ header: DataHeader, _ bytes: [UInt8], _ body: Range<Int>, _ conversation: Conversation
  ) throws(Violation) -> [Piece] {
    var (reader, entries) = (EntryReader(body.lowerBound + Limits.dataHeader..<body.upperBound), bytes)
    if header.encoding == .zstd {
      let payload = body.lowerBound + Limits.dataHeader..<body.upperBound
      do { try decompression.unpack(bytes, payload, to: header.plainLength) } catch {
        throw Violation(.value, "compressed data")
      }
      (reader, entries) = (EntryReader(0..<header.plainLength), decompression.entries)
    }
    var pieces: [Piece] = []
    while let entry = try reader.next(entries.span) {
      switch entry {
      case .item(let record, let content):
        if record.kind == .hardLink { change(conversation) { $0.exempt.insert(record.path) } }
        // A large file's record has none of its bytes.
        if record.size > 0, content == nil { continue }
        pieces.append(Piece(item: Item(path: record.path, generation: record.generation), range: 0..<UInt64.max))
      case .chunk(let place, _, _), .hole(let place, _), .base(let place, _, _):
        pieces.append(Piece(item: Item(path: place.path, generation: place.generation), range: place.range))
      }
    }
    return pieces
  }

  private func check(_ piece: Piece, _ conversation: Conversation) {
    guard let transfer = conversation.session.flatMap({ transfers[$0] }), let facts = facts[transfer],
      !facts.exempt.contains(piece.item.path), let held = facts.written[piece.item],
      held.cover(of: piece.range) != .none
    else { return }
    let path = String(decoding: piece.item.path.bytes, as: UTF8.self)
    broken = broken ?? "\(path) was acknowledged, and is sent again"
  }
}

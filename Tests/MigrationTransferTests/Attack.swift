import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A hostile sender and a real receiver, over real TLS, with something to lose beside the
/// destination.
struct Attack {
  static let root = Root(kind: .directory, name: Array("root".utf8))

  let surroundings: Surroundings
  private let offer: Offer

  init(_ offer: Offer = StrangeSender.offer([root])) throws {
    surroundings = try Surroundings()
    self.offer = offer
  }

  /// Pairs, has the offer accepted, joins one stream, and lets `act` misbehave. Returns the
  /// receiver's result and its messages.
  func misbehave(
    _ act: (inout StrangeSender, inout StrangeClient, TransferKeys) throws -> Void
  ) throws -> (TransferFailure?, Close.Code?) {
    let receiver = try surroundings.receiver()
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(offer))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try act(&sender, &stream, accept.keys)
    let code = try sender.closeCode()
    // The receiver waits a moment for a sender that does not close.
    stream.connection.close()
    sender.control.close()
    return (receiver.failure(), code)
  }

  /// Sends one frame, which must be refused; how.
  func refused(
    with code: Close.Code = .violation, sourceLocation: SourceLocation = #_sourceLocation,
    _ build: (inout StrangeFrame, TransferKeys) throws -> Void
  ) throws -> TransferFailure? {
    let (failure, told) = try misbehave { _, stream, keys in
      var frame = StrangeFrame()
      try build(&frame, keys)
      try stream.say(frame.frame(0))
    }
    #expect(told == code, sourceLocation: sourceLocation)
    surroundings.expectNothingArrived(sourceLocation: sourceLocation)
    return failure
  }

  /// Makes an offer that must be refused; how.
  func refusedOffer(_ offer: Offer) throws -> TransferFailure? {
    let receiver = try surroundings.receiver()
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    sender.propose(offer)
    #expect(try sender.closeCode() == .violation)
    sender.control.close()
    return receiver.failure()
  }

  /// Sends one frame, and ends the archive of these records; how that ended.
  func concluded(
    _ build: (inout StrangeFrame, TransferKeys) throws -> [ItemRecord]
  ) throws -> (TransferFailure?, Close.Code?) {
    try conclude(build) { sender, receiver in
      let code = try sender.closeCode()
      sender.control.close()
      return (receiver.failure(), code)
    }
  }

  /// The same, of an archive that is taken; the receiver's last word.
  func taken(_ build: (inout StrangeFrame, TransferKeys) throws -> [ItemRecord]) throws -> Done? {
    try conclude(build) { sender, receiver in
      let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
      sender.control.say(.receipt)
      sender.control.close()
      _ = try receiver.result()
      return done
    }
  }

  private func conclude<Value>(
    _ build: (inout StrangeFrame, TransferKeys) throws -> [ItemRecord],
    _ end: (inout StrangeSender, RunningReceiver) throws -> Value
  ) throws -> Value {
    let receiver = try surroundings.receiver()
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(offer))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    var frame = StrangeFrame()
    let records = try build(&frame, accept.keys)
    try stream.say(frame.frame(0) + StreamMessage.end.frame())
    // Refused already, perhaps; then there is no acknowledgement.
    _ = try? stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    let digest = records.reduce(UInt128(0)) { $0 &+ accept.keys.mark(path: $1.path, generation: $1.generation) }
    let total = Tally(items: UInt64(records.count), bytes: records.reduce(0) { $0 + $1.size })
    sender.control.say(.finish(Finish(total: total, unsent: 0, digest: digest)))
    stream.connection.close()
    return try end(&sender, receiver)
  }

  /// An honest sender's file arrives in the destination, and nothing beside it was touched.
  func expectHarmless(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try surroundings.expectHonestArrival(sourceLocation: sourceLocation)
    try surroundings.expectUntouched(sourceLocation: sourceLocation)
  }
}

/// A record with any fields that a test wants, well formed.
struct StrangeRecord {
  private var fields = Fields()

  init(
    _ path: [UInt8], _ kind: ItemKind, size: UInt64? = nil, mode: UInt16? = nil, target: [UInt8]? = nil,
    attributes: [UInt8]? = nil, accessList: [UInt8]? = nil
  ) {
    self.init(path, kind: kind.rawValue, size, mode, target, attributes, accessList)
  }

  init(_ path: [UInt8], kind: UInt8) { self.init(path, kind: kind, nil, nil, nil, nil, nil) }

  private init(
    _ path: [UInt8], kind: UInt8, _ size: UInt64?, _ mode: UInt16?, _ target: [UInt8]?, _ attributes: [UInt8]?,
    _ accessList: [UInt8]?
  ) {
    fields.append(1, path)
    fields.append(2, [kind])
    fields.append(3) { $0.u128(1) }
    if let size { fields.append(4) { $0.u64(size) } }
    if let mode { fields.append(5) { $0.u16(mode) } }
    if let target { fields.append(7, target) }
    if let attributes { fields.append(9, attributes) }
    if let accessList { fields.append(10, accessList) }
  }

  var bytes: [UInt8] {
    var writer = ByteWriter()
    fields.write(to: &writer)
    return writer.bytes
  }
}

func record(_ path: String, _ body: ItemRecord.Body, _ generation: Generation = 1) throws -> ItemRecord {
  ItemRecord(path: try ArchivePath(Array(path.utf8)), generation: generation, body: body)
}

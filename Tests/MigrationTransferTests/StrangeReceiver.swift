import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver that pairs honestly, and afterwards sends any messages that a test wants.
final class StrangeReceiver: Sendable {
  private let listening: ListeningSocket
  private let secret: PairingSecret
  /// The code that proves its sender.
  let code = PairingCode(number: 1_234_567)
  let identity: Identity

  init() throws {
    secret = try PairingSecret.scalar(fromDigits: code.digits)
    identity = try Identity.generate()
    listening = try ListeningSocket(host: "127.0.0.1", port: 0)
  }

  var port: UInt16 { listening.port }

  /// Takes the next connection, and shakes hands.
  func accept(as other: Identity? = nil) throws -> Connection {
    let context = try TLSContext(role: .server, identity: other ?? identity)
    var connection = try Connection(try listening.acceptNextThatSpeaks(), context, wakeup: try Wakeup())
    try connection.handshake(until: soon())
    return connection
  }

  /// Pairs with the next client; its control connection.
  func pair() throws -> StrangeSender {
    var connection = try accept()
    try prove(&connection)
    return StrangeSender(control: BlockingLink(connection, pace: .patient), identity: identity)
  }

  /// The next connection, or nil if it ends before it has shaken hands.
  private func next() throws -> Connection? {
    let socket = try listening.acceptNextThatSpeaks()
    var connection = try Connection(
      socket, try TLSContext(role: .server, identity: identity), wakeup: try Wakeup())
    do {
      try connection.handshake(until: soon())
    } catch {
      return nil
    }
    return connection
  }

  /// Takes the next connection, and cuts it.
  func acceptAndCut() throws { _ = try listening.acceptNextThatSpeaks() }

  /// Takes the next connection of a client that wants to come back to a session; those that want to
  /// join are cut.
  func acceptReturning() throws -> Connection {
    while true {
      // A data stream of the session before may have been on its way, and be given up by now.
      guard var connection = try next() else { continue }
      let mode = try? ServerPairing.hello(&connection, until: soon()).0
      if mode == .resume { return connection }
    }
  }

  /// Everything up to the client's confirmation, which is not read.
  func exchangeShares(_ connection: inout Connection) throws {
    _ = try ServerPairing.hello(&connection, until: soon())
    guard case (.pairA, _) = try connection.pairingFrame(until: soon()) else { throw Violation(.state, "a test") }
    let exchange = try Spake2(
      role: .b, secret: try PairingSecret.scalar(fromDigits: code.digits), idA: [1], idB: [2], aad: [3])
    try connection.say(
      .serverHello(version: PairingFrame.version, mode: .pair), .pairB(exchange.share), until: soon())
  }

  /// Pairs with the client of a connection.
  func prove(_ connection: inout Connection) throws {
    let (_, hello) = try ServerPairing.hello(&connection, until: soon())
    let share = try ServerPairing.share(&connection, until: soon())
    let exchange = try ServerPairing.exchange(
      &connection, hello: hello, share: share, secret: secret, own: identity.fingerprint, until: soon())
    guard exchange.isRight else { throw AbortReason.codeMismatch }
    try ServerPairing.confirm(&connection, exchange.confirmation, until: soon())
  }

  /// Takes a sender back that has paired; its control connection.
  func takeBack() throws -> StrangeSender {
    var connection = try acceptReturning()
    try ServerPairing.welcome(back: .resume, on: &connection, until: soon())
    return StrangeSender(control: BlockingLink(connection, pace: .patient), identity: identity)
  }

  /// Says of the next data stream that it may not come.
  func turnAway(_ reason: AbortReason) throws {
    var connection = try accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    connection.abort(reason)
  }

  /// Takes the next data stream, up to its JOIN.
  func join() throws -> StrangeStream {
    var connection = try accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    try ServerPairing.welcome(back: .join, on: &connection, until: soon())
    var stream = StrangeStream(connection: connection)
    _ = try stream.next()
    return stream
  }

  static let greeting = ControlMessage.greeting(
    Greeting(role: .receiver, label: "strange", software: "test", features: []))

  static func verdict(
    window: UInt64 = Limits.window, streams: UInt16 = 1, _ parts: [Verdict.Judgement] = [.taken()]
  ) -> ControlMessage {
    .verdict(Verdict(transfer: 1, session: 2, window: window, streams: streams, parts: parts))
  }

  static let accept = ControlMessage.accept(Accept(keys: TransferKeys(hashKey: 4)))

  static let nothingHeld = ControlMessage.heldEnd(HeldEnd(held: Tally()))
}

/// The receiver's end of a data stream, read frame by frame.
struct StrangeStream: ~Copyable {
  var connection: Connection

  init(connection: consuming Connection) { self.connection = connection }

  /// The next frame; of DATA its header.
  mutating func next(until deadline: BootInstant = soon()) throws -> StreamMessage {
    let start = try connection.readExactly(Limits.frameHeader, until: deadline)
    let header = try FrameHeader(start.span)
    let body = try connection.readExactly(header.length, until: deadline)
    let message = try StreamMessage(header.type, body.span, 0..<body.count)
    return try #require(message, "a frame of this version")
  }

  mutating func acknowledge(_ written: UInt64) throws {
    try connection.writeAll(StreamMessage.ack(Acknowledgement(written: written)).frame(), until: soon())
  }
}

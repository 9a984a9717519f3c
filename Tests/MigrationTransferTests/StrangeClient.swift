import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport

@testable import MigrationTransfer

/// A client that sends any messages that a test wants, over real TLS.
struct StrangeClient: ~Copyable {
  var connection: Connection
  let identity: Identity

  /// Connects and shakes hands; from an address of this machine that a test chooses, or from the
  /// usual one.
  init(port: UInt16, identity: Identity? = nil, from host: String? = nil) throws {
    let identity = try identity ?? Identity.generate()
    let connection = try Self.connect(port, identity, from: host)
    self.identity = identity
    self.connection = connection
  }

  private static func connect(_ port: UInt16, _ identity: Identity, from host: String?) throws -> Connection {
    let context = try TLSContext(role: .client, identity: identity)
    if let host {
      var connection = try Connection(try StreamSocket.toThisMachine(port, from: host), context, wakeup: try Wakeup())
      try connection.handshake(until: soon())
      return connection
    }
    let dialing = Dialing(context: context, pinned: nil) { false }
    return try dialing.connect(to: [.loopback(port: port)], wakeup: try Wakeup())
  }

  /// Everything up to the answer to PAIR_A; the confirmations that would be right for `code`.
  mutating func exchangeShares(_ code: PairingCode) throws -> (confirmA: [UInt8], confirmB: [UInt8]) {
    let hello = PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair)
    let answer = PairingFrame.serverHello(version: PairingFrame.version, mode: .pair).bytes
    let binding = try connection.channelBinding()
    let server = connection.peerFingerprint!
    let exchange = try Spake2(
      role: .a, secret: try PairingSecret.scalar(fromDigits: code.digits),
      idA: PairingBinding.identityA(client: identity.fingerprint, channelBinding: binding),
      idB: PairingBinding.identityB(server: server, channelBinding: binding),
      aad: PairingBinding.associatedData(clientHello: hello.bytes, serverHello: answer))
    try connection.say(hello, .pairA(exchange.share), until: soon())
    _ = try connection.pairingFrame(until: soon())
    guard case (.pairB(let share), _) = try connection.pairingFrame(until: soon()) else {
      throw Violation(.state, "a test")
    }
    let keys = try exchange.finish(peerShare: share)
    return (keys.confirmA, keys.confirmB)
  }

  /// Sends a confirmation; the refusal, nil when it was taken.
  mutating func confirm(_ confirmation: [UInt8]) throws -> AbortReason? {
    try connection.say(.confirmA(confirmation), until: soon())
    return try refusal()
  }

  /// The receiver's answer: nil for a frame, else its reason.
  mutating func refusal() throws -> AbortReason? {
    do throws(ConnectionError) {
      _ = try connection.pairingFrame(until: soon())
      return nil
    } catch {
      guard let reason = error.reason else { throw error }
      return reason
    }
  }

  /// Guesses without knowing any code: a share that is a point, the curve's own, and a confirmation
  /// of zeros. The refusal, nil when it was taken.
  mutating func guess() throws -> AbortReason? {
    let share =
      "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
      + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
    let point = stride(from: 0, to: share.utf8.count, by: 2).map { index in
      UInt8(share.dropFirst(index).prefix(2), radix: 16) ?? 0
    }
    try connection.say(
      .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair), .pairA(point), until: soon())
    if let refusal = try refusal() { return refusal }
    _ = try connection.pairingFrame(until: soon())
    return try confirm([UInt8](repeating: 0, count: 32))
  }

  /// Sends raw bytes.
  mutating func say(_ bytes: [UInt8]) throws { try connection.writeAll(bytes, until: soon()) }

  /// Pairs with the right code, and becomes a control connection.
  consuming func pair(_ code: PairingCode) throws -> StrangeSender {
    let confirmations = try exchangeShares(code)
    guard try confirm(confirmations.confirmA) == nil else { throw AbortReason.codeMismatch }
    try connection.say(.ready, until: soon())
    let identity = identity
    return StrangeSender(control: BlockingLink(connection, pace: .patient), identity: identity)
  }

  /// Comes back to a transfer that this identity has paired for.
  consuming func comeBack() throws -> StrangeSender {
    try ClientPairing.come(back: .resume, on: &connection, until: soon())
    let identity = identity
    return StrangeSender(control: BlockingLink(connection, pace: .patient), identity: identity)
  }
}

/// A paired sender that sends any messages that a test wants.
struct StrangeSender: ~Copyable {
  var control: BlockingLink
  let identity: Identity
  /// The received messages that were not asked for yet.
  private var heard: [ControlMessage] = []

  init(control: consuming BlockingLink, identity: Identity) {
    self.control = control
    self.identity = identity
  }

  static let greeting = greeting(with: [])

  static func greeting(with features: Features) -> ControlMessage {
    .greeting(Greeting(role: .sender, label: "strange", software: "test", features: features))
  }

  static func offer(
    _ roots: [Root], items: UInt64 = 10, bytes: UInt64 = 1 << 20, flags: Offer.Flags = []
  ) -> Offer {
    Offer(contents: .folders(roots), items: items, bytes: bytes, allocated: bytes, flags: flags)
  }

  /// The next message that `pick` takes; nil when the receiver closes first.
  mutating func next<Value>(_ pick: (ControlMessage) -> Value?) throws -> Value? {
    let deadline = soon()
    while BootInstant.now() < deadline {
      while !heard.isEmpty {
        let message = heard.removeFirst()
        if let value = pick(message) { return value }
        if case .close = message { return nil }
      }
      heard += try control.exchange(until: deadline)
    }
    throw TookTooLong("a message")
  }

  /// Drops the received messages, and keeps those that come meanwhile.
  mutating func passOn() throws { heard += try control.exchange(until: .now()) }

  /// The reason that the other end gives for closing, or for the end of the only part.
  mutating func reason() throws -> Close? {
    try next { message -> Close? in
      switch message {
      case .close(let close): return close
      case .failed(let failed): return failed.close
      case .verdict(let verdict):
        guard case .refused(let close) = verdict.parts[0] else { return nil }
        return close
      default: return nil
      }
    }
  }

  mutating func closeCode() throws -> Close.Code? { try reason()?.code }

  /// Greets, and says a plan of one part.
  mutating func propose(_ offer: Offer, continuing transfer: TransferID? = nil, features: Features = []) {
    control.say(Self.greeting(with: features))
    control.say(.plan(Plan([Part(offer)], continuing: transfer)))
  }

  /// The same; hears the verdict, and makes the offer unless the part is refused.
  mutating func offer(
    _ offer: Offer, continuing transfer: TransferID? = nil, features: Features = []
  ) throws -> Verdict? {
    propose(offer, continuing: transfer, features: features)
    let verdict = try next { if case .verdict(let verdict) = $0 { verdict } else { nil } }
    switch verdict?.parts[0] {
    case .taken?, .finished?: control.say(.offer(PartTotals(offer)))
    case .refused?, nil: break
    }
    return verdict
  }

  /// The same, and hears the whole ledger; nil where the part is refused or has failed.
  mutating func begin(
    _ offer: Offer, continuing transfer: TransferID? = nil, features: Features = []
  ) throws -> Begun? {
    guard let verdict = try self.offer(offer, continuing: transfer, features: features),
      case .taken = verdict.parts[0]
    else { return nil }
    let accept = try next { message -> Accept?? in
      switch message {
      case .accept(let accept): .some(accept)
      case .failed: .some(nil)
      default: nil
      }
    }
    guard let accept = accept ?? nil else { return nil }
    _ = try next { if case .heldEnd = $0 { true } else { nil } }
    return Begun(transfer: verdict.transfer, session: verdict.session, keys: accept.keys)
  }

  /// Joins a data stream.
  func join(_ port: UInt16, _ join: Join, as other: Identity? = nil) throws -> StrangeClient {
    var client = try StrangeClient(port: port, identity: other ?? identity)
    try ClientPairing.come(back: .join, on: &client.connection, until: soon())
    try client.say(StreamMessage.join(join).frame())
    return client
  }
}

/// What a sender knows of a part that is accepted.
struct Begun: Sendable {
  let transfer: TransferID
  let session: SessionID
  let keys: TransferKeys
}

extension Part {
  /// A part by an offer.
  init(_ offer: Offer) {
    self.init(
      SourceSummary(
        contents: offer.contents, total: Tally(items: offer.items, bytes: offer.bytes), allocated: offer.allocated))
  }
}

extension PartTotals {
  init(_ offer: Offer) {
    self.init(
      items: offer.items, bytes: offer.bytes, allocated: offer.allocated, flags: offer.flags)
  }
}

/// Puts entries together for a DATA frame.
struct StrangeFrame {
  private var entries = ByteWriter()

  /// The entries as they are.
  var plain: [UInt8] { entries.bytes }

  mutating func item(_ record: ItemRecord) { EntryWriter.item(record, to: &entries) }

  mutating func file(_ record: ItemRecord, _ content: [UInt8], _ keys: TransferKeys, spoil: Bool = false) {
    item(record)
    let place = FilePiece(path: record.path, generation: record.generation, range: 0..<record.size)
    EntryWriter.content(length: content.count, keys.check(place, content.span), to: &entries)
    entries.array(spoil ? content.map { $0 ^ 1 } : content)
  }

  mutating func chunk(_ place: FilePiece, _ content: [UInt8], _ keys: TransferKeys) {
    EntryWriter.place(place, keys.check(place, content.span), to: &entries)
    entries.array(content)
  }

  func frame(_ sequence: UInt64) -> [UInt8] {
    let header = DataHeader(sequence: sequence, encoding: .plain, plainLength: entries.bytes.count)
    return StreamMessage.data(header).frame(payload: entries.bytes.count) + entries.bytes
  }
}

func record(_ path: String, _ body: ItemRecord.Body, _ generation: Generation = 1) throws -> ItemRecord {
  ItemRecord(path: try ArchivePath(Array(path.utf8)), generation: generation, body: body)
}

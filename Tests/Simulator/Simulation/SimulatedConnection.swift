import MigrationEngine
import MigrationWire

/// One end of a connection, with the received bytes that the loop or a worker has not read.
final class SimulatedConnection {
  let id: ConnectionID
  let wire: Wire
  let end: Wire.End
  let device: Device
  private var inbox: [UInt8] = []
  /// Whether nothing more arrives.
  private(set) var isEnded = false
  /// Whether this end has closed it.
  private(set) var isClosed = false
  /// The device at the other end.
  var other: Device? { wire.device(at: end.other) }
  /// Called when there may be new bytes.
  private var reader: (() -> Void)?

  init(_ id: ConnectionID, _ wire: Wire, _ end: Wire.End, of device: Device) {
    self.id = id
    self.wire = wire
    self.end = end
    self.device = device
    wire.attach(end, self)
  }

  func arrived(_ bytes: [UInt8]) {
    guard !isClosed else { return }
    inbox += bytes
    poke()
  }

  func heardEnd() {
    isEnded = true
    poke()
  }

  private func poke() {
    guard reader != nil else { return }
    device.whenAwake { [self] in reader?() }
  }

  /// Sets the reader, which is called when bytes have arrived, and soon if there are some already.
  func read(_ reader: @escaping () -> Void) {
    self.reader = reader
    if !inbox.isEmpty || isEnded { device.run(after: 0) { [self] in self.reader?() } }
  }

  /// Removes the reader.
  func stopReading() { reader = nil }

  /// How many bytes have arrived and were not read.
  var count: Int { inbox.count }

  /// The first byte, which stays.
  var first: UInt8? { inbox.first }

  /// Takes so many bytes, if they have arrived.
  func take(_ count: Int) -> [UInt8]? {
    guard inbox.count >= count else { return nil }
    defer { inbox.removeFirst(count) }
    return Array(inbox[..<count])
  }

  /// Takes all bytes that have arrived.
  func takeAll() -> [UInt8] {
    defer { inbox = [] }
    return inbox
  }

  func send(_ bytes: [UInt8]) {
    if !isClosed { wire.send(bytes, from: end) }
  }

  /// Closes it; bytes that were sent arrive.
  func close() {
    guard !isClosed else { return }
    stopReading()
    isClosed = true
    inbox = []
    wire.close(by: end)
  }

  /// Ends sending; receiving continues.
  func closeSending() { wire.close(by: end) }

  /// The process has ended, and the connection with it.
  func abandon() {
    stopReading()
    isClosed = true
    wire.cut()
  }
}

/// The handshake before READY, without the cryptography: messages with a type and a number each.
struct HandshakeMessage {
  enum Kind: UInt8 {
    case clientHello = 0x16
    case serverHello = 1
    case finished = 2
    case mode = 3
    case pairB = 4
    case confirmation = 5
    case ready = 6
    case heard = 7
    case abort = 8
    case pairA = 9
  }

  static let size = 9

  let kind: Kind
  let value: UInt64

  init(_ kind: Kind, _ value: UInt64 = 0) {
    self.kind = kind
    self.value = value
  }

  /// Reads the output of `bytes`; nil for anything else.
  init?(_ bytes: [UInt8]) {
    guard let kind = Kind(rawValue: bytes[0]) else { return nil }
    self.kind = kind
    value = bytes.dropFirst().reduce(0) { $0 << 8 | UInt64($1) }
  }

  var bytes: [UInt8] { [kind.rawValue] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) } }
}

extension KeyFingerprint {
  /// The key with a number; no key has 0.
  init(number: UInt64) {
    self.init(digest: (0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) : 0 })
  }

  /// The number of a key of a simulation.
  var number: UInt64 { bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

import MigrationEngine
import MigrationSystem

/// The connections that have arrived and are not admitted yet: a descriptor each, and no thread.
struct AcceptQueue {
  private final class Visitor {
    var socket: StreamSocket?
    /// The number of bytes with which its first record can be judged; nil when the record is
    /// complete.
    var needed: Int? = 0

    init(_ socket: consuming StreamSocket) { self.socket = consume socket }
  }

  /// The result of a look at a connection.
  enum Look {
    case incomplete
    case complete
    /// The connection has ended, or does not speak TLS.
    case worthless
  }

  private var visitors: [ConnectionID: Visitor] = [:]
  private var scratch = [UInt8](repeating: 0, count: 8)

  func contains(_ id: ConnectionID) -> Bool { visitors[id] != nil }

  /// Adds a connection.
  mutating func add(_ id: ConnectionID, _ socket: consuming StreamSocket) { visitors[id] = Visitor(socket) }

  /// Removes and returns a connection; nil when it is not here.
  mutating func remove(_ id: ConnectionID) -> Handover<StreamSocket>? {
    guard let socket = visitors.removeValue(forKey: id)?.socket.take() else { return nil }
    return Handover(socket)
  }

  /// The connections without a complete first record, and the descriptors that become readable with
  /// more of it.
  var incomplete: [(id: ConnectionID, raw: CInt)] {
    visitors.compactMap { id, visitor in
      guard visitor.needed != nil, let raw = visitor.socket?.raw else { return nil }
      return (id, raw)
    }
  }

  /// Checks how much of the first record has arrived, and lets the kernel wait for the rest.
  mutating func look(at id: ConnectionID) -> Look {
    guard let visitor = visitors[id], let needed = visitor.needed else { return .complete }
    do throws(SystemError) {
      visitor.needed = try judge(visitor, needed)
      return visitor.needed == nil ? .complete : .incomplete
    } catch {
      return .worthless
    }
  }

  /// The number of bytes to wait for; nil when the record is complete. Fails when it never will be.
  private mutating func judge(_ visitor: Visitor, _ needed: Int) throws(SystemError) -> Int? {
    let count = try peek(visitor)
    guard count != 0, let next = Self.firstRecordNeeds(scratch.span.extracting(..<(count ?? 0))) else {
      throw SystemError(reason: "it is no connection for this program", operation: "listen")
    }
    // The kernel has reported that many bytes, or that no more will arrive: the worker finds out.
    try visitor.socket?.setReadableFrom(bytes: next == needed ? 1 : next)
    return next == needed ? nil : next
  }

  private mutating func peek(_ visitor: Visitor) throws(SystemError) -> Int? {
    try visitor.socket?.peek(into: &scratch) ?? nil
  }
}

extension AcceptQueue {
  private static let header = 5
  private static let handshake: UInt8 = 22
  private static let longest = 16_384

  /// The number of bytes with which more is known about the first record of a connection that
  /// begins with these bytes: its length, or the whole record. TLS begins with a record that holds
  /// the client's hello; nil if the bytes are not TLS.
  static func firstRecordNeeds(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.isEmpty || bytes[0] == handshake, bytes.count < 2 || bytes[1] == 3 else { return nil }
    guard bytes.count >= header else { return header }
    let length = Int(bytes[3]) << 8 | Int(bytes[4])
    return 1...longest ~= length ? header + length : nil
  }
}

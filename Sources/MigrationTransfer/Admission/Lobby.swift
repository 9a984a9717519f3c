import MigrationEngine
import MigrationSystem
import Synchronization

/// Carries a socket into the thread that will own it.
final class Parcel: Sendable {
  let raw: CInt
  private let socket: Mutex<StreamSocket?>

  init(_ socket: consuming StreamSocket) {
    raw = socket.raw
    self.socket = Mutex(socket)
  }

  func open() -> StreamSocket? { socket.withLock { $0.take() } }

  /// Uses the socket where it is; nil when it is gone.
  func use<Value>(_ body: (borrowing StreamSocket) throws(SystemError) -> Value) throws(SystemError) -> Value? {
    try socket.withLock { (socket) throws(SystemError) -> Value? in
      switch socket {
      case .some(let socket): try body(socket)
      case .none: nil
      }
    }
  }
}

/// The connections that have come and are not let in yet: a descriptor each, and no thread. The listening thread owns it.
struct Lobby {
  typealias Ticket = Admission.Ticket

  private struct Visitor {
    let parcel: Parcel
    /// How many bytes there must be before its first record can be judged; nil when it is there.
    var needed: Int?
  }

  /// What the first look at a connection, or another one, has shown.
  enum Look {
    case incomplete
    case complete
    /// It has ended, or is no TLS.
    case worthless
  }

  private var visitors: [Ticket: Visitor] = [:]
  private var scratch = [UInt8](repeating: 0, count: 8)

  /// A connection has come.
  mutating func add(_ ticket: Ticket, _ parcel: Parcel) -> Look {
    visitors[ticket] = Visitor(parcel: parcel, needed: 0)
    return look(at: ticket)
  }

  /// Gives a connection away; nil when it is gone.
  mutating func remove(_ ticket: Ticket) -> Parcel? { visitors.removeValue(forKey: ticket)?.parcel }

  /// Those whose first record is not there, and the descriptors that tell when more of it is.
  var incomplete: [(ticket: Ticket, raw: CInt)] {
    visitors.compactMap { $0.value.needed == nil ? nil : ($0.key, $0.value.parcel.raw) }
  }

  /// Looks how much of the first record is there, and lets the kernel wait for the rest of it.
  mutating func look(at ticket: Ticket) -> Look {
    guard let visitor = visitors[ticket], let needed = visitor.needed else { return .complete }
    do throws(SystemError) {
      let next = try visitor.parcel.use { (socket) throws(SystemError) in try judge(socket, needed) }
      guard case .some(let next) = next else { return .worthless }
      visitors[ticket]?.needed = next
      return next == nil ? .complete : .incomplete
    } catch {
      return .worthless
    }
  }

  /// How many bytes there must be; nil when it is complete. Fails when it will never be.
  private mutating func judge(_ socket: borrowing StreamSocket, _ needed: Int) throws(SystemError) -> Int? {
    var target = scratch.mutableSpan
    let count = try unsafe target.withUnsafeMutableBytes { (bytes) throws(SystemError) in
      try unsafe socket.peek(into: bytes)
    }
    guard count != 0, let next = FirstRecord(scratch.span.extracting(..<(count ?? 0))).needed else {
      throw SystemError(reason: "it is no connection for this program", operation: "listen")
    }
    // The kernel has said that so much is there, or that no more will come: the thread that takes it over will see.
    if next == needed {
      try socket.setReadableFrom(bytes: 1)
      return nil
    }
    try socket.setReadableFrom(bytes: next)
    return next
  }
}

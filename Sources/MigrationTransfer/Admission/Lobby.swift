import MigrationEngine
import MigrationSystem

/// The connections that have come and are not let in yet: a descriptor each, and no thread. The
/// loop's thread owns it.
struct Lobby {
  private final class Visitor {
    var socket: StreamSocket?
    /// How many bytes there must be before its first record can be judged; nil when it is there.
    var needed: Int? = 0

    init(_ socket: consuming StreamSocket) { self.socket = consume socket }
  }

  /// The result of a look at a connection.
  enum Look {
    case incomplete
    case complete
    /// It has ended, or is no TLS.
    case worthless
  }

  private var visitors: [ConnectionID: Visitor] = [:]
  private var scratch = [UInt8](repeating: 0, count: 8)

  var count: Int { visitors.count }

  func contains(_ id: ConnectionID) -> Bool { visitors[id] != nil }

  /// A connection has come.
  mutating func add(_ id: ConnectionID, _ socket: consuming StreamSocket) { visitors[id] = Visitor(socket) }

  /// Gives a connection away; nil when it is gone.
  mutating func remove(_ id: ConnectionID) -> Handover<StreamSocket>? {
    guard let socket = visitors.removeValue(forKey: id)?.socket.take() else { return nil }
    return Handover(socket)
  }

  /// Those whose first record is not there, and the descriptors that tell when more of it is.
  var incomplete: [(id: ConnectionID, raw: CInt)] {
    visitors.compactMap { id, visitor in
      guard visitor.needed != nil, let raw = visitor.socket?.raw else { return nil }
      return (id, raw)
    }
  }

  /// Looks how much of the first record is there, and lets the kernel wait for the rest of it.
  mutating func look(at id: ConnectionID) -> Look {
    guard let visitor = visitors[id], let needed = visitor.needed else { return .complete }
    do throws(SystemError) {
      visitor.needed = try judge(visitor, needed)
      return visitor.needed == nil ? .complete : .incomplete
    } catch {
      return .worthless
    }
  }

  /// How many bytes there must be; nil when it is complete. Fails when it will never be.
  private mutating func judge(_ visitor: Visitor, _ needed: Int) throws(SystemError) -> Int? {
    let count = try peek(visitor)
    guard count != 0, let next = FirstRecord(scratch.span.extracting(..<(count ?? 0))).needed else {
      throw SystemError(reason: "it is no connection for this program", operation: "listen")
    }
    // The kernel has said that so much is there, or that no more will come: the worker that takes
    // it over will see.
    try visitor.socket?.setReadableFrom(bytes: next == needed ? 1 : next)
    return next == needed ? nil : next
  }

  private mutating func peek(_ visitor: Visitor) throws(SystemError) -> Int? {
    try visitor.socket?.peek(into: &scratch) ?? nil
  }
}

import MigrationWire

/// The data streams of one session: the used numbers, the served streams, and the replacement
/// streams that wait for the broken streams to end (Protocol §7.3).
struct StreamTable: Sendable {
  /// A connection that has joined, and is not yet served.
  private struct Newcomer: Sendable {
    let connection: ConnectionID
    let join: Join
    /// The connections of streams that must end before it is served.
    let replaced: Set<ConnectionID>
    /// Why the connection is refused; nil for one that will be served.
    var refusal: Refusal?
  }

  let session: SessionID
  /// The used numbers, each with the connections that must end before a replacement of that number
  /// is served.
  private var used: [UInt32: Set<ConnectionID>] = [:]
  /// Every number up to this one counts as replaced: other streams may have replaced a stream that
  /// comes late.
  private var replacedUpTo: UInt32?
  private var live: [UInt32: ConnectionID] = [:]
  private var newcomers: [Newcomer] = []

  init(session: SessionID) { self.session = session }

  /// The connections that are served.
  var served: [ConnectionID] { live.values.sorted() }
  /// The connections that wait.
  var waiting: [ConnectionID] { newcomers.map(\.connection) }

  /// A connection has joined. Returns the connections of the streams that it replaces, which are to
  /// end.
  mutating func join(_ connection: ConnectionID, _ join: Join) -> [ConnectionID] {
    var newcomer = Newcomer(connection: connection, join: join, replaced: [])
    newcomer.refusal = refusal(of: join)
    if newcomer.refusal == nil {
      let replaced = join.replaces.map { replace($0) } ?? []
      used[join.stream] = replaced
      newcomer = Newcomer(connection: connection, join: join, replaced: replaced)
    }
    newcomers.append(newcomer)
    return newcomer.replaced.intersection(live.values).sorted()
  }

  /// The reason why a stream of this number cannot begin; nil if it may.
  private func refusal(of join: Join) -> Refusal? {
    if join.replaces == join.stream { return .itself(join.stream) }
    if let replacedUpTo, join.stream <= replacedUpTo {
      let least = (replacedUpTo...).dropFirst().first { used[$0] == nil }
      return .late(join.stream, least: least ?? .max)
    }
    return used[join.stream] != nil ? .used(join.stream) : nil
  }

  /// A stream is replaced, and must neither come nor wait any more. Returns the connections that
  /// must end before its replacement is served.
  private mutating func replace(_ number: UInt32) -> Set<ConnectionID> {
    guard let replaced = used[number] else { return replaceUnseen(number) }
    turnAway { $0 == number }
    return replaced
  }

  /// A replaced stream that has not come may itself have been meant to replace any stream, and the
  /// streams replaced by that one.
  private mutating func replaceUnseen(_ number: UInt32) -> Set<ConnectionID> {
    let replaced = Set(live.values)
    turnAway { _ in true }
    used[number] = replaced
    replacedUpTo = max(replacedUpTo ?? 0, number)
    return replaced
  }

  private mutating func turnAway(where isMeant: (UInt32) -> Bool) {
    for index in newcomers.indices where isMeant(newcomers[index].join.stream) {
      newcomers[index].refusal = newcomers[index].refusal ?? .replaced(newcomers[index].join.stream)
    }
  }

  /// The next waiting connection that has nothing left to wait for, and the reason for a refusal;
  /// nil if it is served.
  mutating func next() -> (ConnectionID, Join, refusal: Refusal?)? {
    let live = Set(self.live.values)
    guard let index = newcomers.firstIndex(where: { $0.refusal != nil || $0.replaced.isDisjoint(with: live) }) else {
      return nil
    }
    var newcomer = newcomers.remove(at: index)
    if newcomer.refusal == nil, self.live.count >= Int(ReceiverEngine.streams) {
      newcomer.refusal = .tooMany(newcomer.join.stream, joined: self.live.count)
    }
    if newcomer.refusal == nil {
      self.live[newcomer.join.stream] = newcomer.connection
      used[newcomer.join.stream] = [newcomer.connection]
    }
    return (newcomer.connection, newcomer.join, newcomer.refusal)
  }

  /// A stream has ended; returns whether it belongs to this session.
  mutating func end(_ connection: ConnectionID) -> Bool {
    guard let number = live.first(where: { $0.value == connection })?.key else { return false }
    live[number] = nil
    return true
  }

  /// Turns all waiting connections away, and returns them.
  mutating func turnAway() -> [ConnectionID] {
    defer { newcomers = [] }
    return waiting
  }

  /// The reason why no data stream begins on a connection that has sent JOIN (Protocol §7.3). The
  /// session continues, and another connection may succeed.
  enum Refusal: Equatable, Sendable {
    /// It is for one session, and another session is running.
    case otherSession(SessionID, current: SessionID)
    /// A stream of its number has joined before.
    case used(UInt32)
    /// It may be one of the replaced streams; `least` is the least number that may still join.
    case late(UInt32, least: UInt32)
    /// It is to replace itself.
    case itself(UInt32)
    /// It was replaced before it was served.
    case replaced(UInt32)
    /// The greatest number of streams has joined.
    case tooMany(UInt32, joined: Int)

    /// The sender's answer on that connection. Every sender connects again after this code.
    var close: Close {
      switch self {
      case .otherSession(let session, let current):
        Close(
          .silent,
          "a stream of session \(session.hexadecimal) cannot join, since session \(current.hexadecimal) is running")
      case .used(let number):
        Close(.silent, "stream \(number) cannot join, since a stream of that number has joined before")
      case .late(let number, let least):
        Close(.silent, "stream \(number) may have been replaced, so the next number is at least \(least)")
      case .itself(let number): Close(.silent, "stream \(number) cannot replace itself")
      case .replaced(let number): Close(.silent, "stream \(number) was replaced before it was served")
      case .tooMany(let number, let joined):
        Close(
          .silent, "stream \(number) cannot join, since \(joined) of \(ReceiverEngine.streams) streams have joined")
      }
    }
  }
}

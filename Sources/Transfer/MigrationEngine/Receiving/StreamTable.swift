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
    /// The answer to a connection that is refused; nil for one that will be served. The session continues, and
    /// every sender connects again after such an answer.
    var refusal: Close?
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
    var replaced: Set<ConnectionID> = []
    let refusal = refusal(of: join)
    if refusal == nil {
      replaced = join.replaces.map { replace($0) } ?? []
      used[join.stream] = replaced
    }
    newcomers.append(Newcomer(connection: connection, join: join, replaced: replaced, refusal: refusal))
    return replaced.intersection(live.values).sorted()
  }

  /// The answer to a stream that cannot begin; nil if it may.
  private func refusal(of join: Join) -> Close? {
    if join.replaces == join.stream { return Close(.silent, "stream \(join.stream) cannot replace itself") }
    if let replacedUpTo, join.stream <= replacedUpTo {
      let least = (replacedUpTo...).dropFirst().first { used[$0] == nil } ?? .max
      return Close(.silent, "stream \(join.stream) may have been replaced, so the next number is at least \(least)")
    }
    guard used[join.stream] != nil else { return nil }
    return Close(.silent, "stream \(join.stream) cannot join, since a stream of that number has joined before")
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
    for index in newcomers.indices where isMeant(newcomers[index].join.stream) && newcomers[index].refusal == nil {
      let number = newcomers[index].join.stream
      newcomers[index].refusal = Close(.silent, "stream \(number) was replaced before it was served")
    }
  }

  /// The next waiting connection that has nothing left to wait for, and the answer that refuses it;
  /// nil if it is served.
  mutating func next() -> (ConnectionID, Join, refusal: Close?)? {
    let live = Set(self.live.values)
    guard let index = newcomers.firstIndex(where: { $0.refusal != nil || $0.replaced.isDisjoint(with: live) }) else {
      return nil
    }
    var newcomer = newcomers.remove(at: index)
    if newcomer.refusal == nil, self.live.count >= Int(ReceiverEngine.streams) {
      newcomer.refusal = Close(
        .silent,
        "stream \(newcomer.join.stream) cannot join, since \(self.live.count) of \(ReceiverEngine.streams) streams "
          + "have joined")
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
}

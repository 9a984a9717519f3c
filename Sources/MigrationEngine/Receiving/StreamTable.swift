import MigrationWire

/// The data streams of one session: which numbers are used, which streams are served, and which wait for one that they replace
/// (Protocol §7.3).
struct StreamTable: Sendable {
  /// A connection that has joined, and the connections of streams that must end before it is served.
  private struct Newcomer: Sendable {
    let connection: ConnectionID
    let join: Join
    let replaced: Set<ConnectionID>
  }

  let session: SessionID
  /// What is used up: no other stream may have such a number.
  private var numbers: Set<UInt32> = []
  private var live: [UInt32: ConnectionID] = [:]
  private var newcomers: [Newcomer] = []

  init(session: SessionID) { self.session = session }

  /// The connections that are served.
  var served: [ConnectionID] { live.values.sorted() }
  /// The connections that wait.
  var waiting: [ConnectionID] { newcomers.map(\.connection) }

  /// A connection has joined; the connections of the streams that it replaces, which are to end.
  ///
  /// One that has not come yet must not come any more; what it was to replace is not known then, and may be any stream.
  mutating func join(_ connection: ConnectionID, _ join: Join) -> [ConnectionID] {
    var replaced: [ConnectionID] = []
    if let number = join.replaces {
      let isNew = numbers.insert(number).inserted
      replaced = isNew ? served : [live[number]].compactMap { $0 }
    }
    newcomers.append(Newcomer(connection: connection, join: join, replaced: Set(replaced)))
    return replaced
  }

  /// The next one that waits for nothing more, and whether it is served.
  mutating func next() -> (ConnectionID, Join, isServed: Bool)? {
    let live = Set(self.live.values)
    guard let index = newcomers.firstIndex(where: { $0.replaced.isDisjoint(with: live) }) else { return nil }
    let newcomer = newcomers.remove(at: index)
    let isServed =
      self.live.count < Int(ReceiverEngine.streams) && numbers.insert(newcomer.join.stream).inserted
    if isServed { self.live[newcomer.join.stream] = newcomer.connection }
    return (newcomer.connection, newcomer.join, isServed)
  }

  /// A stream has ended; whether it is one of these.
  mutating func end(_ connection: ConnectionID) -> Bool {
    guard let number = live.first(where: { $0.value == connection })?.key else { return false }
    live[number] = nil
    return true
  }

  /// None that waits is served any more; their connections.
  mutating func turnAway() -> [ConnectionID] {
    defer { newcomers = [] }
    return waiting
  }
}

import MigrationWire

/// All open connections: the progress of those before READY, and the sender that each belongs to
/// (Protocol §4.2, §11).
struct ReceiverConnections: Sendable {
  /// How many connections one known sender may have at a time: its streams, and the streams that
  /// replace them.
  static let placesPerKey = 128
  /// How many hosts of known senders the receiver remembers.
  static let knownHosts = 32

  enum Step: Equatable, Sendable {
    /// In the accept queue, without a worker.
    case acceptQueue
    /// Its worker completes the TLS handshake and reads HELLO.
    case greeting
    /// Its worker reads PAIR_A.
    case sharing
    /// Its worker reads the proof of a code, or keeps it.
    case exchanging(ReceiverCodes.Number)
    /// Its code is spent; its worker sends the receiver's proof of the code.
    case confirming
    case welcoming(ConnectionMode)
    /// Its worker has to end. The worker sends ABORT 4 if another connection needs the place.
    case dismissed(makesRoom: Bool)
    case turnedAway
    /// Past READY.
    case inside
  }

  struct Visitor: Sendable {
    let remote: Remote
    /// Whether a known sender was last seen at its address.
    fileprivate let isFamiliar: Bool
    var step = Step.acceptQueue
    /// When the connection must have reached READY; the time counts from the moment it is let in.
    var deadline = 0.0
    var key: KeyFingerprint?
    /// Whether the key is that of a known device.
    var isOfDevice = false
    /// Whether it has one of the places reserved for its key.
    fileprivate var hasPlaceOfKey = false

    /// Whether a worker serves it, before READY.
    var isServed: Bool {
      switch step {
      case .acceptQueue, .inside: false
      case .greeting, .sharing, .exchanging, .confirming, .welcoming, .dismissed, .turnedAway: true
      }
    }
  }

  private(set) var strangers = Admission(Admission.forStrangers)
  private(set) var familiar = Admission(Admission.forFamiliar)
  private var visitors: [ConnectionID: Visitor] = [:]
  /// The hosts where known senders were last seen, the newest at the end.
  private var hosts: [String] = []
  private var chance = Chance()

  /// An open connection.
  subscript(id: ConnectionID) -> Visitor? { visitors[id] }

  /// All connections, in their order of arrival.
  var all: [(id: ConnectionID, visitor: Visitor)] {
    visitors.sorted { $0.key < $1.key }.map { (id: $0.key, visitor: $0.value) }
  }

  /// Whether a sender has spent the code and has not reached READY yet.
  var isConfirming: Bool { visitors.values.contains { $0.step == .confirming } }

  /// The next moment at which something may change without an event.
  func nextMoment(now: Double, isEngaged: Bool) -> Double? {
    [strangers, familiar].compactMap { $0.nextMoment(now: now, isPaced: isEngaged) }.min()
  }

  /// A known sender was seen at a host.
  mutating func noteHost(_ host: String) {
    hosts.removeAll { $0 == host }
    hosts.append(host)
    hosts.removeFirst(max(0, hosts.count - Self.knownHosts))
  }

  // MARK: The accept queue

  /// A connection has arrived. Returns the connection that is turned away for lack of room, which
  /// may be the new one.
  mutating func arrive(_ id: ConnectionID, _ remote: Remote, now: Double, chance: UInt64) -> ConnectionID? {
    self.chance.stir(chance)
    let chance = self.chance.next()
    visitors[id] = Visitor(remote: remote, isFamiliar: hosts.contains(remote.host))
    let turnedAway = admit(id) { $0.arrive(id, from: remote, now: now, chance: chance) } ?? nil
    if let turnedAway { visitors[turnedAway] = nil }
    return turnedAway
  }

  /// Acts on the admission to which a connection belongs.
  @discardableResult
  private mutating func admit<Result>(_ id: ConnectionID, _ body: (inout Admission) -> Result) -> Result? {
    visitors[id].map { $0.isFamiliar ? body(&familiar) : body(&strangers) }
  }

  /// The first record of a connection in the accept queue has arrived.
  mutating func heard(_ id: ConnectionID) { admit(id) { $0.heard(id) } }

  /// Turns one connection in the accept queue away, because there is no descriptor to keep it with;
  /// nil when the accept queue is empty.
  mutating func dismissOne(chance: UInt64) -> ConnectionID? {
    self.chance.stir(chance)
    let chance = self.chance.next()
    let dismissed = strangers.dismissOne(chance: chance) ?? familiar.dismissOne(chance: chance)
    if let dismissed { visitors[dismissed] = nil }
    return dismissed
  }

  /// Removes and returns the connections whose time in the accept queue has ended.
  mutating func expire(now: Double) -> [ConnectionID] {
    let over = strangers.expire(now: now) + familiar.expire(now: now)
    for id in over { visitors[id] = nil }
    return over
  }

  /// Lets the next connection in, if one waits and has a place; connections from known addresses come
  /// first. Also returns the connection that has to make room, if any.
  mutating func letIn(now: Double, isEngaged: Bool) -> (ConnectionID, evicted: ConnectionID?)? {
    let chance = chance.next()
    let entry =
      familiar.letIn(now: now, isPaced: isEngaged, chance: chance)
      ?? strangers.letIn(now: now, isPaced: isEngaged, chance: chance)
    guard let (id, evicted) = entry else { return nil }
    visitors[id]?.step = .greeting
    visitors[id]?.deadline = now + ReadyLimits.pairing
    if let evicted { visitors[evicted]?.step = .dismissed(makesRoom: true) }
    return (id, evicted)
  }

  // MARK: Inside

  /// TLS is established, and the other end has shown this key.
  mutating func show(_ key: KeyFingerprint?, _ isOfDevice: Bool, on id: ConnectionID, now: Double) {
    visitors[id]?.key = key
    visitors[id]?.isOfDevice = isOfDevice
    admit(id) { $0.advance(id, to: .secured, now: now) }
  }

  /// A connection has shown the key of a known sender, and so gets a place that no stranger can
  /// take. Returns false if that sender has too many connections.
  mutating func recognize(_ key: KeyFingerprint, on id: ConnectionID) -> Bool {
    guard visitors.values.count(where: { $0.hasPlaceOfKey && $0.key == key }) < Self.placesPerKey else { return false }
    visitors[id]?.hasPlaceOfKey = true
    pass(id)
    return true
  }

  /// The request of a connection has arrived.
  mutating func ask(_ id: ConnectionID, now: Double) { admit(id) { $0.advance(id, to: .asking, now: now) } }

  /// A connection gets a share for a code. Its sender may spend a try on it, so that it makes room
  /// later than others.
  mutating func share(_ id: ConnectionID, _ number: ReceiverCodes.Number, now: Double) {
    admit(id) { $0.advance(id, to: .proving, now: now) }
    advance(id, to: .exchanging(number))
  }

  /// A connection has made progress.
  mutating func advance(_ id: ConnectionID, to step: Step) { visitors[id]?.step = step }

  /// A connection no longer needs a place before READY.
  mutating func pass(_ id: ConnectionID) { admit(id) { $0.leave(id) } }

  /// A connection is past READY.
  mutating func enter(_ id: ConnectionID) {
    pass(id)
    advance(id, to: .inside)
  }

  /// A connection has ended.
  mutating func forget(_ id: ConnectionID) {
    pass(id)
    visitors[id] = nil
  }

  /// Numbers that other devices cannot guess, made from the random numbers that arrive with events.
  struct Chance: Sendable {
    private var state: UInt64 = 0

    mutating func stir(_ chance: UInt64) { state ^= chance }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return mixed ^ mixed >> 31
    }
  }
}

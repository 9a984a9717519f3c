import MigrationWire

/// Every connection that has come and is there: how far those in front of READY are, and whose they are (Protocol §4.2, §11).
struct ReceiverDoor: Sendable {
  /// How many connections one known sender may have at a time: its streams, and those that replace them.
  static let placesPerKey = 128
  /// How many hosts of known senders are remembered.
  static let knownHosts = 32

  enum Step: Equatable, Sendable {
    /// In the lobby: no worker.
    case lobby
    /// Its worker brings up TLS and takes HELLO.
    case greeting
    /// Its worker takes PAIR_A.
    case sharing
    /// Its worker takes the proof of a code.
    case exchanging(PairingCodes.Number)
    /// Its code is used up; its worker proves it back.
    case confirming
    case welcoming(ConnectionMode)
    /// Its worker is to end; the other end is told ABORT 4 if another connection needs the place.
    case dismissed(makesRoom: Bool)
    case turnedAway
    /// Past READY.
    case inside
  }

  struct Visitor: Sendable {
    let remote: Remote
    fileprivate let ticket: Admission.Ticket
    var step = Step.lobby
    /// When it must be at READY; counted from its being let in.
    var deadline = 0.0
    var key: KeyFingerprint?
    /// Whether it has a place of those that its key has.
    fileprivate var hasPlaceOfKey = false

    /// Whether a worker is about it, in front of READY.
    var isServed: Bool {
      switch step {
      case .lobby, .inside: false
      case .greeting, .sharing, .exchanging, .confirming, .welcoming, .dismissed, .turnedAway: true
      }
    }
  }

  private var admission = Admission()
  private var visitors: [ConnectionID: Visitor] = [:]
  /// Where known senders were seen last, the newest at the end.
  private var hosts: [String] = []
  private var chance = Chance()

  /// A connection that is there.
  subscript(id: ConnectionID) -> Visitor? { visitors[id] }

  /// All of them, in the order in which they came.
  var all: [(id: ConnectionID, visitor: Visitor)] {
    visitors.sorted { $0.key < $1.key }.map { (id: $0.key, visitor: $0.value) }
  }

  /// Whether the code is used up by a sender that is not at READY yet.
  var isConfirming: Bool { visitors.values.contains { $0.step == .confirming } }

  /// How many connections take a place in front of READY.
  var placesTaken: Int { admission.count }

  /// When something may be different without an event.
  func nextMoment(now: Double, isEngaged: Bool) -> Double? { admission.nextMoment(now: now, isEngaged: isEngaged) }

  /// A known sender was seen at a host.
  mutating func noteHost(_ host: String) {
    hosts.removeAll { $0 == host }
    hosts.append(host)
    hosts.removeFirst(max(0, hosts.count - Self.knownHosts))
  }

  // MARK: The lobby

  /// A connection has come. The one that is turned away for want of room, which may be itself.
  mutating func arrive(_ id: ConnectionID, _ remote: Remote, now: Double, chance: UInt64) -> ConnectionID? {
    self.chance.stir(chance)
    let origin = Admission.Origin(
      address: remote.host, network: remote.network, isFamiliar: hosts.contains(remote.host))
    let (ticket, turnedAway) = admission.arrive(origin, now: now, chance: self.chance.next())
    visitors[id] = Visitor(remote: remote, ticket: ticket)
    return turnedAway.flatMap { remove($0) }
  }

  /// The first record of a connection in the lobby is there.
  mutating func heard(_ id: ConnectionID) {
    if let visitor = visitors[id] { admission.heard(visitor.ticket) }
  }

  /// One in the lobby is turned away, since nothing is left to keep it with; nil when there is none.
  mutating func dismissOne(chance: UInt64) -> ConnectionID? {
    self.chance.stir(chance)
    return admission.dismissOne(chance: self.chance.next()).flatMap { remove($0) }
  }

  /// Those whose time in the lobby is over; they are gone.
  mutating func expire(now: Double) -> [ConnectionID] { admission.expire(now: now).compactMap { remove($0) } }

  /// Lets the next one in, if there is one and a place for it. The one that makes room for it, if one has to.
  mutating func letIn(now: Double, isEngaged: Bool) -> (ConnectionID, evicted: ConnectionID?)? {
    guard let (ticket, evicted) = admission.letIn(now: now, isEngaged: isEngaged, chance: chance.next()),
      let id = holder(of: ticket)
    else { return nil }
    visitors[id]?.step = .greeting
    visitors[id]?.deadline = now + Patience.pairing
    let victim = evicted.flatMap { holder(of: $0) }
    if let victim { visitors[victim]?.step = .dismissed(makesRoom: true) }
    return (id, victim)
  }

  private func holder(of ticket: Admission.Ticket) -> ConnectionID? {
    visitors.first { $0.value.ticket == ticket }?.key
  }

  private mutating func remove(_ ticket: Admission.Ticket) -> ConnectionID? {
    let id = holder(of: ticket)
    if let id { visitors[id] = nil }
    return id
  }

  // MARK: Inside

  /// TLS is up, and this is the other end's key.
  mutating func show(_ key: KeyFingerprint?, on id: ConnectionID, now: Double) {
    guard let visitor = visitors[id] else { return }
    visitors[id]?.key = key
    admission.advance(visitor.ticket, to: .secured, now: now)
  }

  /// A connection has shown the key of a known sender, and so has a place that no stranger can take; false where that sender has
  /// too many.
  mutating func recognize(_ key: KeyFingerprint, on id: ConnectionID) -> Bool {
    guard visitors.values.count(where: { $0.hasPlaceOfKey && $0.key == key }) < Self.placesPerKey else { return false }
    visitors[id]?.hasPlaceOfKey = true
    pass(id)
    return true
  }

  /// A connection has said what it wants.
  mutating func ask(_ id: ConnectionID, now: Double) {
    if let visitor = visitors[id] { admission.advance(visitor.ticket, to: .asking, now: now) }
  }

  /// A connection has come further.
  mutating func advance(_ id: ConnectionID, to step: Step) { visitors[id]?.step = step }

  /// A connection needs no place in front of READY any more.
  mutating func pass(_ id: ConnectionID) {
    if let visitor = visitors[id] { admission.leave(visitor.ticket) }
  }

  /// A connection is past READY.
  mutating func enter(_ id: ConnectionID) {
    pass(id)
    advance(id, to: .inside)
  }

  /// A connection is gone.
  mutating func forget(_ id: ConnectionID) {
    pass(id)
    visitors[id] = nil
  }
}

/// Numbers that others cannot guess, from the random ones that come with events.
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

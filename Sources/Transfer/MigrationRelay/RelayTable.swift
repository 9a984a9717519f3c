import MigrationTLS
package import MigrationWire

/// Makes all decisions of a relay (Protocol §16): which devices may use it, at which places they
/// wait, which connections are joined, and which connection makes room.
///
/// A value: it knows no clock, no socket and no chance. Times are seconds that count sleep.
package struct RelayTable: Sendable {
  /// Names a connection of a run. A number is never used twice.
  package typealias ID = UInt64

  /// A task for the loop.
  package enum Action: Equatable, Sendable {
    case say(ID, RelayFrame)
    /// Sends what was said, and closes. `closed` does not follow.
    case close(ID)
    /// From now on, each byte of one connection goes to the other.
    case join(ID, ID)
  }

  enum Stage: Equatable {
    /// It has to show a token for this challenge.
    case new(challenge: [UInt8])
    case registered
    /// It waits for the answer to its call.
    case calling(RelayCall)
    case joined(with: ID)
  }

  struct Visitor {
    let network: String
    /// The address from which it has connected.
    let address: InternetAddress
    var stage: Stage
    /// When the connection came, or when the relay last heard from it.
    var heard: Double
    var token = 0
    /// The caller's share, in which a connection counts that answers a call.
    var joins: Share?
    /// The registration whose device a joined call has reached, and what the call carries.
    var registration: ID?
    var load = Load()

    var share: Share { joins ?? Share(token: token, network: network) }
  }

  struct Registration {
    let place: RelayPlace
    var meetings: [RelayMeeting] = []
    var lastCall: Double
    var waiting = 0
  }

  let settings: RelaySettings
  /// The tokens, each at one index for good; nil for one that was removed.
  private var tokens: [RelayToken?] = []
  var visitors: [ID: Visitor] = [:]
  /// The connections without a proof, by networks, the oldest first.
  var newcomers: [String: [ID]] = [:]
  var newcomerCount = 0
  var registrations: [ID: Registration] = [:]
  var places: [RelayPlace: ID] = [:]
  var takenOfLength: [Int: Int] = [:]
  var meetings: [RelayMeeting: ID] = [:]
  var waiting: [RelayCall: (caller: ID, receiver: ID)] = [:]
  var (registered, calls) = (Count(), Count())
  var looks = Looks()
  private var volumes: [Volume] = []
  private var rates: [TokenBucket] = []
  var isEnding = false
  var counted = RelayCounters()
  var actions: [Action] = []

  package init(_ settings: RelaySettings, now: Double) {
    self.settings = settings
    for token in settings.tokens { add(token, now) }
  }

  private mutating func add(_ token: RelayToken, _ now: Double) {
    if tokens.contains(token) { return }
    let index = tokens.firstIndex(of: nil) ?? tokens.count
    if index == tokens.count {
      tokens.append(nil)
      volumes.append(Volume())
      rates.append(fullRate(now))
    }
    tokens[index] = token
    volumes[index] = Volume()
    rates[index] = fullRate(now)
    looks.begin(index, now: now)
  }

  /// The bytes that a new token may pass on: those of a second.
  private func fullRate(_ now: Double) -> TokenBucket {
    let rate = Double(settings.rate ?? 0)
    return TokenBucket(rate: rate, capacity: rate, level: rate, now: now)
  }

  /// The counts until now.
  package var counters: RelayCounters {
    var counters = counted
    counters.places = registrations.count
    counters.calls = calls.all / 2 - waiting.count
    counters.newcomers = newcomerCount
    return counters
  }

  /// Whether nothing is here any more.
  package var isEmpty: Bool { visitors.isEmpty }

  /// Whether the relay is being stopped, and serves no device any more.
  package var isDone: Bool { isEnding && registrations.isEmpty && calls.all == 0 }

  /// Whether nothing is left of those that were here.
  private var isClear: Bool {
    // Each for itself: of two that are wrong, one may be too small.
    let counts = [newcomerCount, registered.all, calls.all] + takenOfLength.values
    return registrations.isEmpty && places.isEmpty && meetings.isEmpty && waiting.isEmpty && newcomers.isEmpty
      && counts.allSatisfy { $0 == 0 }
  }

  // MARK: Events

  /// A device has connected. `challenge` is random.
  package mutating func arrived(
    _ id: ID, at address: InternetAddress, network: String, challenge: [UInt8], now: Double
  ) -> [Action] {
    perform { table in
      table.makeRoom(forNewcomerOf: network)
      table.visitors[id] = Visitor(network: network, address: address, stage: .new(challenge: challenge), heard: now)
      table.newcomers[network, default: []].append(id)
      table.newcomerCount += 1
      table.actions.append(.say(id, .challenge(challenge)))
    }
  }

  /// A whole frame has come. `random` are 24 random bytes.
  package mutating func received(
    _ id: ID, _ frame: RelayFrame, random: [UInt8], date: RelayDate, now: Double
  ) -> [Action] {
    perform { table in
      guard let visitor = table.visitors[id] else { return }
      table.visitors[id]?.heard = now
      switch (visitor.stage, frame) {
      case (.new(let challenge), .request(let request, let proof)):
        table.requested(id, request, proof, challenge, random, date, now)
      case (.registered, .ping): table.actions.append(.say(id, .pong))
      case (.registered, .meet(let meeting)): table.meet(id, meeting)
      default: table.refuse(id, .malformed)
      }
    }
  }

  /// The bytes of a connection are no frame.
  package mutating func broke(_ id: ID) -> [Action] { perform { $0.refuse(id, .malformed) } }

  /// A connection has ended, or both of a joined call, one after the other.
  package mutating func closed(_ id: ID) -> [Action] { perform { $0.leave(id) } }

  /// How many bytes a joined call may pass on now in one direction, where so many directions of its token's
  /// calls wait; at most as many as are wanted.
  package func allowance(_ id: ID, _ wanted: Int, among count: Int = 1, now: Double) -> Int {
    guard settings.rate != nil, let token = visitors[id]?.token else { return wanted }
    let all = Int(rates[token].level(now: now))
    return max(0, min(wanted, all / count))
  }

  /// The token of a connection that has shown one.
  package func token(of id: ID) -> Int? { visitors[id]?.token }

  /// A joined call has passed bytes on, and has taken bytes, for which the rate is: what waits for its target is
  /// not to come at once behind it.
  package mutating func passed(_ id: ID, _ count: Int, taking taken: Int, date: RelayDate, now: Double) -> [Action] {
    perform { table in
      guard let visitor = table.visitors[id], case .joined(let other) = visitor.stage else { return }
      table.counted.bytes += UInt64(count)
      table.visitors[id]?.load.add(count, now: now)
      table.visitors[id]?.heard = now
      table.visitors[other]?.heard = now
      table.volumes[visitor.token].add(UInt64(count), on: date)
      table.rates[visitor.token].take(Double(taken), now: now)
      guard table.isUsedUp(visitor.token, date) else { return }
      let others = table.visitors.filter { $0.value.token == visitor.token }
      for id in [id] + others.keys.sorted() {
        if case .joined = table.visitors[id]?.stage { table.end(id, .volume, wait: Double(date.left)) }
      }
    }
  }

  /// The tokens are these from now on. One that stays keeps its volume; the devices of one that does not are
  /// let go.
  package mutating func change(to tokens: [RelayToken], now: Double) -> [Action] {
    perform { table in
      for (index, token) in table.tokens.enumerated() {
        guard let token, !tokens.contains(token) else { continue }
        table.tokens[index] = nil
        for (id, visitor) in table.visitors where visitor.token == index {
          if case .new = visitor.stage { continue }
          table.end(id, .token)
        }
      }
      for token in tokens { table.add(token, now) }
    }
  }

  mutating func perform(_ body: (inout RelayTable) -> Void) -> [Action] {
    body(&self)
    assert(!isEmpty || isClear, "without visitors there are no places, meetings and calls")
    defer { actions = [] }
    return actions
  }

  // MARK: Requests

  private mutating func requested(
    _ id: ID, _ request: RelayRequest, _ proof: [UInt8], _ challenge: [UInt8], _ random: [UInt8], _ date: RelayDate,
    _ now: Double
  ) {
    let signed = request.signedPart
    let token = tokens.firstIndex { $0?.accepts(proof, of: signed, challenge: challenge) == true }
    guard let token, settings.names.isEmpty || settings.names.contains(request.name) else { return refuse(id, .token) }
    visitors[id]?.token = token
    if isEnding, !stillServes(request.errand) { return refuse(id, .ending) }
    switch request.errand {
    case .register: register(id, random, now)
    case .call(let place):
      let receiver = places[place]
      guard let network = visitors[id]?.network,
        looks.take(network: network, token: token, misses: receiver == nil, now: now)
      else { return refuse(id, .busy, wait: RelayLimits.missPause) }
      call(id, receiver, random, date, now)
    case .meet(let meeting): call(id, meetings[meeting], random, date, now)
    case .answer(let call): answer(id, call, now)
    }
  }

  /// Whether a relay that is being stopped does this.
  private func stillServes(_ errand: RelayErrand) -> Bool {
    switch errand {
    case .register, .call: false
    case .meet(let meeting): meetings[meeting] != nil
    case .answer: true
    }
  }

  private mutating func register(_ id: ID, _ random: [UInt8], _ now: Double) {
    guard let visitor = visitors[id] else { return }
    let limit = RelayLimits.registrations
    guard registered.count(visitor.share) < settings.places else {
      return refuse(id, .full, wait: RelayLimits.missPause)
    }
    let hasTokenRoom = registered.isBelow(limit.ofToken, token: visitor.token)
    let hasRoom = registered.all < limit.all
    registered.change(visitor.share, by: 1)
    guard hasTokenRoom && hasRoom || givesWay(to: visitor, byToken: hasTokenRoom) else {
      registered.change(visitor.share, by: -1)
      return refuse(id, .full, wait: RelayLimits.missPause)
    }
    let place = freePlace(random)
    prove(id, .registered)
    registrations[id] = Registration(place: place, lastCall: now)
    places[place] = id
    takenOfLength[String(place.number).utf8.count, default: 0] += 1
    actions.append(.say(id, .place(place)))
  }

  /// A registration makes room for a newcomer, which is counted already: of the largest share of its token, or
  /// of the token with most, at best the newcomer's, the registration without a call for longest. None does if
  /// that is the newcomer's share: a code would change for another one's sake.
  private mutating func givesWay(to newcomer: Visitor, byToken: Bool) -> Bool {
    typealias Rank = (size: Int, isOthers: Int, ofShare: Int, lastCall: Double, id: ID)
    var first: Rank?
    for (id, registration) in registrations {
      guard let visitor = visitors[id], byToken || visitor.token == newcomer.token else { continue }
      let share = registered.count(visitor.share)
      let rank: Rank = (
        -(byToken ? registered.count(ofToken: visitor.token) : share), visitor.token == newcomer.token ? 0 : 1, -share,
        registration.lastCall, id
      )
      if first.map({ rank < $0 }) ?? true { first = rank }
    }
    guard let first, visitors[first.id]?.share != newcomer.share else { return false }
    counted.dropped += 1
    refuse(first.id, .busy, wait: RelayLimits.missPause)
    return true
  }

  /// The first free place behind a random place, in the shortest length with enough free places.
  private func freePlace(_ random: [UInt8]) -> RelayPlace {
    let chance = random.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    for length in RelayPlace.lengths {
      var (first, count) = (UInt64(1), UInt64(9))
      for _ in 2..<length { (first, count) = (first * 10, count * 10) }
      guard UInt64(takenOfLength[length, default: 0]) * 8 < count else { continue }
      for step in 0..<count {
        let digits = UInt32(first + (chance &+ step) % count)
        if let place = RelayPlace(withoutCheck: digits), places[place] == nil { return place }
      }
    }
    preconditionFailure("there are more places than registrations")
  }

  private mutating func meet(_ id: ID, _ meeting: RelayMeeting) {
    guard let registration = registrations[id] else { return }
    if !registration.meetings.contains(meeting) {
      if registration.meetings.count >= RelayLimits.meetings, let oldest = registrations[id]?.meetings.removeFirst(),
        meetings[oldest] == id
      {
        meetings[oldest] = nil
      }
      registrations[id]?.meetings.append(meeting)
    }
    meetings[meeting] = id
  }

  private mutating func call(_ id: ID, _ receiver: ID?, _ random: [UInt8], _ date: RelayDate, _ now: Double) {
    guard let visitor = visitors[id] else { return }
    guard let receiver, let registration = registrations[receiver] else { return refuse(id, .absent) }
    volumes[visitor.token].turn(to: date)
    guard !isUsedUp(visitor.token, date) else { return refuse(id, .volume, wait: Double(date.left)) }
    guard registration.waiting < RelayLimits.waiting, calls.hasRoom(for: 2, visitor.share, settings.calls) else {
      return refuse(id, .busy, wait: 1)
    }
    let call = RelayCall(Array(random.suffix(RelayCall.size)))
    prove(id, .calling(call))
    calls.change(visitor.share, by: 2)
    waiting[call] = (id, receiver)
    registrations[receiver]?.waiting += 1
    registrations[receiver]?.lastCall = now
    actions.append(.say(receiver, .ring(call, visitor.address)))
  }

  private mutating func answer(_ id: ID, _ call: RelayCall, _ now: Double) {
    guard let (caller, receiver) = waiting[call], let share = visitors[caller]?.share else {
      return refuse(id, .absent)
    }
    forget(call)
    prove(id, .joined(with: caller))
    visitors[caller]?.stage = .joined(with: id)
    // Its volume and its place are the caller's.
    visitors[id]?.token = share.token
    visitors[id]?.joins = share
    for end in [caller, id] { visitors[end]?.registration = receiver }
    visitors[caller]?.load.begin(now: now)
    counted.joined += 1
    for end in [caller, id] { if let address = visitors[end]?.address { actions.append(.say(end, .joined(address))) } }
    actions.append(.join(caller, id))
  }

  private func isUsedUp(_ token: Int, _ date: RelayDate) -> Bool {
    volumes[token].ofDay >= settings.daily || volumes[token].ofMonth >= settings.monthly
  }

  /// A connection has shown a token.
  private mutating func prove(_ id: ID, _ stage: Stage) {
    if let visitor = visitors[id], case .new = visitor.stage { forgetNewcomer(id, visitor.network) }
    visitors[id]?.stage = stage
  }
}

import MigrationWire

extension RelayTable {
  /// The connections of a token from one network.
  struct Share: Hashable, Sendable {
    let token: Int
    let network: String
  }

  /// How many connections of one kind there are.
  struct Count: Sendable {
    private var ofNetwork: [String: Int] = [:]
    private var ofToken: [Int: Int] = [:]
    private var ofShare: [RelayTable.Share: Int] = [:]
    private(set) var all = 0

    /// Connections have come, or gone.
    mutating func change(_ share: RelayTable.Share, by step: Int) {
      all += step
      ofToken[share.token, default: 0] += step
      ofNetwork[share.network, default: 0] += step
      ofShare[share, default: 0] += step
      if ofNetwork[share.network] == 0 { ofNetwork[share.network] = nil }
      if ofShare[share] == 0 { ofShare[share] = nil }
    }

    /// The number of a token's connections.
    func count(ofToken token: Int) -> Int { ofToken[token, default: 0] }
    /// The number of a token's connections from one network.
    func count(_ share: RelayTable.Share) -> Int { ofShare[share, default: 0] }

    /// Whether `more` further connections of a share are within a limit.
    func hasRoom(for more: Int, _ share: RelayTable.Share, _ limit: RelayLimits.Limit) -> Bool {
      all + more <= limit.all && isBelow(limit.ofNetwork - more + 1, network: share.network)
        && isBelow(limit.ofToken - more + 1, token: share.token)
    }

    /// Whether one more connection from a network is within its limit.
    func isBelow(_ limit: Int, network: String) -> Bool { ofNetwork[network, default: 0] < limit }
    /// Whether one more connection of a token is within its limit.
    func isBelow(_ limit: Int, token: Int) -> Bool { ofToken[token, default: 0] < limit }
  }

  /// Whether a joined call carries data, or only words between the devices.
  struct Load: Sendable {
    private var counted: (since: Double, bytes: Int) = (0, 0)
    private var until = -Double.infinity

    /// The devices were joined: data may come.
    mutating func begin(now: Double) { until = now + RelayLimits.load.seconds }

    /// Bytes were passed on.
    mutating func add(_ count: Int, now: Double) {
      if now - counted.since > RelayLimits.load.seconds { counted = (now, 0) }
      counted.bytes += count
      guard counted.bytes >= RelayLimits.load.bytes else { return }
      begin(now: now)
      counted = (now, 0)
    }

    /// Whether it carries data now.
    func isData(now: Double) -> Bool { now < until }
  }

  /// The bytes that the relay has passed on for a token in the newest day and month.
  struct Volume: Sendable {
    private var date = RelayDate(0)
    private(set) var ofDay: UInt64 = 0
    private(set) var ofMonth: UInt64 = 0

    /// Another day, or month, begins with nothing.
    mutating func turn(to date: RelayDate) {
      if date.day != self.date.day { ofDay = 0 }
      if date.month != self.date.month { ofMonth = 0 }
      self.date = date
    }

    /// The relay has passed on bytes.
    mutating func add(_ count: UInt64, on date: RelayDate) {
      turn(to: date)
      ofDay += count
      ofMonth += count
    }
  }

  /// Limits how often callers name a place that no device has: each miss costs one of a few looks.
  struct Looks: Sendable {
    /// The looks of networks. They stay few: each miss costs a token's look too, and is forgotten later.
    private var ofNetwork: [String: TokenBucket] = [:]
    private var ofToken: [Int: TokenBucket] = [:]

    /// A token is new.
    mutating func begin(_ token: Int, now: Double) {
      ofToken[token] = Self.looks(RelayLimits.missesOfToken, now)
    }

    private static func looks(_ most: Double, _ now: Double) -> TokenBucket {
      TokenBucket(rate: 1 / RelayLimits.missPause, capacity: most, level: most, now: now)
    }

    /// Whether a caller may look up a place; a miss takes one look.
    mutating func take(network: String, token: Int, misses: Bool, now: Double) -> Bool {
      var left = ofNetwork[network] ?? Self.looks(RelayLimits.missesOfNetwork, now)
      guard left.level(now: now) >= 1, var all = ofToken[token], all.level(now: now) >= 1 else { return false }
      guard misses else { return true }
      left.take(1, now: now)
      all.take(1, now: now)
      (ofNetwork[network], ofToken[token]) = (left, all)
      return true
    }

    /// Forgets the networks that have all their looks again.
    mutating func forgetOld(now: Double) {
      ofNetwork = ofNetwork.filter { $0.value.level(now: now) < RelayLimits.missesOfNetwork }
    }
  }
}

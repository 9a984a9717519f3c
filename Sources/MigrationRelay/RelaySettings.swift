package import MigrationWire

/// The devices that a relay serves, and the most data that it passes on.
package struct RelaySettings: Equatable, Sendable {
  /// A device that knows one of these tokens may use the relay.
  package var tokens: [RelayToken]
  /// The names under which devices know the relay; every name is right if the set is empty.
  package var names: Set<String> = []
  /// The most bytes for one token in a day, and in a month, of UTC.
  package var daily: UInt64 = 100_000_000_000
  package var monthly: UInt64 = 1_000_000_000_000
  /// The most bytes a second for one token; nil for no limit.
  package var rate: UInt64?

  package init(tokens: [RelayToken]) { self.tokens = tokens }
}

/// The limits of Protocol §16.4.
package enum RelayLimits {
  /// The most tokens of a relay: each request is tried with all of them.
  package static let tokens = 16
  /// The longest times in seconds: to the first request, to the answer to a call, of silence on a
  /// registration, and without a byte on a joined call.
  package static let request: Double = 5
  package static let answer: Double = 10
  package static let silence: Double = 60
  package static let idle: Double = 900
  /// How often a device says something on its registration, in seconds.
  package static let heartbeat: Double = 20
  /// Connections that have not shown a token.
  static let unproved = Limit(ofNetwork: 64, ofToken: .max, all: 1_024)
  static let registrations = Limit(ofNetwork: 64, ofToken: 2_048, all: 4_096)
  /// Calls: a connection that answers counts with its caller, from the call on.
  static let calls = Limit(ofNetwork: 256, ofToken: 1_024, all: 2_048)
  /// The most calls that wait at one registration, and its most meetings.
  package static let waiting = 16
  package static let meetings = 64
  /// Calls of places that no device has: how many at once, and the seconds to each further one.
  static let missesOfNetwork = 5.0
  static let missesOfToken = 15.0
  static let missPause = 10.0
  /// The most connections of a relay at a time.
  package static let connections = unproved.all + registrations.all + calls.all

  struct Limit {
    let ofNetwork: Int
    let ofToken: Int
    let all: Int
  }
}

/// Counts of a relay, for its administrator.
package struct RelayCounters: Equatable, Sendable {
  /// Now: registrations, joined calls, and connections without a proof.
  package var places = 0
  package var calls = 0
  package var newcomers = 0
  /// Since the start.
  package var joined: UInt64 = 0
  package var bytes: UInt64 = 0
  package var refused: [RelayRefusal: UInt64] = [:]
  /// Connections and places that have given way, or have come too late with a request.
  package var dropped: UInt64 = 0

  package init() {}
}

/// A day of UTC and its month, as a relay counts its volume.
package struct RelayDate: Equatable, Sendable {
  let day: Int64
  let month: Int64
  /// The seconds to the next day.
  let left: Int64

  /// By the seconds since 1970.
  package init(_ seconds: Int64) {
    day = seconds / 86_400
    left = 86_400 - seconds % 86_400
    // Years begin in March here, so that a leap day is the last one.
    let shifted = day + 719_468
    let ofEra = shifted % 146_097
    let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    month = (shifted / 146_097 * 400 + year) * 12 + (5 * ofYear + 2) / 153
  }
}

extension RelayTable {
  /// A supply that refills with time up to a limit.
  struct Bucket: Equatable, Sendable {
    private var level: Double
    private var at: Double

    init(full level: Double, now: Double) {
      self.level = level
      at = now
    }

    /// How much there is.
    func amount(now: Double, most: Double, perSecond: Double) -> Double { min(most, level + (now - at) * perSecond) }

    mutating func take(_ count: Double, now: Double, most: Double, perSecond: Double) {
      level = amount(now: now, most: most, perSecond: perSecond) - count
      at = now
    }
  }
}

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
  /// The most registrations of one token from one network.
  package var places = RelayLimits.usualPlaces

  /// The limits of calls: as many from a network as its devices need.
  var calls: RelayLimits.Limit {
    let usual = RelayLimits.calls
    return RelayLimits.Limit(ofNetwork: max(usual.ofNetwork, 4 * places), ofToken: usual.ofToken, all: usual.all)
  }

  package init(tokens: [RelayToken]) { self.tokens = tokens }
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

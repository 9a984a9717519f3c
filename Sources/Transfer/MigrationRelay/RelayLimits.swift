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
  /// For how many seconds a device may answer neither bytes nor probes.
  package static let dead: Double = 45
  /// For how many seconds a relay reads on behind the last bytes that it has said on a connection.
  package static let farewell: Double = 3
  /// A call carries data if it passes on so many bytes in so many seconds.
  static let load = (bytes: 64 << 10, seconds: 10.0)
  /// Connections that have not shown a token.
  static let unproved = Limit(ofNetwork: 64, ofToken: .max, all: 1_024)
  static let registrations = Limit(ofNetwork: 64, ofToken: 2_048, all: 4_096)
  /// The registrations of a token from one network that a relay may allow, and the usual number.
  package static let places = 1...registrations.ofToken
  package static let usualPlaces = registrations.ofNetwork
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

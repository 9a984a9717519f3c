import Foundation

/// How thorough the random and the exhaustive tests are. The environment variable `PEER_ROUNDS` sets
/// the number of rounds; from 50 on, an exhaustive test tries every position.
package enum Rounds {
  package static let count = ProcessInfo.processInfo.environment["PEER_ROUNDS"].flatMap { Int($0) } ?? 10
  /// The distance between two positions that an exhaustive test tries. Where it has many courses, each
  /// begins at a place of its own.
  package static let step = count < 50 ? 7 : 1

  /// The positions that such a test tries, the last one included.
  package static func positions(through last: Int) -> [Int] {
    Array(stride(from: 0, to: last, by: step)) + [last]
  }
}

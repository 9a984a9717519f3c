/// The number of addresses named by one paired device that this device dials within an hour, over
/// all sessions (Protocol §6.9). Times are seconds on one clock.
package struct AddressBudget: Equatable, Sendable {
  private struct Round: Equatable, Sendable {
    let begun: Double
    let count: Int
  }

  /// The rounds of two sessions.
  package static let most = 96
  private static let length = 3600.0

  private var rounds: [Round] = []

  package init() {}

  /// Takes up to `wanted` addresses from the budget. Returns how many it had.
  package mutating func take(_ wanted: Int, now: Double) -> Int {
    rounds.removeAll { $0.begun + Self.length <= now }
    let taken = min(wanted, Self.most - rounds.reduce(0) { $0 + $1.count })
    if taken > 0 { rounds.append(Round(begun: now, count: taken)) }
    return taken
  }

  /// Whether nothing was taken within the last hour.
  package func isWhole(now: Double) -> Bool { rounds.allSatisfy { $0.begun + Self.length <= now } }
}

/// Decides when each of a device's addresses is tried, and which failure is reported, as in RFC
/// 8305. The attempts start one after the other in short steps, and each lasts as long as there is
/// time. The first address that answers wins.
///
/// In a round the other end has named the addresses, and dials too. A failed attempt does not
/// hasten the next attempt, and the round always lasts its full time. The times therefore tell the
/// other end nothing about an address that is not its own.
///
/// A value: it names addresses by their positions in a list. Times are seconds on one clock.
package struct AddressRace: Equatable, Sendable {
  /// The reason why an address was not reached.
  package enum Obstacle: Equatable, Sendable {
    /// The device is there, and nothing listens on the port.
    case refused
    /// No answer comes.
    case silent
    /// No network leads to the address, no device has it, or a firewall says so.
    case noRoute
    /// A firewall, of this device too, forbids the connection.
    case forbidden
    /// Another error of this device: a lower-case clause.
    case other(String)

    /// How much the obstacle says about the other device.
    fileprivate var weight: Int {
      switch self {
      case .refused: 4
      case .forbidden: 3
      case .silent: 2
      case .noRoute: 1
      case .other: 0
      }
    }
  }

  /// The result of a lost race: the most informative failure, and its address.
  package struct Loss: Equatable, Sendable {
    package let place: Int
    package let obstacle: Obstacle
  }

  /// The seconds between the beginnings of two attempts.
  package static let step = 0.25

  private let count: Int
  private let isRound: Bool
  /// When all addresses that have not answered count as silent.
  private let deadline: Double
  private var nextStart: Double
  private var begun = 0
  private var obstacles: [Int: Obstacle] = [:]

  /// Begins with the first of `count` addresses, at least one; every attempt ends `patience`
  /// seconds from now at the latest.
  package init(count: Int, now: Double, patience: Double, isRound: Bool = false) {
    precondition(count > 0, "a race needs an address")
    self.isRound = isRound
    self.count = count
    deadline = now + patience
    nextStart = now
  }

  /// The position of the address whose attempt begins now, if one is due. The caller asks until the
  /// answer is nil.
  package mutating func begin(now: Double) -> Int? {
    guard begun < count, now >= nextStart, now < deadline else { return nil }
    defer { begun += 1 }
    nextStart = (isRound ? nextStart : now) + Self.step
    return begun
  }

  /// The attempt at an address has failed: the next one need not wait, except in a round.
  package mutating func failed(_ place: Int, by obstacle: Obstacle, now: Double) {
    obstacles[place] = obstacle
    if !isRound { nextStart = min(nextStart, now) }
  }

  /// The attempt at an address has led to a connection, and the race goes on.
  package mutating func taken(_ place: Int) { obstacles[place] = .other("it was reached") }

  /// The next moment at which something is due without an event.
  package var nextMoment: Double { begun < count ? min(nextStart, deadline) : deadline }

  /// The result where no address can win any more; nil while one can.
  package func loss(now: Double) -> Loss? {
    guard now >= deadline || !isRound && obstacles.count == count else { return nil }
    let losses = (0..<max(1, begun)).map { Loss(place: $0, obstacle: obstacles[$0] ?? .silent) }
    // The first of the most informative failures.
    return losses.reduce(losses[0]) { $1.obstacle.weight > $0.obstacle.weight ? $1 : $0 }
  }

  /// The order in which addresses are tried: the two address families alternate, so that a family
  /// without a route costs one step. `isOfFirstKind` tells whether an address belongs to the family
  /// of the first.
  package static func alternating<Address>(_ addresses: [Address], isOfFirstKind: (Address) -> Bool) -> [Address] {
    let (first, second) = (addresses.filter(isOfFirstKind), addresses.filter { !isOfFirstKind($0) })
    return (0..<max(first.count, second.count)).flatMap { place in
      first.dropFirst(place).prefix(1) + second.dropFirst(place).prefix(1)
    }
  }
}

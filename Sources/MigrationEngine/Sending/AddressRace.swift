/// Which of a device's addresses are tried when, and which of their failures is told, in the shape of RFC 8305: one after the
/// other in short steps, each for as long as there is time. The first that answers wins.
///
/// A value: it names addresses by their places in a list. Times are seconds on one clock.
package struct AddressRace: Equatable, Sendable {
  /// Why an address was not reached.
  package enum Obstacle: Equatable, Sendable {
    /// The device is there, and nothing listens on the port.
    case refused
    /// No answer comes.
    case silent
    /// No network leads there, or no device has the address.
    case noWay
    /// Something else of this device: a lower-case clause.
    case other(String)

    /// How much it says about the other device.
    fileprivate var weight: Int {
      switch self {
      case .refused: 3
      case .silent: 2
      case .noWay: 1
      case .other: 0
      }
    }
  }

  /// What no address has come to: the most telling failure, and whose it was.
  package struct Loss: Equatable, Sendable {
    package let place: Int
    package let obstacle: Obstacle
  }

  /// The time from the beginning of an attempt to that of the next one.
  package static let step = 0.25

  private let count: Int
  /// When all that have not answered count as silent.
  private let deadline: Double
  private var nextStart: Double
  private var begun = 0
  private var obstacles: [Int: Obstacle] = [:]

  /// Begins with the first of `count` addresses, at least one; no attempt goes on for longer than `patience` seconds from now.
  package init(count: Int, now: Double, patience: Double) {
    precondition(count > 0, "a race needs an address")
    self.count = count
    deadline = now + patience
    nextStart = now
  }

  /// The place of the address whose attempt begins now, if one is due. Asked until there is none.
  package mutating func begin(now: Double) -> Int? {
    guard begun < count, now >= nextStart, now < deadline else { return nil }
    defer { begun += 1 }
    nextStart = now + Self.step
    return begun
  }

  /// The attempt at an address has failed: the next one need not wait.
  package mutating func failed(_ place: Int, by obstacle: Obstacle, now: Double) {
    obstacles[place] = obstacle
    nextStart = min(nextStart, now)
  }

  /// When something is due without an event.
  package var nextMoment: Double { begun < count ? min(nextStart, deadline) : deadline }

  /// What the race has come to where no address can win any more; nil while one can.
  package func loss(now: Double) -> Loss? {
    guard now >= deadline || obstacles.count == count else { return nil }
    let losses = (0..<max(1, begun)).map { Loss(place: $0, obstacle: obstacles[$0] ?? .silent) }
    // Of those that say as much, the first.
    return losses.reduce(losses[0]) { $1.obstacle.weight > $0.obstacle.weight ? $1 : $0 }
  }

  /// The order in which addresses are tried, of which it is known whether each belongs to the other family than the first: by
  /// turns, so that one family that leads nowhere costs one step.
  package static func alternating<Address>(_ addresses: [Address], isOfFirstKind: (Address) -> Bool) -> [Address] {
    let (first, second) = (addresses.filter(isOfFirstKind), addresses.filter { !isOfFirstKind($0) })
    return (0..<max(first.count, second.count)).flatMap { place in
      first.dropFirst(place).prefix(1) + second.dropFirst(place).prefix(1)
    }
  }
}

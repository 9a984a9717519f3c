/// The number of connections of each address, or of each network, in the accept queue and inside.
struct AdmissionShares<Name: Hashable & Sendable>: Sendable {
  /// Names a place that has connections.
  typealias Index = Int

  struct Share: Sendable {
    fileprivate let place: Name
    fileprivate(set) var acceptQueue = 0
    fileprivate(set) var inside = 0

    var all: Int { acceptQueue + inside }
  }

  private var indices: [Name: Index] = [:]
  private var shares: [Share] = []
  private var unused: [Index] = []

  subscript(index: Index) -> Share { shares[index] }

  /// How many connections of a place are inside.
  func inside(_ index: Index) -> Int { shares[index].inside }

  /// A connection of a place has arrived in the accept queue.
  mutating func arrive(_ place: Name) -> Index {
    let index = index(of: place)
    shares[index].acceptQueue += 1
    return index
  }

  /// A connection is let in.
  mutating func enter(_ index: Index) {
    shares[index].acceptQueue -= 1
    shares[index].inside += 1
  }

  /// A connection has ended.
  mutating func leave(_ index: Index, isInside: Bool) {
    if isInside { shares[index].inside -= 1 } else { shares[index].acceptQueue -= 1 }
    guard shares[index].all == 0 else { return }
    indices[shares[index].place] = nil
    unused.append(index)
  }

  private mutating func index(of place: Name) -> Index {
    if let index = indices[place] { return index }
    let share = Share(place: place)
    if let index = unused.popLast() {
      shares[index] = share
      indices[place] = index
      return index
    }
    shares.append(share)
    indices[place] = shares.count - 1
    return shares.count - 1
  }
}

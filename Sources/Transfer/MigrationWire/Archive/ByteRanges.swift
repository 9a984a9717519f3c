/// A set of byte positions, kept as ascending ranges that neither overlap nor touch.
package struct ByteRanges: Equatable, Sendable {
  package private(set) var all: [Range<UInt64>] = []

  /// The number of bytes in the set.
  package private(set) var count: UInt64 = 0

  package init() {}

  /// Whether the set has none, a part or all of a range.
  package enum Cover: Equatable, Sendable {
    case none
    case part
    case whole
  }

  package func cover(of range: Range<UInt64>) -> Cover {
    let index = firstIndex(endingAfter: range.lowerBound)
    guard index < all.count, all[index].lowerBound < range.upperBound else { return .none }
    return all[index].lowerBound <= range.lowerBound && range.upperBound <= all[index].upperBound ? .whole : .part
  }

  /// Adds a range, joining it with those that it overlaps or touches.
  package mutating func insert(_ range: Range<UInt64>) {
    guard !range.isEmpty else { return }
    let first = firstIndex(endingAfter: range.lowerBound > 0 ? range.lowerBound - 1 : 0)
    var last = first
    var joined = range
    while last < all.count, all[last].lowerBound <= range.upperBound {
      count -= all[last].upperBound - all[last].lowerBound
      joined = min(joined.lowerBound, all[last].lowerBound)..<max(joined.upperBound, all[last].upperBound)
      last += 1
    }
    count += joined.upperBound - joined.lowerBound
    all.replaceSubrange(first..<last, with: CollectionOfOne(joined))
  }

  /// The parts of `range` that are not in the set, in ascending order.
  package func gaps(in range: Range<UInt64>) -> [Range<UInt64>] {
    var gaps: [Range<UInt64>] = []
    var start = range.lowerBound
    var index = firstIndex(endingAfter: start)
    while index < all.count, all[index].lowerBound < range.upperBound {
      if start < all[index].lowerBound { gaps.append(start..<all[index].lowerBound) }
      start = max(start, all[index].upperBound)
      index += 1
    }
    if start < range.upperBound { gaps.append(start..<range.upperBound) }
    return gaps
  }

  /// The index of the first range that ends after `position`, by binary search.
  private func firstIndex(endingAfter position: UInt64) -> Int {
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].upperBound > position { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

import TestSupport

/// The only source of random numbers in a simulation.
final class Dice: RandomNumberGenerator {
  private var chance: Seeded

  /// Neighbouring seeds begin far from each other.
  init(seed: UInt64) {
    var start = Seeded(seed)
    chance = Seeded(start.next())
  }

  func next() -> UInt64 { chance.next() }

  /// A number in a range.
  func roll(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(next() % UInt64(range.count))
  }

  /// True once in so many times.
  func one(in count: Int) -> Bool { next() % UInt64(max(1, count)) == 0 }

  func pick<Element>(_ elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[roll(0...elements.count - 1)]
  }

  func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count { withUnsafeBytes(of: next()) { bytes += $0 } }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

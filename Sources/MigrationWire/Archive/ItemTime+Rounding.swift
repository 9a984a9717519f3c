extension ItemTime {
  /// The latest time at or before this one that is a multiple of so many nanoseconds.
  package func rounded(to granularity: UInt32) -> ItemTime {
    guard granularity > 1 else { return self }
    let second: Int128 = 1_000_000_000
    let time = Int128(seconds) * second + Int128(nanoseconds)
    let rest = time % Int128(granularity)
    let rounded = time - (rest < 0 ? rest + Int128(granularity) : rest)
    // Division rounds towards zero, and seconds towards the past.
    let fraction = (rounded % second + second) % second
    // Only the very first second of all can leave the range.
    return ItemTime(
      seconds: Int64(clamping: (rounded - fraction) / second), nanoseconds: UInt32(truncatingIfNeeded: fraction))
  }

  /// The finest granularity of those that file systems have under which these times were kept; nil
  /// where none explains them.
  package static func granularity(of kept: [(set: ItemTime, got: ItemTime)]) -> UInt32? {
    granularities.first { granularity in kept.allSatisfy { $0.set.rounded(to: granularity) == $0.got } }
  }

  private static let granularities: [UInt32] = [
    1, 100, 1000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000,
  ]
}

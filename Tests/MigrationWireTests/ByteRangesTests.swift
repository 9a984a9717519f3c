import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct ByteRangesTests {
  /// The same set as one flag a position.
  private struct Model {
    var held = [Bool](repeating: false, count: 64)

    mutating func insert(_ range: Range<UInt64>) { for position in range { held[Int(position)] = true } }

    func cover(of range: Range<UInt64>) -> ByteRanges.Cover {
      let count = range.count { held[Int($0)] }
      return count == 0 ? .none : count == range.count ? .whole : .part
    }

    /// The maximal runs of `flag` within `range`.
    func runs(of flag: Bool, in range: Range<UInt64>) -> [Range<UInt64>] {
      var runs: [Range<UInt64>] = []
      for position in range where held[Int(position)] == flag {
        if let last = runs.last, last.upperBound == position {
          runs[runs.count - 1] = last.lowerBound..<position + 1
        } else {
          runs.append(position..<position + 1)
        }
      }
      return runs
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `random insertions agree with a flag a position`(seed: UInt64) {
    var random = Seeded(seed)
    var (ranges, model) = (ByteRanges(), Model())
    for _ in 0..<60 {
      let start = UInt64.random(in: 0..<64, using: &random)
      let range = start..<UInt64.random(in: start...min(64, start + 1 + seed % 9), using: &random)
      ranges.insert(range)
      model.insert(range)
      expect(ranges.all, is: model.runs(of: true, in: 0..<64))
      expect(ranges.count, is: UInt64(model.held.count { $0 }))
      let asked = UInt64.random(in: 0..<64, using: &random)
      let question = asked..<UInt64.random(in: asked + 1...64, using: &random)
      expect(ranges.cover(of: question), is: model.cover(of: question))
      expect(ranges.gaps(in: question), is: model.runs(of: false, in: question))
    }
  }

  @Test func `the order of insertion does not matter`() {
    var random = Seeded(7)
    let pieces = (0..<50 as Range<UInt64>).map { $0 * 3..<$0 * 3 + 1 + $0 % 3 }
    let straight = ByteRanges(pieces)
    for _ in 0..<20 { expect(ByteRanges(pieces.shuffled(using: &random)), is: straight) }
  }

  @Test func `an empty range adds nothing`() {
    var ranges = ByteRanges([5..<6])
    ranges.insert(0..<0)
    ranges.insert(6..<6)
    expect(ranges.all, is: [5..<6])
  }

  @Test func `the greatest places are handled`() {
    let end = Limits.fileSize
    var ranges = ByteRanges([0..<1, end - 1..<end])
    expect(ranges.count == 2 && ranges.gaps(in: 0..<end) == [1..<end - 1])
    ranges.insert(0..<end)
    expect(ranges.all == [0..<end] && ranges.count == end && ranges.cover(of: 0..<end) == .whole)
  }

  @Test func `many pieces are joined in little time`() {
    var ranges = ByteRanges()
    for index in 0..<60_000 as Range<UInt64> { ranges.insert(index * 2..<index * 2 + 1) }
    expect(ranges.all.count == 60_000 && ranges.count == 60_000)
    ranges.insert(0..<120_000)
    expect(ranges.all.count, is: 1)
  }
}

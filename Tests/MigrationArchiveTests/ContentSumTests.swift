import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The sum of a file's content, made of the lanes of its pieces.
@Suite struct ContentSumTests {
  private func sum(_ data: [UInt8], _ pieces: [Range<Int>]) -> [UInt8]? {
    var sum = ContentSum()
    for piece in pieces {
      sum.add(
        PieceLanes(checkLanes(of: data.span.extracting(piece))), at: UInt64(piece.lowerBound)..<UInt64(piece.upperBound)
      )
    }
    return sum.bytes
  }

  @Test func `pieces add up to the same sum, however a file is cut, and in any order`() {
    for length in [1, 7, 8, 9, 23, 24, 25, 1000, 4099] {
      let data = pattern(length)
      let whole = sum(data, [0..<length])
      expect(whole?.count, is: 12)
      for step in [8, 16, 24, 64, 4096] {
        let pieces = stride(from: 0, to: length, by: step).map { $0..<min(length, $0 + step) }
        expect(sum(data, pieces) == whole && sum(data, pieces.reversed()) == whole, "\(length) by \(step)")
      }
    }
  }

  @Test func `holes add nothing, and every changed byte counts`() {
    let data = [UInt8](repeating: 0, count: 4096) + pattern(100)
    expect(sum(data, [4096..<4196]), is: sum(data, [0..<4196]))
    let whole = sum(data, [0..<4196])
    for index in [0, 8, 16, 4095, 4100, 4195] {
      var changed = data
      changed[index] ^= 1
      expect(sum(changed, [0..<4196]) != whole)
    }
    var exchanged = data
    exchanged.swapAt(4100, 4130)
    expect(sum(exchanged, [0..<4196]) != whole)
  }

  @Test func `lanes of pieces are joined to those of the whole, and follow from its sum`() {
    for length in [1, 8, 24, 25, 1000, 4099] {
      let data = pattern(length)
      func lanes(_ range: Range<Int>) -> PieceLanes { PieceLanes(checkLanes(of: data.span.extracting(range))) }
      for cut in stride(from: 8, to: length, by: 56) {
        expect(
          lanes(0..<cut).joined(UInt64(cut), with: lanes(cut..<length), UInt64(length - cut)), is: lanes(0..<length))
      }
      var sum = ContentSum()
      sum.add(lanes(0..<length), at: 0..<UInt64(length))
      expect(sum.lanes(of: UInt64(length)), is: lanes(0..<length))
    }
    let zeros = [UInt8](repeating: 0, count: 4096)
    expect(ContentSum().lanes(of: 4096), is: PieceLanes(checkLanes(of: zeros.span)))
  }

  @Test func `a piece that begins within a word makes the sum unknown`() {
    expect(sum(pattern(20), [0..<12, 12..<20]) == nil)
  }
}

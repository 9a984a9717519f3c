import Expectations
import Testing

@testable import MigrationArchive

@Suite struct ReadAheadTests {
  /// Reads files of 4 KiB one after the other. Returns the requested files, and when each was
  /// requested.
  private func reads(_ range: Range<Int>, of count: Int, seconds: Double, _ ahead: inout ReadAhead) -> [(
    Int, Range<Int>
  )] {
    range.compactMap { index in
      let wanted = ahead.read(index, of: count, bytes: 4096, seconds: seconds)
      return wanted.isEmpty ? nil : (index, wanted)
    }
  }

  @Test func `files that are in memory are not requested`() {
    var ahead = ReadAhead()
    expect(reads(0..<10_000, of: 10_000, seconds: 10e-6, &ahead).isEmpty)
  }

  @Test func `a slow read now and then does not mean a slow disk`() {
    var ahead = ReadAhead()
    for start in stride(from: 0, to: 1_000, by: 8) {
      expect(reads(start..<start + 7, of: 1_000, seconds: 1e-3, &ahead).isEmpty)
      expect(reads(start + 7..<start + 8, of: 1_000, seconds: 10e-6, &ahead).isEmpty)
    }
  }

  @Test func `after several slow reads every file is requested once, ahead of its turn`() {
    var ahead = ReadAhead()
    var next = 8
    for (index, wanted) in reads(0..<3_000, of: 3_000, seconds: 1e-3, &ahead) {
      expect(wanted.lowerBound == next && wanted.lowerBound > index && wanted.upperBound <= index + 129)
      next = wanted.upperBound
    }
    expect(next, is: 3_000)
  }

  @Test func `once the disk is fast again the requests soon stop`() {
    var ahead = ReadAhead()
    _ = reads(0..<100, of: 20_000, seconds: 1e-3, &ahead)
    let later = reads(100..<20_000, of: 20_000, seconds: 10e-6, &ahead)
    expect(!later.isEmpty)
    expect(later.allSatisfy { $0.0 < 5_000 })
  }

  @Test func `if opening a file waits too, no more files are requested`() {
    var ahead = ReadAhead()
    expect(!reads(0..<100, of: 20_000, seconds: 4e-3, &ahead).isEmpty)
    ahead.asked(for: 128, seconds: 0.01)
    expect(!reads(100..<1_000, of: 20_000, seconds: 4e-3, &ahead).isEmpty)
    ahead.asked(for: 128, seconds: 0.25)
    expect(reads(1_000..<20_000, of: 20_000, seconds: 4e-3, &ahead).isEmpty)
  }

  @Test func `a large file that takes long does not mean a slow disk`() {
    var ahead = ReadAhead()
    for index in 0..<100 { expect(ahead.read(index, of: 1_000, bytes: 262_144, seconds: 150e-6).isEmpty) }
  }
}

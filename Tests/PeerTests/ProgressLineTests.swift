import Expectations
import MigrationEngine
import MigrationTransfer
import Testing

@testable import peer

@Suite struct ProgressLineTests {
  private func line(_ progress: TransferProgress, bytesPerSecond: UInt64 = 0) throws -> ProgressLine {
    var meter = ProgressMeter()
    if bytesPerSecond > 0 {
      let before = TransferProgress(
        phase: progress.phase, bytes: progress.bytes - bytesPerSecond, totalBytes: progress.totalBytes,
        items: progress.items, totalItems: progress.totalItems)
      meter.note(before, at: 0)
    }
    meter.note(progress, at: 1)
    return try #require(ProgressLine(meter))
  }

  private let half = TransferProgress(
    phase: .receiving, bytes: 1_600_000_000, totalBytes: 3_200_000_000, items: 540, totalItems: 1204)

  @Test(arguments: [
    (100, "Receiving  ##############...............  50%  1.6/3.2 GB    540/1,204 items   100 MB/s   0:16 left"),
    (80, "Receiving  ####.....  50%  1.6/3.2 GB    540/1,204 items   100 MB/s   0:16 left"),
    (60, "Receiving  ####....  50%  1.6/3.2 GB   100 MB/s   0:16 left"),
    (50, "Receiving  ####.....  50%  1.6/3.2 GB   0:16 left"),
    (42, "Receiving   50%  1.6/3.2 GB   0:16 left"), (30, "Receiving   50%   0:16 left"), (20, "Receiving   50%"),
    (10, "50%"), (4, "50%"), (2, "5"), (1, ""), (0, ""),
  ])
  func `the line omits parts that do not fit`(columns: Int, expected: String) throws {
    expect(try line(half, bytesPerSecond: 100_000_000).text(columns: columns, bar: .plain), is: expected)
  }

  @Test(arguments: 0...250)
  func `the line never reaches the last column`(columns: Int) throws {
    expect(try line(half, bytesPerSecond: 100).text(columns: columns, bar: .blocks).count <= max(0, columns - 1))
  }

  @Test func `the line has the same length without a rate and at every point`() throws {
    let length = try line(half, bytesPerSecond: 100_000_000).text(columns: 100, bar: .blocks).count
    expect(try line(half).text(columns: 100, bar: .blocks).count, is: length)
    for tenth in 0...10 as ClosedRange<UInt64> {
      let part = TransferProgress(
        phase: .sending, bytes: tenth * 320_000_000, totalBytes: 3_200_000_000, items: tenth, totalItems: 1204)
      expect(try line(part).text(columns: 100, bar: .blocks).count, is: length)
    }
  }

  @Test func `the bar is full only at the end`() throws {
    let almost = TransferProgress(phase: .sending, bytes: 999, totalBytes: 1000, items: 0, totalItems: 0)
    expect(try line(almost).text(columns: 80, bar: .plain).contains("#. "))
    let all = TransferProgress(phase: .sending, bytes: 1000, totalBytes: 1000, items: 0, totalItems: 0)
    expect(try !line(all).text(columns: 80, bar: .plain).contains("." + " "))
  }

  @Test func `without a total, the line has a count and no bar`() throws {
    let walk = TransferProgress(phase: .checking, bytes: 3_200_000_000, totalBytes: 0, items: 1204, totalItems: 0)
    expect(try line(walk).text(columns: 80, bar: .plain), is: "Checking   1,204 items, 3.2 GB")
    expect(try line(walk).text(columns: 12, bar: .plain), is: "Checking   ")
    expect(try line(walk).plainText, is: "checking: 1,204 items, 3.2 GB")
    let nothing = TransferProgress(phase: .pairing, bytes: 0, totalBytes: 0, items: 0, totalItems: 0)
    expect(try line(nothing).text(columns: 80, bar: .plain), is: "Pairing  ")
    expect(try line(nothing).plainText, is: "pairing")
  }

  @Test func `beyond an estimate, the line has bytes and a rate, but no percentage and no time`() throws {
    let beyond = TransferProgress(phase: .sending, bytes: 3_200_000_000, totalBytes: nil, items: 4, totalItems: 4)
    let line = try line(beyond, bytesPerSecond: 100_000_000)
    expect(line.text(columns: 80, bar: .plain), is: "Sending    4 items, 3.2 GB   100 MB/s")
    expect(line.plainText, is: "sending: 4 items, 3.2 GB, 100 MB/s")
    expect(line.secondsLeft == nil && beyond.percent == nil && !beyond.isComplete)
    expect(try self.line(beyond).plainText, is: "sending: 4 items, 3.2 GB")
  }

  @Test func `the line for a log has the same figures`() throws {
    expect(
      try line(half, bytesPerSecond: 100_000_000).plainText,
      is: "receiving: 50 %, 1.6 GB of 3.2 GB, 540/1,204 items, 100 MB/s, 0:16 left")
    expect(try line(half).plainText, is: "receiving: 50 %, 1.6 GB of 3.2 GB, 540/1,204 items")
  }
}

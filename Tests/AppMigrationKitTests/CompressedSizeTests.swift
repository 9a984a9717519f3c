import Expectations
import MigrationArchive
import MigrationSystem
import MigrationWire
import Testing

@testable import AppMigrationKit

@Suite struct CompressedSizeTests {
  private func frame(_ contents: [UInt8]) throws -> FrameBuffer {
    let record = ItemRecord(
      path: try ArchivePath(Array("file".utf8)), generation: 1, body: .file(size: UInt64(contents.count)))
    var entry = ByteWriter()
    EntryWriter.item(record, to: &entry)
    EntryWriter.content(length: contents.count, 0, to: &entry)
    entry.array(contents)
    var frame = FrameBuffer(capacity: Limits.plainLength)
    frame.commit(entry.bytes)
    return frame
  }

  @Test func `a frame counts with the smaller of its plain and its compressed size`() throws {
    let size = ExtractedArchive.CompressedSize()
    try size.add(frame([1]))
    expect(size.total, is: 1)
    try size.add(frame(try SystemRandom.bytes(100_000)))
    expect(size.total, is: 100_001)
    try size.add(frame([UInt8](repeating: 7, count: 100_000)))
    let isCompressing = Zstandard() != nil
    expect(isCompressing ? (100_002..<101_000).contains(size.total) : size.total == 200_001)
  }
}

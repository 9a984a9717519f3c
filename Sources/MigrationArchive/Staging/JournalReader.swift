import MigrationSystem
import MigrationWire

/// Reads a journal record by record, and finds where it stops being valid.
struct JournalReader {
  enum Step {
    case record(JournalRecord, at: UInt64)
    /// The records end here: at the end of the file, or at a record that is cut short or not
    /// authentic.
    case end(at: UInt64)
  }

  private let block: Int
  private let file: any StagedFile
  private let key: UInt128
  private let end: UInt64
  private var bytes: [UInt8] = []
  /// The position of `bytes` in the file, and the number of bytes in use.
  private var start: UInt64
  private var used = 0

  /// Reads from `start`, where a record begins, up to `end`, in blocks of `block` bytes.
  init(_ file: any StagedFile, key: UInt128, end: UInt64, start: UInt64 = 0, block: Int = 1 << 20) {
    self.file = file
    self.key = key
    self.end = end
    self.start = start
    self.block = block
  }

  private var position: UInt64 { start + UInt64(used) }

  mutating func next() throws(SystemError) -> Step {
    while true {
      let here = position
      do {
        if let (record, length) = try JournalRecord.read(bytes.span.extracting(used...), position: here, key: key) {
          used += length
          return .record(record, at: here)
        }
      } catch {
        return .end(at: here)
      }
      guard try fill() else { return .end(at: here) }
    }
  }

  /// The greatest position that an authentic sync mark vouches for, behind the position where
  /// `next` ended.
  mutating func laterSyncMark() throws(SystemError) -> UInt64? {
    var greatest: UInt64?
    repeat {
      let found = JournalRecord.greatestSyncMark(bytes.span.extracting(used...), position: position, key: key)
      if let found { greatest = max(greatest ?? 0, found) }
      // A mark that straddles two blocks is found in the next block.
      used = max(used, bytes.count - (JournalRecord.syncedLength - 1))
    } while try fill()
    return greatest
  }

  /// Reads the next block; false at the end.
  private mutating func fill() throws(SystemError) -> Bool {
    let from = start + UInt64(bytes.count)
    guard from < end else { return false }
    bytes.removeFirst(used)
    start += UInt64(used)
    used = 0
    let kept = bytes.count
    let wanted = Int(min(UInt64(block), end - from))
    bytes += [UInt8](repeating: 0, count: wanted)
    let count = try file.read(at: from, into: &bytes, kept..<kept + wanted)
    bytes.removeLast(wanted - count)
    return count > 0
  }
}

import MigrationSystem
import MigrationWire

/// The receiver's journal: claims about staging, appended as they become true.
///
/// Several threads append; records are in the order of the calls.
final class JournalFile: Sendable {
  private struct State: Sendable {
    var position: UInt64
    var writer = ByteWriter()
  }

  let file: any StagedFile
  let key: UInt128
  private let state: Condition<State>

  /// Continues a journal whose records end at `position`; 0 starts a new journal.
  init(_ file: any StagedFile, key: UInt128, position: UInt64) {
    self.file = file
    self.key = key
    state = Condition(State(position: position))
  }

  /// Returns when the records are in the file: they survive this process, but not yet a power loss.
  /// `note` receives the position of each.
  func append(
    _ records: [JournalRecord], _ note: (JournalRecord, UInt64) -> Void = { _, _ in }
  ) throws(SystemError) {
    guard !records.isEmpty else { return }
    try state.withLock { (state) throws(SystemError) in
      state.writer.removeAll()
      for record in records {
        let position = state.position + UInt64(state.writer.bytes.count)
        record.write(to: &state.writer, position: position, key: key)
        note(record, position)
      }
      // At this position, so that a later record overwrites one that was cut short.
      try file.write(at: state.position, state.writer.bytes.span)
      state.position += UInt64(state.writer.bytes.count)
    }
  }

  /// Returns when the records, and all records before them, survive a power loss.
  func appendDurably(_ records: [JournalRecord]) throws(SystemError) {
    try append(records)
    try file.synchronize()
  }

  /// The position of the next record.
  var position: UInt64 { state.withLock { $0.position } }

  /// The record at a position at which one was read before; nil if there is none.
  func record(at position: UInt64) throws(SystemError) -> JournalRecord? {
    var reader = Reader(file, key: key, end: self.position, start: position, block: 4096)
    guard case .record(let record, _) = try reader.next() else { return nil }
    return record
  }

  /// Reads the records up to a position, in order.
  func forEach(
    upTo end: UInt64, _ body: (_ position: UInt64, JournalRecord) throws -> Void
  ) throws {
    var reader = Reader(file, key: key, end: end)
    while case .record(let record, let position) = try reader.next() { try body(position, record) }
  }

  /// Reads a journal record by record, and finds where it stops being valid.
  struct Reader {
    enum Step {
      case record(JournalRecord, at: UInt64)
      /// The records end here: at the end of the file, or at a record that is cut short or not
      /// authentic.
      case end(at: UInt64)
    }

    private let block: Int
    private let file: any StagedFile
    private let key: UInt128?
    private let end: UInt64
    private var bytes: [UInt8] = []
    /// The position of `bytes` in the file, and the number of bytes in use.
    private var start: UInt64
    private var used = 0

    /// Reads from `start`, where a record begins, up to `end`, in blocks of `block` bytes. Without a key,
    /// every record counts as authentic.
    init(_ file: any StagedFile, key: UInt128?, end: UInt64, start: UInt64 = 0, block: Int = 1 << 20) {
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
      guard let key else { return nil }
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
}

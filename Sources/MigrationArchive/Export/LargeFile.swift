import MigrationSystem
import MigrationWire

/// A large file while several readers read pieces of it: one state of the file, one check, and one
/// record behind its last piece.
final class LargeFile<File: SourceFile>: Sendable {
  /// Data for one reader to read, or a hole.
  struct Piece: Equatable, Sendable {
    let range: Range<UInt64>
    let isHole: Bool
  }

  /// The result of reading the file.
  enum Outcome: Sendable {
    case complete
    case changed
    case failed(SystemError)
  }

  private struct State: Sendable {
    /// The ranges that the receiver has.
    let held: ByteRanges
    var position: UInt64 = 0
    /// The rest of the extent that was examined last.
    var gaps: ArraySlice<Piece> = []
    var outcome = Outcome.complete
    /// The last frame that contains a piece of the file.
    var lastFrame: UInt64 = 0
  }

  let file: File
  let record: ItemRecord
  /// The status of the file when it was opened.
  let before: FileStatus
  /// The attributes that are never carried.
  let lostAttributes: [[UInt8]]
  let item: WorkList.Item
  let tries: WorkList.Tries
  private let partLength: UInt64
  private let state: Mutex<State>

  init(_ opened: OpenedFile<File>, item: WorkList.Item, tries: WorkList.Tries, partLength: Int) {
    file = opened.file
    record = opened.record
    before = opened.before
    lostAttributes = opened.lostAttributes
    self.item = item
    self.tries = tries
    self.partLength = UInt64(partLength)
    state = Mutex(State(held: opened.held, lastFrame: opened.mayFollow ?? 0))
  }

  /// The next piece that no reader has taken; nil if there is none, or if pieces are no longer
  /// needed.
  ///
  /// Looks for holes under the lock: only one reader at a time knows the extents behind the last
  /// piece.
  func take() -> Piece? {
    state.withLock { state -> Piece? in
      guard case .complete = state.outcome else { return nil }
      while true {
        if let piece = state.gaps.popFirst() {
          guard !piece.isHole, UInt64(piece.range.count) > partLength else { return piece }
          let middle = piece.range.lowerBound + partLength
          state.gaps = [Piece(range: middle..<piece.range.upperBound, isHole: false)] + state.gaps
          return Piece(range: piece.range.lowerBound..<middle, isHole: false)
        }
        guard state.position < record.size else { return nil }
        do throws(SystemError) {
          let extent = try extent(from: state.position)
          state.position = extent.range.upperBound
          state.gaps = state.held.gaps(in: extent.range).map { Piece(range: $0, isHole: extent.isHole) }[...]
        } catch {
          state.outcome = .failed(error)
          return nil
        }
      }
    }
  }

  /// Records that a frame contains a piece of the file.
  func note(frame: UInt64) { state.withLock { $0.lastFrame = max($0.lastFrame, frame) } }

  /// Ends the reading, because the file cannot be read in the state in which it was opened.
  func end(_ outcome: Outcome) {
    state.withLock { state in
      if case .complete = state.outcome { state.outcome = outcome }
    }
  }

  var isGivenUp: Bool {
    state.withLock { state in
      if case .complete = state.outcome { false } else { true }
    }
  }

  /// The result after the last reader has stopped, and the last frame that contains a part of the
  /// file.
  var end: (outcome: Outcome, lastFrame: UInt64) { state.withLock { ($0.outcome, $0.lastFrame) } }

  /// The least length of data between two holes, including zeros: more for longer paths, because
  /// the pieces must carry at least as many bytes as receivers need for remembering them (Protocol
  /// §11). No file system has extents as short as half a kilobyte.
  private var shortestData: UInt64 {
    let pieces = 2 * (Limits.pieceOverhead + UInt64(record.path.bytes.count))
    return pieces > 512 ? pieces : 0
  }

  /// Whether the file has holes that only its bytes tell.
  var hasUntoldHoles: Bool { !file.tellsHoles && before.allocatedBytes < before.size }

  /// The data or the hole at a position inside the file. A file without holes is one extent and
  /// costs no call.
  private func extent(from position: UInt64) throws(SystemError) -> Piece {
    let size = record.size
    guard file.tellsHoles, before.allocatedBytes < before.size else {
      return Piece(range: position..<size, isHole: false)
    }
    let data = try file.nextData(from: Int64(position)).map { min(size, UInt64($0)) } ?? size
    if data > position { return Piece(range: position..<data, isHole: true) }
    let start = position + min(shortestData, size - position)
    guard start < size else { return Piece(range: position..<size, isHole: false) }
    let end = try file.nextHole(from: Int64(start)).map { min(size, UInt64($0)) } ?? size
    // If the file system contradicts itself, the rest is read as data.
    return Piece(range: position..<(end > position ? end : size), isHole: false)
  }
}

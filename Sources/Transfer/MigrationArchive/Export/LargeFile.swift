import MigrationSystem
import MigrationWire

/// A large file while several readers read pieces of it: one state of the file, one check, and one
/// record behind its last piece.
final class LargeFile<File: SourceFile>: Sendable {
  /// Data for one reader to read, or a hole.
  struct Piece: Equatable, Sendable {
    var range: Range<UInt64>
    let isHole: Bool
    /// Whether the receiver has it: it is read for the list of blocks alone.
    var isHeld = false
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
    /// The lanes of the blocks; nil if they are not kept.
    var sums: BlockSums.Builder?
    /// The held ranges that are still to be read for the list of blocks.
    var unread: ArraySlice<Range<UInt64>> = []
    /// How many blocks were compared with the base, and the first bytes of those that differ.
    var compared = 0
    var differing: Set<UInt64> = []
  }

  let file: File
  let record: ItemRecord
  /// The status of the file when it was opened.
  let before: FileStatus
  /// The attributes that are never carried.
  let lostAttributes: [[UInt8]]
  let item: WorkList.Item
  let tries: WorkList.Tries
  /// The blocks of the version that lies at the receiver.
  let base: BlockSums?
  private let partLength: UInt64
  private let state: Mutex<State>

  init(_ opened: OpenedFile<File>, item: WorkList.Item, tries: WorkList.Tries, partLength: Int, keepsSums: Bool) {
    base = opened.base
    self.keepsSums = keepsSums && opened.record.size >= BlockSums.smallestFile
    file = opened.file
    record = opened.record
    before = opened.before
    lostAttributes = opened.lostAttributes
    self.item = item
    self.tries = tries
    let size = opened.record.size
    let sums = self.keepsSums ? BlockSums.Builder(size: size) : nil
    self.partLength = max(UInt64(partLength), sums?.length ?? 0, base?.length ?? 0)
    state = Mutex(
      State(
        held: opened.held, lastFrame: opened.mayFollow ?? 0, sums: sums,
        unread: sums == nil
          ? [] : opened.held.all.compactMap { $0.lowerBound < size ? $0.clamped(to: 0..<size) : nil }[...]))
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
          // No block is divided between two readers.
          let middle = (piece.range.lowerBound / partLength + 1) * partLength
          guard !piece.isHole, middle < piece.range.upperBound else { return piece }
          var (part, rest) = (piece, piece)
          (part.range, rest.range) = (piece.range.lowerBound..<middle, middle..<piece.range.upperBound)
          state.gaps = [rest] + state.gaps
          return part
        }
        guard state.position < record.size else {
          // Last, since it brings the receiver nothing.
          guard let range = state.unread.popFirst() else { return nil }
          state.gaps = [Piece(range: range, isHole: false, isHeld: true)]
          continue
        }
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

  // MARK: Blocks

  /// The rest of a piece up to the end of a block, if the receiver may have the block: then the block
  /// is compared before any of it is sent.
  func comparable(_ piece: Piece) -> Range<UInt64>? {
    guard isComparing, !piece.isHole, !piece.isHeld,
      let base, let block = base.range(of: piece.range.lowerBound / base.length),
      block.lowerBound == piece.range.lowerBound, block.upperBound <= piece.range.upperBound,
      // No piece may begin within a word: its lanes would not add up to the sum of the file.
      block.upperBound == record.size || block.upperBound.isMultiple(of: 8)
    else { return nil }
    return state.withLock { $0.differing.contains(block.lowerBound) ? nil : block }
  }

  /// Whether there is a base that is of use: once most blocks differ, none is compared any more.
  var isComparing: Bool {
    base != nil && state.withLock { $0.compared < 64 || $0.differing.count * 2 <= $0.compared }
  }

  /// Notes whether a block of the base is equal.
  func noteCompared(_ block: Range<UInt64>, isEqual: Bool) {
    state.withLock { state in
      state.compared += 1
      if !isEqual { state.differing.insert(block.lowerBound) }
    }
  }

  /// The longest piece from an offset on that is inside of one block of the list, and of the base.
  func blockEnd(behind offset: UInt64) -> UInt64 {
    let lengths = [base?.length, state.withLock { $0.sums?.length }].compactMap(\.self)
    return lengths.map { (offset / $0 + 1) * $0 }.min() ?? .max
  }

  /// The ends of the parts of which a chunk's lanes are made, and the call that notes these.
  var parts: FramePacker.Parts {
    FramePacker.Parts(end: { self.blockEnd(behind: $0) }, note: { self.note($0, at: $1) })
  }

  /// Notes the lanes of a piece that is inside of one block; nil for a hole, which may have many.
  func note(_ lanes: PieceLanes?, at range: Range<UInt64>) {
    state.withLock { state in
      if let lanes { state.sums?.note(lanes, at: range) } else { state.sums?.note(hole: range) }
    }
  }

  /// Whether the lanes of its blocks are kept.
  let keepsSums: Bool

  /// The list of blocks, once all have been read.
  var sums: BlockSums? { state.withLock { $0.sums?.result } }

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
    // Only whole blocks can be compared with a base: zeros around data are data there.
    let block = base?.length ?? 1
    let found = try file.nextData(from: Int64(position)).map { min(size, UInt64($0)) } ?? size
    let data = found < size ? max(position, found / block * block) : size
    if data > position { return Piece(range: position..<data, isHole: true) }
    let start = position + min(max(shortestData, found - position), size - position)
    guard start < size else { return Piece(range: position..<size, isHole: false) }
    let hole = try file.nextHole(from: Int64(start)).map { min(size, UInt64($0)) } ?? size
    let end = min(size, (hole + block - 1) / block * block)
    // If the file system contradicts itself, the rest is read as data.
    return Piece(range: position..<(end > position ? end : size), isHole: false)
  }
}

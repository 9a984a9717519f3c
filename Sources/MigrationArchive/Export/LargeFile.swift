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

/// The pieces of large files, which several readers read at once.
extension ArchiveReader {
  /// The bytes of a large file that are requested from the disk in advance.
  private static var distance: UInt64 { 4 << 20 }

  /// Continues reading the current file until the frame is full; false then.
  func readFile() -> Bool {
    guard let (number, file, rest) = file else { return true }
    guard let piece = rest ?? take(from: file, number) else {
      leave(file, number)
      return true
    }
    if packer.isRefused(file.record) {
      // For a file that the destination cannot hold, only the record is sent.
      packer.skip(UInt64(piece.range.count))
      self.file?.rest = nil
    } else if piece.isHole {
      guard packer.hasRoom(for: 0) else { return keep(piece) }
      packer.addHole(place(of: piece.range, in: file, isHole: true))
      file.note(frame: packer.frameNumber)
      self.file?.rest = nil
    } else {
      let end = min(piece.range.upperBound, piece.range.lowerBound + UInt64(packer.sizes.chunk))
      guard packer.hasRoom(for: end - piece.range.lowerBound) else { return keep(piece) }
      addChunk(piece.range.lowerBound..<end, of: piece, in: file)
      self.file?.rest =
        end < piece.range.upperBound ? LargeFile.Piece(range: end..<piece.range.upperBound, isHole: false) : nil
    }
    if file.isGivenUp { self.file?.rest = nil }
    return packer.hasRoom(for: 0)
  }

  private func keep(_ piece: LargeFile<Source.File>.Piece) -> Bool {
    file?.rest = piece
    return false
  }

  /// The next piece of a file that no other reader has taken. Asks the disk for the beginning of
  /// the piece.
  private func take(from file: LargeFile<Source.File>, _ number: WorkList.FileNumber) -> LargeFile<Source.File>.Piece? {
    guard let piece = file.take() else { return nil }
    if !piece.isHole {
      file.file.fetch(
        at: Int64(piece.range.lowerBound), length: Int64(min(UInt64(piece.range.count), Self.distance)))
    }
    return piece
  }

  private func addChunk(_ range: Range<UInt64>, of piece: LargeFile<Source.File>.Piece, in file: LargeFile<Source.File>)
  {
    let next = range.lowerBound + Self.distance
    if next < piece.range.upperBound {
      file.file.fetch(
        at: Int64(next), length: Int64(min(UInt64(packer.sizes.chunk), piece.range.upperBound - next)))
    }
    do {
      let isThere = try packer.addChunk(place(of: range, in: file), orHole: file.hasUntoldHoles) {
        memory throws(SystemError) in
        try file.file.readFully(at: Int64(range.lowerBound), into: &memory) == memory.count
      }
      if isThere { file.note(frame: packer.frameNumber) } else { file.end(.changed) }
    } catch {
      file.end(error.cause.map { .failed($0) } ?? .changed)
    }
  }

  /// Stops reading a file. The last reader checks whether the file is unchanged, and adds its
  /// record.
  private func leave(_ large: LargeFile<Source.File>, _ number: WorkList.FileNumber) {
    file = nil
    guard export.left(number) else { return }
    let item = large.item
    guard let batch = export.batch(item.batch) else { preconditionFailure("the file's item is not done") }
    do {
      if try !large.isGivenUp && !large.file.status().isSameState(as: large.before) { large.end(.changed) }
    } catch let error as SystemError {
      large.end(.failed(error))
    } catch {
      large.end(.changed)
    }
    let (outcome, lastFrame) = large.end
    switch outcome {
    case .complete:
      packer.addRecord(of: large.record)
      packer.leaveBehind(large.lostAttributes)
      if batch.tree.nodes[item.index].isShared { export.sent(item, large.record.generation) }
      if batch.isCaptured(item.index) { export.captured(item, large.record.generation) }
      done(item)
    case .changed: changed(item, large.tries, lastFrame: lastFrame, in: batch)
    // Chunks of the file may be on their way; the receiver discards files that never become
    // complete.
    case .failed(let error): unsent(item, error, in: batch)
    }
  }

  private func place(of range: Range<UInt64>, in file: LargeFile<Source.File>, isHole: Bool = false) -> FilePiece {
    FilePiece(path: file.record.path, generation: file.record.generation, range: range, isHole: isHole)
  }
}

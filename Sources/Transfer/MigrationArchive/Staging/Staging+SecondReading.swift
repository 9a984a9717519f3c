import MigrationSystem
import MigrationWire

/// The second reading of received files, before they are put in place.
///
/// The journal has a check of each piece of a file, which the sender made of the bytes that it read
/// (Protocol §9.3). A file with a piece that now reads otherwise is refused, and named.
extension Staging {
  /// One pass over the journal; the next piece is usually of the same file.
  private struct Reading {
    let staging: Staging
    let places: any StagingTree
    var data: [UInt8] = []
    var current: (path: ArchivePath, file: any StagedFile)?

    /// Why a piece differs from the sent piece; nil if it does not.
    mutating func difference(_ place: FilePiece, _ lanes: PieceLanes) -> String? {
      do {
        let file = try open(place.path)
        if place.isHole {
          return try isZero(place.range, of: file) ? nil : "it was read again, and has bytes where a hole was sent"
        }
        let count = place.range.count
        if data.count < count { data = [UInt8](repeating: 0, count: count) }
        let isSame =
          try file.read(at: place.range.lowerBound, into: &data, 0..<count) == count
          && lanes == PieceLanes(checkLanes(of: data.span.extracting(..<count)))
        return isSame ? nil : "it was read again, and differs from what was sent"
      } catch {
        return "it cannot be read again: \(error.words)"
      }
    }

    private mutating func isZero(_ range: Range<UInt64>, of file: any StagedFile) throws(SystemError) -> Bool {
      var position = range.lowerBound
      while position < range.upperBound {
        let count = Int(min(range.upperBound - position, UInt64(Limits.chunk)))
        if data.count < count { data = [UInt8](repeating: 0, count: count) }
        guard try file.read(at: position, into: &data, 0..<count) == count, data[..<count].allSatisfy({ $0 == 0 })
        else {
          return false
        }
        position += UInt64(count)
      }
      return true
    }

    private mutating func open(_ path: ArchivePath) throws(SystemError) -> any StagedFile {
      if let current, current.path == path { return current.file }
      let file = try places.openToRead(path)
      // Else the bytes would come from memory, not from the disk.
      file.forgetCached()
      current = (path, file)
      return file
    }
  }

  /// Reads every complete file again, and refuses those that differ. Everything is durable before.
  func verify(in places: any StagingTree, _ progress: (ImportProgress) -> Void) throws {
    try synchronize()
    var reading = Reading(staging: self, places: places)
    var different: [ArchivePath: String] = [:]
    let total = shared.withFigures { $0.held.bytes }
    var done: UInt64 = 0
    try journal.forEach(upTo: journal.position) { _, claim in
      guard let (place, lanes) = claim.piece, different[place.path] == nil,
        shared.withLock({ $0.ledger.holdsComplete(place.path, place.generation) })
      else { return }
      different[place.path] = reading.difference(place, lanes)
      done = min(total, done.addingClamped(UInt64(place.range.count)))
      progress(ImportProgress(phase: .verifying, done: done, total: total))
    }
    guard !different.isEmpty else { return }
    try journal.forEach(upTo: journal.position) { _, claim in
      guard let record = claim.completedItem, let why = different[record.path],
        shared.withLock({ $0.ledger.holds(record) })
      else { return }
      guard shared.withLock({ $0.mayRefuse }) else {
        throw Failure(.storage, "\(VisibleText.quoted(record.path)) is damaged: \(why)", name: record.path.bytes)
      }
      try refuse(record, .differs, nil, in: places)
      try remove(record.path, in: places)
    }
  }
}

extension JournalRecord {
  /// A piece of a file, and its lanes.
  fileprivate var piece: (FilePiece, PieceLanes)? {
    switch self {
    case .range(let place, let lanes): (place, lanes)
    case .item(let record, let lanes?) where record.size > 0:
      (FilePiece(path: record.path, generation: record.generation, range: 0..<record.size), lanes)
    default: nil
    }
  }
}

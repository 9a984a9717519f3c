import MigrationSystem
import MigrationWire

/// Processes the claims of a journal in order, and adds the valid ones to the ledger.
struct StagingReplay {
  private let staging: Staging
  private let survey: JournalSurvey
  private let places: any StagingTree
  private var data: [UInt8] = []
  /// The file that was checked last; the next claim is usually about the same file.
  private var current: (path: ArchivePath, file: any StagedFile)?
  /// The claims about the tree, by the hash of the path.
  private(set) var claimed: [UInt64: Claim] = [:]

  /// The position of an item's claim, and the entry that must exist.
  struct Claim {
    let position: UInt64
    let isDirectory: Bool
    /// The length of a file; the least one while it is incomplete.
    var size: UInt64?
    var isWhole = true

    /// Whether a file with a length may be the claimed one.
    func allows(_ length: UInt64?) -> Bool {
      guard let size else { return true }
      return length.map { isWhole ? $0 == size : $0 >= size } ?? false
    }
  }

  init(_ staging: Staging, _ survey: JournalSurvey) {
    self.staging = staging
    self.survey = survey
    places = staging.disk.places()
  }

  /// Throws a `SystemError`, a `Violation` or a `Failure`.
  mutating func run() throws {
    var untrue: [JournalRecord] = []
    try staging.journal.forEach(upTo: survey.end) { position, record in
      let isTrusted = position < survey.trusted || survey.stage != .receiving
      switch record {
      case .item(let item, let lanes):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        if try isTrusted || holds(item, lanes) {
          try staging.finish(item)
          staging.place([(item, position)])
          claim(item, position)
        } else {
          try places.remove(item.path)
          untrue.append(.void(at: position))
        }
      case .range(let place, let lanes):
        guard !survey.isVoid(place.path, place.generation, at: position) else { return }
        if try isTrusted || holds(place, lanes) {
          let completed = try staging.shared.withLock { try $0.ledger.restore(place) }
          // A hole at the end has not made the file longer yet.
          claim(place.path, position, completed, least: place.isHole ? 0 : place.range.upperBound)
          if let completed { try complete(completed, position, isTrusted) }
        } else {
          untrue.append(.void(at: position))
        }
      case .sealed(let item):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        let completed = try staging.shared.withLock { try $0.ledger.restore(sealed: item) }
        claim(item.path, position, completed)
        if let completed { try complete(completed, position, isTrusted) }
      case .refused(let path, let generation, let size, let reason):
        guard !survey.isVoid(at: position) else { return }
        staging.restore(path, generation, size: size, reason)
      case .opened, .discarded, .discardedTree, .void, .synced, .concluded, .moving, .exposed, .imported,
        .existing, .placing, .aside, .arrived, .rewritten, .following, .importing, .placed, .kept:
        break
      }
    }
    try staging.journal.append(untrue)
  }

  private mutating func claim(_ item: ItemRecord, _ position: UInt64) {
    // A hard link is created at the end; an existing one was created by a completion that failed.
    guard item.kind != .hardLink, item.kind != .metadata else { return }
    claimed[EarlierItems.hash(item.path, staging.journal.key)] = Claim(
      position: position, isDirectory: item.kind == .directory, size: item.kind == .file ? item.size : nil)
  }

  private mutating func claim(
    _ path: ArchivePath, _ position: UInt64, _ completed: ItemRecord?, least: UInt64 = 0
  ) {
    let hash = EarlierItems.hash(path, staging.journal.key)
    let size = completed?.size ?? max(least, claimed[hash]?.size ?? 0)
    claimed[hash] = Claim(position: position, isDirectory: false, size: size, isWhole: completed != nil)
  }

  private mutating func complete(_ record: ItemRecord, _ position: UInt64, _ isTrusted: Bool) throws {
    staging.countLosses(of: record)
    // The claim was durable, and so was the metadata set after the last write of the file.
    guard !isTrusted, let file = try file(record.path) else { return }
    try staging.settle(file, record)
  }

  // MARK: Checking

  /// Whether an item exists as claimed. Metadata that a power loss may have removed is set again.
  private mutating func holds(_ item: ItemRecord, _ lanes: PieceLanes?) throws -> Bool {
    let kind = try places.kind(of: item.path)
    switch item.body {
    case .hardLink, .metadata: return true
    case .directory: return kind == .directory
    case .symbolicLink(let target):
      guard kind == .symbolicLink, try places.readLink(item.path) == target else { return false }
      staging.setOwner(in: places, item)
      staging.setTime(in: places, item)
      return true
    case .file(let size):
      guard kind == .regular, let file = try file(item.path), try file.size() == size else { return false }
      if let lanes {
        let place = FilePiece(path: item.path, generation: item.generation, range: 0..<size)
        guard try holds(place, lanes) else { return false }
      }
      try staging.settle(file, item)
      return true
    }
  }

  private mutating func holds(_ place: FilePiece, _ lanes: PieceLanes) throws -> Bool {
    guard let file = try file(place.path) else { return false }
    if place.isHole {
      // Bytes where there should be none are not a hole; clearing them costs nothing.
      try file.clear(place.range)
      return lanes == PieceLanes()
    }
    let count = place.range.count
    guard count <= Limits.chunk else { return false }
    if data.count < count { data = [UInt8](repeating: 0, count: count) }
    return try file.read(at: place.range.lowerBound, into: &data, 0..<count) == count
      && lanes == PieceLanes(checkLanes(of: data.span.extracting(..<count)))
  }

  /// The file at a path; nil if there is none.
  private mutating func file(_ path: ArchivePath) throws(SystemError) -> (any StagedFile)? {
    if let current, current.path == path { return current.file }
    guard try places.kind(of: path) == .regular else { return nil }
    let file = try places.openFile(path)
    current = (path, file)
    return file
  }
}

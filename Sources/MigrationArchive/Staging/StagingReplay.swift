import MigrationSystem
import MigrationWire

/// Processes the claims of a journal in order, and adds the valid ones to the ledger.
struct StagingReplay {
  private let staging: Staging
  private let survey: JournalSurvey
  private let sealer: any ChunkSealing
  private let places: any StagingPlaces
  private var tagged = ByteWriter()
  private var data: [UInt8] = []
  /// The file that was checked last; the next claim is usually about the same file.
  private var current: (path: ArchivePath, file: any StagedFile)?
  /// The claims about the tree, by the hash of the path.
  private(set) var claimed: [UInt64: Claim] = [:]

  /// The position of an item's claim, and the type of entry that must exist.
  struct Claim {
    let position: UInt64
    let isDirectory: Bool
  }

  init(_ staging: Staging, _ survey: JournalSurvey, sealer: any ChunkSealing) {
    self.staging = staging
    self.survey = survey
    self.sealer = sealer
    places = staging.disk.places()
  }

  /// Throws a `SystemError`, a `Violation` or an `ArchiveError`.
  mutating func run() throws {
    var untrue: [JournalRecord] = []
    try staging.journal.forEach(upTo: survey.end) { position, record in
      let isTrusted = position < survey.trusted || survey.stage != .receiving
      switch record {
      case .item(let item, let seal):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        if try isTrusted || holds(item, seal) {
          try staging.finish(item)
          staging.place([(item, position)])
          claim(item, position)
        } else {
          try places.remove(item.path)
          untrue.append(.void(at: position))
        }
      case .range(let place, let seal):
        guard !survey.isVoid(place.path, place.generation, at: position) else { return }
        if try isTrusted || holds(place, seal) {
          let completed = try staging.shared.withLock { try $0.ledger.restore(place) }
          claim(place.path, position)
          if let completed { try complete(completed, position, isTrusted) }
        } else {
          untrue.append(.void(at: position))
        }
      case .sealed(let item):
        guard !survey.isVoid(item.path, item.generation, at: position) else { return }
        let completed = try staging.shared.withLock { try $0.ledger.restore(sealed: item) }
        claim(item.path, position)
        if let completed { try complete(completed, position, isTrusted) }
      case .refused(let path, let generation, let size, let reason):
        guard !survey.isVoid(at: position) else { return }
        staging.restore(path, generation, size: size, reason)
      case .opened, .discarded, .discardedTree, .void, .synced, .concluded, .moving, .exposed, .imported,
        .existing, .placing:
        break
      }
    }
    try staging.journal.append(untrue)
  }

  private mutating func claim(_ item: ItemRecord, _ position: UInt64) {
    // A hard link is created at the end; an existing one was created by a completion that failed.
    guard item.kind != .hardLink else { return }
    claimed[EarlierItems.hash(item.path, staging.journal.key)] = Claim(
      position: position, isDirectory: item.kind == .directory)
  }

  private mutating func claim(_ path: ArchivePath, _ position: UInt64) {
    claimed[EarlierItems.hash(path, staging.journal.key)] = Claim(position: position, isDirectory: false)
  }

  private mutating func complete(_ record: ItemRecord, _ position: UInt64, _ isTrusted: Bool) throws {
    staging.countLosses(of: record)
    // The claim was durable, and so was the metadata set after the last write of the file.
    guard !isTrusted, let file = try file(record.path) else { return }
    try staging.settle(file, record)
  }

  // MARK: Checking

  /// Whether an item exists as claimed. Metadata that a power loss may have removed is set again.
  private mutating func holds(_ item: ItemRecord, _ seal: ChunkSeal?) throws -> Bool {
    let kind = try places.kind(of: item.path)
    switch item.body {
    case .hardLink: return true
    case .directory: return kind == .directory
    case .symbolicLink(let target):
      guard kind == .symbolicLink, try places.readLink(item.path) == target else { return false }
      staging.setOwner(in: places, item)
      staging.setTime(in: places, item)
      return true
    case .file(let size):
      guard kind == .regular, let file = try file(item.path), try file.size() == size else { return false }
      if let seal {
        let place = ChunkPlace(path: item.path, generation: item.generation, range: 0..<size)
        guard try holds(place, seal) else { return false }
      }
      try staging.settle(file, item)
      return true
    }
  }

  private mutating func holds(_ place: ChunkPlace, _ seal: ChunkSeal) throws -> Bool {
    guard let file = try file(place.path) else { return false }
    tagged.removeAll()
    place.writeTagged(to: &tagged)
    if place.isHole {
      // Bytes where there should be none are not a hole; clearing them costs nothing.
      try file.clear(place.range)
      return sealer.verify(seal, place: tagged.bytes, data: Span())
    }
    let count = place.range.count
    guard count <= Limits.chunk else { return false }
    if data.count < count { data = [UInt8](repeating: 0, count: count) }
    return try file.read(at: place.range.lowerBound, into: &data, 0..<count) == count
      && sealer.verify(seal, place: tagged.bytes, data: data.span.extracting(..<count))
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

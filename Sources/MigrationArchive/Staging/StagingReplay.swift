import MigrationSystem
import MigrationWire

/// Goes through the claims of a journal in their order, and takes into the ledger those that count.
struct StagingReplay {
  private let staging: Staging
  private let survey: JournalSurvey
  private let sealer: any ChunkSealing
  private let places: any StagingPlaces
  private var tagged = ByteWriter()
  private var data: [UInt8] = []
  /// The file that was checked last, since the next claim is mostly about it too.
  private var current: (path: ArchivePath, file: any StagedFile)?
  /// What is claimed of the tree, by the hash of the path.
  private(set) var claimed: [UInt64: Claim] = [:]

  /// Where an item is claimed, and what must be at its place.
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
    // A hard link is made at the end; one that is there was made by an end that came to nothing.
    guard item.kind != .hardLink else { return }
    claimed[EarlierItems.hash(item.path, staging.journal.key)] = Claim(
      position: position, isDirectory: item.kind == .directory)
  }

  private mutating func claim(_ path: ArchivePath, _ position: UInt64) {
    claimed[EarlierItems.hash(path, staging.journal.key)] = Claim(position: position, isDirectory: false)
  }

  private mutating func complete(_ record: ItemRecord, _ position: UInt64, _ isTrusted: Bool) throws {
    staging.countLosses(of: record)
    // The claim was durable, and what was set after the last write of the file with it.
    guard !isTrusted, let file = try file(record.path) else { return }
    try staging.settle(file, record)
  }

  // MARK: Checking

  /// Whether an item is in its place as claimed; what of it a power loss may have taken is set again.
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
      // Bytes that should not be there are no hole; it costs nothing to have it again.
      try file.clear(place.range)
      return sealer.verify(seal, place: tagged.bytes, data: RawSpan())
    }
    let count = place.range.count
    guard count <= Limits.chunk else { return false }
    if data.count < count { data = [UInt8](repeating: 0, count: count) }
    var target = data.mutableSpan
    let got = try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try unsafe file.read(at: place.range.lowerBound, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    }
    return unsafe got == count
      && sealer.verify(seal, place: tagged.bytes, data: data.span.extracting(..<count).bytes)
  }

  /// The file at a path; nil where there is none.
  private mutating func file(_ path: ArchivePath) throws(SystemError) -> (any StagedFile)? {
    if let current, current.path == path { return current.file }
    guard try places.kind(of: path) == .regular else { return nil }
    let file = try places.openFile(path)
    current = (path, file)
    return file
  }
}

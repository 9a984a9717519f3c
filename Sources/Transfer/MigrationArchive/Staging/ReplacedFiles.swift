import MigrationSystem
import MigrationWire

/// The complete files that a process renamed while their newer states were on the way, and left
/// when it died.
struct ReplacedFiles {
  struct Kept {
    let record: ItemRecord
    let name: ArchivePath
    /// The position of the journal's record about it.
    let position: UInt64
    fileprivate var sum = ContentSum()

    init(record: ItemRecord, name: ArchivePath, position: UInt64) {
      self.record = record
      self.name = name
      self.position = position
    }

    fileprivate mutating func add(
      _ lanes: PieceLanes, _ range: Range<UInt64>, of generation: Generation, at position: UInt64
    ) {
      if position < self.position, generation == record.generation { sum.add(lanes, at: range) }
    }

    /// The pieces that came before this position do not count.
    fileprivate mutating func restart(at position: UInt64) {
      if position < self.position { sum = ContentSum() }
    }
  }

  private let staging: Staging
  private let survey: JournalSurvey
  private let places: any StagingTree

  init(_ staging: Staging, _ survey: JournalSurvey) {
    self.staging = staging
    self.survey = survey
    places = staging.disk.places()
  }

  /// Finds the files whose newer states are not complete, given the claims about the tree. Returns the
  /// claims about these files. The last steps of the process are not known: the files' content tells them.
  func claims(
    besides claimed: [UInt64: StagingReplay.Claim]
  ) throws -> [UInt64: StagingReplay.Claim] {
    var claims: [UInt64: StagingReplay.Claim] = [:]
    for (path, kept) in try withSums(besides: claimed).sorted(by: { $0.key < $1.key }) {
      if try !isContent(of: kept, at: kept.name) {
        guard try claimed[hash(path)] == nil && isContent(of: kept, at: path) else { continue }
        try places.replace(kept.name, with: path)
      }
      claims[hash(kept.name)] = StagingReplay.Claim(
        position: kept.position, isDirectory: false, size: kept.record.size)
      staging.shared.withLock { $0.replaced[path] = (kept.record, kept.name) }
    }
    return claims
  }

  private func hash(_ path: ArchivePath) -> UInt64 { EarlierItems.hash(path, staging.journal.key) }

  private func withSums(besides claimed: [UInt64: StagingReplay.Claim]) throws -> [ArchivePath: Kept] {
    var kept = try survey.kept.filter { path, _ in
      guard let newer = claimed[hash(path)], newer.isWhole else { return true }
      return try !newer.allows(places.size(of: path))
    }
    guard !kept.isEmpty else { return kept }
    try staging.journal.forEach(upTo: survey.end) { position, record in
      guard !survey.isVoid(at: position) else { return }
      switch record {
      case .item(let item, let lanes?): kept[item.path]?.add(lanes, 0..<item.size, of: item.generation, at: position)
      case .range(let place, let lanes) where !place.isHole:
        kept[place.path]?.add(lanes, place.range, of: place.generation, at: position)
      case .discarded(let path): kept[path]?.restart(at: position)
      default: break
      }
    }
    return kept
  }

  private func isContent(of kept: Kept, at path: ArchivePath) throws(SystemError) -> Bool {
    guard try places.kind(of: path) == .regular, try places.size(of: path) == kept.record.size else { return false }
    return try ContentSum.read(places.openFile(path)) == kept.sum
  }
}

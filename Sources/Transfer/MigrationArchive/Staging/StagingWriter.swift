import MigrationSystem
import MigrationWire

/// Writes the data of one stream into staging; one thread uses it.
package final class StagingWriter {
  let staging: Staging
  let places: any StagingTree
  var claims: [JournalRecord] = []
  /// The length on the wire of the records among the claims.
  private var claimedLength = 0
  /// The root that was checked last.
  var lastRoot: [UInt8] = []
  /// The items that the user of this device takes, and whether they are all items of that root.
  private let permit: ArrivalPermit?
  private var allowsRoot = true
  /// The path for which parent directories were charged last.
  var lastCharged: ArchivePath?
  /// The space that was charged for this frame.
  var charged: UInt64 = 0
  /// Called when an item has been refused.
  let refused: () -> Void

  package init(_ staging: Staging, refused: @escaping () -> Void = {}) {
    self.refused = refused
    self.staging = staging
    places = staging.disk.places()
    permit = staging.permit
  }

  /// Writes and journals the entries of one DATA frame. The frame is *written* when the method
  /// returns.
  ///
  /// Returns how many of the bytes are content. Throws a `Violation` or a `Failure`.
  @discardableResult
  package func write(_ bytes: Span<UInt8>, entries range: Range<Int>) throws -> Int {
    var content = 0
    var reader = EntryReader(range)
    claims.removeAll(keepingCapacity: true)
    claimedLength = 0
    defer { settleCharge() }
    while let entry = try reader.next(bytes) {
      switch entry {
      case .item(let record, let whole):
        try write(record, whole, bytes)
        content += whole?.data.count ?? 0
      case .chunk(let place, let check, let data):
        let (lanes, data) = (try verify(place, check, bytes.extracting(data)), bytes.extracting(data))
        try stage(place, lanes) { (file) throws in try file.write(at: place.range.lowerBound, data) }
        content += data.count
      case .hole(let place, let check):
        let lanes = try verify(place, check, bytes.extracting(0..<0))
        try stage(place, lanes) { (file) throws in
          try file.clear(place.range)
          staging.shared.withFigures { $0.holes = $0.holes.addingClamped(UInt64(place.range.count)) }
        }
      case .base(let place, let check, let lanes):
        try verify(place, check, lanes)
        try stage(place, lanes) { (file) throws in try staging.copyFromBase(place, to: file) }
      }
      // Records with many small attributes take ten times as much memory: only a few of them wait
      // here.
      if claimedLength > Self.longClaims { try writeClaims() }
    }
    try writeClaims()
    return content
  }

  private static let longClaims = 131_072

  /// Journals the claims that have become true.
  private func writeClaims() throws(Failure) {
    do {
      staging.place(try appendClaims())
    } catch {
      disclaim()
      throw error
    }
  }

  /// Gives up the items of which the journal could not take the claims: they are told to no session, so
  /// that they come again.
  private func disclaim() {
    staging.shared.withLock { shared in
      for case .item(let record, _) in claims where shared.ledger.holds(record) {
        shared.ledger.drop(record)
        if record.kind == .file || record.kind == .symbolicLink { shared.abandoned.insert(record.path) }
      }
    }
  }

  /// The same; returns the items that are created at the end, and their positions in the journal.
  func appendClaims() throws(Failure) -> [(record: ItemRecord, position: UInt64)] {
    var deferred: [(record: ItemRecord, position: UInt64)] = []
    do {
      try staging.journal.append(claims) { claim, position in
        guard case .item(let record, _) = claim, record.kind == .directory || record.kind == .hardLink else { return }
        deferred.append((record, position))
      }
    } catch {
      throw Failure(.storage, "the journal cannot be written", cause: error)
    }
    claims.removeAll(keepingCapacity: true)
    claimedLength = 0
    return deferred
  }

  // MARK: Records

  private func write(_ record: ItemRecord, _ content: Entry.Content?, _ bytes: Span<UInt8>) throws {
    try check(record.path)
    var lanes: PieceLanes?
    if let content {
      let place = FilePiece(path: record.path, generation: record.generation, range: 0..<record.size)
      lanes = try verify(place, content.check, bytes.extracting(content.data))
    }
    do {
      try take(record, content, lanes, bytes)
    } catch let error as Failure {
      try refuse(record, after: error)
    }
  }

  private func take(
    _ record: ItemRecord, _ content: Entry.Content?, _ lanes: PieceLanes?, _ bytes: Span<UInt8>
  ) throws {
    let names = LedgerNames(record, staging.keys)
    let reception = try receive(record, names, hasContent: content != nil)
    guard reception != .held else { return }
    claimedLength += record.length
    switch reception {
    case .held: return
    case .refused: try refuse(record, staging.shared.withLock { $0.refusals.awaited[record.path] } ?? .other, nil)
    case .waiting: claims.append(.sealed(record))
    case .complete(let number):
      claims.append(.sealed(record))
      try finish(number, record)
    case .create:
      if record.size > 0 && content == nil {
        claims.append(.sealed(record))
      } else {
        try create(record, names, content, lanes, bytes)
      }
    }
  }

  /// Asks the ledger, removes the data that the ledger discards, and creates the file of a record
  /// that came before its chunks. All of this happens under the lock, so that a chunk of the file
  /// on another stream comes before or after, and finds the file.
  private func receive(_ record: ItemRecord, _ names: LedgerNames, hasContent: Bool) throws -> Ledger.Reception {
    try withRoom(for: record, names, hasContent: hasContent) { shared in
      let reception = try shared.ledger.receive(record, names, hasContent: hasContent)
      guard case .create(let discarded) = reception else { return reception }
      try checkItem(record)
      if let discarded { try removeStaged(record.path, discarded, &shared) }
      if record.size > 0 && !hasContent {
        let file = try makeFile(record.path, mode: 0o600, &shared)
        shared.open[try shared.ledger.await(record)] = Staging.OpenFile(file: file, isRecovered: false)
      }
      return reception
    }
  }

  private func create(
    _ record: ItemRecord, _ names: LedgerNames, _ content: Entry.Content?, _ lanes: PieceLanes?, _ bytes: Span<UInt8>
  ) throws {
    switch record.body {
    case .file: try createWhole(record, content, bytes)
    case .directory:
      try placing(record.path, "creating") { () throws(SystemError) in try places.makeDirectory(record.path) }
    case .symbolicLink(let target):
      try placing(record.path, "creating") { () throws(SystemError) in
        try places.makeSymbolicLink(record.path, target: target)
      }
      staging.setOwner(in: places, record)
      staging.setTime(in: places, record)
    case .hardLink, .metadata: try makeSureOfPlace(record.path)
    }
    claims.append(.item(record, lanes))
    try staging.finish(record, names)
  }

  private func createWhole(_ record: ItemRecord, _ content: Entry.Content?, _ bytes: Span<UInt8>) throws {
    let isPlain = !record.isExtended
    let mode = isPlain ? staging.mode(of: record) : 0o600
    let file = try placing(record.path, "creating") { () throws(SystemError) in
      try places.createFile(record.path, mode: mode)
    }
    do {
      if let content { try file.write(at: 0, bytes.extracting(content.data)) }
      if !isPlain {
        try staging.settle(file, record)
      } else if mode & staging.umask != 0 {
        try staging.keepMode { () throws(SystemError) in try file.setMode(mode) }
      }
    } catch {
      abandon(record.path)
      guard let error = error as? SystemError else { throw error }
      throw Failure("writing", record.path, error)
    }
    if isPlain { staging.setTime(of: file, record) }
  }

  /// Removes a file for which no claim exists. A disk that fails may keep it until a later session.
  private func abandon(_ path: ArchivePath) {
    do throws(SystemError) {
      try places.remove(path)
    } catch {
      staging.shared.withLock { _ = $0.abandoned.insert(path) }
    }
  }

  /// A hard link is created when its target certainly exists; items at its path are removed now.
  private func makeSureOfPlace(_ path: ArchivePath) throws {
    try placing(path, "linking") { () throws(SystemError) in
      guard try places.kind(of: path) == nil else { throw SystemError(alreadyExisting: "link") }
    }
  }

  // MARK: Chunks

  /// Puts a piece into its file, and claims it; `write` brings the bytes.
  private func stage(_ place: FilePiece, _ lanes: PieceLanes, _ write: (Staging.OpenFile) throws -> Void) throws {
    try check(place.path)
    let target: Staging.OpenFile
    do {
      guard let file = try admit(place) else { return }
      target = file
    } catch let error as Failure {
      return try refuse(place, after: error, isStaged: false)
    }
    do {
      try write(target)
    } catch let error as SystemError {
      return try refuse(place, after: Failure("writing", place.path, error), isStaged: true)
    } catch let error as Failure {
      return try refuse(place, after: error, isStaged: true)
    }
    claims.append(.range(place, lanes))
    guard let (number, record) = staging.shared.withLock({ $0.ledger.stage(place) }) else { return }
    do {
      try finish(number, record)
    } catch let error as Failure {
      try refuse(record, after: error)
    }
  }

  /// The file of a chunk; nil if the chunk is already held. A new file is created under the lock,
  /// so that another stream's chunk of the same file finds it.
  private func admit(_ place: FilePiece) throws -> Staging.OpenFile? {
    try withRoom(for: place) { (shared) -> Staging.OpenFile? in
      switch try shared.ledger.admit(place) {
      case .held: return nil
      case .write(let number, isNew: false, _):
        if let file = shared.open[number] { return file }
        if let failure = shared.unmade[number] { throw failure }
        throw Violation(.conflict, "a chunk of a file that is closed")
      case .write(let number, isNew: true, let discarded):
        do {
          let file = try make(place, discarded, &shared)
          shared.open[number] = file
          return file
        } catch let error as Failure {
          shared.unmade[number] = error
          throw error
        }
      }
    }
  }

  /// Creates the file for its first chunk; another item may have the path.
  private func make(
    _ place: FilePiece, _ discarded: Ledger.FileNumber?, _ shared: inout Staging.Shared
  ) throws -> Staging.OpenFile {
    try checkItem(
      ItemRecord(path: place.path, generation: place.generation, body: .file(size: place.range.upperBound)))
    if let discarded { try removeStaged(place.path, discarded, &shared) }
    return Staging.OpenFile(file: try makeFile(place.path, mode: 0o600, &shared), isRecovered: false)
  }

  /// Completes a file of which all data has arrived. If the disk fails, a later session can do so.
  private func finish(_ number: Ledger.FileNumber, _ record: ItemRecord) throws {
    let open = staging.shared.withLock { $0.open.removeValue(forKey: number) }
    guard let open else { throw Violation(.conflict, "a second end of a file") }
    staging.bases.withLock { $0[record.path] = nil }
    do {
      try staging.settle(open.file, record)
    } catch {
      staging.shared.withLock { $0.open[number] = open }
      throw error
    }
    try staging.finish(record)
    staging.supersede(record.path)
  }

  /// Compares the check of a piece with the bytes that will be written.
  @discardableResult
  func verify(_ place: FilePiece, _ check: ChunkCheck, _ data: Span<UInt8>) throws(Violation) -> PieceLanes {
    let lanes = PieceLanes(checkLanes(of: data))
    try verify(place, check, lanes)
    return lanes
  }

  private func verify(_ place: FilePiece, _ check: ChunkCheck, _ lanes: PieceLanes) throws(Violation) {
    let expected = staging.keys.check(place, lanes: lanes.lanes)
    guard check != expected else { return }
    throw Violation(
      .check, "a chunk",
      "\(check.hexadecimal) came, and \(expected.hexadecimal) is computed here, at offset "
        + "\(place.range.lowerBound) of \(VisibleText.quoted(place.path))")
  }

  /// Refuses a path inside a root that was not announced.
  func check(_ path: ArchivePath) throws(Violation) {
    guard let roots = staging.roots else { return }
    // The next item is usually in the same root.
    guard !path.root.elementsEqual(lastRoot) else { return }
    let root = Array(path.root)
    guard roots.contains(root) else { throw Violation(.announcement, "a root") }
    lastRoot = root
    allowsRoot = permit?.allowsAll(of: path.root) ?? true
  }

  /// Fails if the user of this device does not take the item, or the destination is known to be unable
  /// to hold it.
  private func checkItem(_ record: ItemRecord) throws(Failure) {
    guard allowsRoot || permit?.allows(record) ?? true else { throw Failure(refusing: record.path, .notTaken) }
    for place in staging.abilities.keepsNames ? [] : record.path.lineage {
      guard let reason = staging.disk.refusal(ofName: Array(place.name)) else { continue }
      throw Failure(refusing: record.path, place == record.path ? reason : .directoryNotStored)
    }
    // Its sender may send the record alone.
    guard record.size <= staging.abilities.largestFile ?? .max else { throw Failure(refusing: record.path, .tooLarge) }
  }

  func makeFile(
    _ path: ArchivePath, mode: UInt32, _ shared: inout Staging.Shared
  ) throws -> any StagedFile {
    do throws(SystemError) {
      return try places.createFile(path, mode: mode)
    } catch {
      guard try error.isInTheWay && makeWay(for: path, keeping: true, &shared) else {
        try staging.checkContradiction(of: path, error, in: places, shared)
        throw Failure(placing: path, "creating", error)
      }
    }
    return try SystemError.mapped(places.createFile(path, mode: mode)) { Failure(placing: path, "creating", $0) }
  }

  /// Places an item; an item of another generation that an earlier session put there is removed.
  func placing<Result>(
    _ path: ArchivePath, _ action: String, _ body: () throws(SystemError) -> Result
  ) throws -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      let hasMadeWay = try staging.shared.withLock { (shared) throws -> Bool in
        if error.isInTheWay, try makeWay(for: path, keeping: false, &shared) { return true }
        try staging.checkContradiction(of: path, error, in: places, shared)
        return false
      }
      guard hasMadeWay else { throw Failure(placing: path, action, error) }
    }
    return try SystemError.mapped(body()) { Failure(placing: path, action, $0) }
  }

  /// Removes earlier items for a new item. First the journal records the data of this frame, which
  /// is never removed.
  private func makeWay(
    for path: ArchivePath, keeping: Bool, _ shared: inout Staging.Shared
  ) throws -> Bool {
    for (record, position) in try appendClaims() { shared.ledger.place(record, at: position) }
    return try staging.makeWay(for: path, keeping: keeping, in: places, &shared)
  }

  /// Removes the staged data of a file in another generation. The journal records the removal
  /// before it happens on the disk, durably: otherwise a crash could leave new bytes under an old
  /// claim.
  func removeStaged(
    _ path: ArchivePath, _ number: Ledger.FileNumber, _ shared: inout Staging.Shared
  ) throws(Failure) {
    shared.open[number] = nil
    do {
      try staging.journal.appendDurably([.discarded(path)])
      try places.remove(path)
    } catch {
      throw Failure("removing", path, error)
    }
  }
}

extension SystemError {
  /// The name, or the name of a parent directory, is taken by another entry.
  var isInTheWay: Bool { isAlreadyExisting || isNotDirectory || isSymbolicLink }
}

import MigrationSystem
import MigrationWire
import Synchronization

/// Writes what one data stream brings into staging; one thread uses it.
package final class StagingWriter {
  let staging: Staging
  private let sealer: any ChunkSealing
  /// The directory that the last item went to, since the next one mostly goes there too.
  private var current: (path: ArchivePath, directory: SharedDirectory)?
  private var claims: [JournalRecord] = []
  private var tagged = ByteWriter()

  package init(_ staging: Staging, sealer: any ChunkSealing) {
    self.staging = staging
    self.sealer = sealer
  }

  /// Writes the entries of one DATA frame and journals them: when it returns, the frame is *written*.
  ///
  /// Throws a `Violation` or an `ArchiveError`.
  package func write(_ bytes: Span<UInt8>, entries range: Range<Int>) throws {
    var reader = EntryReader(range)
    claims.removeAll(keepingCapacity: true)
    while let entry = try reader.next(bytes) {
      switch entry {
      case .item(let record, let content): try write(record, content, bytes)
      case .chunk(let place, let seal, let data): try write(place, seal, bytes.extracting(data))
      case .hole(let place, let seal): try write(place, seal, bytes.extracting(0..<0))
      }
    }
    do {
      try staging.journal.append(claims)
    } catch {
      throw ArchiveError(.storage, "the journal cannot be written", cause: error)
    }
  }

  // MARK: Records

  private func write(_ record: ItemRecord, _ content: Entry.Content?, _ bytes: Span<UInt8>) throws {
    try check(record.path)
    if let content {
      let place = ChunkPlace(path: record.path, generation: record.generation, range: 0..<record.size)
      try verify(place, content.seal, bytes.extracting(content.data))
    }
    switch try receive(record, hasContent: content != nil) {
    case .held: return
    case .waiting: claims.append(.sealed(record))
    case .complete(let number):
      claims.append(.sealed(record))
      try finish(number, record)
    case .create(let discarded):
      if discarded != nil { claims.append(.discarded(record.path)) }
      if record.size > 0 && content == nil {
        claims.append(.sealed(record))
      } else {
        try create(record, content, bytes)
      }
    }
  }

  /// Asks the ledger, removes what it discards, and makes the file of a record that came before its chunks: all under the
  /// lock, so that a chunk of it on another stream comes before or after, and finds the file.
  private func receive(_ record: ItemRecord, hasContent: Bool) throws -> Ledger.Reception {
    try staging.shared.withLock { shared in
      let reception = try shared.ledger.receive(record, hasContent: hasContent)
      guard case .create(let discarded) = reception else { return reception }
      if let discarded {
        shared.open[discarded] = nil
        try removeStaged(record.path)
      }
      if record.size > 0 && !hasContent {
        shared.open[try shared.ledger.await(record)] = try makeFile(record.path, mode: 0o600)
      }
      return reception
    }
  }

  private func create(_ record: ItemRecord, _ content: Entry.Content?, _ bytes: Span<UInt8>) throws {
    switch record.body {
    case .file: try createWhole(record, content, bytes)
    case .directory: try makeDirectory(record)
    case .symbolicLink(let target): try makeLink(record, target)
    // It is made when its target is certain to be there.
    case .hardLink: break
    }
    claims.append(.item(record, content?.seal))
    try staging.finish(record)
  }

  private func createWhole(_ record: ItemRecord, _ content: Entry.Content?, _ bytes: Span<UInt8>) throws {
    let mode = staging.mode(of: record)
    let file = try makeFile(record.path, mode: mode)
    do {
      if let content { try unsafe file.descriptor.write(at: 0, bytes.extracting(content.data).bytes) }
      if mode & staging.umask != 0 { try file.descriptor.setMode(mode) }
    } catch {
      throw ArchiveError("writing", record.path, error)
    }
    staging.setTime(of: file.descriptor, record)
  }

  private func makeFile(_ path: ArchivePath, mode: UInt32) throws(ArchiveError) -> SharedDescriptor {
    try perform("creating", path) { (directory, name) throws(SystemError) in
      SharedDescriptor(try directory.createFile(name, mode: mode))
    }
  }

  private func makeDirectory(_ record: ItemRecord) throws(ArchiveError) {
    do {
      try staging.tree.directory.makeDirectories(record.path.bytes, mode: Staging.directoryMode)
    } catch {
      throw ArchiveError(placing: record.path, "creating", error)
    }
  }

  private func makeLink(_ record: ItemRecord, _ target: [UInt8]) throws(ArchiveError) {
    try perform("creating", record.path) { (directory, name) throws(SystemError) in
      try directory.makeSymbolicLink(name, target: target)
    }
    guard let modified = record.modified else { return }
    let isSet: Void? = try? perform("setting the time of", record.path) { (directory, name) throws(SystemError) in
      try directory.setTimes(name, modified: Timestamp(modified))
    }
    if isSet == nil { staging.lost(.time) }
  }

  // MARK: Chunks

  private func write(_ place: ChunkPlace, _ seal: ChunkSeal, _ data: Span<UInt8>) throws {
    try check(place.path)
    try verify(place, seal, data)
    let admitted: (SharedDescriptor, ArchivePath?)? = try staging.shared.withLock { shared in
      switch try shared.ledger.admit(place) {
      case .held: return nil
      case .write(let number, isNew: false, _):
        guard let file = shared.open[number] else { throw Violation(.conflict, "a chunk of a file that is closed") }
        return (file, nil)
      case .write(let number, isNew: true, let discarded):
        // Under the lock, so that another stream's chunk of the same file finds it.
        if let discarded {
          shared.open[discarded] = nil
          try removeStaged(place.path)
        }
        let file = try makeFile(place.path, mode: 0o600)
        shared.open[number] = file
        return (file, discarded == nil ? nil : place.path)
      }
    }
    guard let (file, discarded) = admitted else { return }
    if let discarded { claims.append(.discarded(discarded)) }
    if !place.isHole {
      do {
        try unsafe file.descriptor.write(at: Int64(place.range.lowerBound), data.bytes)
      } catch {
        throw ArchiveError("writing", place.path, error)
      }
    }
    claims.append(.range(place, seal))
    let completed = staging.shared.withLock { $0.ledger.stage(place) }
    if let (number, record) = completed { try finish(number, record) }
  }

  /// Gives a complete file its length, rights and time.
  private func finish(_ number: Ledger.FileNumber, _ record: ItemRecord) throws {
    let file = staging.shared.withLock { $0.open.removeValue(forKey: number) }
    guard let file else { throw Violation(.conflict, "a second end of a file") }
    do {
      // A hole at the end is no more than a length.
      try file.descriptor.truncate(to: Int64(record.size))
      try file.descriptor.setMode(staging.mode(of: record))
    } catch {
      throw ArchiveError("writing", record.path, error)
    }
    staging.setTime(of: file.descriptor, record)
    try staging.finish(record)
  }

  // MARK: Places

  private func verify(_ place: ChunkPlace, _ seal: ChunkSeal, _ data: Span<UInt8>) throws(Violation) {
    tagged.removeAll()
    place.writeTagged(to: &tagged)
    let isAuthentic = unsafe sealer.verify(seal, place: tagged.bytes, data: data.bytes)
    guard isAuthentic else { throw Violation(.tag, "a chunk") }
  }

  /// Refuses a path beneath a root that was not announced.
  private func check(_ path: ArchivePath) throws(Violation) {
    guard let roots = staging.roots else { return }
    guard roots.contains(Array(path.root)) else { throw Violation(.announcement, "a root") }
  }

  private func removeStaged(_ path: ArchivePath) throws(ArchiveError) {
    try perform("removing", path) { (directory, name) throws(SystemError) in try directory.remove(name) }
  }

  /// Does something with an item's name in the directory that it belongs to, which is made if it is missing.
  private func perform<Result>(
    _ action: String, _ path: ArchivePath,
    _ body: (borrowing Directory, ArraySlice<UInt8>) throws(SystemError) -> Result
  ) throws(ArchiveError) -> Result {
    do {
      guard let parent = path.parent else { return try body(staging.tree.directory, path.name) }
      if let current, current.path == parent { return try body(current.directory.directory, path.name) }
      let directory = SharedDirectory(
        try staging.tree.directory.makeDirectories(parent.bytes, mode: Staging.directoryMode))
      current = (parent, directory)
      return try body(directory.directory, path.name)
    } catch {
      throw ArchiveError(placing: path, action, error)
    }
  }
}

extension Staging {
  /// What directories are made with: the default, so that those without a record have it in the end. Until then nobody
  /// else comes through the staging directory.
  static let directoryMode: UInt32 = 0o777

  /// An item is made: from now on it counts, and so does what of its record is not kept.
  func finish(_ record: ItemRecord) throws(Violation) {
    try shared.withLock { (shared) throws(Violation) in
      try shared.ledger.finish(record)
      if let mode = record.mode, mode & 0o6000 != 0 { shared.losses[.setIDBit, default: 0] += 1 }
      if !record.attributes.isEmpty { shared.losses[.attribute, default: 0] += UInt64(record.attributes.count) }
      if !record.accessList.isEmpty || !record.defaultAccessList.isEmpty { shared.losses[.accessList, default: 0] += 1 }
    }
  }

  /// The rights that an item gets: without set-id bits, and default ones where the record has none.
  func mode(of record: ItemRecord) -> UInt32 {
    let standard: UInt32 = record.kind == .directory ? 0o777 : 0o666
    guard let mode = record.mode else { return standard & ~umask }
    return UInt32(mode) & 0o1777
  }

  /// Sets a file's time; one that the file system cannot hold is counted.
  func setTime(of file: borrowing Descriptor, _ record: ItemRecord) {
    guard let modified = record.modified else { return }
    do {
      try file.setTimes(modified: Timestamp(modified))
    } catch {
      lost(.time)
    }
  }
}

import MigrationSystem
import MigrationWire

/// Reads the items that the work list hands out, or that an app appends, and packs them into one
/// frame after another.
///
/// Unchecked: one thread uses it at a time; the export lends it out, and takes it back after each
/// frame.
final class ArchiveReader<Source: SourceDirectory>: @unchecked Sendable {
  typealias Export = ArchiveExport<Source>

  let number: WorkList.Reader
  /// Whether its frame grows by one small item at a time, and gets its number when it is sent.
  let isGrowing: Bool
  let packer: FramePacker
  unowned let export: Export
  /// The next items of a batch.
  var run: (number: WorkList.Batch, batch: SourceBatch<Source>, items: Range<Int>)?
  /// The large file that it reads parts of, and the rest of the current part.
  var file: (number: WorkList.FileNumber, file: LargeFile<Source.File>, rest: LargeFile<Source.File>.Piece?)?
  /// The directory of the last item; the next item is usually in the same directory.
  private var current: (batch: WorkList.Batch, parent: Int32, directory: Source, path: ArchivePath?)?
  /// The directory of the last item that is in the archive.
  private var needed: (batch: WorkList.Batch, parent: Int32)?
  /// The number of items of the run that are done.
  private var done = 0
  var readAhead = ReadAhead()
  /// The directory of the files that have been requested from the disk ahead of time.
  var ahead: (batch: WorkList.Batch, parent: Int32, directory: Source)?

  init(_ number: WorkList.Reader, isGrowing: Bool = false, of export: Export) throws(Failure) {
    self.number = number
    self.isGrowing = isGrowing
    self.export = export
    packer = FramePacker(export.settings)
  }

  /// Whether it has work in progress.
  var isReading: Bool { run != nil || file != nil }

  /// Releases the directories that may have no more items.
  func rest() {
    guard !isReading else { return }
    (current, ahead) = (nil, nil)
  }

  /// Fills the current frame. If it stays empty, returns the time at which there may be data.
  func fill(written: UInt64) -> Double? {
    let begun = export.settings.now()
    while !export.isStopped {
      if file != nil {
        guard readFile() else { return nil }
      } else if let next = run {
        guard add(next) else { return nil }
      } else if let record = export.takeRecord() {
        packer.add(record)
      } else {
        switch export.next(for: self, written: written) {
        case .run(let number, let items):
          if let batch = export.batch(number) { run = (number, batch, items) }
        case .again(let item, let tries):
          if let batch = export.batch(item.batch) { add(item, tries, in: batch) }
        case .file(let number): file = (number, export.file(number), nil)
        case .nothing(let moment): return moment
        }
      }
      if !packer.hasRoom(for: 0) { return nil }
      if isLong(since: begun) { return begun }
    }
    return nil
  }

  /// Whether reading takes so long that the data read so far should be sent now.
  private func isLong(since begun: Double) -> Bool { export.settings.now() - begun > Self.patience }

  /// The longest time for filling a frame, in seconds, so that data that has been read is sent
  /// soon.
  private static var patience: Double { 0.05 }

  /// Adds items of a run; false if the next item fits better into another frame.
  private func add(_ run: (number: WorkList.Batch, batch: SourceBatch<Source>, items: Range<Int>)) -> Bool {
    var items = run.items
    defer {
      export.done(done, of: run.number)
      done = 0
      self.run = items.isEmpty ? nil : (run.number, run.batch, items)
    }
    let begun = export.settings.now()
    while let index = items.first, !export.isStopped {
      guard packer.hasRoom(for: run.batch.tree.nodes[index].countedSize.clamped(to: packer.sizes.smallFile)) else {
        return false
      }
      items.removeFirst()
      if !run.batch.merged.contains(index) {
        add(WorkList.Item(batch: run.number, index: index), WorkList.Tries(), in: run.batch)
      }
      if file != nil { break }
      if isLong(since: begun) { break }
    }
    return true
  }

  /// Records that an item is in the archive, or never will be.
  func done(_ item: WorkList.Item) {
    if item.batch == run?.number { done += 1 } else { export.done(1, of: item.batch) }
  }

  // MARK: Directories

  /// Opens the parent directory of an item, unless the last item had the same parent.
  func enter(_ parent: Int32, of item: WorkList.Item, in batch: SourceBatch<Source>) throws -> Source {
    if let current, current.batch == item.batch, current.parent == parent { return current.directory }
    let directory = try batch.open(parent)
    current = (item.batch, parent, directory, parent < 0 ? nil : try batch.tree.path(Int(parent)))
    return directory
  }

  /// The path of an item in the directory that was opened last.
  func itemPath(_ name: ArraySlice<UInt8>, in batch: SourceBatch<Source>) throws(Violation) -> ArchivePath {
    let inner: ArchivePath
    if let path = current?.path {
      inner = try path.appending(name.span)
    } else if let prefix = batch.prefix {
      return try prefix.appending(name.span)
    } else {
      return try ArchivePath(Array(name))
    }
    return try batch.prefix?.appending(inner) ?? inner
  }

  /// Adds an item to the frame, or reports why it cannot be sent.
  func add(
    _ item: WorkList.Item, _ tries: WorkList.Tries, in batch: SourceBatch<Source>
  ) {
    let node = batch.tree.nodes[item.index]
    do {
      if batch.isHeld(item.index) {
        packer.leaveOut(size: node.countedSize, isRemoved: batch.isRemoved(item.index))
        return done(item)
      }
      let directory = try enter(node.parent, of: item, in: batch)
      let path = try itemPath(batch.tree.name(node), in: batch)
      switch node.kind {
      case .file: try addFile(item, tries, path, in: directory, batch)
      case .directory, .symbolicLink, .hardLink, .metadata: try addOther(item, path, in: directory, batch)
      }
    } catch let error as SystemError {
      unsent(item, error, in: batch)
    } catch let error as Failure {
      if let cause = error.cause { unsent(item, cause, in: batch) } else { unsent(item, .beyondLimits, in: batch) }
    } catch {
      unsent(item, .beyondLimits, in: batch)
    }
  }

  private func addFile(
    _ item: WorkList.Item, _ tries: WorkList.Tries, _ path: ArchivePath, in directory: Source,
    _ batch: SourceBatch<Source>
  ) throws {
    let node = batch.tree.nodes[item.index]
    let name = batch.tree.name(node)
    // Checked before its other names: a link to an item that is left out would point nowhere.
    if packer.isMerging, let status = try? directory.status(name), status.kind == .regular {
      switch packer.answer(path, status, isWanted: batch.isWanted(item.index)) {
      case .leftOut: return leftOut(item, status, in: directory, batch)
      case .compare:
        if try addMetadata(of: path, name, in: directory, batch) { return leftOut(item, status, in: directory, batch) }
      case .send: break
      }
    }
    addFolders(above: node.parent, of: item.batch, batch)
    if node.isShared {
      switch try addLink(item, path, in: directory, batch) {
      case .added: return done(item)
      case .unknown: break
      case .inOtherHands:
        var next = tries
        next.waits += 1
        return export.postpone(item, next, until: export.settings.now() + tries.pause)
      }
    }
    var export = FileExport(
      packer: packer, directory: directory, path: path, name: name, listedSize: node.size,
      owners: batch.owners, isSmallExpected: isGrowing, awaited: tries.awaited)
    let outcome = try export.run()
    settle(item, tries, outcome, in: batch)
    if Source.canFetch, let seconds = export.readSeconds { fetch(behind: item, in: batch, after: seconds) }
  }

  /// Adds the metadata of a file of which only the time of change is new, if its content is that which
  /// has arrived; false if the file is to be sent.
  private func addMetadata(
    of path: ArchivePath, _ name: ArraySlice<UInt8>, in directory: Source, _ batch: SourceBatch<Source>
  ) throws -> Bool {
    let file = try directory.open(name)
    let look = try directory.look { () throws(SystemError) in try file.status() }
    let before = look.status
    // Another change could have the same stamp.
    guard before.kind == .regular, look.unsettledSeconds <= 0 else { return false }
    let generation = packer.keys.generation(
      ofMetadata: packer.keys.generation(of: before.fingerprint(on: directory.fileSystem(of: before))))
    var record = ItemRecord(
      path: path, generation: generation, body: .metadata(size: UInt64(before.size)),
      mode: UInt16(truncatingIfNeeded: before.mode & 0o7777), modified: ItemTime(before.modified))
    record.changed = before.changedAtSource
    if batch.owners != nil { record.owner = ItemRecord.Owner(user: before.owner, group: before.group) }
    if packer.skipHeld(record) { return true }
    guard let sum = try ContentSum.read(file, UInt64(before.size), unless: { export.isStopped }),
      packer.fate(of: path, before, sum) == .follows
    else { return false }
    let extended = try file.extendedMetadata()
    guard try file.status().isSameState(as: before) else { return false }
    record.add(extended, naming: batch.owners)
    packer.add(record)
    packer.leaveBehind(extended.lostAttributes)
    return true
  }

  /// Handles the result of trying to send a file.
  private func settle(
    _ item: WorkList.Item, _ tries: WorkList.Tries, _ outcome: FileOutcome<Source.File>, in batch: SourceBatch<Source>
  ) {
    switch outcome {
    case .sent(let generation):
      if batch.tree.nodes[item.index].isShared { export.sent(item, generation) }
      if batch.isCaptured(item.index) { export.captured(item, generation) }
      done(item)
    case .changed: changed(item, tries, lastFrame: 0, in: batch)
    case .unsettled(let seconds, let stamp):
      var next = tries
      next.looks += 1
      next.awaited = stamp
      guard !next.isLastLook else { return changed(item, next, lastFrame: 0, in: batch) }
      export.postpone(item, next, until: export.settings.now() + seconds)
    case .large(let found):
      let large = LargeFile(
        found, item: item, tries: tries, partLength: packer.sizes.part, keepsSums: self.export.settings.blocks != nil)
      let number = export.opened(large, after: found.mayFollow)
      if found.mayFollow == nil { file = (number, large, nil) }
    }
  }

  private enum Link {
    /// The record of another name is in the frame.
    case added
    /// No other name of the file is in the archive: this name carries the content.
    case unknown
    /// Another reader is processing another name of the file.
    case inOtherHands
  }

  /// Adds another name of a file that is in the archive.
  private func addLink(
    _ item: WorkList.Item, _ path: ArchivePath, in directory: Source, _ batch: SourceBatch<Source>
  ) throws -> Link {
    guard let status = try? directory.status(batch.tree.name(batch.tree.nodes[item.index])), status.kind == .regular
    else { return .unknown }
    let generation = packer.keys.generation(of: status.fingerprint(on: directory.fileSystem(of: status)))
    switch export.carrier(item, generation) {
    case .mine: return .unknown
    case .others: return .inOtherHands
    case .sent(let first):
      guard let target = try? batch.path(first) else { return .unknown }
      packer.add(
        ItemRecord(
          path: path, generation: packer.keys.generation(ofLinkTo: target, generation), body: .hardLink(target: target))
      )
      return .added
    }
  }

  private func addOther(
    _ item: WorkList.Item, _ path: ArchivePath, in directory: Source, _ batch: SourceBatch<Source>
  ) throws {
    let node = batch.tree.nodes[item.index]
    let name = batch.tree.name(node)
    let look = try directory.look { () throws(SystemError) in try directory.status(name) }
    let status = look.status
    let target = status.kind == .symbolicLink ? try directory.readLink(name) : nil
    if packer.isMerging {
      let isWanted = batch.isWanted(item.index)
      if let target, packer.answer(path, status, target: target, isWanted: isWanted) == .leftOut { return done(item) }
      // It is unchanged since it arrived, and counted if no item in it is sent either.
      if status.kind == .directory, !isWanted, packer.settings.isInArrivedState(directory: path, status),
        export.leavesOut(item)
      {
        return done(item)
      }
    }
    addFolders(above: node.parent, of: item.batch, batch)
    if try add(item.index, path, look, target: target, in: directory, batch) {
      done(item)
    } else {
      unsent(item, .replaced, in: batch)
    }
  }

  /// Adds the left-out directories above an item: an item in the archive has its directories there,
  /// too.
  private func addFolders(above parent: Int32, of number: WorkList.Batch, _ batch: SourceBatch<Source>) {
    guard packer.isMerging, needed?.batch != number || needed?.parent != parent else { return }
    needed = (number, parent)
    for index in export.needed(above: parent, of: number) {
      let node = batch.tree.nodes[index]
      let item = WorkList.Item(batch: number, index: index)
      do {
        let (directory, path) = (try batch.open(node.parent), try batch.path(index))
        let look = try directory.look { () throws(SystemError) in try directory.status(batch.tree.name(node)) }
        guard try add(index, path, look, in: directory, batch) else {
          report(item, .replaced, in: batch)
          continue
        }
      } catch {
        let unsent = (error as? SystemError).map { NotStored(path: [], $0) }
        report(item, unsent?.reason ?? .beyondLimits, unsent?.error, in: batch)
      }
    }
  }

  /// Adds the record of an item without content; false if the item is of another kind than it was.
  private func add(
    _ index: Int, _ path: ArchivePath, _ look: SourceStatus, target: [UInt8]? = nil, in directory: Source,
    _ batch: SourceBatch<Source>
  ) throws -> Bool {
    let (status, node) = (look.status, batch.tree.nodes[index])
    let generation = packer.keys.generation(of: look.fingerprint(on: directory.fileSystem(of: status)))
    guard ItemKind(status.kind) == node.kind,
      var record = ItemRecord(
        status, path: path, generation: generation, target: target, withOwner: batch.owners != nil)
    else { return false }
    var extended = ExtendedMetadata()
    if status.kind == .directory {
      extended = try directory.extendedMetadata(ofDirectory: batch.tree.name(node))
      // A time of change proves nothing if a further change could get the same time.
      if look.unsettledSeconds > 0 || !directory.showsEveryChange(status) { record.changed = nil }
    }
    record.add(extended, naming: batch.owners)
    packer.add(record)
    packer.leaveBehind(extended.lostAttributes)
    return true
  }
}

extension UInt64 {
  fileprivate func clamped(to most: Int) -> UInt64 { Swift.min(self, UInt64(most)) }
}

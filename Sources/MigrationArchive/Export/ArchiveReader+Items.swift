import MigrationSystem
import MigrationWire

/// Adds one item after another, in the state that it has when it is read.
extension ArchiveReader {
  /// Adds an item to the frame, or reports why it cannot be sent.
  func add(
    _ item: WorkList.Item, _ tries: WorkList.Tries, in batch: SourceBatch<Place>
  ) {
    let node = batch.tree.nodes[item.index]
    do {
      if !batch.lacks.isEmpty, let lack = batch.lacks[item.index] {
        packer.withhold(try batch.path(item.index), lack, size: node.countedSize)
        return done(item)
      }
      let directory = try enter(node.parent, of: item, in: batch)
      let path = try itemPath(batch.tree.name(node), in: batch)
      switch node.kind {
      case .file: try addFile(item, tries, path, in: directory, batch)
      case .directory, .symbolicLink, .hardLink: try addOther(item, path, in: directory, batch)
      }
    } catch let error as SystemError {
      unsent(item, error, in: batch)
    } catch let error as ArchiveError {
      unsent(
        item, error.cause.map { $0.isNotFound ? .vanished : .unreadable } ?? .beyondLimits, error.cause?.words,
        in: batch)
    } catch {
      unsent(item, .beyondLimits, nil, in: batch)
    }
  }

  private func addFile(
    _ item: WorkList.Item, _ tries: WorkList.Tries, _ path: ArchivePath, in directory: Place,
    _ batch: SourceBatch<Place>
  ) throws {
    let node = batch.tree.nodes[item.index]
    let name = batch.tree.name(node)
    // Checked before its other names: a link to an item that is left out would point nowhere.
    if packer.isMerging, let status = try? directory.status(name), status.kind == .regular,
      packer.leaveOut(path, status)
    {
      return done(item)
    }
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
      packer: packer, directory: directory, path: path, name: name, withOwner: batch.withOwners,
      isSmallExpected: isGrowing, awaited: tries.awaited)
    let outcome = try export.run()
    settle(item, tries, outcome, in: batch)
    if Place.canFetch, let seconds = export.readSeconds { fetch(behind: item, in: batch, after: seconds) }
  }

  /// Handles the result of trying to send a file.
  private func settle(
    _ item: WorkList.Item, _ tries: WorkList.Tries, _ outcome: FileOutcome<Place.File>, in batch: SourceBatch<Place>
  ) {
    switch outcome {
    case .sent(let generation):
      if batch.tree.nodes[item.index].isShared { export.sent(item, generation) }
      done(item)
    case .withheld:
      if batch.tree.nodes[item.index].isShared { export.released(item) }
      done(item)
    case .changed: changed(item, tries, lastFrame: 0, in: batch)
    case .unsettled(let seconds, let stamp):
      var next = tries
      next.looks += 1
      next.awaited = stamp
      guard next.looks < WorkList.looks else { return changed(item, next, lastFrame: 0, in: batch) }
      export.postpone(item, next, until: export.settings.now() + seconds)
    case .large(let found):
      let large = LargeFile(found, item: item, tries: tries, partLength: packer.sizes.part)
      let number = export.opened(large, after: found.mayFollow)
      if found.mayFollow == nil { file = (number, large, nil) }
    }
  }

  /// Schedules a file that changed while it was read for a later try, or gives it up.
  func changed(
    _ item: WorkList.Item, _ tries: WorkList.Tries, lastFrame: UInt64, in batch: SourceBatch<Place>
  ) {
    if batch.tree.nodes[item.index].isShared { export.released(item) }
    guard tries.reads < WorkList.pauses.count else { return unsent(item, .keepsChanging, nil, in: batch) }
    export.changed(item, WorkList.Tries(reads: tries.reads + 1), lastFrame: lastFrame)
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
    _ item: WorkList.Item, _ path: ArchivePath, in directory: Place, _ batch: SourceBatch<Place>
  ) throws -> Link {
    guard let status = try? directory.status(batch.tree.name(batch.tree.nodes[item.index])), status.kind == .regular
    else { return .unknown }
    let generation = packer.generation(of: status.fingerprint(on: directory.fileSystem(of: status)))
    switch export.claim(item, generation) {
    case .mine: return .unknown
    case .others: return .inOtherHands
    case .sent(let first):
      guard let target = try? batch.path(first) else { return .unknown }
      packer.add(
        ItemRecord(
          path: path, generation: packer.generation(ofLinkTo: target, generation), body: .hardLink(target: target)))
      return .added
    }
  }

  private func addOther(
    _ item: WorkList.Item, _ path: ArchivePath, in directory: Place, _ batch: SourceBatch<Place>
  ) throws {
    let node = batch.tree.nodes[item.index]
    let name = batch.tree.name(node)
    let look = try directory.look { () throws(SystemError) in try directory.status(name) }
    let status = look.status
    let target = status.kind == .symbolicLink ? try directory.readLink(name) : nil
    if let target, packer.isMerging, packer.leaveOut(path, status, target: target) { return done(item) }
    let generation = packer.generation(of: look.fingerprint(on: directory.fileSystem(of: status)))
    guard ItemKind(status.kind) == node.kind,
      var record = ItemRecord(
        status, path: path, generation: generation, target: target, withOwner: batch.withOwners)
    else { return unsent(item, .vanished, "it was replaced by something else", in: batch) }
    var extended = ExtendedMetadata()
    if status.kind == .directory { extended = try directory.extendedMetadata(ofDirectory: name) }
    record.add(extended)
    packer.add(record)
    packer.leaveBehind(extended.leftBehind)
    done(item)
  }

  // MARK: Unsendable items

  func unsent(_ item: WorkList.Item, _ error: SystemError, in batch: SourceBatch<Place>) {
    unsent(item, error.isNotFound ? .vanished : .unreadable, error.words, in: batch)
  }

  /// Reports an item that cannot be sent, by its path in the archive.
  func unsent(
    _ item: WorkList.Item, _ reason: Unsent.Reason, _ message: String?, in batch: SourceBatch<Place>
  ) {
    if batch.tree.nodes[item.index].isShared { export.released(item) }
    let path = (try? batch.tree.path(item.index))?.bytes ?? Array(batch.tree.name(batch.tree.nodes[item.index]))
    let unsent = batch.named(Unsent(path: path, reason: reason, message: message))
    export.note(unsent, of: item.batch)
    packer.unsent(unsent)
    done(item)
  }

  // MARK: Read-ahead

  /// Asks the disk for the small files that are read next, if reading is the bottleneck.
  private func fetch(behind item: WorkList.Item, in batch: SourceBatch<Place>, after seconds: Double) {
    guard let run, run.number == item.batch else { return }
    let nodes = batch.tree.nodes
    let wanted = readAhead.read(
      item.index, of: run.items.upperBound, bytes: nodes[item.index].countedSize, seconds: seconds)
    let begun = BootInstant.now()
    defer {
      if !wanted.isEmpty { readAhead.asked(for: wanted.count, seconds: BootInstant.now().seconds(since: begun)) }
    }
    for other in wanted {
      let node = nodes[other]
      guard node.kind == .file, (1...UInt64(packer.sizes.smallFile)).contains(node.countedSize) else { continue }
      if ahead?.batch != item.batch || ahead?.parent != node.parent {
        // Any error of this file is found when the file is read.
        guard let directory = try? batch.open(node.parent) else { continue }
        ahead = (item.batch, node.parent, directory)
      }
      ahead?.directory.fetch(batch.tree.name(node), length: Int(node.size))
    }
  }
}

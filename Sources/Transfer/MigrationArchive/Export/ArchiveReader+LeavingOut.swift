import MigrationSystem
import MigrationWire

/// What becomes of an item that is not sent: it is tried again, it has been there before, or it is reported.
extension ArchiveReader {
  /// Records that a file's content is not sent.
  func leftOut(
    _ item: WorkList.Item, _ status: FileStatus, in directory: Source, _ batch: SourceBatch<Source>
  ) {
    if batch.isCaptured(item.index) {
      export.leftOut(item, packer.keys.generation(of: status.fingerprint(on: directory.fileSystem(of: status))))
    }
    done(item)
  }

  /// Schedules a file that changed while it was read for a later try, or gives it up.
  func changed(
    _ item: WorkList.Item, _ tries: WorkList.Tries, lastFrame: UInt64, in batch: SourceBatch<Source>
  ) {
    if batch.tree.nodes[item.index].isShared { export.released(item) }
    guard !tries.isLastRead else { return unsent(item, .keepsChanging, in: batch) }
    export.changed(item, WorkList.Tries(reads: tries.reads + 1), lastFrame: lastFrame)
  }

  func unsent(_ item: WorkList.Item, _ error: SystemError, in batch: SourceBatch<Source>) {
    let unsent = NotStored(path: [], error)
    self.unsent(item, unsent.reason, unsent.error, in: batch)
  }

  /// Reports an item that cannot be sent, by its path in the archive.
  func unsent(
    _ item: WorkList.Item, _ reason: NotStored.Reason, _ error: UInt16? = nil, in batch: SourceBatch<Source>
  ) {
    report(item, reason, error, in: batch)
    done(item)
  }

  func report(
    _ item: WorkList.Item, _ reason: NotStored.Reason, _ error: UInt16? = nil, in batch: SourceBatch<Source>
  ) {
    if batch.tree.nodes[item.index].isShared { export.released(item) }
    let path = (try? batch.tree.path(item.index))?.bytes ?? Array(batch.tree.name(batch.tree.nodes[item.index]))
    let unsent = batch.named(NotStored(path: path, reason, error: error))
    export.note(unsent, of: item.batch)
    packer.unsent(unsent)
  }
}

extension NotStored {
  /// An item that cannot be opened or read.
  init(path: [UInt8], _ error: SystemError) {
    // A link in the place of a directory or a file is not followed.
    let reason: Reason =
      error.isSymbolicLink ? .replaced : error.isNotFound ? .vanished : error.number == nil ? .attributes : .unreadable
    self.init(path: path, reason, error: reason == .unreadable ? error.number : nil)
  }
}

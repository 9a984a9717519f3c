import MigrationSystem

/// An import into the app's container, so that at any time the container has all of the old data or all of the new:
///
/// 1. `setContainerAside`, if there is old data and it is to go.
/// 2. `beginImport` leaves a mark. From here on the container is not to be used but by the importer.
/// 3. `endImport` notes how it ended. After a failure the container is emptied, or the old one put back; after a success the old
///    one is dropped. Then the mark goes.
///
/// If the process dies at any point, `settle` brings it to its end.
extension InstalledApp {
  /// The transfer of an import that has begun and not ended; nil if there is none.
  package var unfinishedImport: String? {
    get throws(HostError) { try importMark?.transfer }
  }

  /// Whether `settle` has something to do.
  package var isUnsettled: Bool {
    get throws(HostError) {
      if try files.kind(of: mark) != nil { return true }
      return try files.kind(of: replaced) != nil
    }
  }

  /// Notes that an import of a transfer (32 hexadecimal digits) goes on; durable when it returns.
  package func beginImport(transfer: String) throws(HostError) {
    let former = try importMark
    precondition(former == nil, "what was interrupted is settled first")
    // How an earlier try of the same transfer ended must not be taken for how this one did.
    if importRecord?.transfer == transfer { try files.remove(status) }
    try write(ImportMark(transfer: transfer))
  }

  /// Ends the import that was begun, and keeps how it ended for the app. What the record says of the transfer does not count.
  package func endImport(_ record: ImportRecord) throws(HostError) {
    guard let mark = try importMark else { preconditionFailure("an import has begun") }
    try write(record, mark)
    try finish(mark, record)
  }

  /// Ends an import whose importer never began: nothing is noted, and the container is as it was.
  package func abandonImport() throws(HostError) {
    if try files.kind(of: replaced) != nil {
      try putContainerBack()
    } else {
      try clearContainer()
    }
    try files.remove(mark)
    try sweepTrash()
  }

  /// Returns once the app's data, and that of its groups, is on the disk.
  package func synchronizeData() throws(HostError) {
    for place in [container] + bundle.allGroups.map({ "groups/\($0)" }) {
      guard let directory = try files.open(place) else { continue }
      try HostError.wrapping(.storage, "the data of \(identifier) cannot be made durable") { () throws(SystemError) in
        try directory.directory.descriptor.synchronizeFileSystem()
      }
    }
  }

  /// Ends what was interrupted: an import that had not succeeded is undone, and that it was interrupted is kept for the app.
  ///
  /// - Returns: whether an import was undone.
  @discardableResult
  package func settle() throws(HostError) -> Bool {
    guard let mark = try importMark else {
      // No import had begun.
      try putContainerBack()
      try sweepTrash()
      return false
    }
    if let record = importRecord, record.transfer == mark.transfer {
      try finish(mark, record)
      return record.failure != nil
    }
    let record = ImportRecord(
      failure: .interruptedImport, transfer: mark.transfer, date: Timestamp.coarseNow().seconds)
    try write(record, mark)
    try finish(mark, record)
    return true
  }

  var importMark: ImportMark? {
    get throws(HostError) { try files.read(mark, limit: 1 << 10).map { ImportMark($0) } }
  }

  /// Whether the import that was begun is known to have succeeded.
  var hasImportSucceeded: Bool {
    get throws(HostError) {
      guard let mark = try importMark else { return false }
      return importRecord.map { $0.transfer == mark.transfer && $0.failure == nil } ?? false
    }
  }

  func write(_ mark: ImportMark) throws(HostError) {
    try files.write(self.mark, mark.encoded)
  }

  /// Decides how the import ended. Whoever comes after reads it here.
  private func write(_ record: ImportRecord, _ mark: ImportMark) throws(HostError) {
    var record = record
    record.transfer = mark.transfer
    try files.makeDirectory("statuses")
    try files.change("write", status) { () throws(SystemError) in try record.write(to: statusPath) }
  }

  /// Does what follows from the decision.
  private func finish(_ mark: ImportMark, _ record: ImportRecord) throws(HostError) {
    if record.failure == nil {
      try discard(replaced)
    } else if try files.kind(of: replaced) != nil {
      try restore()
    } else if !mark.isRestoring {
      try empty()
    }
    try files.remove(self.mark)
    // Last: what cannot be removed for good keeps nothing from being settled.
    try sweepTrash()
  }
}

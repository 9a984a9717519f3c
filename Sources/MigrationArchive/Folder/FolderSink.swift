package import MigrationSystem
package import MigrationWire
import Synchronization

/// Folders and files arriving in a directory. What exists there is overwritten only where the user wants that.
package final class FolderSink: ItemSink {
  private let destination: Destination
  private let preserved: Preserved
  /// What the user said of names that are taken; nil for what was said at the transfer's beginning.
  private let chosen: Existing?
  /// Keeps other receivers away.
  private let held = Mutex<SharedDirectory?>(nil)

  /// Fails unless the directory is there and can be written to, or can be made.
  package init(
    destination path: [UInt8], preserving preserved: Preserved = Preserved(), existing: Existing? = nil
  ) throws(ArchiveError) {
    self.preserved = preserved
    chosen = existing
    destination = Destination(path: path)
    try destination.check()
  }

  /// Opens the directory to receive into, and makes it if it is missing.
  package static func openOrMake(_ path: [UInt8]) throws(ArchiveError) -> Directory {
    let destination = Destination(path: path)
    try destination.check()
    do {
      return try destination.open().directory.duplicate()
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(.destination, "the destination cannot be opened", name: path, cause: error as? SystemError)
    }
  }

  package var request: AppRequest? { nil }

  package func place() throws(ArchiveError) -> [UInt8] { try destination.canonicalPath() }

  package func lock() throws(ArchiveError) {
    // One that is not there yet is locked when it is made.
    guard let directory = try destination.openIfThere() else { return }
    try lock(directory)
  }

  private func lock(_ directory: SharedDirectory) throws(ArchiveError) {
    guard held.withLock({ $0 == nil }) else { return }
    let isOurs: Bool
    do {
      isOurs = try directory.directory.descriptor.lockOnceFree()
    } catch {
      // A file system without locks: there is nothing that could be asked.
      return
    }
    guard isOurs else {
      let holder = directory.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw ArchiveError(
        .inUse, "another \"peer receive\"\(holder) receives into \(VisibleText.quoted(destination.path))",
        name: destination.path)
    }
    held.withLock { $0 = directory }
  }

  package func availableBytes() -> UInt64? {
    (try? destination.space())?.availableBytes
  }

  package func admit(_ offer: Offer, held: Tally, existing: Existing? = nil) throws(ArchiveError) {
    guard case .folders(let roots) = offer.contents else {
      throw ArchiveError(.destination, "the other device offers an app's data, and folders are expected here")
    }
    let name = try destination.taken(of: roots.map(\.name))
    if let name, chosen ?? existing ?? .refuse == .refuse {
      throw ArchiveError(.exists, "\(VisibleText.quoted(name)) already exists in the destination", name: name)
    }
    let space = try destination.space()
    let shortage = try shortage(
      for: offer, held: held, existing: existing, availableBytes: space.availableBytes,
      availableItems: space.availableItems)
    if let shortage { throw ArchiveError(.noSpace, shortage.description, shortage: shortage) }
  }

  /// What is missing for the rest of an offer, where so much is available; nil when there is room. `existing` says what to do
  /// with what is there, if the user of this device does not.
  func shortage(
    for offer: Offer, held: Tally, existing: Existing?, availableBytes: UInt64, availableItems: UInt64?
  ) throws(ArchiveError) -> SpaceShortage? {
    var held = held
    if case .folders(let roots) = offer.contents { held = try withPresent(held, of: roots, chosen ?? existing) }
    return SpaceShortage(of: offer, held: held, availableBytes: availableBytes, availableItems: availableItems)
  }

  /// What is here of these roots, with what is there already if that is not sent again. It may be something else: then too
  /// little room is found out later, and what has arrived by then is kept.
  private func withPresent(_ held: Tally, of roots: [Root], _ existing: Existing?) throws(ArchiveError) -> Tally {
    guard existing == .skip, let directory = try destination.openIfThere() else { return held }
    return try looking { () throws(SystemError) in
      let there = try PresentItems.tally(beneath: roots.map(\.name), of: directory.directory)
      return held.adding(there)
    }
  }

  package func present(_ offer: Offer, for staging: Staging) throws(ArchiveError) -> PresentItems {
    guard staging.existing == .skip, case .folders(let roots) = offer.contents,
      let directory = try destination.openIfThere()
    else { return PresentItems() }
    return try looking { () throws(SystemError) in
      try PresentItems(
        beneath: roots.map(\.name), of: directory.directory, keys: staging.keys,
        timeGranularity: staging.abilities.timeGranularity)
    }
  }

  private func looking<Value>(_ body: () throws(SystemError) -> Value) throws(ArchiveError) -> Value {
    do {
      return try body()
    } catch {
      throw ArchiveError(.destination, "what is in the destination cannot be read", cause: error)
    }
  }

  /// Fails unless there is room for what is missing of an offer.
  package func checkSpace(for offer: Offer, held: Tally) throws(ArchiveError) {
    let space = try destination.space()
    let shortage = SpaceShortage(
      of: offer, held: held, availableBytes: space.availableBytes, availableItems: space.availableItems)
    if let shortage { throw ArchiveError(.noSpace, shortage.description, shortage: shortage) }
  }

  package func stage(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws(ArchiveError) -> Staging {
    let directory = try destination.open()
    try lock(directory)
    let name = Staging.name(of: transfer)
    let disk: DirectoryDisk
    do {
      disk = try DirectoryDisk(making: name, in: directory)
    } catch {
      throw ArchiveError(.destination, "the staging directory cannot be made", cause: error)
    }
    do {
      return try Staging(
        on: disk, for: offer, transfer: transfer, keys: keys, preserving: preserved, existing: chosen ?? .refuse)
    } catch {
      try? directory.directory.removeTree(name)
      throw error
    }
  }

  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing
  ) throws -> Staging? {
    try recover(offer, transfer: transfer, keys: keys, sealer: sealer, import: .told)
  }

  /// The same, for whoever knows more of the import than the journal.
  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing, import fate: Staging.ImportFate
  ) throws -> Staging? {
    guard let disk = try disk(of: transfer) else { return nil }
    let staging = try Staging.recover(
      from: disk, for: offer, transfer: transfer, keys: keys, sealer: sealer, preserving: preserved, import: fate)
    if let chosen, chosen != staging.existing { try staging.treat(existing: chosen) }
    return staging
  }

  /// The staging directory of an earlier run; nil if there is none.
  private func disk(of transfer: TransferID) throws(ArchiveError) -> DirectoryDisk? {
    guard let directory = try destination.openIfThere() else { return nil }
    let name = Staging.name(of: transfer)
    do throws(SystemError) {
      _ = try directory.directory.status(name)
    } catch {
      if error.isNotFound { return nil }
      throw ArchiveError(.storage, "what was staged cannot be read", cause: error)
    }
    do {
      return try DirectoryDisk(opening: name, in: directory)
    } catch {
      throw ArchiveError(.journal, "\(VisibleText.quoted(name)) is not as it was left", name: name, cause: error)
    }
  }

  package func setAside(_ transfer: TransferID) throws(ArchiveError) -> [UInt8] {
    let name = Staging.name(of: transfer)
    guard let directory = try destination.openIfThere() else { return name }
    for number in 1...Self.asides {
      let aside = name + Self.refused(number)
      do {
        try directory.directory.renameAmongOwn(name, to: directory.directory, as: aside)
        return aside
      } catch  where error.isAlreadyExisting {
        continue
      } catch {
        throw ArchiveError(.storage, "\(VisibleText.quoted(name)) cannot be moved out of the way", cause: error)
      }
    }
    throw ArchiveError(.storage, "there is too much that was set aside beside \(VisibleText.quoted(name))")
  }

  /// How often what was staged of one transfer is set aside at most.
  private static let asides = 100

  package func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(ArchiveError) -> [Done.Loss] {
    if let disk = try disk(of: staging.transfer) {
      var moves = FolderImport(staging, to: disk)
      try moves.run(progress: progress)
    }
    return staging.losses
  }

  /// Removes everything that was staged of a transfer in a directory, also what was set aside; false if that is not there.
  package static func discard(_ transfer: TransferID, from path: [UInt8]) throws(ArchiveError) -> Bool {
    let name = Staging.name(of: transfer)
    let names = [name] + (1...asides).map { name + refused($0) }
    do throws(SystemError) {
      let directory = try Directory.open(path)
      for name in names { try directory.removeTree(ifThere: name) }
      return true
    } catch {
      if error.isNotFound { return false }
      throw ArchiveError(
        .storage, "what was staged in \(VisibleText.quoted(path)) cannot be removed", name: path, cause: error)
    }
  }

  private static func refused(_ number: Int) -> [UInt8] { Array(".refused-\(number)".utf8) }

  /// A move once begun is finished: it takes no time.
  package func interrupt() {}

  package func clear(_ transfer: TransferID) throws(ArchiveError) {
    guard let directory = try destination.openIfThere() else { return }
    do {
      try directory.directory.removeTree(ifThere: Staging.name(of: transfer))
    } catch {
      throw ArchiveError(.storage, "the staging directory cannot be removed", cause: error)
    }
  }
}

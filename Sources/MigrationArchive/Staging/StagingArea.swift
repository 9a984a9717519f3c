package import MigrationSystem
package import MigrationWire

/// A directory in which transfers are staged, each in a directory of its own, next to the existing
/// items.
package final class StagingArea: Sendable {
  let destination: Destination
  /// The most bytes accepted of one transfer; nil to accept as much as there is space for.
  package let most: MostBytes?
  private let preserved: Preserved
  /// The disk that staging uses for a directory; tests replace it with a less capable one.
  private let known: @Sendable (DirectoryDisk) -> any StagingDisk
  /// The lock that keeps other receivers away.
  private let held = Mutex<SharedDirectory?>(nil)

  /// Fails unless the directory exists and is writable, or can be created.
  package convenience init(
    at path: [UInt8], preserving preserved: Preserved = Preserved(), atMost most: MostBytes? = nil
  ) throws(ArchiveError) {
    try self.init(at: path, preserving: preserved, atMost: most) { $0 }
  }

  init(
    at path: [UInt8], preserving preserved: Preserved = Preserved(), atMost most: MostBytes? = nil,
    as known: @escaping @Sendable (DirectoryDisk) -> any StagingDisk
  ) throws(ArchiveError) {
    self.most = most
    self.preserved = preserved
    self.known = known
    destination = Destination(path: path)
    try destination.check()
  }

  /// Opens the directory to receive into; creates it if it is missing.
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

  /// Its identity from run to run: its absolute path.
  package func place() throws(ArchiveError) -> [UInt8] { try destination.canonicalPath() }

  /// Keeps other receivers away for the lifetime of this object, if the directory exists.
  package func lock() throws(ArchiveError) {
    // A directory that does not exist yet is locked when it is created.
    guard let directory = try destination.openIfThere() else { return }
    try lock(directory)
  }

  private func lock(_ directory: SharedDirectory) throws(ArchiveError) {
    guard held.withLock({ $0 == nil }) else { return }
    let isOurs: Bool
    do {
      isOurs = try directory.directory.descriptor.lockOnceFree()
    } catch {
      // A file system without locks cannot detect other receivers.
      return
    }
    guard isOurs else {
      let holder = directory.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw ArchiveError(
        .inUse, "another 'peer receive'\(holder) is already receiving into \(VisibleText.quoted(destination.path))",
        name: destination.path)
    }
    held.withLock { $0 = directory }
  }

  /// Fails if a transfer is known to be larger than the user accepts.
  package func checkSize(of offer: Offer) throws(ArchiveError) { try most?.check(total: offer.bytes) }

  /// Checks the space for an offer that the transfer may exceed.
  ///
  /// Fails unless there is space for the missing part of the offer and for a reserve. If no data is
  /// missing, no space is required.
  package func judgeRoom(for offer: Offer, held: Tally) throws(ArchiveError) -> Judgement {
    let space = try destination.space()
    let reserve = Reserve(of: space)
    let shortage = SpaceShortage(
      of: offer, held: held, availableBytes: space.availableBytes, availableItems: space.availableItems,
      leaving: reserve)
    if let shortage { throw ArchiveError(shortage) }
    let room = held.bytes.addingClamped(space.availableBytes.subtractingClamped(reserve.bytes))
    return Judgement(availableBytes: space.availableBytes, mostBytes: min(room, most?.bytes ?? .max))
  }

  // MARK: Transfers

  /// Creates the staging directory of a new transfer.
  package func stage(_ offer: Offer, on terms: TransferTerms) throws(ArchiveError) -> Staging {
    let directory = try destination.open()
    try lock(directory)
    let name = Staging.name(of: terms.transfer)
    let disk: DirectoryDisk
    do {
      disk = try DirectoryDisk(making: name, in: directory)
    } catch {
      throw ArchiveError(.destination, "the staging directory cannot be created", cause: error)
    }
    do {
      return try Staging(
        on: known(disk), for: offer, transfer: terms.transfer, keys: terms.keys, preserving: preserved,
        existing: terms.existing)
    } catch {
      try? directory.directory.removeTree(name)
      throw error
    }
  }

  /// Recovers the data staged by an earlier run; nil if there is none. `existing` sets how taken
  /// names are treated from now on, if that differs from the setting at the beginning.
  ///
  /// Throws an `ArchiveError`, with the code `journal` if the data cannot be trusted.
  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing, existing: Existing? = nil,
    import fate: Staging.ImportFate = .told
  ) throws -> Staging? {
    guard let disk = try disk(of: transfer) else { return nil }
    return try Staging.recover(
      from: known(disk), for: offer, transfer: transfer, keys: keys, sealer: sealer, preserving: preserved,
      existing: existing, import: fate, hadNoTree: disk.hadNoTree)
  }

  /// The staging directory of an earlier run; nil if there is none.
  func disk(of transfer: TransferID) throws(ArchiveError) -> DirectoryDisk? {
    guard let directory = try destination.openIfThere() else { return nil }
    let name = Staging.name(of: transfer)
    do throws(SystemError) {
      _ = try directory.directory.status(name)
    } catch {
      if error.isNotFound { return nil }
      throw ArchiveError(.storage, "the staged data cannot be read", cause: error)
    }
    do {
      return try DirectoryDisk(opening: name, in: directory)
    } catch {
      throw ArchiveError(
        .journal, "\(VisibleText.quoted(name)) has been changed since the last run", name: name, cause: error)
    }
  }

  // MARK: Removing staged data

  /// The most directories of one transfer's staged data that are set aside.
  private static let asides = 100

  private static func refused(_ number: Int) -> [UInt8] { Array(".refused-\(number)".utf8) }

  /// Moves untrusted data out of the way. Returns its new name.
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
        throw ArchiveError(.storage, "\(VisibleText.quoted(name)) cannot be set aside", cause: error)
      }
    }
    throw ArchiveError(.storage, "too many directories were set aside next to \(VisibleText.quoted(name))")
  }

  /// Removes the staged data of a transfer, if any is left. After a power loss, too, it is gone:
  /// the record of the transfer, which would tell of it, may be removed next.
  package func clear(_ transfer: TransferID) throws(ArchiveError) {
    guard let directory = try destination.openIfThere() else { return }
    do {
      try directory.directory.removeTree(ifThere: Staging.name(of: transfer))
      try directory.directory.synchronize()
    } catch {
      throw ArchiveError(.storage, "the staging directory cannot be removed", cause: error)
    }
  }

  /// Removes all staged data of a transfer from a directory, including data that was set aside;
  /// false if the directory does not exist.
  package static func discard(_ transfer: TransferID, from path: [UInt8]) throws(ArchiveError) -> Bool {
    let name = Staging.name(of: transfer)
    let names = [name] + (1...asides).map { name + refused($0) }
    do throws(SystemError) {
      let directory = try Directory.open(path)
      for name in names { try directory.removeTree(ifThere: name) }
      try directory.synchronize()
      return true
    } catch {
      if error.isNotFound { return false }
      throw ArchiveError(
        .storage, "the staged data in \(VisibleText.quoted(path)) cannot be removed", name: path, cause: error)
    }
  }
}

package import MigrationSystem
package import MigrationWire

/// The directory in which transfers are staged, each in a directory of its own, next to the
/// existing items.
///
/// Other users may be able to change the names in this directory, so no name in it proves anything.
/// A staging directory counts as this program's own only if it is private and its journal begins
/// with the record that the transfer's key authenticates (`DirectoryDisk.find`).
package final class StagingArea: Sendable {
  let destination: Destination
  /// The most bytes accepted of one transfer; nil to accept as much as there is space for.
  package let most: MostBytes?
  private let preserved: Preserved
  /// The disk that staging uses for a directory; tests replace it with a less capable one.
  private let known: @Sendable (DirectoryDisk) -> any StagingDisk
  /// The abilities of the file system, once they are known: a plan has many parts.
  private let abilities = Mutex<DiskAbilities?>(nil)

  /// Opens the directory; creates it if it is missing. Fails unless it is writable.
  package convenience init(
    at path: [UInt8], preserving preserved: Preserved = Preserved(), atMost most: MostBytes? = nil
  ) throws(Failure) {
    try self.init(at: path, preserving: preserved, atMost: most) { $0 }
  }

  init(
    at path: [UInt8], preserving preserved: Preserved = Preserved(), atMost most: MostBytes? = nil,
    as known: @escaping @Sendable (DirectoryDisk) -> any StagingDisk
  ) throws(Failure) {
    self.most = most
    self.preserved = preserved
    self.known = known
    destination = try Destination(openingOrMaking: path)
  }

  /// Opens the directory to receive into; creates it if it is missing.
  package static func openOrMake(_ path: [UInt8]) throws(Failure) -> Directory {
    do {
      return try Destination(openingOrMaking: path).directory.directory.duplicate()
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.unfit, "the destination cannot be opened", name: path, cause: error as? SystemError)
    }
  }

  /// Its identity from run to run: its absolute path.
  package func place() throws(Failure) -> [UInt8] { try destination.canonicalPath() }

  /// The directory's status, by which other processes recognise it.
  package func status() throws(Failure) -> FileStatus {
    try Failure.wrapping(
      .unfit, "the destination cannot be examined", name: destination.path, destination.directory.directory.status())
  }

  /// Fails if the path that the user named leads to another directory by now.
  func checkPlace() throws(Failure) { try destination.checkPlace(.importFailed) }

  /// The reason for a failure of the disk; if the destination is gone, that reason.
  package func reason(of error: any Error) -> any Error {
    guard let failure = error as? Failure, failure.cause?.isNotFound == true else { return error }
    do throws(Failure) {
      try destination.checkPlace(.storage)
      return failure
    } catch {
      return error
    }
  }

  /// Fails if a transfer is known to be larger than the user accepts.
  package func checkSize(of offer: Offer) throws(Failure) { try most?.check(total: offer.bytes) }

  /// Checks the space for an offer that the transfer may exceed.
  ///
  /// Fails unless there is space for the missing part of the offer and for a reserve. If no data is
  /// missing, no space is required.
  package func judgeRoom(for offer: Offer, held: Tally) throws(Failure) -> OfferCheck {
    let space = try destination.space()
    let reserve = Reserve(of: space)
    let shortage = SpaceShortage(
      of: offer, held: held, availableBytes: space.availableBytes, availableItems: space.availableItems,
      leaving: reserve)
    if let shortage { throw Failure(shortage) }
    let room = held.bytes.addingClamped(space.availableBytes.subtractingClamped(reserve.bytes))
    return OfferCheck(availableBytes: space.availableBytes, mostBytes: min(room, most?.bytes ?? .max))
  }

  // MARK: Transfers

  /// The most names that are tried for the staging directory of one transfer.
  private static let names = 20

  private static func names(of transfer: TransferID) -> [[UInt8]] {
    (1...names).map { Staging.name(of: transfer, number: $0) }
  }

  /// Creates the staging directory of a new transfer, under a name that no other entry has.
  package func stage(_ offer: Offer, on terms: TransferTerms) throws(Failure) -> Staging {
    try destination.checkPlace()
    let disk = try makeDisk(of: terms.transfer)
    do {
      return try Staging(
        on: known(disk), for: offer, transfer: terms.transfer, keys: terms.keys, preserving: preserved,
        existing: terms.existing)
    } catch {
      try? disk.remove()
      throw error
    }
  }

  private func makeDisk(of transfer: TransferID) throws(Failure) -> DirectoryDisk {
    var failure = SystemError(alreadyExisting: "create")
    for name in Self.names(of: transfer) {
      do {
        let disk = try DirectoryDisk(making: name, in: destination.directory, knowing: abilities.withLock { $0 })
        let found = disk.abilities
        abilities.withLock { $0 = found }
        return disk
      } catch {
        failure = error
        guard error.isAlreadyExisting else { break }
      }
    }
    throw Failure(.unfit, "the staging directory cannot be created", cause: failure)
  }

  /// Recovers the data staged by an earlier run; nil if there is none. `existing` sets how taken
  /// names are treated from now on, if that differs from the setting at the beginning.
  ///
  /// Throws a `Failure`, with the code `journal` if there is data that cannot be trusted. It
  /// is left where it is.
  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, existing: Existing? = nil,
    import fate: Staging.ImportFate = .told
  ) throws -> Staging? {
    let found = try Found(transfer, keys, in: destination.directory)
    var distrust: Failure?
    for disk in found.own {
      do {
        return try Staging.recover(
          from: known(disk), for: offer, transfer: transfer, keys: keys, preserving: preserved,
          existing: existing, import: fate, hadNoTree: disk.hadNoTree)
      } catch let error as Failure where error.code == .journal {
        distrust = distrust ?? Failure(.journal, "\(error.description), in \(VisibleText.quoted(disk.name))")
      }
    }
    if let distrust { throw distrust }
    if !found.others.isEmpty { throw Failure(.journal, Self.strange(found.others)) }
    return nil
  }

  /// The entries of a directory that have the names of a transfer's staging directories.
  private struct Found {
    var own: [DirectoryDisk] = []
    /// New directories that a kill has left without data.
    var unused: [DirectoryDisk] = []
    var others: [[UInt8]] = []

    init(_ transfer: TransferID, _ keys: TransferKeys, in directory: SharedDirectory) throws(Failure) {
      for name in StagingArea.names(of: transfer) {
        do throws(SystemError) {
          if try directory.directory.isFree(name) { continue }
          if let disk = try DirectoryDisk.find(name, in: directory, of: transfer, key: keys.journalKey) {
            own.append(disk)
          } else if let disk = try? DirectoryDisk(making: name, in: directory) {
            unused.append(disk)
          } else {
            others.append(name)
          }
        } catch {
          throw Failure(.storage, "the staged data in \(VisibleText.quoted(name)) cannot be read", cause: error)
        }
      }
    }

    /// Removes this program's own directories. Returns a clause about the other entries, if any.
    func remove() throws(Failure) -> String? {
      do {
        for disk in own + unused { try disk.remove() }
      } catch {
        throw Failure(.storage, "the staging directory cannot be removed", cause: error)
      }
      return others.isEmpty ? nil : "\(StagingArea.strange(others)), and was left as it is"
    }
  }

  private static func strange(_ names: [[UInt8]]) -> String {
    "\(names.map { VisibleText.quoted($0) }.joined(separator: ", ")) cannot be shown to be a directory of this transfer"
  }

  // MARK: Removing staged data

  /// Removes all staged data of a transfer from a directory. Returns a clause about the part that
  /// may be left, if any. After a power loss, too, the data is gone: the record of the transfer,
  /// which would tell of it, may be removed next.
  ///
  /// An import that has set old data aside is undone first, unless the transfer is known to be
  /// finished. If that is impossible, the call fails, and the staged data stays.
  package static func discard(
    _ transfer: TransferID, _ keys: TransferKeys, from path: [UInt8], isFinished: Bool = false
  ) throws(Failure) -> String? {
    let directory: SharedDirectory
    do {
      directory = SharedDirectory(try Directory.open(path))
    } catch {
      if error.isNotFound { return "\(VisibleText.quoted(path)) is not there, and nothing was removed in it" }
      throw Failure(
        .storage, "the staged data in \(VisibleText.quoted(path)) cannot be removed", name: path, cause: error)
    }
    let found = try Found(transfer, keys, in: directory)
    if !isFinished { for disk in found.own { try FolderImport.undo(transfer, keys, on: disk) } }
    return try found.remove()
  }

  /// The names that old data has now, which the import of a staging directory in `directory` has set
  /// aside without coming to its end. For a directory whose key is lost: its journal is believed, since
  /// only this user can have written it.
  package static func setAside(
    by name: [UInt8], in directory: SharedDirectory
  ) throws(SystemError) -> [ArchivePath] {
    let journal: DiskFile
    do throws(SystemError) {
      journal = DiskFile(try directory.directory.openChildDirectory(name).openChild(DirectoryDisk.journalName))
    } catch  where error.isNotFound {
      return []
    }
    var reader = JournalFile.Reader(journal, key: nil, end: try journal.size())
    var asides: [ArchivePath] = []
    while case .record(let record, _) = try reader.next() {
      if case .aside(_, _, let aside) = record { asides.append(aside) }
      if case .imported = record { asides = [] }
    }
    var there: [ArchivePath] = []
    for path in asides {
      do throws(SystemError) {
        let isFree = try DirectoryDisk.directory(of: path, in: directory).directory.isFree(path.name)
        if !isFree { there.append(path) }
      } catch {
        guard error.isNotFound || error.isNotDirectory else { throw error }
      }
    }
    return there
  }
}

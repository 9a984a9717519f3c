package import MigrationSystem
package import MigrationWire
import Synchronization

/// A directory that transfers are staged in, each in a directory of its own beside what is there.
package final class StagingArea: Sendable {
  let destination: Destination
  /// The most that is taken of one transfer; nil for as much as there is room for.
  package let most: MostBytes?
  private let preserved: Preserved
  /// What staging knows a directory as; a test's can do less.
  private let known: @Sendable (DirectoryDisk) -> any StagingDisk
  /// Keeps other receivers away.
  private let held = Mutex<SharedDirectory?>(nil)

  /// Fails unless the directory is there and can be written to, or can be made.
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

  /// How it is known from run to run: its absolute path.
  package func place() throws(ArchiveError) -> [UInt8] { try destination.canonicalPath() }

  /// Keeps other receivers away for as long as this lives, if the directory is there.
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

  /// Fails where a transfer is known to have more than is wanted here.
  package func checkSize(of offer: Offer) throws(ArchiveError) { try most?.check(total: offer.bytes) }

  /// Judges the room for an offer that may become more than it says.
  ///
  /// Fails unless there is room for what is missing of it, and for a reserve. If nothing is missing, none is asked for.
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

  /// Makes the staging directory of a transfer that begins.
  package func stage(_ offer: Offer, on terms: TransferTerms) throws(ArchiveError) -> Staging {
    let directory = try destination.open()
    try lock(directory)
    let name = Staging.name(of: terms.transfer)
    let disk: DirectoryDisk
    do {
      disk = try DirectoryDisk(making: name, in: directory)
    } catch {
      throw ArchiveError(.destination, "the staging directory cannot be made", cause: error)
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

  /// Recovers what an earlier run staged; nil if there is nothing. `existing` is what is wanted of names that are taken from
  /// now on, if that is something else than at the beginning.
  ///
  /// Throws an `ArchiveError`, with the code journal where it cannot be believed.
  package func recover(
    _ offer: Offer, transfer: TransferID, keys: TransferKeys, sealer: any ChunkSealing, existing: Existing? = nil,
    import fate: Staging.ImportFate = .told
  ) throws -> Staging? {
    guard let disk = try disk(of: transfer) else { return nil }
    return try Staging.recover(
      from: known(disk), for: offer, transfer: transfer, keys: keys, sealer: sealer, preserving: preserved,
      existing: existing, import: fate)
  }

  /// The staging directory of an earlier run; nil if there is none.
  func disk(of transfer: TransferID) throws(ArchiveError) -> DirectoryDisk? {
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

  // MARK: What is removed

  /// How often what was staged of one transfer is set aside at most.
  private static let asides = 100

  private static func refused(_ number: Int) -> [UInt8] { Array(".refused-\(number)".utf8) }

  /// Moves what cannot be believed out of the way; what it is called now.
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

  /// Removes what was staged of a transfer, if anything is left of it.
  package func clear(_ transfer: TransferID) throws(ArchiveError) {
    guard let directory = try destination.openIfThere() else { return }
    do {
      try directory.directory.removeTree(ifThere: Staging.name(of: transfer))
    } catch {
      throw ArchiveError(.storage, "the staging directory cannot be removed", cause: error)
    }
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
}

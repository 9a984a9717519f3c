import MigrationArchive
import MigrationSystem
package import MigrationWire

/// This device's records of unfinished transfers: `HOME/transfers`, one directory each.
package final class TransferStore: Sendable {
  /// One of them, looked at from outside.
  package struct Listed: Sendable {
    package let remembered: RememberedTransfer
    /// Whether a process works on it just now.
    package let isInUse: Bool
  }

  /// One whose state cannot be believed.
  package struct Damaged: Equatable, Sendable {
    /// As much of its identifier as its directory is called.
    package let identifier: String
    /// A lower-case clause.
    package let reason: String
  }

  /// The result of `list`.
  package struct Listing: Sendable {
    /// Newest first.
    package var transfers: [Listed] = []
    package var damaged: [Damaged] = []
  }

  /// How long it is remembered that a transfer is done, in seconds. A sender would only say it
  /// again to a user whose run of the command was killed at its very end; later the same command
  /// means another transfer.
  private static func tombstoneLife(_ role: RememberedTransfer.Role) -> Int64 {
    role == .receiver ? 7 * 24 * 3600 : 3600
  }

  private let home: [UInt8]

  /// Keeps its things in a directory, which is made when there is something to keep.
  package init(home: [UInt8]) { self.home = home }

  /// Remembers a transfer from now on; it is this process's until the entry goes.
  package func create(_ remembered: RememberedTransfer) throws(StoreError) -> TransferEntry {
    try storing { () throws(SystemError) in
      let transfers = try openOrMake()
      let name = Self.name(remembered.transfer, remembered.role)
      try transfers.directory.makeDirectory(name, mode: 0o700)
      let directory = try transfers.directory.openChildDirectory(name)
      guard try directory.descriptor.lock() else {
        throw SystemError(reason: "another process holds it", operation: "lock")
      }
      try directory.replaceFile(TransferEntry.file, with: remembered.encoded)
      try transfers.directory.synchronize()
      return TransferEntry(remembered, directory, name: name, in: transfers)
    }
  }

  /// Takes a remembered transfer; nil if it is gone. Fails if another process has it for longer
  /// than a moment: every `peer` looks at all of them when it starts.
  package func open(_ transfer: TransferID, role: RememberedTransfer.Role) throws -> TransferEntry? {
    guard let transfers = try openIfThere() else { return nil }
    let name = Self.name(transfer, role)
    do {
      let directory = try transfers.directory.openChildDirectory(name)
      guard try directory.descriptor.lockOnceFree() else {
        throw StoreError.busy(String(transfer.hexadecimal.prefix(8)), directory.descriptor.lockHolder())
      }
      return TransferEntry(try Self.read(directory, name), directory, name: name, in: transfers)
    } catch let error as SystemError {
      if error.isNotFound { return nil }
      throw StoreError("the transfer \(transfer.hexadecimal.prefix(8)) cannot be taken", error)
    }
  }

  /// Everything that is remembered.
  package func list() throws(StoreError) -> Listing {
    guard let transfers = try openIfThere() else { return Listing() }
    var listing = Listing()
    for name in try names(transfers) {
      do {
        let directory = try transfers.directory.openChildDirectory(name)
        let remembered = try Self.read(directory, name)
        // Asked, not tried: a lock taken for a moment would be in the way of who works on it.
        let isInUse = directory.descriptor.lockHolder() != nil
        listing.transfers.append(Listed(remembered: remembered, isInUse: isInUse))
      } catch let error as SystemError where error.isNotFound {
        // It has gone, or is just being made.
      } catch {
        listing.damaged.append(Damaged(identifier: VisibleText.of(name.prefix(32)), reason: "\(error)"))
      }
    }
    listing.transfers.sort {
      ($0.remembered.lastSeen, $0.remembered.transfer) > ($1.remembered.lastSeen, $1.remembered.transfer)
    }
    return listing
  }

  /// The unfinished transfers of the same sources, newest first.
  package func unfinishedSends(of sources: [[UInt8]]) throws(StoreError) -> [Listed] {
    try list().transfers.filter { $0.remembered.sources == sources }
  }

  /// The records of a destination, tombstones included, newest first.
  package func remembered(at destination: [UInt8]) throws(StoreError) -> [Listed] {
    try list().transfers.filter { $0.remembered.destination?.path == destination }
  }

  /// Keeps other receivers of this store away from a directory as long as the result lives.
  ///
  /// The lock is on a file of the store, named for the directory: any user who may read the
  /// directory could lock the directory itself. An empty file remains.
  func lock(_ directory: FileStatus, at path: [UInt8]) throws -> DiskFile {
    let file = try storing { () throws(SystemError) in
      try Directory.openOrMake(home + Array("/destinations".utf8), mode: 0o700)
        .openOrCreateFile(Array("\(directory.device)-\(directory.inode)".utf8))
    }
    // A file system without locks cannot detect other receivers.
    guard (try? file.lockOnceFree()) != false else {
      let holder = file.lockHolder().map { " (process \($0))" } ?? ""
      throw ArchiveError(
        .inUse, "another 'peer receive'\(holder) is already receiving into \(VisibleText.quoted(path))", name: path)
    }
    return DiskFile(file)
  }

  /// Removes tombstones that are old enough, and the incomplete records of a crash.
  package func purge(now: Int64) throws(StoreError) {
    guard let transfers = try openIfThere() else { return }
    for name in try names(transfers) {
      guard let directory = try? transfers.directory.openChildDirectory(name),
        (try? directory.descriptor.lock()) == true
      else { continue }
      let isOver: Bool
      do {
        let remembered = try Self.read(directory, name)
        isOver = remembered.done.map { now - $0.at > Self.tombstoneLife(remembered.role) } ?? false
      } catch let error as SystemError {
        isOver = error.isNotFound
      } catch {
        // Damaged ones are for the user to see.
        isOver = false
      }
      if isOver { try? transfers.directory.removeTree(name) }
    }
  }

  private static func name(_ transfer: TransferID, _ role: RememberedTransfer.Role) -> [UInt8] {
    Array("\(transfer.hexadecimal)-\(role == .sender ? "send" : "receive")".utf8)
  }

  static func read(_ directory: borrowing Directory, _ name: [UInt8]) throws -> RememberedTransfer {
    let file = try directory.openChild(TransferEntry.file)
    let size = Int(try file.status().size)
    guard size <= RememberedTransfer.sizeLimit else { throw Violation(.limit, "a remembered transfer") }
    var bytes = [UInt8](repeating: 0, count: size)
    let count = try file.readFully(at: 0, into: &bytes)
    let remembered = try RememberedTransfer(encoded: Array(bytes[..<count]))
    guard Self.name(remembered.transfer, remembered.role) == name else {
      throw Violation(.conflict, "a remembered transfer under another name")
    }
    return remembered
  }

  func names(_ transfers: SharedDirectory) throws(StoreError) -> [[UInt8]] {
    try storing { () throws(SystemError) in
      var names: [[UInt8]] = []
      try transfers.directory.forEachEntry { (name, kind) throws(SystemError) in
        if kind != .regular { names.append([UInt8](copying: name)) }
        return true
      }
      return names.sorted { $0.lexicographicallyPrecedes($1) }
    }
  }

  /// The directory in the home.
  package static let folderName = "transfers"
  private static let folder = Array(folderName.utf8)

  func openIfThere() throws(StoreError) -> SharedDirectory? {
    try storing { () throws(SystemError) -> SharedDirectory? in
      do throws(SystemError) {
        return SharedDirectory(try Directory.open(home).openChildDirectory(Self.folder))
      } catch {
        if error.isNotFound { return nil }
        throw error
      }
    }
  }

  private func openOrMake() throws(SystemError) -> SharedDirectory {
    let home = try Directory.openOrMake(home, mode: 0o700)
    do {
      try home.makeDirectory(Self.folder, mode: 0o700)
    } catch  where error.isAlreadyExisting {
      // The usual case.
    }
    return SharedDirectory(try home.openChildDirectory(Self.folder))
  }

  private func storing<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(StoreError) -> Value {
    do {
      return try body()
    } catch {
      throw StoreError("the records of transfers in \(VisibleText.quoted(home)) cannot be used", error)
    }
  }
}

import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

/// This device's records of unfinished transfers: `HOME/transfers`, one directory each.
package final class TransferStore: Sendable {
  /// One record, for the list.
  package struct Listed: Sendable {
    package let remembered: TransferRecord
    /// Whether a process holds its lock.
    package let isInUse: Bool
  }

  /// A record that cannot be read.
  package struct Damaged: Equatable, Sendable {
    /// The beginning of its directory's name.
    package let identifier: String
    /// Whether this device sends; nil where that is not known.
    package var role: Role?
    /// A lower-case clause.
    package let reason: String
  }

  /// The result of `list`.
  package struct Listing: Sendable {
    /// Newest first.
    package var transfers: [Listed] = []
    package var damaged: [Damaged] = []
    /// Data without a record; empty if the caller did not ask for it.
    package var leftovers: [Leftover] = []
  }

  /// The number of seconds for which the end of a transfer is remembered. A sender reports it again
  /// only to a user whose run was killed at its very end; later the same command means another
  /// transfer.
  private static func tombstoneLife(_ role: Role) -> Int64 {
    role == .receiver ? 7 * 24 * 3600 : 3600
  }

  /// How long another process may make a record, or purge them.
  private static let patience = Duration.seconds(5)

  let home: [UInt8]

  /// Keeps the records in a directory, which is made for the first record.
  package init(home: [UInt8]) { self.home = home }

  /// Creates a record, locked for this process until the entry is released.
  package func create(_ remembered: TransferRecord) throws(Failure) -> LockedTransferRecord {
    try storing { () throws(SystemError) in
      let transfers = try openOrMakeFolder(Self.folder)
      let name = Self.name(remembered.transfer, remembered.role)
      // As long as it has no state, a purge takes it for what a crash has left.
      let making = try openOrMakeFolder(Self.folder)
      guard try making.directory.descriptor.lockOnceFree(within: Self.patience) else {
        throw SystemError(reason: "another process makes or removes some", operation: "lock")
      }
      defer { extendLifetime(making) }
      try transfers.directory.makeDirectory(name, mode: 0o700)
      let directory = try transfers.directory.openChildDirectory(name)
      guard try directory.descriptor.lock() else {
        throw SystemError(reason: "another process holds it", operation: "lock")
      }
      try directory.replaceFile(LockedTransferRecord.file, with: remembered.encoded)
      try transfers.directory.synchronize()
      return LockedTransferRecord(remembered, SharedDirectory(directory), name: name, in: transfers)
    }
  }

  /// Locks a record; nil if it is gone. Fails if another process holds it for longer than a moment:
  /// every `peer` reads all records when it starts.
  package func open(_ transfer: TransferID, role: Role) throws(Failure) -> LockedTransferRecord? {
    guard let transfers = try openIfThere() else { return nil }
    let (name, shown) = (Self.name(transfer, role), String(transfer.hexadecimal.prefix(8)))
    let directory: SharedDirectory
    let (isOurs, bytes): (Bool, [UInt8])
    do throws(SystemError) {
      directory = SharedDirectory(try transfers.directory.openChildDirectory(name))
      isOurs = try directory.directory.descriptor.lockOnceFree()
      bytes = isOurs ? try Self.read(directory.directory) : []
    } catch {
      if error.isNotFound { return nil }
      throw Failure(store: "the transfer \(shown) cannot be taken", error)
    }
    guard isOurs else { throw Failure.taken(shown, by: directory.directory.descriptor.lockHolder()) }
    let entry = LockedTransferRecord(
      try Self.remembered(bytes, name), directory, name: name, in: transfers)
    guard entry.isForgotten else { return entry }
    // The process that was to remove it has ended too early.
    _ = try? discard(name, entry.remembered, in: transfers)
    return nil
  }

  /// All records.
  package func list() throws(Failure) -> Listing {
    guard let transfers = try openIfThere() else { return Listing() }
    var listing = Listing()
    for name in try names(transfers) {
      do throws(Failure) {
        // Without a state it has gone, or is just being made.
        guard let (remembered, isInUse) = try look(at: name, in: transfers) else { continue }
        listing.transfers.append(Listed(remembered: remembered, isInUse: isInUse))
      } catch {
        listing.damaged.append(Damaged(name, reason: error.message))
      }
    }
    listing.transfers.sort {
      ($0.remembered.lastSeen, $0.remembered.transfer) > ($1.remembered.lastSeen, $1.remembered.transfer)
    }
    return listing
  }

  /// A record, and whether a process holds its lock; nil if there is none.
  private func look(
    at name: [UInt8], in transfers: SharedDirectory
  ) throws(Failure) -> (TransferRecord, isInUse: Bool)? {
    let directory: SharedDirectory
    let (bytes, isInUse): ([UInt8], Bool)
    do throws(SystemError) {
      directory = SharedDirectory(try transfers.directory.openChildDirectory(name))
      bytes = try Self.read(directory.directory)
      // Asked, not tried: a lock held for a moment could stop a process that needs it.
      isInUse = directory.directory.descriptor.lockHolder() != nil
    } catch {
      if error.isNotFound { return nil }
      throw Failure(error)
    }
    return (try Self.remembered(bytes, name), isInUse)
  }

  /// The unfinished transfers of the same sources, newest first.
  package func unfinishedSends(of sources: [[UInt8]]) throws(Failure) -> [Listed] {
    try list().transfers.filter { $0.remembered.sources == sources }
  }

  /// The newest unfinished transfer whose first source has this name; nil if another transfer has begun
  /// since then with a known device.
  package func unfinishedMigration(of name: [UInt8]) -> TransferRecord? {
    let transfers = (try? list().transfers.map(\.remembered)) ?? []
    guard let newest = transfers.first(where: { !$0.isDone && $0.sources?.first == name }) else { return nil }
    let devices = (try? devices(as: .sender)) ?? []
    return devices.contains { $0.lastUsed > newest.started } ? nil : newest
  }

  /// The records of a destination, tombstones included, newest first.
  package func remembered(at destination: [UInt8]) throws(Failure) -> [Listed] {
    try list().transfers.filter { $0.remembered.destination == destination }
  }

  /// Removes tombstones that are old enough, and the incomplete records of a crash.
  package func purge(at time: StoreTime) throws(Failure) {
    try? changingDevices(orMake: false) { try purgeDevices(at: time) }
    // A record that another process is making or purging waits for the next purge.
    guard let transfers = try openIfThere(), (try? transfers.directory.descriptor.lock()) == true else { return }
    defer { extendLifetime(transfers) }
    for name in try names(transfers) {
      guard let directory = try? transfers.directory.openChildDirectory(name),
        (try? directory.descriptor.lock()) == true
      else { continue }
      let isOver: Bool
      do throws(SystemError) {
        // The user is to see damaged ones.
        let bytes = try Self.read(directory)
        let remembered = try? Self.remembered(bytes, name, allowsOlder: true)
        isOver =
          remembered.flatMap { old in old.doneAt.map { time.isOver(Self.tombstoneLife(old.role), since: $0) } } ?? false
      } catch {
        isOver = error.isNotFound
      }
      if isOver { try? transfers.directory.removeTree(name) }
    }
  }

  private static func name(_ transfer: TransferID, _ role: Role) -> [UInt8] {
    Array("\(transfer.hexadecimal)-\(role == .sender ? "send" : "receive")".utf8)
  }

  /// The bytes of a record, as many as a record may have and one more.
  static func read(_ directory: borrowing Directory) throws(SystemError) -> [UInt8] {
    let file = try directory.openChild(LockedTransferRecord.file)
    let size = min(Int(try file.status().size), TransferRecord.sizeLimit + 1)
    var bytes = [UInt8](repeating: 0, count: size)
    let count = try file.readFully(at: 0, into: &bytes)
    return Array(bytes[..<count])
  }

  /// The record with these bytes, in a directory of this name. `allowsOlder` permits one of version 2, to be
  /// forgotten.
  static func remembered(
    _ bytes: [UInt8], _ name: [UInt8], allowsOlder: Bool = false
  ) throws(Failure) -> TransferRecord {
    guard allowsOlder || !TransferRecord.isOlder(bytes) else {
      throw Failure(
        .storage, "an older peer began it, and this one cannot continue it", hint: DataHint.forget.text)
    }
    guard !TransferRecord.isNewer(bytes) else {
      throw Failure(
        .storage, "a newer peer wrote its file on this device, and this one cannot read it",
        hint: "That peer can still continue it.")
    }
    do throws(Violation) {
      guard bytes.count <= TransferRecord.sizeLimit else { throw Violation(.limit, "a remembered transfer") }
      let remembered = try TransferRecord(encoded: bytes)
      guard Self.name(remembered.transfer, remembered.role) == name else {
        throw Violation(.conflict, "a remembered transfer under another name")
      }
      return remembered
    } catch {
      throw Failure(
        .storage, "its file on this device is damaged", hint: DataHint.forget.text)
    }
  }

  private static let sourcesFile = Array("sources".utf8)

  /// Names this device's sources by a secret that is made once. If the secret cannot be read or
  /// kept, it is made anew: receivers then do not know the sources.
  func naming() -> SourceNaming {
    let secret =
      (try? sourceSecret()
        ?? changingDevices {
          // Another process may just have made it.
          if let made = sourceSecret() { return made }
          let new = Self.newSecret()
          try Directory.openOrMake(home, mode: 0o700).replaceFile(Self.sourcesFile, with: new)
          return new
        }) ?? Self.newSecret()
    return SourceNaming(
      secret: secret.reduce(0) { $0 << 8 | UInt128($1) },
      home: Environment.bytes("HOME") ?? CurrentProcess.homeDirectory)
  }

  private static func newSecret() -> [UInt8] {
    var writer = ByteWriter()
    writer.u128(.random(in: .min ... .max))
    return writer.bytes
  }

  private func sourceSecret() -> [UInt8]? {
    let secret = try? Directory.open(home).openChild(Self.sourcesFile).readAll(limit: 17)
    return secret?.count == 16 ? secret : nil
  }

  func names(_ transfers: SharedDirectory) throws(Failure) -> [[UInt8]] {
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

  /// What a store keeps in its home: it belongs to this device alone, and changes during a transfer.
  static var entries: [[UInt8]] {
    let files = [sourcesFile, clockFile]
    return [folder, devicesFolder, codesFolder, destinationsFolder] + files + files.map { $0 + Array(".new".utf8) }
  }

  func openIfThere() throws(Failure) -> SharedDirectory? { try openFolder(Self.folder) }

  /// A directory of the home; nil if there is none.
  func openFolder(_ folder: [UInt8]) throws(Failure) -> SharedDirectory? {
    try storing { () throws(SystemError) -> SharedDirectory? in
      do throws(SystemError) {
        return SharedDirectory(try Directory.open(home).openChildDirectory(folder))
      } catch {
        if error.isNotFound { return nil }
        throw error
      }
    }
  }

  func openOrMakeFolder(_ folder: [UInt8]) throws(SystemError) -> SharedDirectory {
    let home = try Directory.openOrMake(home, mode: 0o700)
    do {
      try home.makeDirectory(folder, mode: 0o700)
      // The folder's content is durable only if its name is.
      try home.synchronize()
    } catch  where error.isAlreadyExisting {
      // The usual case.
    }
    return SharedDirectory(try home.openChildDirectory(folder))
  }

  /// The bytes of a file in a directory of the home; nil if there is none.
  static func contents(of file: [UInt8], in folder: SharedDirectory, limit: Int) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      return try folder.directory.openChild(file).readAll(limit: limit)
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }

  func storing<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(Failure) -> Value {
    try SystemError.mapped(body()) {
      Failure(store: "the records of transfers in \(VisibleText.quoted(home)) cannot be used", $0)
    }
  }
}

extension TransferStore.Damaged {
  /// The record in a directory of this name.
  fileprivate init(_ name: [UInt8], reason: String) {
    identifier = VisibleText.of(name.prefix(32))
    role = name.ends(with: "-send") ? .sender : name.ends(with: "-receive") ? .receiver : nil
    self.reason = reason
  }
}

extension [UInt8] {
  fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

// MARK: Privacy

extension TransferStore {
  /// Fails if others than a user and root can change the content of a directory, which holds keys
  /// and paths, or can put another one in its place. It need not exist yet.
  package static func check(
    _ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID, hint: String
  ) throws(Failure) {
    do throws(Trust.Distrust) {
      _ = try Trust(owner).find(path)
    } catch {
      // A missing one is made for its owner alone, where that is possible.
      if case .unreachable(let cause) = error.reason, cause.isNotFound || cause.isNotDirectory { return }
      let others =
        if case .unreachable = error.reason { "other users may be able to change" } else { "other users may change" }
      throw Failure(
        .refused,
        "\(others) \(VisibleText.quoted(path)), which holds the records of transfers: "
          + "\(VisibleText.quoted(error.path)) \(error.clause)", hint: remedy(error, path, owner) ?? hint)
    }
  }

  /// How an owner takes the right away that others have; nil for other causes.
  private static func remedy(_ cause: Trust.Distrust, _ path: [UInt8], _ owner: UInt32) -> String? {
    guard (try? Directory.status(of: cause.path))?.owner == owner else { return nil }
    let cause = (reason: cause.reason, path: VisibleText.listed(cause.path), isAbove: cause.isAbove)
    switch cause.reason {
    case .everyone where cause.isAbove: return "Remove that right: chmod o-w \(cause.path)"
    case .group where cause.isAbove, .list where cause.isAbove: return "Remove that right: chmod g-w \(cause.path)"
    case .everyone, .group, .list: return "Remove their rights: chmod 700 \(VisibleText.listed(path))"
    default: return nil
    }
  }
}

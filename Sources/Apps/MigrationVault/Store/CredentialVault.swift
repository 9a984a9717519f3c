import MigrationArchive
package import MigrationCredentials
import MigrationHost
package import MigrationSystem
package import MigrationWire

/// The credentials of PEER_HOME: a directory for each owner in `credentials`, with a sealed file
/// for each item.
///
/// The vault opens nothing before the first request. It reads the key when it opens or seals the
/// first item, and keeps the key. A caller that asks for items has called
/// `CurrentProcess.keepMemorySecret()`.
package final class CredentialVault: CredentialStorage {
  static let folderName = "credentials"
  /// The file with the store's name. No owner's name begins with a dot.
  static let storeFile = ".store"

  let folder: VaultFolder
  private let keys: [UInt8]?
  private let observer: HomeFiles.Observer?
  private let opened = Mutex<StoreKey?>(nil)
  /// The records of users beside the credentials.
  package let accounts: AccountRecords

  /// - Parameters:
  ///   - home: PEER_HOME, which need not exist yet.
  ///   - keys: the place of the keys of stores; nil if there is none.
  package convenience init(home: [UInt8], keys: [UInt8]?) { self.init(home: home, keys: keys, observer: nil) }

  init(home: [UInt8], keys: [UInt8]?, observer: HomeFiles.Observer?) {
    // The process may change its directory.
    let isAbsolute = home.first == UInt8(ascii: "/")
    let here = isAbsolute ? [] : ((try? Directory.open(".").canonicalPath()) ?? []) + [UInt8(ascii: "/")]
    folder = VaultFolder(home: here + home, name: Self.folderName, observer: observer)
    accounts = AccountRecords(home: here + home, observer: observer)
    self.keys = keys
    self.observer = observer
  }

  /// The place of the keys of stores, by the environment; nil if the environment names none.
  package static func keysDirectory() -> [UInt8]? { KeysDirectory.fromEnvironment() }

  package func locked<Value>(
    _ body: () throws(CredentialStatus) -> Value
  ) throws(CredentialStatus) -> Value {
    let lock = try coded { () throws(Failure) in try folder.lock(try folder.open()) }
    defer { withExtendedLifetime(lock) {} }
    return try body()
  }

  /// All items of an owner, the oldest first; throws if one of them is damaged.
  package func items(of owner: CredentialOwner) throws(CredentialStatus) -> [StoredCredential] {
    try coded { () throws(Failure) in
      guard let files = try folder.openIfThere(), let key = try key(of: files) else { return [] }
      var items: [StoredCredential] = []
      for name in try names(of: owner, in: files) { items.append(try item(name, of: owner, in: files, with: key)) }
      return items.sorted { ($0.item.created, $0.name) < ($1.item.created, $1.name) }
    }
  }

  package func add(_ item: CredentialItem, to owner: CredentialOwner) throws(CredentialStatus) {
    try coded { () throws(Failure) in
      let files = try folder.open()
      let key = if let key = try key(of: files) { key } else { try makeStore(in: files) }
      guard try names(of: owner, in: files).count < CredentialLimits.items else {
        throw Failure(
          .full, "\(owner.name) has \(CredentialLimits.items) credentials, which is the limit",
          hint: "'peer credentials remove' removes unneeded ones.")
      }
      try write(item, as: SealedItem.drawnName(), of: owner, in: files, with: key)
    }
  }

  package func replace(
    _ name: String, of owner: CredentialOwner, with item: CredentialItem
  ) throws(CredentialStatus) {
    try coded { () throws(Failure) in
      guard let files = try folder.openIfThere(), let key = try key(of: files),
        try names(of: owner, in: files).contains(name)
      else { throw Failure(.failed, "the credential no longer exists") }
      try write(item, as: name, of: owner, in: files, with: key)
    }
  }

  package func remove(_ name: String, of owner: CredentialOwner) throws(CredentialStatus) {
    try coded { () throws(Failure) in
      guard let files = try folder.openIfThere() else { return }
      try take([name], of: owner, in: files)
    }
  }

  package func account(_ user: String, of owner: CredentialOwner) throws(CredentialStatus) -> AccountState? {
    try coded { () throws(Failure) in try accounts.state(of: user, for: owner) }
  }

  private func coded<Value>(_ body: () throws(Failure) -> Value) throws(CredentialStatus) -> Value {
    do { return try body() } catch { throw CredentialStatus(error) }
  }

  /// The place of an owner's items.
  private func place(of owner: CredentialOwner) -> String { folder.place(owner.name) }

  /// The names of an owner's items, sorted.
  private func names(of owner: CredentialOwner, in files: HomeFiles) throws(Failure) -> [String] {
    try files.names(in: place(of: owner)).filter(SealedItem.isName)
  }

  /// Opens an item.
  private func item(
    _ name: String, of owner: CredentialOwner, in files: HomeFiles, with key: StoreKey
  ) throws(Failure) -> StoredCredential {
    guard let bytes = try folder.read("\(owner.name)/\(name)", in: files, limit: SealedItem.longest),
      let item = try SealedItem.open(bytes, name, of: owner, in: key.store, with: key.key)
    else {
      throw Failure(
        .damaged, "the credential \(name) of \(owner.name) is damaged, or was stored as another credential",
        hint: "'peer credentials remove \(owner.name)' removes all credentials of \(owner.name).")
    }
    return StoredCredential(name: name, item: item)
  }

  private func write(
    _ item: CredentialItem, as name: String, of owner: CredentialOwner, in files: HomeFiles, with key: StoreKey
  ) throws(Failure) {
    try files.write(
      "\(place(of: owner))/\(name)", SealedItem.seal(item, name, of: owner, in: key.store, with: key.key))
  }

  /// Removes items, and with the last one the owner's directory; durable when it returns.
  private func take(_ names: [String], of owner: CredentialOwner, in files: HomeFiles) throws(Failure) {
    for name in names { try files.remove("\(place(of: owner))/\(name)") }
    if try self.names(of: owner, in: files).isEmpty { try files.removeTree(place(of: owner)) }
  }

  /// The store's key; nil if there is no store yet.
  func key(of files: HomeFiles) throws(Failure) -> StoreKey? {
    guard let store = try storeName(in: files) else { return nil }
    let place = try storePlace(files)
    LoopThread.check("wait for the key of the credentials")
    return try opened.withLock { (key) throws(Failure) in
      if let key, key.store == store, key.place == place { return key }
      let read = try StoreKey.read(
        store, at: place, in: try KeysDirectory(keys, besides: place.path, observer: observer))
      key = read
      return read
    }
  }

  private func makeStore(in files: HomeFiles) throws(Failure) -> StoreKey {
    let place = try storePlace(files)
    // A crash after this point leaves a key that opens nothing.
    let key = try StoreKey.make(for: place, in: try KeysDirectory(keys, besides: place.path, observer: observer))
    try files.write(folder.place(Self.storeFile), Array("\(key.store)\n".utf8))
    opened.withLock { $0 = key }
    return key
  }

  private func storeName(in files: HomeFiles) throws(Failure) -> String? {
    guard let bytes = try folder.read(Self.storeFile, in: files, limit: 64) else {
      // A new store does not overwrite the items of a lost store.
      if try folder.owners(in: files).isEmpty { return nil }
      throw Failure(
        .unavailable, "the file \"\(Self.storeFile)\" is missing beside the credentials; it names their key",
        hint: "Restore the file, or remove the credentials.")
    }
    let name = String(decoding: bytes.dropLast(), as: UTF8.self)
    guard bytes.last == UInt8(ascii: "\n"), SealedItem.isName(name) else {
      throw Failure(
        .unavailable, "the file \"\(Self.storeFile)\" beside the credentials is damaged, and names no key",
        hint: "Restore the file, or remove the credentials.")
    }
    return name
  }

  private func storePlace(_ files: HomeFiles) throws(Failure) -> StoreKey.Location {
    guard let status = try files.status(of: folder.name) else {
      throw Failure(.failed, "the credentials were removed meanwhile")
    }
    let path = try Failure.wrapping(
      .failed, "\(VisibleText.quoted(folder.home)) cannot be examined", files.root.directory.canonicalPath())
    return StoreKey.Location(path: path, device: status.device, inode: status.inode)
  }

  /// A list's entry for one item; it has no secret.
  package struct Listed: Equatable, Sendable {
    package let owner: CredentialOwner
    /// Nil if the item cannot be opened.
    package let item: Summary?
    /// The reason why it cannot be opened, in a lower-case clause.
    package let problem: String?

    /// The oldest first, and last the items that cannot be opened.
    fileprivate static func isBefore(_ one: Listed, _ other: Listed) -> Bool {
      guard let first = one.item?.modified else { return false }
      return other.item.map { first < $0.modified } ?? true
    }
  }

  /// An item without its secret.
  package struct Summary: Equatable, Sendable {
    package let kind: CredentialItem.Kind
    package let label: String?
    /// The time of its last change, or of its addition.
    package let modified: Timestamp
  }

  /// The items of the requested owners, by the owners' names, and the reason why the key is
  /// unavailable, if it is.
  package struct Listing: Equatable, Sendable {
    package var items: [Listed] = []
    package var obstacle: Failure?
  }

  /// Lists the stored items. Without the key, it still lists the owners of items.
  package func list(_ isWanted: (CredentialOwner) -> Bool = { _ in true }) throws(Failure) -> Listing {
    var listing = Listing()
    guard let files = try folder.openIfThere() else { return listing }
    let lock = try folder.lock(files)
    defer { withExtendedLifetime(lock) {} }
    var key: StoreKey?
    do {
      key = try self.key(of: files)
    } catch {
      listing.obstacle = error
    }
    for owner in try folder.owners(in: files) where isWanted(owner) {
      var found: [Listed] = []
      for name in try names(of: owner, in: files) {
        let obstacle: Failure
        do throws(Failure) {
          if let key {
            let item = try item(name, of: owner, in: files, with: key).item
            found.append(Listed(owner: owner, item: Summary(item), problem: nil))
            continue
          }
          obstacle = listing.obstacle ?? Failure(.unavailable, "the key of the credentials is missing")
        } catch {
          obstacle = error
        }
        found.append(Listed(owner: owner, item: nil, problem: obstacle.description))
      }
      listing.items += found.sorted(by: Listed.isBefore)
    }
    return listing
  }

  /// The owners that have items. This needs no key and waits for no lock.
  package func owners() throws(Failure) -> [CredentialOwner] {
    guard let files = try folder.openIfThere() else { return [] }
    var owners: [CredentialOwner] = []
    for owner in try folder.owners(in: files) {
      if try !names(of: owner, in: files).isEmpty { owners.append(owner) }
    }
    return owners
  }

  /// Whether an owner has items; false also if the answer is unavailable.
  package func hasItems(of owner: CredentialOwner) -> Bool { (try? owners().contains(owner)) ?? false }

  /// Removes all items of an owner, without a key, and returns their number.
  @discardableResult
  package func removeAll(of owner: CredentialOwner) throws(Failure) -> Int {
    guard let files = try folder.openIfThere() else { return 0 }
    let lock = try folder.lock(files)
    defer { withExtendedLifetime(lock) {} }
    let count = try names(of: owner, in: files).count
    try files.removeTree(place(of: owner))
    return count
  }

  /// Removes an owner's items with a label, and returns their number. Fails, and removes nothing,
  /// if one of the owner's items cannot be opened.
  package func remove(labelled label: String, of owner: CredentialOwner) throws(Failure) -> Int {
    guard let files = try folder.openIfThere() else { return 0 }
    let lock = try folder.lock(files)
    defer { withExtendedLifetime(lock) {} }
    guard let key = try key(of: files) else { return 0 }
    var found: [String] = []
    for name in try names(of: owner, in: files) {
      if Summary(try item(name, of: owner, in: files, with: key).item).label == label { found.append(name) }
    }
    if !found.isEmpty { try take(found, of: owner, in: files) }
    return found.count
  }
}

extension CredentialVault.Summary {
  init(_ item: CredentialItem) {
    kind = item.kind
    label =
      switch item.attributes[.label] {
      case .text(let text): text
      case .data(let bytes): String(validating: bytes, as: UTF8.self)
      case .number(let number): String(number)
      case nil: nil
      }
    modified = item.modified
  }
}

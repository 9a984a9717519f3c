package import MigrationCredentials
package import MigrationSystem

/// The work of `peer credentials`. It gives the reasons for failures, while apps only get a status.
extension CredentialVault {
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
    package var obstacle: VaultError?
  }

  /// Lists the stored items. Without the key, it still lists the owners of items.
  package func list(_ isWanted: (CredentialOwner) -> Bool = { _ in true }) throws(VaultError) -> Listing {
    var listing = Listing()
    guard let folder = try folder.openIfThere() else { return listing }
    try self.folder.lock(folder)
    defer { withExtendedLifetime(folder) {} }
    var key: StoreKey?
    do {
      key = try self.key(of: folder)
    } catch {
      listing.obstacle = error
    }
    for owner in try self.folder.owners(in: folder) where isWanted(owner) {
      guard let place = try place(of: owner, in: folder) else { continue }
      var found: [Listed] = []
      for name in try names(in: place) {
        let obstacle: VaultError
        do throws(VaultError) {
          if let key {
            let item = try item(name, of: owner, in: place, with: key).item
            found.append(Listed(owner: owner, item: Summary(item), problem: nil))
            continue
          }
          obstacle = listing.obstacle ?? VaultError(.unavailable, "the key of the credentials is missing")
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
  package func owners() throws(VaultError) -> [CredentialOwner] {
    guard let folder = try folder.openIfThere() else { return [] }
    var owners: [CredentialOwner] = []
    for owner in try self.folder.owners(in: folder) {
      if let place = try place(of: owner, in: folder), try !names(in: place).isEmpty { owners.append(owner) }
    }
    return owners
  }

  /// Whether an owner has items; false also if the answer is unavailable.
  package func hasItems(of owner: CredentialOwner) -> Bool { (try? owners().contains(owner)) ?? false }

  /// Removes all items of an owner, without a key, and returns their number.
  @discardableResult
  package func removeAll(of owner: CredentialOwner) throws(VaultError) -> Int {
    guard let folder = try folder.openIfThere() else { return 0 }
    try self.folder.lock(folder)
    defer { withExtendedLifetime(folder) {} }
    guard let place = try place(of: owner, in: folder) else { return 0 }
    let count = try names(in: place).count
    try removeAll(of: owner, in: folder)
    return count
  }

  /// Removes an owner's items with a label, and returns their number. Fails, and removes nothing,
  /// if one of the owner's items cannot be opened.
  package func remove(labelled label: String, of owner: CredentialOwner) throws(VaultError) -> Int {
    guard let folder = try folder.openIfThere() else { return 0 }
    try self.folder.lock(folder)
    defer { withExtendedLifetime(folder) {} }
    guard let place = try place(of: owner, in: folder), let key = try key(of: folder) else { return 0 }
    var found: [String] = []
    for name in try names(in: place) {
      if Summary(try item(name, of: owner, in: place, with: key).item).label == label { found.append(name) }
    }
    if !found.isEmpty { try take(found, from: place, of: owner, in: folder) }
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

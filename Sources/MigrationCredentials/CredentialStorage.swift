/// An item where it is stored.
package struct StoredCredential: Equatable, Sendable {
  /// 32 hexadecimal digits that the storage drew at random. They stay when the item changes.
  package let name: String
  package let item: CredentialItem

  package init(name: String, item: CredentialItem) {
    self.name = name
    self.item = item
  }
}

/// What can be wrong with a storage.
package enum CredentialStorageError: Error, Equatable, Sendable {
  /// There is no key, or it is another storage's; or the storage is locked for too long.
  case unavailable
  /// An item is not as it was stored: cut, changed, or moved there from another owner.
  case damaged
  /// The owner has as many items as one may have.
  case full
  /// Reading or writing failed.
  case failed
}

/// What an account's owner has said of it to `peer account`.
package enum AccountState: UInt8, Sendable {
  case revoked = 0
  case authorized = 1
}

/// Where items are kept, by owners. What a call has changed is durable when it returns, and whole at any time.
package protocol CredentialStorage: Sendable {
  /// Does something while no other process changes the storage.
  func locked<Result>(
    _ body: () throws(CredentialStorageError) -> Result
  ) throws(CredentialStorageError) -> Result

  /// All items of an owner; throws if one of them is damaged. Called while it is locked, as the three that follow.
  func items(of owner: CredentialOwner) throws(CredentialStorageError) -> [StoredCredential]
  func add(_ item: CredentialItem, to owner: CredentialOwner) throws(CredentialStorageError)
  func replace(_ name: String, of owner: CredentialOwner, with item: CredentialItem) throws(CredentialStorageError)
  func remove(_ name: String, of owner: CredentialOwner) throws(CredentialStorageError)

  /// What is recorded of a user; nil if nothing is.
  func account(_ user: String, of owner: CredentialOwner) throws(CredentialStorageError) -> AccountState?
}

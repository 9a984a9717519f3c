import MigrationSystem

/// A stored item.
package struct StoredCredential: Equatable, Sendable {
  /// The item's name: 32 hexadecimal digits that the storage drew at random. They stay when the
  /// item changes.
  package let name: String
  package let item: CredentialItem

  package init(name: String, item: CredentialItem) {
    self.name = name
    self.item = item
  }
}

/// The state of an account, as set by `peer account`.
package enum AccountState: UInt8, Sendable {
  case revoked = 0
  case authorized = 1
}

/// The storage of items, by owners. A call's changes are durable when it returns, and each change
/// is complete or absent at any time.
package protocol CredentialStorage: Sendable {
  /// Runs `body` while no other process changes the storage.
  func locked<Result>(
    _ body: () throws(CredentialStatus) -> Result
  ) throws(CredentialStatus) -> Result

  /// All items of an owner; throws if one of them is damaged. The caller has locked the storage, as
  /// for the next three methods.
  func items(of owner: CredentialOwner) throws(CredentialStatus) -> [StoredCredential]
  func add(_ item: CredentialItem, to owner: CredentialOwner) throws(CredentialStatus)
  func replace(_ name: String, of owner: CredentialOwner, with item: CredentialItem) throws(CredentialStatus)
  func remove(_ name: String, of owner: CredentialOwner) throws(CredentialStatus)

  /// The record of a user; nil if there is none.
  func account(_ user: String, of owner: CredentialOwner) throws(CredentialStatus) -> AccountState?
}

/// A storage in memory, for the tests of an author's app and for this project's tests.
package final class MemoryCredentials: CredentialStorage {
  private struct Content {
    var items: [CredentialOwner: [StoredCredential]] = [:]
    var accounts: [CredentialOwner: [String: AccountState]] = [:]
    var count: UInt64 = 0
  }

  private let content = Mutex(Content())
  private let lock = Mutex(())

  package init() {}

  package func locked<Result>(
    _ body: () throws(CredentialStatus) -> Result
  ) throws(CredentialStatus) -> Result {
    var result: Result?
    try lock.withLock { _ throws(CredentialStatus) in result = try body() }
    return result!
  }

  package func items(of owner: CredentialOwner) -> [StoredCredential] { content.withLock { $0.items[owner] ?? [] } }

  package func add(_ item: CredentialItem, to owner: CredentialOwner) {
    content.withLock { content in
      content.count += 1
      let digits = String(content.count, radix: 16)
      let name = String(repeating: "0", count: 32 - digits.count) + digits
      content.items[owner, default: []].append(StoredCredential(name: name, item: item))
    }
  }

  package func replace(_ name: String, of owner: CredentialOwner, with item: CredentialItem) {
    content.withLock { content in
      guard let index = content.items[owner]?.firstIndex(where: { $0.name == name }) else { return }
      content.items[owner]?[index] = StoredCredential(name: name, item: item)
    }
  }

  package func remove(_ name: String, of owner: CredentialOwner) {
    content.withLock { $0.items[owner]?.removeAll { $0.name == name } }
  }

  package func account(_ user: String, of owner: CredentialOwner) -> AccountState? {
    content.withLock { $0.accounts[owner]?[user] }
  }

  /// Records the state of a user.
  package func record(_ state: AccountState, of user: String, for owner: CredentialOwner) {
    content.withLock { $0.accounts[owner, default: [:]][user] = state }
  }
}

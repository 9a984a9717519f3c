import MigrationSystem

/// The destination of a program's requests for its credentials.
package enum CredentialConnection: Sendable {
  /// The broker that `peer app run` started for this program, if it did.
  case broker
  /// A storage in this process, for a test.
  case memory(CredentialService<MemoryCredentials>)
  /// No destination: an extension in a test has no credentials, as on a device.
  case none

  /// The tester's configuration for the current task.
  @TaskLocal package static var ofTask: CredentialConnection?

  private static let registered = Mutex<CredentialConnection?>(nil)

  /// The tester's configuration for the whole process.
  package static var ofProcess: CredentialConnection? {
    get { registered.withLock { $0 } }
    set { registered.withLock { $0 = newValue } }
  }

  /// The connection that applies to the current task.
  package static var current: CredentialConnection { ofTask ?? ofProcess ?? .broker }
}

/// The answer to a request.
package struct CredentialAnswer: Equatable, Sendable {
  /// A requested item.
  package struct Item: Equatable, Sendable {
    package let item: CredentialItem
    /// The identifier of the program that stored it.
    package let group: String
  }

  package var status: CredentialStatus
  package var items: [Item] = []
  /// The record of the requested user.
  package var account: AccountState?

  init(_ status: CredentialStatus) { self.status = status }

  /// Adds a message; returns whether it was the last one.
  mutating func take(_ reply: CredentialReply) -> Bool {
    switch reply {
    case .item(let item, let group):
      items.append(Item(item: item, group: group))
      return false
    case .ended(let status):
      self.status = status
      return true
    case .account(let state):
      status = .success
      account = state
      return true
    }
  }
}

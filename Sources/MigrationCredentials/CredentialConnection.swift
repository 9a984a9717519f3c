import Synchronization

/// Where the requests of a program for its credentials go.
package enum CredentialConnection: Sendable {
  /// To the broker that `peer app run` started for this program, if it did.
  case broker
  /// To a storage in this process: in a test.
  case memory(CredentialService<MemoryCredentials>)
  /// Nowhere: an extension in a test has no credentials, as on a device.
  case none

  /// What a tester set up for the task that asks.
  @TaskLocal package static var ofTask: CredentialConnection?

  private static let registered = Mutex<CredentialConnection?>(nil)

  /// What a tester set up for the whole process.
  package static var ofProcess: CredentialConnection? {
    get { registered.withLock { $0 } }
    set { registered.withLock { $0 = newValue } }
  }

  /// What goes for the task that asks.
  package static var current: CredentialConnection { ofTask ?? ofProcess ?? .broker }
}

/// How a request was answered.
package struct CredentialAnswer: Equatable, Sendable {
  /// An item that was asked for.
  package struct Item: Equatable, Sendable {
    package let item: CredentialItem
    /// The identifier of the program that stored it.
    package let group: String
  }

  package var status: CredentialStatus
  package var items: [Item] = []
  /// What is recorded of the user who was asked for.
  package var account: AccountState?

  init(_ status: CredentialStatus) { self.status = status }

  /// Takes in a message; whether it was the last one.
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

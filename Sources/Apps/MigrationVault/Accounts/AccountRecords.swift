package import MigrationCredentials
import MigrationHost
import MigrationSystem
package import MigrationWire

/// The records of `peer account`: a file for each owner in PEER_HOME's `accounts`, with a line for
/// each user. The line has the state before the user's identifier. The records are not secret.
package struct AccountRecords: Sendable {
  static let folderName = "accounts"
  /// The number of one owner's users.
  package static let most = 1024
  /// The longest file: a state and a blank before each user, and the line's end.
  static let longest = most * (CredentialLimits.user + 16)

  /// A user, and the recorded state.
  package struct Record: Equatable, Sendable {
    package let user: String
    package var state: AccountState

    package init(user: String, state: AccountState) {
      self.user = user
      self.state = state
    }
  }

  private let folder: VaultFolder

  init(home: [UInt8], observer: HomeFiles.Observer? = nil) {
    folder = VaultFolder(home: home, name: Self.folderName, observer: observer)
  }

  /// Whether a text can be a user's identifier: one line without control characters, neither empty
  /// nor too long.
  package static func isUser(_ text: String) -> Bool {
    (1...CredentialLimits.user).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }

  /// The record of a user; nil if there is none.
  func state(of user: String, for owner: CredentialOwner) throws(Failure) -> AccountState? {
    guard let found = try folder.openIfThere() else { return nil }
    return try records(of: owner, in: found).first { $0.user == user }?.state
  }

  /// The owners that have records.
  package func owners() throws(Failure) -> [CredentialOwner] {
    guard let found = try folder.openIfThere() else { return [] }
    return try folder.owners(in: found)
  }

  /// An owner's records, in the order of their first entry.
  package func records(of owner: CredentialOwner) throws(Failure) -> [Record] {
    guard let found = try folder.openIfThere() else { return [] }
    return try records(of: owner, in: found)
  }

  /// Records the state of a user; durable when it returns.
  package func record(_ state: AccountState, of user: String, for owner: CredentialOwner) throws(Failure) {
    precondition(Self.isUser(user), "the caller has checked the user's identifier")
    let found = try folder.open()
    let lock = try folder.lock(found)
    defer { withExtendedLifetime(lock) {} }
    var records = try records(of: owner, in: found)
    if let index = records.firstIndex(where: { $0.user == user }) {
      records[index].state = state
    } else {
      guard records.count < Self.most else {
        throw Failure(.full, "\(Self.most) users are recorded for \(owner.name), which is the limit")
      }
      records.append(Record(user: user, state: state))
    }
    let text = records.map { "\($0.state) \($0.user)\n" }.joined()
    try found.write(folder.place(owner.name), Array(text.utf8))
  }

  private func records(of owner: CredentialOwner, in found: HomeFiles) throws(Failure) -> [Record] {
    guard let bytes = try folder.read(owner.name, in: found, limit: Self.longest) else { return [] }
    var records: [Record] = []
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
      let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let state = AccountState(word: String(decoding: parts[0], as: UTF8.self)),
        let user = String(validating: parts[1], as: UTF8.self), Self.isUser(user),
        !records.contains(where: { $0.user == user })
      else { throw damaged(owner) }
      records.append(Record(user: user, state: state))
    }
    guard bytes.isEmpty || bytes.last == UInt8(ascii: "\n") else { throw damaged(owner) }
    return records
  }

  private func damaged(_ owner: CredentialOwner) -> Failure {
    Failure(
      .damaged, "the account record \(VisibleText.quoted(folder.path + Array("/\(owner.name)".utf8))) is damaged",
      hint: "Remove the file, and authorize the users again.")
  }
}

extension AccountState {
  /// The state with this name in the record.
  fileprivate init?(word: String) {
    guard let state = [AccountState.revoked, .authorized].first(where: { "\($0)" == word }) else { return nil }
    self = state
  }
}

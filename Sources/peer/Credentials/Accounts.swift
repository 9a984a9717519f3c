import MigrationCredentials
import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationVault
import MigrationWire

/// `peer account`: the recorded sign-in of users, for apps.
enum Accounts {
  /// A user of an app or clip, with the record.
  struct Entry: Equatable {
    let owner: CredentialOwner
    let record: AccountRecords.Record
  }

  /// Performs the command, and returns the program's exit code.
  static func perform(_ command: AccountCommand) -> Int32 {
    switch command {
    case .list(let json):
      Answer.give(json: json) { () throws(TransferFailure) in
        let (entries, damaged) = try list()
        return json ? lines(entries, damaged) : table(entries, damaged)
      }
    case .record(let state, let user, let app, let json):
      Answer.give(json: json) { () throws(TransferFailure) in
        let owner = try owner(app, state, user)
        try withVault { vault throws(VaultError) in try vault.accounts.record(state, of: user, for: owner) }
        if json { return lines([Entry(owner: owner, record: .init(user: user, state: state))], []) }
        let sentence = state == .authorized ? "is authorized for" : "is no longer authorized for"
        return Rendering(standardError: "\(VisibleText.of(user)) \(sentence) \(owner.name).\n")
      }
    }
  }

  /// The app or clip with an identifier: an installed one, or, to revoke, one that has a record of
  /// the user.
  private static func owner(
    _ identifier: String, _ state: AccountState, _ user: String
  ) throws(TransferFailure) -> CredentialOwner {
    do {
      return try withApps { home throws(HostError) in CredentialPrincipal(try home.app(identifier).bundle).owner }
    } catch {
      guard state == .revoked else { throw error }
      let found = try withVault { vault throws(VaultError) in
        var found: [CredentialOwner] = []
        for owner in try vault.accounts.owners() where [owner.name, owner.identifier].contains(identifier) {
          if try vault.accounts.records(of: owner).contains(where: { $0.user == user }) { found.append(owner) }
        }
        return found
      }
      guard let first = found.first else { throw error }
      guard found.count == 1 else {
        throw .usage(
          "several apps or clips have the identifier \(VisibleText.quoted(identifier))",
          hint: "write one of \(found.map(\.name).joined(separator: ", "))")
      }
      return first
    }
  }

  private static func list() throws(TransferFailure) -> ([Entry], [(owner: CredentialOwner, error: VaultError)]) {
    try withVault { vault throws(VaultError) in
      var entries: [Entry] = []
      var damaged: [(owner: CredentialOwner, error: VaultError)] = []
      for owner in try vault.accounts.owners() {
        do throws(VaultError) {
          entries += try vault.accounts.records(of: owner).map { Entry(owner: owner, record: $0) }
        } catch {
          damaged.append((owner, error))
        }
      }
      return (entries, damaged)
    }
  }

  /// For a person: a table.
  static func table(_ entries: [Entry], _ damaged: [(owner: CredentialOwner, error: VaultError)]) -> Rendering {
    let notes = damaged.map { "peer: note: \($0.error.description)\n" }.joined()
    guard !entries.isEmpty else {
      return Rendering(standardError: notes + (damaged.isEmpty ? "No sign-ins are recorded.\n" : ""))
    }
    let rows = entries.map { [$0.owner.name, VisibleText.of($0.record.user), $0.record.state.word] }
    return Rendering(standardError: notes, standardOutput: Table.text([["OWNER", "USER", "STATE"]] + rows))
  }

  /// For a program: an object per line.
  static func lines(_ entries: [Entry], _ damaged: [(owner: CredentialOwner, error: VaultError)]) -> Rendering {
    let accounts: [Rendering] = entries.map { entry in
      .event(
        "account",
        ["owner": entry.owner.name, "user": entry.record.user, "state": entry.record.state.word])
    }
    return accounts.reduce(Rendering(), +)
      + damaged.map { .event("damaged", ["id": $0.owner.name, "message": $0.error.description]) }.reduce(Rendering(), +)
  }
}

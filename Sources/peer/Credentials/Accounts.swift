import MigrationCredentials
import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The options of `peer account`.
enum AccountCommand: Equatable, Sendable {
  /// Record a user's state, for an app or clip.
  case record(AccountState, user: String, app: String)
  case list

  /// Parses the words after a command about accounts.
  init(_ verb: Verb, _ arguments: Arguments) throws(Failure) {
    switch verb {
    case .accountList:
      try arguments.refuseOperands()
      self = .list
    case .accountAuthorize: self = try Self.record(.authorized, verb, arguments)
    case .accountRevoke: self = try Self.record(.revoked, verb, arguments)
    default: throw .noCommand(of: .account, arguments)
    }
  }

  private static func record(
    _ state: AccountState, _ verb: Verb, _ arguments: Arguments
  ) throws(Failure) -> AccountCommand {
    let typed = try arguments.operand(verb, "user", hint: "Write the identifier of the user that the app asks for.")
    guard let user = String(validating: typed, as: UTF8.self), AccountRecords.isUser(user) else {
      throw .usage(
        "\(VisibleText.quoted(typed)) is not a valid user identifier",
        hint: "Write at most \(CredentialLimits.user) bytes of UTF-8, without control characters.")
    }
    guard let app = try arguments.app() else {
      throw .usage("missing required option --app", hint: "Write --app ID; 'peer app list' lists the installed apps.")
    }
    return .record(state, user: user, app: app)
  }
}

/// `peer account`: the recorded sign-in of users, for apps.
extension AccountCommand {
  /// A user of an app or clip, with the record.
  struct Entry: Equatable {
    let owner: CredentialOwner
    let record: AccountRecords.Record
  }

  /// Performs the command.
  func answer(json: Bool) throws(Failure) -> Rendering {
    switch self {
    case .list:
      let (entries, damaged) = try Self.list()
      return json ? Self.lines(entries, damaged) : Self.table(entries, damaged)
    case .record(let state, let user, let app):
      let owner = try Self.owner(app, state, user)
      try withVault { vault throws(Failure) in try vault.accounts.record(state, of: user, for: owner) }
      if json { return Self.lines([Entry(owner: owner, record: .init(user: user, state: state))], []) }
      let sentence = state == .authorized ? "is authorized for" : "is no longer authorized for"
      return Rendering(standardError: "\(VisibleText.of(user)) \(sentence) \(owner.name).\n")
    }
  }

  /// The app or clip with an identifier: an installed one, or, to revoke, one that has a record of
  /// the user.
  private static func owner(
    _ identifier: String, _ state: AccountState, _ user: String
  ) throws(Failure) -> CredentialOwner {
    do {
      return try withApps { home throws(Failure) in CredentialPrincipal(try home.app(identifier).bundle).owner }
    } catch {
      guard state == .revoked else { throw error }
      let found = try withVault { vault throws(Failure) in
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
          hint: "Write one of \(found.map(\.name).joined(separator: ", ")).")
      }
      return first
    }
  }

  private static func list() throws(Failure) -> ([Entry], [(owner: CredentialOwner, error: Failure)]) {
    try withVault { vault throws(Failure) in
      var entries: [Entry] = []
      var damaged: [(owner: CredentialOwner, error: Failure)] = []
      for owner in try vault.accounts.owners() {
        do throws(Failure) {
          entries += try vault.accounts.records(of: owner).map { Entry(owner: owner, record: $0) }
        } catch {
          damaged.append((owner, error))
        }
      }
      return (entries, damaged)
    }
  }

  /// For a person: a table.
  static func table(_ entries: [Entry], _ damaged: [(owner: CredentialOwner, error: Failure)]) -> Rendering {
    let notes = damaged.map { "peer: note: \($0.error.description)\n" }.joined()
    guard !entries.isEmpty else {
      return Rendering(standardError: notes + (damaged.isEmpty ? "No sign-ins are recorded.\n" : ""))
    }
    let rows = entries.map { [$0.owner.name, VisibleText.of($0.record.user), "\($0.record.state)"] }
    return Rendering(standardError: notes, standardOutput: Table.text([["OWNER", "USER", "STATE"]] + rows))
  }

  /// For a program: an object per line.
  static func lines(_ entries: [Entry], _ damaged: [(owner: CredentialOwner, error: Failure)]) -> Rendering {
    let accounts: [Rendering] = entries.map { entry in
      .event(
        "account",
        ["owner": entry.owner.name, "user": entry.record.user, "state": "\(entry.record.state)"])
    }
    return accounts.reduce(Rendering(), +)
      + damaged.map { .event("damaged", ["id": $0.owner.name, "message": $0.error.description]) }.reduce(Rendering(), +)
  }
}

import MigrationCredentials
import MigrationEngine
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The options of `peer account`.
enum AccountCommand: Equatable, Sendable {
  /// Record a user's state, for an app or clip.
  case record(AccountState, user: String, app: String, json: Bool)
  case list(json: Bool)

  /// Parses the words after a command about accounts.
  init(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) {
    switch verb {
    case .accountList:
      if let stray = arguments.operands.first {
        throw .usage("unexpected argument \(VisibleText.quoted(stray))", verb)
      }
      self = .list(json: arguments.has("--json"))
    case .accountAuthorize: self = try Self.record(.authorized, verb, arguments)
    case .accountRevoke: self = try Self.record(.revoked, verb, arguments)
    default: throw .noCommand(of: .account, arguments)
    }
  }

  private static func record(
    _ state: AccountState, _ verb: Verb, _ arguments: Arguments
  ) throws(TransferFailure) -> AccountCommand {
    let typed = try arguments.operand(verb, "user", hint: "write the identifier of the user that the app asks for")
    guard let user = String(validating: typed, as: UTF8.self), AccountRecords.isUser(user) else {
      throw .usage(
        "\(VisibleText.quoted(typed)) is not a valid user identifier",
        hint: "write at most \(CredentialLimits.user) bytes of UTF-8, without control characters")
    }
    guard let app = try arguments.app() else {
      throw .usage("missing required option --app", hint: "write --app ID; 'peer app list' lists the installed apps")
    }
    return .record(state, user: user, app: app, json: arguments.has("--json"))
  }
}

import MigrationCredentials
import MigrationEngine
import MigrationTransfer
import MigrationVault
import MigrationWire

/// What `peer account` was told.
enum AccountCommand: Equatable, Sendable {
  /// Record what is so of a user, for the app or clip of an identifier.
  case record(AccountState, user: String, app: String, json: Bool)
  case list(json: Bool)

  /// Understands what stands behind a command about accounts.
  init(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) {
    switch verb {
    case .accountList:
      if let stray = arguments.operands.first {
        throw .usage("'peer account list' takes no \(VisibleText.quoted(stray))", verb)
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
        "\(VisibleText.quoted(typed)) can be no user's identifier",
        hint: "write at most \(CredentialLimits.user) bytes of UTF-8, without control characters")
    }
    guard let app = try arguments.app() else {
      throw .usage("missing required option --app", hint: "write --app ID; 'peer app list' shows which apps there are")
    }
    return .record(state, user: user, app: app, json: arguments.has("--json"))
  }
}

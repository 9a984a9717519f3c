import MigrationCredentials
import MigrationEngine
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The options of `peer credentials`.
enum CredentialsCommand: Equatable, Sendable {
  /// List the credentials of an app and its clips; nil for all apps.
  case list(of: String?, json: Bool)
  /// Remove an owner's credentials, or only those with a label.
  case remove(CredentialOwner, label: String?, json: Bool)

  /// Parses the words after a command about credentials.
  init(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) {
    let json = arguments.has("--json")
    switch verb {
    case .credentialsList:
      let isGiven = !arguments.operands.isEmpty
      let app = isGiven ? VisibleText.of(try arguments.operand(verb, "app", hint: AppCommand.hint)) : nil
      self = .list(of: app, json: json)
    case .credentialsRemove:
      let typed = try arguments.operand(verb, "owner", hint: Self.hint)
      guard let owner = CredentialOwner(stored: VisibleText.of(typed)) else {
        throw .usage("\(VisibleText.quoted(typed)) is not a valid owner of credentials", hint: Self.hint)
      }
      self = .remove(owner, label: try arguments.text("--label"), json: json)
    default: throw .noCommand(of: .credentials, arguments)
    }
  }

  static let hint = "name an owner that 'peer credentials list' lists"
}

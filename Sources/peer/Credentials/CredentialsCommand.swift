import MigrationCredentials
import MigrationEngine
import MigrationTransfer
import MigrationVault
import MigrationWire

/// What `peer credentials` was told.
enum CredentialsCommand: Equatable, Sendable {
  /// Show what an app and its clips have stored; nil for all apps.
  case list(of: String?, json: Bool)
  /// Remove what an owner has stored, or what of it has a label.
  case remove(CredentialOwner, label: String?, json: Bool)

  /// Understands what stands behind a command about credentials.
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
        throw .usage("\(VisibleText.quoted(typed)) can be no owner of credentials", hint: Self.hint)
      }
      self = .remove(owner, label: try arguments.text("--label"), json: json)
    default: throw .noCommand(of: .credentials, arguments)
    }
  }

  static let hint = "name an owner as 'peer credentials list' does"
}

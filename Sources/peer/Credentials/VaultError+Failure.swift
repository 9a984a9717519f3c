import MigrationCredentials
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationVault

extension TransferFailure {
  /// The user's failure for an error with credentials or accounts.
  init(_ error: VaultError) {
    let kind: Kind =
      switch error.code {
      case .full: .refused
      case .unavailable, .damaged, .failed: error.cause?.isNoSpace == true ? .noSpace : .failed
      }
    self.init(kind, error.description, hint: error.hint)
  }
}

/// Works with the credentials of PEER_HOME, and turns an error into the user's failure.
func withVault<Value>(_ body: (CredentialVault) throws(VaultError) -> Value) throws(TransferFailure) -> Value {
  let vault = CredentialVault(home: try Home.path(), keys: CredentialVault.keysDirectory())
  do throws(VaultError) {
    return try body(vault)
  } catch {
    throw TransferFailure(error)
  }
}

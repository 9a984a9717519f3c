import MigrationCredentials
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationVault

extension TransferFailure {
  /// What a failure with credentials or accounts means for the user.
  init(_ error: VaultError) {
    let kind: Kind =
      switch error.code {
      case .full: .refused
      case .unavailable, .damaged, .failed: error.cause?.isNoSpace == true ? .noSpace : .failed
      }
    self.init(kind, error.description, hint: error.hint)
  }
}

/// Does something with the credentials of PEER_HOME, and says what its failure means for the user.
func withVault<Value>(_ body: (CredentialVault) throws(VaultError) -> Value) throws(TransferFailure) -> Value {
  let vault = CredentialVault(home: try Home.path(), keys: CredentialVault.keysDirectory())
  do throws(VaultError) {
    return try body(vault)
  } catch {
    throw TransferFailure(error)
  }
}

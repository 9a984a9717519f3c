package import MigrationSystem

/// Answers the requests of one program out of a storage.
package struct CredentialService<Storage: CredentialStorage>: Sendable {
  let principal: CredentialPrincipal
  let storage: Storage

  package init(for principal: CredentialPrincipal, storage: Storage) {
    self.principal = principal
    self.storage = storage
  }

  /// The messages that answer a request, in their order; at least one. Bytes that are no request are refused by
  /// `CredentialStatus.parameter`, and change nothing.
  package func answer(_ request: [UInt8], now: Timestamp) -> [[UInt8]] {
    []
  }
}

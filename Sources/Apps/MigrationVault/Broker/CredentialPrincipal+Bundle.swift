package import MigrationCredentials
package import MigrationHost

extension CredentialPrincipal {
  /// The program in a checked bundle: its entitlements decide the owner of its items.
  package init(_ bundle: AppBundle) {
    switch bundle.role {
    case .app(let clip):
      self.init(
        owner: CredentialOwner(app: bundle.identifier),
        clip: clip.flatMap { CredentialOwner(clip: $0, of: bundle.identifier) })
    case .clip(let app):
      guard let owner = CredentialOwner(clip: bundle.identifier, of: app) else {
        preconditionFailure("a valid clip has an identifier that begins with its app's")
      }
      self.init(owner: owner)
    }
  }
}

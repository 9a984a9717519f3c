/// The started program, which decides the owner of the items. The program's messages do not affect
/// it.
package struct CredentialPrincipal: Equatable, Sendable {
  /// The owner of the items that the program reads, changes, adds and deletes.
  package let owner: CredentialOwner
  /// The app's clip, whose items it may read and delete; nil for a clip, and for an app without a
  /// clip. Only items of a clip that names this app have this owner.
  package let clip: CredentialOwner?

  package init(owner: CredentialOwner, clip: CredentialOwner? = nil) {
    self.owner = owner
    self.clip = clip
  }
}

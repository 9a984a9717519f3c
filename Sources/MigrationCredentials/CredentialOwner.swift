/// The program that stored an item: an app, or the clip of an app. A clip that names another app is
/// another owner.
package struct CredentialOwner: Hashable, Sendable {
  /// The app's identifier; for a clip, the identifier of its app.
  package let app: String
  /// The rest of the clip's identifier, after its app's identifier and a dot; nil for the app
  /// itself.
  package let suffix: String?

  /// Makes the owner of an app's items.
  package init(app: String) {
    self.app = app
    suffix = nil
  }

  /// Makes the owner of a clip's items; nil unless the clip's identifier is the app's, a dot, and
  /// more.
  package init?(clip: String, of app: String) {
    let beginning = "\(app)."
    guard clip.hasPrefix(beginning), clip.utf8.count > beginning.utf8.count else { return nil }
    self.app = app
    suffix = String(clip.dropFirst(beginning.count))
  }

  /// The program's identifier.
  package var identifier: String { suffix.map { "\(app).\($0)" } ?? app }

  /// A text that is unique for each owner, and that can be the name of a directory: no identifier
  /// has an @.
  package var name: String { suffix.map { "\(app)@\($0)" } ?? app }

  /// Makes the owner with this name; nil if the text is not an owner's name.
  package init?(name: String) {
    let parts = name.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.allSatisfy({ !$0.isEmpty && !$0.contains("@") }) else { return nil }
    app = parts[0]
    suffix = parts.count == 2 ? parts[1] : nil
  }
}

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

/// The program that stored an item: an app, or the clip of an app. A clip that names another app is another owner.
package struct CredentialOwner: Hashable, Sendable {
  /// The app's own identifier, or that of the app whose clip it is.
  package let app: String
  /// What the clip's identifier has beyond its app's and a dot; nil for the app itself.
  package let suffix: String?

  /// An app.
  package init(app: String) {
    self.app = app
    suffix = nil
  }

  /// A clip of an app; nil unless its identifier is the app's, a dot, and more.
  package init?(clip: String, of app: String) {
    let beginning = "\(app)."
    guard clip.hasPrefix(beginning), clip.utf8.count > beginning.utf8.count else { return nil }
    self.app = app
    suffix = String(clip.dropFirst(beginning.count))
  }

  /// The program's identifier.
  package var identifier: String { suffix.map { "\(app).\($0)" } ?? app }

  /// A text that tells it from every other owner, and that can be the name of a directory: no identifier has an @.
  package var name: String { suffix.map { "\(app)@\($0)" } ?? app }

  /// The owner that has this name; nil for a text that is none.
  package init?(name: String) {
    let parts = name.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.allSatisfy({ !$0.isEmpty && !$0.contains("@") }) else { return nil }
    app = parts[0]
    suffix = parts.count == 2 ? parts[1] : nil
  }
}

/// The program that was started, which decides whose items it has. Nothing that it sends has a part in that.
package struct CredentialPrincipal: Equatable, Sendable {
  /// Whose items it reads, changes, adds and deletes.
  package let owner: CredentialOwner
  /// The app's clip, whose items it may read and delete; nil for a clip, and for an app that names none. Only what was stored by
  /// a clip that names this app has this owner.
  package let clip: CredentialOwner?

  package init(owner: CredentialOwner, clip: CredentialOwner? = nil) {
    self.owner = owner
    self.clip = clip
  }
}

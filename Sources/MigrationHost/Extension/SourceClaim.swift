/// What a source says of where its data comes from; a receiver has no means to tell whether it is true.
package struct SourceClaim: Equatable, Sendable {
  package var platform: String
  /// Nil for the usual store of the platform.
  package var store: String?

  package init(platform: String, store: String? = nil) {
    self.platform = platform
    self.store = store
  }

  /// Android, and the store of its apps, by the names that AppMigrationKit has for authors.
  package static let android = (platform: "android", store: "googlePlay")

  /// The store that an app of a platform comes from, where none is named.
  package static func usualStore(of platform: String) -> String {
    platform == android.platform ? android.store : ""
  }
}

extension AppBundle {
  /// What the data of this app is said to be, where its user claims nothing else.
  var identity: SourceClaim { SourceClaim(platform: platform ?? AppSource.platform, store: store) }
}

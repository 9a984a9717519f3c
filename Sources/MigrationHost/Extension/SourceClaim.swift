/// A source's claim about the origin of its data; a receiver cannot check it.
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

  /// The store of a platform's apps if none is named.
  package static func usualStore(of platform: String) -> String {
    platform == android.platform ? android.store : ""
  }
}

extension AppBundle {
  /// The claim for this app's data if its user makes no other.
  var identity: SourceClaim { SourceClaim(platform: platform ?? AppSource.platform, store: store) }
}

import MigrationWire

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

  /// The platforms that AppMigrationKit names.
  package static let platforms = [android.platform, AppSource.platform]

  /// A notice about a platform's name that no constant of AppMigrationKit has; nil for others.
  static func notice(on platform: String) -> String? {
    if platforms.contains(platform) { return nil }
    return "the exporter gets the platform \(VisibleText.quoted(Array(platform.utf8))), which is neither "
      + platforms.joined(separator: " nor ")
  }

  /// The identity of an app's data with this origin.
  func identity(of app: String, version: String, options: [String]? = nil) -> AppIdentity {
    AppIdentity(
      bundleIdentifier: app, store: store ?? Self.usualStore(of: platform), platform: platform, version: version,
      options: options)
  }

  /// The store of a platform's apps if none is named.
  package static func usualStore(of platform: String) -> String {
    platform == android.platform ? android.store : ""
  }
}

extension AppBundle {
  /// The claim for this app's data if its user makes no other.
  var identity: SourceClaim { SourceClaim(platform: platform ?? AppSource.platform, store: store) }
}

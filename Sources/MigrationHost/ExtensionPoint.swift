/// The names with which an app's migration extension declares itself.
package enum ExtensionPoint {
  /// The extension point that a migration extension's property list must name.
  package static let identifier = "com.apple.app-migration"
  /// The entitlement that gives an extension its app's container: an array of exactly the app's
  /// bundle identifier.
  package static let containerEntitlement = "com.apple.developer.app-migration.data-container-access"
  /// The entitlement that lists the app's groups.
  package static let groupsEntitlement = "com.apple.security.application-groups"
}

/// Access to an app's container: the rule for the only value that the entitlement may have.
package enum ContainerAccess {
  /// Whether the entitlement's value gives an extension of `bundleIdentifier`'s app access to its
  /// container.
  package static func isGranted(_ entitlement: [String]?, to bundleIdentifier: String) -> Bool {
    entitlement == [bundleIdentifier]
  }
}

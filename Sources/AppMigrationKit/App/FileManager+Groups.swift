extension FileManager {
  /// The directory that the apps of a group share; nil if this app's entitlements do not list the
  /// group.
  ///
  /// Foundation on Linux lacks this method.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    Surroundings.current?.groups[groupIdentifier]
  }
}

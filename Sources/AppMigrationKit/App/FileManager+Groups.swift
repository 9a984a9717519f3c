extension FileManager {
  /// The directory that the apps of a group share; nil for a group that this app's entitlements do not list.
  ///
  /// Foundation on Linux lacks this method.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    Surroundings.current?.groups[groupIdentifier]
  }
}

/// The place of an app's data.
public struct MigrationDataContainer: Sendable {
  /// The app's identifier.
  public let bundleIdentifier: String
  /// The directory with all of the app's data.
  public let containerRootDirectory: URL
  /// The app's documents. The path does not end with a slash.
  ///
  /// It can be set, as in Apple's framework; setting it changes this value, not a directory.
  public var documentsDirectory: URL
  /// The app's support files. The path does not end with a slash.
  ///
  /// It can be set, as in Apple's framework; setting it changes this value, not a directory.
  public var applicationSupportDirectory: URL

  init(bundleIdentifier: String, root: URL) {
    self.bundleIdentifier = bundleIdentifier
    containerRootDirectory = root
    let directory = { (name: String) in root.appending(path: name, directoryHint: .notDirectory) }
    documentsDirectory = directory("Documents")
    applicationSupportDirectory = directory("Library/Application Support")
  }
}

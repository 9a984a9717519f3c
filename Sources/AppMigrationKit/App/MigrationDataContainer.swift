/// The place where an app keeps its data.
public struct MigrationDataContainer: Sendable {
  /// The app's own name for itself.
  public let bundleIdentifier: String
  /// The directory that everything is in.
  public let containerRootDirectory: URL
  /// The app's documents. The path does not end with a slash.
  ///
  /// It can be set, as in Apple's framework; that changes this value, and no directory.
  public var documentsDirectory: URL
  /// What the app keeps for itself. The path does not end with a slash.
  ///
  /// It can be set, as in Apple's framework; that changes this value, and no directory.
  public var applicationSupportDirectory: URL

  init(bundleIdentifier: String, root: URL) {
    self.bundleIdentifier = bundleIdentifier
    containerRootDirectory = root
    let directory = { (name: String) in root.appending(path: name, directoryHint: .notDirectory) }
    documentsDirectory = directory("Documents")
    applicationSupportDirectory = directory("Library/Application Support")
  }
}

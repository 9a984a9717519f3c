/// The place where an app keeps its data.
public struct MigrationDataContainer: Sendable {
  /// The app's own name for itself.
  public let bundleIdentifier: String
  /// The directory that everything is in.
  public let containerRootDirectory: URL

  init(bundleIdentifier: String, root: URL) {
    self.bundleIdentifier = bundleIdentifier
    containerRootDirectory = root
  }

  /// The app's documents. The path does not end with a slash.
  public var documentsDirectory: URL { directory("Documents") }

  /// What the app keeps for itself. The path does not end with a slash.
  public var applicationSupportDirectory: URL { directory("Library/Application Support") }

  private func directory(_ name: String) -> URL {
    containerRootDirectory.appending(path: name, directoryHint: .notDirectory)
  }
}

internal import MigrationHost
internal import MigrationSystem

/// The result of the import of an app's data.
public enum MigrationStatus: Sendable {
  /// The import succeeded.
  case success
  /// The import failed, and the app's container is empty.
  ///
  /// The error is an `NSError` with the domain, the code and the texts of the importer's error.
  case failure(any Error)

  /// The result of this app's last import; nil if there was none since the status was cleared.
  ///
  /// Outside an app that `peer` runs, and outside of testers, it is nil.
  public static var importStatus: MigrationStatus? { AppSurroundings.current?.status.read() }

  /// Clears the result of the last import. The app calls it when it has acted on the result.
  public static func clearImportStatus() { AppSurroundings.current?.status.clear() }
}

extension MigrationStatus {
  init(_ record: ImportRecord) {
    self = record.failure.map { .failure($0.systemError) } ?? .success
  }
}

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

/// The storage of the status of an app's import.
protocol StatusKeeping: Sendable {
  func read() -> MigrationStatus?
  func clear()
}

/// The status of a real app, which `peer` writes.
struct StatusFile: StatusKeeping {
  let path: String

  func read() -> MigrationStatus? { ImportRecord.read(from: path).map { MigrationStatus($0) } }

  func clear() {
    do {
      try ImportRecord.clear(path)
    } catch {
      // Apple's method does not throw. Without this message, the app would show the same failure at
      // each launch.
      StandardStream.error.write("AppMigrationKit: the import's status cannot be cleared: \(error)\n")
    }
  }
}

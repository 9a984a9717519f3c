internal import MigrationHost

/// The places of an app's data for its code: as `peer` named them to the process, or as a tester
/// configured them.
struct AppSurroundings: Sendable {
  let container: MigrationDataContainer
  /// The containers of the groups that the app may use.
  let groups: [String: URL]
  let status: any StatusKeeping

  /// The tester's surroundings for the current task.
  @TaskLocal static var ofTester: AppSurroundings?

  /// The surroundings that `peer` named to this process.
  private static let ofProcess = AppEnvironment.current().map { AppSurroundings($0) }

  /// The surroundings that apply to the current task.
  static var current: AppSurroundings? { ofTester ?? ofProcess ?? TesterConfiguration.surroundingsOfProcess }
}

extension AppSurroundings {
  fileprivate init(_ environment: AppEnvironment) {
    container = MigrationDataContainer(
      bundleIdentifier: environment.bundleIdentifier, root: URL(directory: environment.container))
    groups = environment.groups.mapValues { URL(directory: $0) }
    status = StatusFile(path: environment.status)
  }
}

extension URL {
  /// The form of a directory for authors: without a slash at the end, so that authors can join
  /// `path()` and a name.
  init(directory path: String) { self.init(filePath: path, directoryHint: .notDirectory) }
}

extension FileManager {
  /// The directory that the apps of a group share; nil if this app's entitlements do not list the
  /// group.
  ///
  /// Foundation on Linux lacks this method.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    AppSurroundings.current?.groups[groupIdentifier]
  }
}

extension URL {
  /// The documents of this process's app, which its extension shares.
  ///
  /// Foundation on Linux lacks this property.
  public static var documentsDirectory: URL { inContainer("Documents", .documentDirectory) }

  /// The support files of this process's app, which its extension shares.
  ///
  /// Foundation on Linux lacks this property.
  public static var applicationSupportDirectory: URL {
    inContainer("Library/Application Support", .applicationSupportDirectory)
  }

  /// A directory of the app's container; in a process without one, the user's.
  private static func inContainer(_ path: String, _ directory: FileManager.SearchPathDirectory) -> URL {
    let root = AppSurroundings.current?.container.containerRootDirectory
    return root?.appending(path: path, directoryHint: .isDirectory)
      ?? FileManager.default.urls(for: directory, in: .userDomainMask)[0]
  }
}

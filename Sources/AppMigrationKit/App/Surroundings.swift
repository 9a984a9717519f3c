internal import MigrationHost

/// Where the code of an app finds its data: what `peer` told the process, or what a tester set up.
struct Surroundings: Sendable {
  let container: MigrationDataContainer
  /// The containers of the groups that the app may use.
  let groups: [String: URL]
  let status: any StatusKeeping

  /// What a tester set up for the task that asks.
  @TaskLocal static var ofTester: Surroundings?

  /// What `peer` told this process.
  private static let ofProcess = AppEnvironment.current().map { Surroundings($0) }

  /// What goes for the task that asks.
  static var current: Surroundings? { ofTester ?? ofProcess ?? TesterConfiguration.surroundingsOfProcess }
}

extension Surroundings {
  fileprivate init(_ environment: AppEnvironment) {
    container = MigrationDataContainer(
      bundleIdentifier: environment.bundleIdentifier, root: URL(directory: environment.container))
    groups = environment.groups.mapValues { URL(directory: $0) }
    status = StatusFile(path: environment.status)
  }
}

extension URL {
  /// A directory as authors are given it: no slash at the end, so that `path()` and a name can be put together.
  init(directory path: String) { self.init(filePath: path, directoryHint: .notDirectory) }
}

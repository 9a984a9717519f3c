internal import MigrationSystem

/// The destination of a tested import: a fresh container, and fresh containers of the app's groups.
final class TestedImport: Sendable {
  let surroundings: Surroundings
  /// The items that a failed import left in the groups, by group.
  let left = Mutex<[String: [String]]>([:])
  private let directory: TemporaryDirectory
  /// The groups' defaults before the import, as property lists.
  private let defaults: [String: Data]

  private static let app = "app"

  init(_ session: TesterSession) throws {
    let source = session.configuration.surroundings
    directory = try session.directory()
    var groups: [String: URL] = [:]
    for (number, group) in source.groups.keys.sorted().enumerated() {
      groups[group] = try directory.directory("groups/\(number)")
    }
    let container = MigrationDataContainer(
      bundleIdentifier: source.container.bundleIdentifier, root: try directory.container(Self.app))
    surroundings = Surroundings(container: container, groups: groups, status: source.status)
    defaults = Self.defaults(of: groups.keys)
  }

  /// Acts like a device after a failed import: empties the container, and leaves the groups as they
  /// are.
  func fail() throws {
    try Directory.open(directory.path).removeTree(ifThere: Array(Self.app.utf8))
    _ = try directory.container(Self.app)
    let now = Self.defaults(of: surroundings.groups.keys)
    var left: [String: [String]] = [:]
    for (group, url) in surroundings.groups {
      var paths = Self.files(in: url)
      if now[group] != defaults[group] { paths.append("Library/Preferences/\(group).plist") }
      if !paths.isEmpty { left[group] = paths.sorted() }
    }
    self.left.withLock { $0 = left }
  }

  /// All items below a directory, except directories.
  private static func files(in directory: URL) -> [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory.path)) ?? []
    return names.filter { name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
      return attributes?[.type] as? FileAttributeType != .typeDirectory
    }
  }

  private static func defaults(of groups: some Sequence<String>) -> [String: Data] {
    var found: [String: Data] = [:]
    for group in groups {
      let contents = Preferences.contents(of: group)
      if contents.isEmpty { continue }
      found[group] = try? PropertyListSerialization.data(fromPropertyList: contents, format: .xml, options: 0)
    }
    return found
  }
}

internal import MigrationHost
internal import MigrationSystem

extension AppMigrationTester {
  /// Imports in a test.
  public final class AppImportController: Sendable {
    private let session: TesterSession
    private let last = Mutex<TestedImport?>(nil)

    init(_ session: TesterSession) { self.session = session }

    /// Imports a directory into a fresh container, with fresh containers of the app's groups.
    ///
    /// If an import fails, the tester empties the container, but not the containers of the groups,
    /// as on a device. `leftInGroups` lists the items that the importer left there. Defaults of a
    /// group are not fresh: all tests of a process share them.
    /// - Parameters:
    ///   - directory: the directory of an extracted export. The extension gets it unchanged, and
    ///     may move items out of it.
    ///   - importRequest: the source of the data (default: the app itself, on the tester's platform
    ///     and from its usual store). The default version is that of this tester's last export, or
    ///     the extension's if there was none.
    ///   - progress: follows the extension's progress, and is complete after a success.
    public func importResources(
      from directory: URL, importRequest: ResourcesImportRequest? = nil, progress: Progress? = nil
    ) async throws {
      let session = session
      let follower = TesterSession.ProgressFollower(progress)
      let destination = try TestedImport(session)
      last.withLock { $0 = destination }
      do {
        try await session.run(in: destination.surroundings) { instance in
          guard let importer = instance as? any ResourcesImporting else { throw CocoaError(.featureUnsupported) }
          let request = importRequest ?? session.defaultRequest(for: instance)
          let supervision = Supervision(limit: .off, .export)
          let notice: ExtensionNotice?
          do {
            notice = try await supervision.run {
              try await WatchedImport(importer).run(at: directory, request) {
                follower.follow(Double($0) / 1_000_000)
              }
            }
          } catch {
            // A cancelled import throws this error, even if the importer throws another.
            throw supervision.isBrokenOff ? CancellationError() : error
          }
          let root = destination.surroundings.container.containerRootDirectory
          if let fault = ContainerContents.strayLink(in: root.path) {
            throw ReportedError.fault("The importer \(fault).").thrownError
          }
          if let words = notice?.words { AppMigrationTester.tellAuthor("\(type(of: instance)) \(words)") }
        }
      } catch {
        try destination.fail()
        throw error
      }
      follower.finish()
    }

    /// Sets the `MigrationStatus.importStatus` of this tester's configuration.
    ///
    /// It changes nothing else: a failure empties no container.
    public func registerImportCompletion(with status: MigrationStatus) async throws {
      let failure: ReportedError? = if case .failure(let error) = status { ReportedError(error) } else { nil }
      let record = ImportRecord(failure: failure, transfer: nil, date: Int64(Date().timeIntervalSince1970))
      (session.configuration.surroundings.status as? TesterConfiguration.StatusMemory)?.write(record)
    }

    /// The container of the last import; nil before the first import.
    ///
    /// Only this module has it: on Apple's platforms, a test that runs inside an app imports into
    /// that app.
    public var importedContainer: MigrationDataContainer? { last.withLock { $0 }?.surroundings.container }

    /// The container of one of the app's groups in the last import; nil before the first import,
    /// and for a group that is not configured.
    ///
    /// Only this module has it, like `importedContainer`.
    public func importedContainerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
      last.withLock { $0 }?.surroundings.groups[groupIdentifier]
    }

    /// The items that a failed last import left in the containers of the app's groups: their paths,
    /// in order, by group.
    ///
    /// It should be empty, since no system empties these containers. Changed defaults of a group
    /// are `Library/Preferences/GROUP.plist`, as on a device. Only this module has it, like
    /// `importedContainer`.
    public var leftInGroups: [String: [String]] { last.withLock { $0 }?.left.withLock { $0 } ?? [:] }
  }

  /// The destination of a tested import: a fresh container, and fresh containers of the app's groups.
  final class TestedImport: Sendable {
    let surroundings: AppSurroundings
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
      surroundings = AppSurroundings(container: container, groups: groups, status: source.status)
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
        let contents = UserDefaults.standard.persistentDomain(forName: group) ?? [:]
        if contents.isEmpty { continue }
        found[group] = try? PropertyListSerialization.data(fromPropertyList: contents, format: .xml, options: 0)
      }
      return found
    }
  }
}

extension TesterSession {
  /// The request of an app that imports its own data.
  fileprivate func defaultRequest(for instance: any AppMigrationExtension) -> ResourcesImportRequest {
    let version = exportedVersion.withLock { $0 } ?? (instance as? any ResourcesExportingWithOptions)?.resourcesVersion
    return ResourcesImportRequest(
      sourceAppIdentifier: MigrationAppIdentifier(
        storeIdentifier: .init(configuration.store ?? SourceClaim.usualStore(of: platform.rawValue)),
        bundleIdentifier: configuration.surroundings.container.bundleIdentifier, platform: platform),
      sourceVersion: version ?? "")
  }
}

internal import MigrationHost
internal import Synchronization

extension AppMigrationTester {
  /// Imports in a test.
  public final class AppImportController: Sendable {
    private let session: TesterSession
    private let destination = Mutex<Surroundings?>(nil)

    init(_ session: TesterSession) { self.session = session }

    /// Imports what a directory holds into a fresh container, with fresh containers of the app's groups.
    ///
    /// An import that fails leaves what it wrote, for the test to see; a device would clear the app's container.
    /// - Parameters:
    ///   - directory: what an export was extracted to; the extension is given it as it is, and may move items out of it.
    ///   - importRequest: where the data comes from; by default from the app itself, on the tester's platform, in the
    ///     version of this tester's last export or else of the extension.
    ///   - progress: follows the extension's, and stands at its total after a success.
    public func importResources(
      from directory: URL, importRequest: ResourcesImportRequest? = nil, progress: Progress? = nil
    ) async throws {
      let session = session
      let follower = ProgressFollower(progress)
      let surroundings = try makeDestination()
      try await session.run(in: surroundings) { instance in
        guard let importer = instance as? any ResourcesImporting else { throw CocoaError(.featureUnsupported) }
        let request = importRequest ?? session.defaultRequest(for: instance)
        // Once only, as the system does.
        let inner = importer.resourcesImportProgress
        let report: @Sendable (UInt32) -> Void = { follower.follow(Double($0) / 1_000_000) }
        try await inner.watched(by: report) {
          try await importer.importResources(at: directory, request: request)
        }
      }
      follower.finish()
    }

    /// Sets the status that `MigrationStatus.importStatus` answers where this tester was configured.
    ///
    /// It changes nothing else: a failure clears no container.
    public func registerImportCompletion(with status: MigrationStatus) async throws {
      let failure: ReportedError? =
        switch status {
        case .success: nil
        case .failure(let error): ReportedError(error)
        }
      let record = ImportRecord(failure: failure, transfer: nil, date: Int64(Date().timeIntervalSince1970))
      (session.configuration.surroundings.status as? StatusMemory)?.write(record)
    }

    /// The container that the last import went to; nil before the first.
    ///
    /// Added here: a test that runs inside an app has Apple's framework import into that app.
    public var importedContainer: MigrationDataContainer? { destination.withLock { $0 }?.container }

    /// The container of one of the app's groups, as the last import found it; nil before the first, and for a group that
    /// was not configured.
    ///
    /// Added here, like `importedContainer`.
    public func importedContainerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
      destination.withLock { $0 }?.groups[groupIdentifier]
    }

    private func makeDestination() throws -> Surroundings {
      let source = session.configuration.surroundings
      let directory = try session.directory()
      var groups: [String: URL] = [:]
      for (number, group) in source.groups.keys.sorted().enumerated() {
        groups[group] = try directory.directory("groups/\(number)")
      }
      let container = MigrationDataContainer(
        bundleIdentifier: source.container.bundleIdentifier, root: try directory.container("app"))
      let surroundings = Surroundings(container: container, groups: groups, status: source.status)
      destination.withLock { $0 = surroundings }
      return surroundings
    }
  }
}

extension TesterSession {
  /// The request of an app that gets its own data back.
  fileprivate func defaultRequest(for instance: any AppMigrationExtension) -> ResourcesImportRequest {
    let version = exportedVersion.withLock { $0 } ?? (instance as? any ResourcesExportingWithOptions)?.resourcesVersion
    return ResourcesImportRequest(
      sourceAppIdentifier: MigrationAppIdentifier(
        storeIdentifier: .init(""), bundleIdentifier: configuration.surroundings.container.bundleIdentifier,
        platform: platform),
      sourceVersion: version ?? "")
  }
}

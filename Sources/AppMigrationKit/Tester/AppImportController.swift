internal import MigrationHost
internal import Synchronization

extension AppMigrationTester {
  /// Imports in a test.
  public final class AppImportController: Sendable {
    private let session: TesterSession
    private let last = Mutex<TestedImport?>(nil)

    init(_ session: TesterSession) { self.session = session }

    /// Imports what a directory holds into a fresh container, with fresh containers of the app's groups.
    ///
    /// When an import fails, the container is emptied and those of the groups are not, as on a device: `leftInGroups` says
    /// what the importer left there. Defaults of a group are not fresh: all tests of a process share them.
    /// - Parameters:
    ///   - directory: what an export was extracted to; the extension is given it as it is, and may move items out of it.
    ///   - importRequest: where the data comes from; by default from the app itself, on the tester's platform and from the
    ///     usual store of that, in the version of this tester's last export or else of the extension.
    ///   - progress: follows the extension's, and stands at its total after a success.
    public func importResources(
      from directory: URL, importRequest: ResourcesImportRequest? = nil, progress: Progress? = nil
    ) async throws {
      let session = session
      let follower = ProgressFollower(progress)
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
            // An import that was broken off is that, whatever the importer makes of it.
            throw supervision.isBrokenOff ? CancellationError() : error
          }
          if let words = notice?.words { TesterNotice.say("\(type(of: instance)) \(words)") }
        }
      } catch {
        try destination.fail()
        throw error
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
    public var importedContainer: MigrationDataContainer? { last.withLock { $0 }?.surroundings.container }

    /// The container of one of the app's groups, as the last import found it; nil before the first, and for a group that
    /// was not configured.
    ///
    /// Added here, like `importedContainer`.
    public func importedContainerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
      last.withLock { $0 }?.surroundings.groups[groupIdentifier]
    }

    /// What the last import left in the containers of the app's groups, if it failed: the paths there, in order, by group.
    ///
    /// No system clears those, so that it should be empty. Changed defaults of a group are
    /// `Library/Preferences/GROUP.plist`, as on a device. Added here, like `importedContainer`.
    public var leftInGroups: [String: [String]] { last.withLock { $0 }?.left.withLock { $0 } ?? [:] }
  }
}

extension TesterSession {
  /// The request of an app that gets its own data back.
  fileprivate func defaultRequest(for instance: any AppMigrationExtension) -> ResourcesImportRequest {
    let version = exportedVersion.withLock { $0 } ?? (instance as? any ResourcesExportingWithOptions)?.resourcesVersion
    return ResourcesImportRequest(
      sourceAppIdentifier: MigrationAppIdentifier(
        storeIdentifier: .init(configuration.store ?? SourceClaim.usualStore(of: platform.rawValue)),
        bundleIdentifier: configuration.surroundings.container.bundleIdentifier, platform: platform),
      sourceVersion: version ?? "")
  }
}

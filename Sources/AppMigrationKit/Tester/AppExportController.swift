internal import Synchronization

extension AppMigrationTester {
  /// Exports in a test.
  public final class AppExportController: Sendable {
    private let session: TesterSession

    init(_ session: TesterSession) { self.session = session }

    /// Exports, and extracts what was exported into a fresh directory.
    /// - Parameters:
    ///   - request: what is asked for; by default no options, for the tester's platform.
    ///   - progress: follows the export by the extension's estimate, and stands at its total after a success.
    public func exportResources(
      request: MigrationRequest? = nil, progress: Progress? = nil
    ) async throws -> ResourcesExportResult {
      try await export(to: request?.destinationPlatform ?? session.platform, options: [], progress)
    }

    /// Exports, and extracts what was exported into a fresh directory.
    /// - Parameters:
    ///   - request: what is asked for; by default no options, for the tester's platform. Options that the extension does
    ///     not know are dropped.
    ///   - progress: follows the export by the extension's estimate, and stands at its total after a success.
    public func exportResources<OptionsType>(
      request: MigrationRequestWithOptions<OptionsType>? = nil, progress: Progress? = nil
    ) async throws -> ResourcesExportResult {
      try await export(
        to: request?.destinationPlatform ?? session.platform,
        options: request?.options.map { ($0.key.rawValue, $0.value) } ?? [], progress)
    }

    private func export(
      to platform: MigrationPlatform, options: [(String, Data)], _ progress: Progress?
    ) async throws -> ResourcesExportResult {
      let session = session
      let follower = ProgressFollower(progress)
      let directory = try session.directory()
      let result = try await session.run(in: session.configuration.surroundings) { instance in
        guard let exporter = instance as? any ResourcesExportingWithOptions else {
          throw CocoaError(.featureUnsupported)
        }
        let estimate = await exporter.resourcesSizeEstimate
        let archive = try ExtractedArchive(in: directory, isCompressible: exporter.resourcesCompressible) { bytes in
          follower.follow(Double(bytes) / Double(max(1, estimate)))
        }
        try await exporter.export(to: archive, platform: platform, options: options)
        try Task.checkCancellation()
        let figures = try archive.finish()
        return ResourcesExportResult(
          extractedResourcesURL: archive.root,
          exportProperties: DeviceToDeviceExportProperties(
            uncompressedBytes: figures.uncompressed, compressedBytes: figures.compressed, sizeEstimate: estimate,
            version: exporter.resourcesVersion))
      }
      session.exportedVersion.withLock { $0 = result.exportProperties.version }
      follower.finish()
      return result
    }
  }
}

internal import MigrationArchive
internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

extension AppMigrationTester {
  /// Exports in a test.
  ///
  /// If a device would refuse an exporter's action or end the exporter, the test gets an error. Its
  /// domain is `PeerMigrationErrorDomain` if Foundation has no error for the case: an estimate
  /// below zero, 20 seconds without an append, a hidden cancellation. The export then continues by
  /// itself, since the tester cannot end code in the test's process.
  public final class AppExportController: Sendable {
    private let session: TesterSession

    init(_ session: TesterSession) { self.session = session }

    /// Exports, and extracts the archive into a fresh directory.
    /// - Parameters:
    ///   - request: the request (default: no options, for the tester's platform).
    ///   - progress: follows the export by the extension's estimate, and is complete after a
    ///     success.
    public func exportResources(
      request: MigrationRequest? = nil, progress: Progress? = nil
    ) async throws -> ResourcesExportResult {
      try await export(to: request?.destinationPlatform ?? session.platform, options: [], progress)
    }

    /// Exports, and extracts the archive into a fresh directory.
    /// - Parameters:
    ///   - request: the request (default: no options, for the tester's platform). Options that the
    ///     extension does not know are dropped.
    ///   - progress: follows the export by the extension's estimate, and is complete after a
    ///     success.
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
      let follower = TesterSession.ProgressFollower(progress)
      let result = try await session.run(in: session.configuration.surroundings) { instance in
        guard let exporter = instance as? any ResourcesExportingWithOptions else {
          throw CocoaError(.featureUnsupported)
        }
        do {
          return try await SharedPreferences.hiding(allBut: session.configuration.surroundings.groups.keys) {
            try await session.export(exporter, to: platform, options: options, follower)
          }
        } catch {
          throw session.configuration.explaining(error)
        }
      }
      session.exportedVersion.withLock { $0 = result.exportProperties.version }
      follower.finish()
      return result
    }
  }

  /// The result of an export in a test.
  public struct ResourcesExportResult: Sendable {
    /// A directory with all exported items, in the form that an importer gets.
    ///
    /// It stays until the `withConfiguration` around it ends; without one, until the process ends.
    public let extractedResourcesURL: URL
    /// The export's figures.
    public let exportProperties: DeviceToDeviceExportProperties
  }

  /// The figures of an export in a test.
  public struct DeviceToDeviceExportProperties: Sendable {
    /// The bytes of the contents of all exported files; names, directories and links do not count.
    public let uncompressedBytes: Int
    /// The size of those bytes in transit; nil if the extension forbids compression.
    ///
    /// Contents are compressed frame by frame, and a frame that does not shrink counts with its
    /// plain size. The value is therefore never more than `uncompressedBytes`, and equal to it if
    /// this machine lacks libzstd.
    public let compressedBytes: Int?
    /// The extension's estimate before the export.
    public let sizeEstimate: Int
    /// The extension's `resourcesVersion`.
    public let version: String
  }
}

extension TesterSession {
  /// Runs an exporter under test.
  fileprivate func export(
    _ exporter: any ResourcesExportingWithOptions, to platform: MigrationPlatform, options: [(String, Data)],
    _ follower: ProgressFollower
  ) async throws -> AppMigrationTester.ResourcesExportResult {
    let limit = configuration.idleLimit
    let descriptionLimit = limit == .off ? IdleLimit.off : .seconds(ExtensionWatch.descriptionLimit)
    let description = try await Supervision(limit: descriptionLimit, .description).run {
      ExportDescription(of: exporter, estimate: await exporter.resourcesSizeEstimate)
    }
    if let fault = description.fault { throw ReportedError.fault("The exporter \(fault).").thrownError }

    let supervision = Supervision(limit: limit, .export)
    let archive = try ExtractedArchive(
      in: directory(), isCompressible: description.isCompressible, isCancelled: { supervision.isUnwanted },
      progress: { follower.follow(Double($0) / Double(max(1, description.estimate))) })
    let destination = TestedDestination(
      archive: archive, reach: AppendableArea(configuration.surroundings), supervision: supervision)
    do {
      try await supervision.run { try await exporter.export(to: destination, platform: platform, options: options) }
    } catch {
      throw supervision.judgement(of: error)?.thrownError ?? error
    }
    if let judgement = supervision.judgement(of: nil) { throw judgement.thrownError }
    let figures = try archive.finish()
    return AppMigrationTester.ResourcesExportResult(
      extractedResourcesURL: archive.root,
      exportProperties: AppMigrationTester.DeviceToDeviceExportProperties(
        uncompressedBytes: figures.uncompressed, compressedBytes: figures.compressed,
        sizeEstimate: Int(description.estimate), version: description.version))
  }

  /// The destination of a tested export's items, under the rules of a device.
  struct TestedDestination: ItemDestination {
    let archive: ExtractedArchive
    let reach: AppendableArea
    let supervision: Supervision

    func refuseIfCancelled() throws { try supervision.refuseIfCancelled() }

    func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem { try reach.open(path) }

    func failed(_ error: CocoaError) {}

    func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
      supervision.begin()
      defer { supervision.end() }
      do {
        try archive.append(item, at: path)
      } catch is CancellationError {
        try supervision.refuseIfCancelled()
        throw CancellationError()
      }
    }
  }

  /// Moves the progress that the test has passed.
  struct ProgressFollower: Sendable {
    private static let defaultTotal: Int64 = 100

    private let progress: Progress?

    /// Gives the progress a total if it has none.
    init(_ progress: Progress?) {
      self.progress = progress
      if let progress, progress.totalUnitCount <= 0 { progress.totalUnitCount = Self.defaultTotal }
    }

    /// Moves it to a fraction of the whole. Only success completes it, and it never decreases.
    func follow(_ fraction: Double) {
      guard let progress else { return }
      let count = Int64(Double(progress.totalUnitCount - 1) * min(max(fraction, 0), 1))
      if count > progress.completedUnitCount { progress.completedUnitCount = count }
    }

    func finish() {
      guard let progress else { return }
      progress.completedUnitCount = progress.totalUnitCount
    }
  }
}

/// A staging disk whose contents need not survive a power failure: tests discard their extracted
/// files.
struct UnsyncedDisk: StagingDisk {
  private let disk: DirectoryDisk

  init(_ disk: DirectoryDisk) { self.disk = disk }

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  func places() -> any StagingTree { disk.places() }
  func synchronize() throws(SystemError) {}
  func space() -> FileSystemSpace? { disk.space() }
}

package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// An app's data as one of several parts: the app is locked, and its extension runs, only while the
/// part is described, and while it is exported.
///
/// An app that cannot be taken at first is offered all the same, and tried again at its turn: only
/// then its part fails.
package final class AppPart: ItemSource {
  private let app: InstalledApp
  private let home: AppHome
  private let claim: SourceClaim?
  private let idleLimit: IdleLimit
  private let observer: @Sendable (HostNews) -> Void
  /// While it is described or exported.
  private let running = Mutex<AppSource?>(nil)

  /// Fails if the app is not installed. The parameters are those of `AppSource`.
  package init(
    app identifier: String, home: AppHome, claim: SourceClaim? = nil, idleLimit: IdleLimit = .standard,
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(Failure) {
    app = try home.app(identifier)
    self.home = home
    self.claim = claim
    self.idleLimit = idleLimit
    self.observer = observer
  }

  package func origin() throws(Failure) -> [[UInt8]] { [AppSource.origin(of: app.identifier)] }

  package func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    do throws(Failure) {
      return try taking(until: stop) { (source) throws(Failure) in try source.prepare(until: stop) }
    } catch {
      if error.code == .stopped { throw error }
      let claim = claim ?? app.bundle.identity
      return SourceSummary(
        contents: .app(claim.identity(of: app.identifier, version: "")), total: Tally(), allocated: 0, isEstimate: true)
    }
  }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    try taking(until: settings.stopSignal) { (source) throws(Failure) in
      try source.export(settings, for: request, begin: begin)
    }
  }

  /// Takes the app, and releases it afterwards.
  private func taking<Result>(
    until stop: StopSignal, _ body: (AppSource) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let source: AppSource
    do {
      source = try AppSource(
        app: app.identifier, home: home, claim: claim, idleLimit: idleLimit, until: stop, observer: observer)
    } catch {
      throw error.code == .appInUse || error.code == .stopped ? error : error.coded(.exportFailed)
    }
    running.withLock { $0 = source }
    defer { end() }
    return try body(source)
  }

  package func end() { running.withLock { $0.take() }?.end() }

  package var graceAtTheEnd: Double { ExtensionWatch.grace }
}

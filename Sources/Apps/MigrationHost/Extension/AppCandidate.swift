package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// An installed app that may receive a part of a plan: judges the part without the app's lock, and
/// without a process of the app's extension.
package struct AppCandidate: PartJudge {
  private let app: InstalledApp
  private let area: StagingArea
  private let options: AppImporter.Options

  /// Fails if the app is not installed, is in use, or has no migration extension.
  package init(_ app: AppIdentity, in home: AppHome, options: AppImporter.Options) throws(Failure) {
    self.options = options
    do throws(Failure) {
      self.app = try home.appAccepting(app)
      _ = try self.app.bundle.extensionToMigrate()
      if let holder = try self.app.holder() { throw Failure.inUse(self.app.identifier, by: holder) }
    } catch {
      throw error.ofPart
    }
    area = try StagingArea(at: Array(home.path.utf8), atMost: options.most)
  }

  package var existing: Existing? { nil }
  package var device: UInt64? { try? area.status().device }

  package func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck {
    if case .app(let identity) = offer.contents {
      try app.checkAcceptance(of: identity, options)
    }
    try area.checkSize(of: offer)
    return try area.judgeRoom(for: offer, held: held)
  }
}

extension AppHome {
  /// The installed app that takes the data of this one: the same one, or one of which it is another
  /// edition.
  package func appAccepting(_ identity: AppIdentity) throws(Failure) -> InstalledApp {
    do {
      return try app(identity.bundleIdentifier)
    } catch {
      guard error.code == .notInstalled, let other = try list().apps.first(where: { $0.accepts(identity) }) else {
        throw error
      }
      return other
    }
  }
}

extension InstalledApp {
  /// Whether data belongs to this app, or to an edition that it accepts as its own.
  fileprivate func accepts(_ identity: AppIdentity) -> Bool {
    if identity.bundleIdentifier == identifier { return true }
    return bundle.aliases.contains {
      $0.bundleIdentifier == identity.bundleIdentifier && $0.store == identity.store
        && $0.platform == identity.platform
    }
  }

  /// Fails if data that is offered is not this app's, or if the app has data that is not replaced.
  func checkAcceptance(of identity: AppIdentity, _ options: AppImporter.Options) throws(Failure) {
    let isDraft = options.draft != nil
    guard accepts(identity) else {
      throw Failure(
        .otherApp,
        "the other device offers the data of \(VisibleText.of(identity.bundleIdentifier)), and that of "
          + "\(identifier) is expected here",
        hint: isDraft ? "Name a bundle of the same app with --to, or one whose PeerAliases list that app." : nil,
        name: Array(identity.bundleIdentifier.utf8))
    }
    if !options.replaces, try Self.importing({ () throws(Failure) in try holdsData }) {
      throw Failure(
        .appHasData, "\(identifier) has data on the receiving device already",
        hint: isDraft
          ? DataHint.appHasDataInTrial.text
          : DataHint.replacing(options.isOfEverything ? "--everything" : "--app \(identifier)"),
        name: Array(identifier.utf8))
    }
  }

  /// An operation of an import: its failure is the import's.
  static func importing<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    do { return try body() } catch { throw error.coded(error.code == .noSpace ? .noSpace : .importFailed) }
  }
}

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

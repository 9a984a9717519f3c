package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// An app's data, as its extension exports it.
package final class AppSource: ItemSource {
  /// The platform that this device reports to an app that asks for the origin of its data.
  package static let platform = "linux"

  private let launch: ExtensionLaunch
  /// The place that was created for the data; nil if only the app's own data is used.
  private let place: CheckSite?
  private let claim: SourceClaim
  private let idleLimit: IdleLimit
  /// The time that the extension may take to describe its export.
  private let descriptionLimit: Double
  /// The process that was started first. It describes its export, and then performs the first
  /// session's export.
  private let first: Mutex<ExtensionChannel?>
  private let left = Mutex<ExtensionSite.ScratchGrowth?>(nil)
  /// The identity of the data, once the extension has described it.
  private let identity = Mutex<AppIdentity?>(nil)

  /// A cancelled exporter has this time to end by itself, and is then killed.
  package var graceAtTheEnd: Double { ExtensionWatch.grace }

  /// Takes the app for the migration. It cannot be started until this object is deallocated. Starts
  /// the app's extension, and fails if it cannot be started, or cannot export.
  ///
  /// - Parameters:
  ///   - edition: another edition of the app, which need not be installed: the extension in its
  ///     bundle exports the installed app's data.
  ///   - claim: the claimed origin of the data; nil for the origin in the app's bundle.
  ///   - idleLimit: how long the exporter may append nothing.
  ///   - isConfined: whether the extension is confined as docs/Apps.md describes.
  ///   - stop: ends the start, which then throws `Failure.Code.stopped`.
  package convenience init(
    app identifier: String, edition: AppBundle? = nil, home: AppHome, claim: SourceClaim? = nil,
    idleLimit: IdleLimit = .standard, isConfined: Bool = true, until stop: StopSignal = StopSignal(),
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(Failure) {
    let place = try edition.map { bundle throws(Failure) in
      try CheckSite(bundle, installedIn: home, observer: observer)
    }
    var site = if let place { place.site } else { try home.site(of: identifier, observer: observer) }
    site.isConfined = isConfined
    try self.init(site, at: place, claim: claim, idleLimit: idleLimit, until: stop, observer: observer)
  }

  /// Uses the data of a prepared site; a place that was created for it is removed at the end.
  init(
    _ site: ExtensionSite, at place: CheckSite? = nil, claim: SourceClaim? = nil, idleLimit: IdleLimit = .standard,
    descriptionLimit: Double = ExtensionWatch.descriptionLimit, until stop: StopSignal = StopSignal(),
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(Failure) {
    self.place = place
    self.claim = claim ?? site.bundle.identity
    self.idleLimit = idleLimit
    self.descriptionLimit = descriptionLimit
    launch = ExtensionLaunch(site: site, idleLimit: idleLimit, observe: observer)
    if let weakness = site.weakness { observer(.weakness(weakness)) }
    do {
      first = Mutex(try launch.start(.export, until: stop))
    } catch {
      launch.sweep()
      throw .unfit(site, error, wanted: "export")
    }
  }

  deinit { launch.sweep() }

  /// Ends the extension if it still waits to export, and removes its remains. For a program that
  /// may end before this object is deallocated.
  package func end() {
    let waiting = first.withLock { $0.take() }
    if let waiting {
      waiting.kill()
      _ = waiting.close()
    }
    launch.sweep()
    place?.clear()
  }

  private var site: ExtensionSite { launch.site }
  /// The temporary files that the last exporter has left.
  var growth: ExtensionSite.ScratchGrowth? { left.withLock { $0 } }

  package func origin() throws(Failure) -> [[UInt8]] { [Self.origin(of: site.identifier)] }

  /// The app's name among the remembered sources; no path begins like this.
  package static func origin(of identifier: String) -> [UInt8] { Array("app:\(identifier)".utf8) }

  /// The app with this name; nil for a path.
  package static func identifier(ofOrigin origin: [UInt8]) -> String? {
    let mark = Array("app:".utf8)
    return origin.starts(with: mark) ? String(decoding: origin.dropFirst(mark.count), as: UTF8.self) : nil
  }

  package func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    var conversation = try process(until: stop)
    let description: ExportDescription
    do {
      description = try describe(&conversation, until: stop)
    } catch is ExtensionChannel.Gone {
      let end = conversation.end()
      launch.sweep()
      throw failure("did not describe its export: it \(end.words)")
    } catch {
      conversation.kill()
      _ = conversation.close()
      launch.sweep()
      throw (error as? Failure) ?? failure("violated the protocol of its host (\(error))")
    }
    let items = site.dataCount { stop.isSet }
    let estimate = UInt64(description.estimate)
    var ready: ExtensionChannel? = conversation
    first.withLock { $0 = ready.take() }
    if description.version.isEmpty {
      launch.observe(
        .notice(
          "the extension of \(site.identifier) names no version of its data (resourcesVersion is empty), so a later "
            + "importer cannot recognise its format"))
    }
    let identity = claim.identity(of: site.identifier, version: description.version, options: description.options)
    self.identity.withLock { $0 = identity }
    return SourceSummary(
      contents: .app(identity), total: Tally(items: items, bytes: estimate), allocated: estimate, isEstimate: true,
      isCompressible: description.isCompressible)
  }

  /// The process that was started before, or a new one. It uses the stop signal.
  private func process(until stop: StopSignal) throws(Failure) -> ExtensionChannel {
    let first = first.withLock { $0.take() }
    switch consume first {
    case .some(var conversation):
      conversation.heed(stop)
      return conversation
    case .none: return try restart(until: stop)
    }
  }

  /// A new process for another export. Any failure to start it ends the export.
  private func restart(until stop: StopSignal) throws(Failure) -> ExtensionChannel {
    do {
      return try launch.start(.export, until: stop)
    } catch {
      guard [.storage, .failed, .noSpace].contains(error.code) else { throw error }
      throw error.coded(.exportFailed)
    }
  }

  private func describe(
    _ conversation: inout ExtensionChannel, until stop: StopSignal
  ) throws -> ExportDescription {
    try conversation.say(.describe)
    var watch = ExtensionWatch(limit: idleLimit == .off ? .off : .seconds(descriptionLimit), now: ExtensionWatch.now())
    while true {
      if stop.isSet { throw Failure(.stopped, "the transfer has ended") }
      let event = try conversation.next(until: watch.wakeTime)
      switch consume event {
      case .message(.described(let description), _): return try checked(description)
      case .message(.ended(let error?), _): throw failure("failed before its export: \(error.words)")
      case .message(_, _): throw Violation(.state, "a message of the extension")
      case .ended: throw ExtensionChannel.Gone()
      case .nothing:
        let isStopped = watch.isIdle && conversation.isStopped
        switch watch.look(now: ExtensionWatch.now(), isStopped: isStopped) {
        case nil, .ignoresCancellation: continue
        case .quiet(let seconds):
          launch.observe(
            .notice(
              "the extension of \(site.identifier) has not said for \(ExtensionWatch.words(seconds)) how much it will export "
                + "(resourcesSizeEstimate); it is ended after \(ExtensionWatch.words(descriptionLimit))"))
        case .hung(let seconds):
          throw failure(
            "did not say within \(ExtensionWatch.words(seconds)) how much it will export (resourcesSizeEstimate) and was ended"
          )
        }
      }
    }
  }

  private func checked(_ description: ExportDescription) throws(Failure) -> ExportDescription {
    if let fault = description.fault { throw failure(fault) }
    return description
  }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    let conversation = try process(until: settings.stopSignal)
    if let request, let notice = identity.withLock({ $0 })?.notice(on: request.options) { launch.tellOnce(notice) }
    let attention = conversation.attention
    let archive = ArchiveExport<RealDirectory>(settings) { attention.signal() }
    begin(archive)
    let export = AppExport(conversation, at: site, to: archive, idleLimit: idleLimit) { [launch] news in
      launch.observe(news)
    }
    // The process has ended then, and another one begins with an empty scratch directory.
    defer {
      left.withLock { $0 = ExtensionSite.ScratchGrowth(beneath: site.scratch) }
      launch.sweep()
    }
    let end = try export.run(platform: request?.platform ?? Self.platform, options: request?.options ?? [])
    switch end {
    case .done:
      try archive.waitUntilRead()
      if let notice = ExtensionSite.ScratchGrowth(beneath: site.scratch).notice(of: site.identifier) {
        launch.observe(.notice(notice))
      }
      let result = archive.result
      if result.finish.total.items == 0, site.dataCount(isStopped: { false }) > 0 {
        launch.tellOnce(Self.emptyNotice(of: site.identifier))
      }
      return result
    case .stopped(let fault):
      if let fault { launch.observe(.notice("the app's exporter \(fault); it was killed")) }
      throw Failure(.stopped, "the transfer has ended")
    }
  }

  private func failure(_ clause: String) -> Failure {
    Failure(.exportFailed, "the extension of \(site.identifier) \(clause)")
  }

  /// A notice about an export without items, on both devices.
  static func emptyNotice(of app: String) -> String {
    "the exporter of \(app) has appended nothing, although the app has data"
  }
}

extension AppIdentity {
  /// A notice about requested options that the exporter does not know, on both devices; nil if
  /// there are none.
  func notice(on requested: [AppRequest.Option]) -> String? {
    guard let options else { return nil }
    let unknown = requested.map(\.name).filter { !options.contains($0) }
    guard !unknown.isEmpty else { return nil }
    let list = { (names: [String]) in names.map { VisibleText.quoted(Array($0.utf8)) }.joined(separator: ", ") }
    return "the exporter of \(VisibleText.of(bundleIdentifier)) does not know the "
      + (unknown.count == 1 ? "option" : "options") + " \(list(unknown)); it knows "
      + (options.isEmpty ? "none" : list(options))
  }
}

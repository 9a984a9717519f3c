package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// The app that receives data, and its extension, which imports the data.
package final class AppImporter: Importer {
  /// The options of this device's user for the migration.
  package struct Options: Equatable, Sendable {
    package var platform = AppSource.platform
    /// The options for the exporter.
    package var requested: [AppRequest.Option] = []
    /// Whether existing data of the app is moved aside, and moved back if the import fails.
    package var replaces = false
    /// The most bytes accepted; nil for as much as there is space for.
    package var most: MostBytes?
    /// Whether the extension is confined as docs/Apps.md describes.
    package var isConfined = true
    /// The path of the bundle from which the app was just installed, for an author's trial.
    package var draft: [UInt8]?
    /// The seconds without progress of an import after which a note is due.
    package var quietTime = ExtensionWatch.quietImport
    /// Whether the app's data arrives with `--everything`.
    package var isOfEverything = false

    package init() {}
  }

  package let area: StagingArea
  private let app: InstalledApp
  private let launch: ExtensionLaunch
  private let options: Options
  /// The app that the data comes from, and how many items it has, according to the newest offer.
  private let origin = Mutex<(app: AppIdentity, items: UInt64)?>(nil)
  /// Set when the user requests the end of an import.
  private let stop = StopSignal()

  /// Takes the app for the migration. It cannot be started until this object is deallocated. Fails
  /// if the app's extension cannot be started, or cannot import, before any data is sent.
  ///
  /// - Parameter stop: ends the attempt, which then throws `Failure.Code.stopped`.
  package init(
    app identifier: String, home: AppHome, options: Options = Options(), until stop: StopSignal = StopSignal(),
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(Failure) {
    let (app, lock) = try home.appToMigrate(identifier)
    if try app.settle() { observer(.notice("an import that was interrupted has been undone")) }
    try app.prepareContainer()
    self.app = app
    self.options = options
    var site = try app.site(lock)
    site.isConfined = options.isConfined
    site.draft = options.draft
    launch = ExtensionLaunch(site: site, observe: observer)
    if let weakness = site.weakness { observer(.weakness(weakness)) }
    if let notice = SourceClaim.notice(on: options.platform) { observer(.notice(notice)) }
    do {
      try launch.check(try launch.probe(.probing, until: stop), allow: .imports)
    } catch {
      launch.sweep()
      throw .unfit(site, error, wanted: "import")
    }
    try app.files.makeDirectory(app.stagingPlace)
    do {
      area = try StagingArea(at: Array(app.stagingPath.utf8), atMost: options.most)
    } catch {
      throw error.coded(.failed)
    }
  }

  deinit { launch.sweep() }

  package var request: AppRequest? {
    AppRequest(bundleIdentifier: app.identifier, platform: options.platform, options: options.requested)
  }

  /// Existing names in an app's container do not matter: its data is replaced as a whole.
  package var existing: Existing? { nil }

  package func arrival(of part: Part) -> PartArrival {
    PartArrival(name: VisibleText.of(app.identifier), roots: [.apps])
  }

  package func present(
    _ offer: Offer, for staging: Staging, takesBases: Bool
  ) throws(Failure) -> PresentItems {
    PresentItems()
  }

  package func judge(
    _ offer: Offer, held: Tally, on terms: TransferTerms
  ) throws(Failure) -> OfferCheck {
    guard case .app(let identity) = offer.contents else {
      throw Failure(
        .otherApp, "the other device offers folders, and the data of \(app.identifier) is expected here",
        hint: "Send the app's data with 'peer send --app \(app.identifier)', or start 'peer receive' without --app."
      )
    }
    try app.checkAcceptance(of: identity, options)
    try area.checkSize(of: offer)
    let judgement = try area.judgeRoom(for: offer, held: held)
    origin.withLock { $0 = (identity, offer.items) }
    if let notice = identity.notice(on: options.requested) { launch.tellOnce(notice) }
    return judgement
  }

  /// A recorded success for the app is a success, even if the journal of that run could not record
  /// it.
  package func fate(of transfer: TransferID) -> Staging.ImportFate {
    let record = app.importRecord
    let isDone = record?.failure == nil && record?.transfer == transfer.hexadecimal
    return isDone ? .succeeded : .mustBeAsked
  }

  // MARK: The import

  package func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(Failure) -> [Done.Loss] {
    // An earlier run completed it and could not report it.
    if case .imported = staging.stage { return staging.losses }
    guard let (origin, items) = origin.withLock({ $0 }) else { preconditionFailure("an import follows an offer") }
    if items > 0, staging.held.items == 0 { launch.tellOnce(AppSource.emptyNotice(of: origin.bundleIdentifier)) }
    if stop.isSet {
      throw Failure(.importCancelled, "the import of \(app.identifier) was cancelled")
    }
    let isAside = try begin(staging.transfer.hexadecimal)
    let groups = launch.site.itemsInGroups
    let directory = "\(app.stagingPath)/\(String(decoding: staging.disk.name, as: UTF8.self))/tree"
    let conversation = try start(directory, staging)
    let run = AppImport(conversation, of: app.identifier, quietTime: options.quietTime, until: stop) { [launch] in
      launch.observe(.notice($0))
    }
    func tell(_ millionths: UInt32) {
      progress(ImportProgress(phase: .importing, done: UInt64(millionths), total: 1_000_000))
    }
    tell(0)
    var end = run.run(directory: Array(directory.utf8), from: origin, progress: tell)
    let isDiskFull = app.isDiskFull
    launch.sweep()
    // The app would find other data there than its own, or none.
    if end == .done, let fault = ContainerContents.strayLink(in: app.containerPath) { end = .broken(fault) }
    if let failure = end.failure(of: app.identifier, version: origin.version, isDiskFull: isDiskFull) {
      let left = options.draft == nil ? nil : launch.site.notice(onLeftInGroups: groups)
      if let left { launch.observe(.notice(left)) }
      let error = failure.error.hinting(hint(after: failure.error, isRestored: isAside))
      do { try conclude(failure.record) } catch { throw failure.error.adding(error.message) }
      throw error
    }
    // Regardless of the importer's own progress.
    tell(1_000_000)
    if staging.held.bytes > 0, try !app.holdsData, launch.site.itemsInGroups == groups {
      let size = Figures.size(staging.held.bytes)
      launch.tellOnce("the importer of \(app.identifier) has taken nothing of the \(size) that have arrived")
    }
    try conclude(nil)
    if isAside, let earlier = app.earlierData.last {
      launch.tellOnce("the data that \(app.identifier) had here is kept in \(VisibleText.quoted(Array(earlier.utf8)))")
    }
    // The status has decided already; the journal only repeats it.
    try? staging.finishImport()
    return staging.losses
  }

  /// Begins an import. Returns whether it has set data of the app aside. If it cannot begin, the data is
  /// where it was.
  private func begin(_ transfer: String) throws(Failure) -> Bool {
    try InstalledApp.importing { () throws(Failure) in
      let isAside = try app.holdsData
      do throws(Failure) {
        try app.setRoomAside()
        if isAside { try app.setContainerAside() }
        try app.beginImport(transfer: transfer)
      } catch {
        _ = try? app.settle()
        throw error
      }
      return isAside
    }
  }

  /// The hint after a failed import. A trial on one device has a command of its own.
  private func hint(after failure: Failure, isRestored: Bool) -> String {
    let back = isRestored ? "The app's earlier data is back" : nil
    // The command says that the received data is kept.
    if failure.code == .noSpace {
      return [failure.hint, back.map { "\($0)." }].compactMap(\.self).joined(separator: " ")
    }
    let kept = back.map { "\($0), and the received data is kept" } ?? "The received data is kept"
    if options.draft != nil { return "\(kept)." }
    return failure.code == .importCancelled
      ? "\(kept). \(DataHint.runAgain.text)" : "\(kept): \(DataHint.afterRepair.text)"
  }

  /// Starts the extension. If that fails, no importer has begun, and the container is unchanged.
  private func start(_ directory: String, _ staging: Staging) throws(Failure) -> ExtensionChannel {
    do {
      try staging.expose()
      return try launch.start(.importing(from: directory), until: stop)
    } catch {
      try InstalledApp.importing { () throws(Failure) in try app.abandonImport() }
      if error.code == .stopped { throw Failure(.importCancelled, "the import of \(app.identifier) was cancelled") }
      throw error.coded(error.code == .noSpace ? .noSpace : .importFailed)
    }
  }

  /// Makes the imported data, or the failure, durable.
  private func conclude(_ failure: ReportedError?) throws(Failure) {
    try InstalledApp.importing { () throws(Failure) in
      if failure == nil { try app.synchronizeData() }
      try app.endImport(ImportRecord(failure: failure, transfer: nil, date: Timestamp.coarseNow().seconds))
    }
  }

  /// From now on the app may be started, while this device still waits to tell the other one.
  package func letGo() { launch.site.lock?.release() }

  package func interrupt() { stop.set() }

  /// The seconds that a cancelled import may use for cleaning up.
  package static var grace: Double { ExtensionWatch.grace }

  package var graceAtTheEnd: Double { Self.grace }

  /// One run of an app's importer.
  struct AppImport: ~Copyable {
    enum End: Equatable, Sendable {
      case done
      /// The importer threw.
      case failed(ReportedError)
      /// The user cancelled the import.
      case cancelled
      /// The process ended, or violated its rules; the event, as a clause that can follow the app's
      /// name.
      case broken(String)
    }

    private var conversation: ExtensionChannel
    /// Set when the user requests the end.
    private let stop: StopSignal
    private var cancelledAt: BootInstant?
    private let name: String
    /// Watches for a silence, half of its limit; nil while one was noted. An import has no limit.
    private var watch: ExtensionWatch?
    private let limit: IdleLimit
    /// The extension's notices so far: each is reported once.
    private var notices: Set<ExtensionNotice> = []
    private let notice: (String) -> Void

    /// - Parameters:
    ///   - name: the app's.
    ///   - quietTime: the seconds without progress after which a notice is due.
    ///   - notice: called for notices that do not end the import.
    init(
      _ conversation: consuming ExtensionChannel, of name: String, quietTime: Double, until stop: StopSignal,
      notice: @escaping (String) -> Void
    ) {
      self.conversation = conversation
      self.stop = stop
      self.notice = notice
      self.name = name
      limit = .seconds(2 * quietTime)
      watch = ExtensionWatch(limit: limit, now: ExtensionWatch.now())
      self.conversation.heed(stop)
    }

    /// Lets the importer process the data in a directory, and returns when the process has ended.
    consuming func run(
      directory: [UInt8], from app: AppIdentity, progress: (UInt32) -> Void
    ) -> End {
      var result: End?
      do {
        try conversation.say(.importItems(directory: directory, from: app))
        result = try converse(progress)
      } catch {
        result = .broken("violated the protocol of its host (\(error))")
      }
      guard let result else { return .broken(conversation.end().words) }
      // Actions after its report of success or failure do not count.
      conversation.kill()
      _ = conversation.close()
      return result
    }

    /// Nil if only the end of the process shows the result.
    private mutating func converse(_ progress: (UInt32) -> Void) throws -> End? {
      while true {
        if stop.isSet, cancelledAt == nil {
          cancelledAt = .now()
          try conversation.say(.cancel)
        }
        let deadline = cancelledAt?.advanced(by: .seconds(ExtensionWatch.grace))
        if let deadline, BootInstant.now() >= deadline { return .cancelled }
        let event = try conversation.next(until: deadline ?? watch?.wakeTime)
        switch consume event {
        case .nothing: look()
        case .ended: return cancelledAt == nil ? nil : .cancelled
        case .message(.progress(let millionths), _):
          progress(millionths)
          watch = ExtensionWatch(limit: limit, now: ExtensionWatch.now())
        case .message(.notice(let found), _):
          guard notices.insert(found).inserted, let words = found.words else { continue }
          notice("the extension of \(name) \(words)")
        case .message(.ended(let error), _):
          guard let error else { return .done }
          return cancelledAt == nil ? .failed(error) : .cancelled
        case .message(_, _): throw Violation(.state, "a message of the extension")
        }
      }
    }

    /// Notes an importer that shows no progress, once in each silence.
    private mutating func look() {
      let isStopped = conversation.isStopped
      let verdict = watch?.look(now: ExtensionWatch.now(), isStopped: isStopped)
      guard case .quiet(let seconds)? = verdict else { return }
      watch = nil
      notice(
        "the importer of \(name) has shown no progress for \(ExtensionWatch.words(seconds)); it may take any time, and "
          + "Ctrl-C at the receiver cancels it")
    }
  }
}

extension AppImporter.AppImport.End {
  /// The app's error at its next launch, and the user's error now; nil for an import that
  /// succeeded.
  ///
  /// - Parameters:
  ///   - version: the data's version, the usual reason for an importer's error.
  ///   - isDiskFull: whether there is no room left.
  fileprivate func failure(
    of name: String, version: String, isDiskFull: Bool
  ) -> (record: ReportedError, error: Failure)? {
    let code = isDiskFull ? Failure.Code.noSpace : .importFailed
    switch self {
    case .done: return nil
    case .failed(let reported):
      let code = reported.isNoSpace ? .noSpace : code
      let reported = version.isEmpty ? reported : reported.explained(by: "the data has version \(version)")
      return (reported, Failure(code, "\(Self.full(code))the importer of \(name) failed: \(reported.words)"))
    case .cancelled: return (.cancelled, Failure(.importCancelled, "the import of \(name) was cancelled"))
    case .broken(let clause):
      return (
        .brokenImport("The importer \(clause)."), Failure(code, "\(Self.full(code))the importer of \(name) \(clause)")
      )
    }
  }

  private static func full(_ code: Failure.Code) -> String { code == .noSpace ? "not enough space: " : "" }
}

package import MigrationArchive
package import MigrationSystem
package import MigrationWire
import Synchronization

/// An app's data, as its extension exports it.
package final class AppSource: ItemSource {
  /// What this device is to an app that asks where its data comes from.
  package static let platform = "linux"

  private let app: InstalledApp
  private let launch: ExtensionLaunch
  private let idleLimit: Double
  /// The process that has described its export; the first session's export is its next task.
  private let described = Mutex<ExtensionConversation?>(nil)

  /// An exporter that is cancelled has a time to end in order, and is killed after it.
  package var graceAtTheEnd: Double { ExportWatch.grace }

  /// Takes the app for the migration. It cannot be started until this is gone.
  ///
  /// - Parameter idleLimit: for how many seconds the exporter may append nothing.
  package init(
    app identifier: String, home: AppHome, idleLimit: Double? = nil,
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(HostError) {
    let (app, lock) = try home.app(identifier, for: .migrating)
    if try app.settle() { observer(.notice("an import that was interrupted has been undone")) }
    try app.prepareContainer()
    self.app = app
    self.idleLimit = idleLimit ?? ExportWatch.idleLimit
    launch = ExtensionLaunch(app: app, lock: lock, observe: observer)
    if let weakness = ExtensionLaunch.weakness { observer(.notice(weakness)) }
  }

  deinit { launch.sweep() }

  package func origin() throws(ArchiveError) -> [[UInt8]] { [Self.origin(of: app.identifier)] }

  /// How an app is called among the sources that are remembered; no path begins like this.
  package static func origin(of identifier: String) -> [UInt8] { Array("app:\(identifier)".utf8) }

  /// The app that is called so; nil for a path.
  package static func identifier(ofOrigin origin: [UInt8]) -> String? {
    let mark = Array("app:".utf8)
    return origin.starts(with: mark) ? String(decoding: origin.dropFirst(mark.count), as: UTF8.self) : nil
  }

  package func prepare(until stop: StopSignal) throws(ArchiveError) -> SourceSummary {
    var conversation = try launch.start(.export, until: stop)
    let description: ExportDescription
    do {
      description = try describe(&conversation, until: stop)
    } catch {
      conversation.kill()
      let end = conversation.close()
      throw (error as? ArchiveError) ?? failure("did not describe its export: it \(end.words)")
    }
    let items = ContainerCount.items(of: app) { stop.isSet }
    let estimate = UInt64(description.estimate)
    var ready: ExtensionConversation? = conversation
    described.withLock { $0 = ready.take() }
    var flags: Offer.Flags = .estimated
    if description.isCompressible { flags.insert(.compressible) }
    return SourceSummary(
      contents: .app(
        AppIdentity(
          bundleIdentifier: app.identifier, store: app.bundle.store, platform: Self.platform,
          version: description.version)),
      total: Tally(items: items, bytes: estimate), allocated: estimate, flags: flags)
  }

  private func describe(
    _ conversation: inout ExtensionConversation, until stop: StopSignal
  ) throws -> ExportDescription {
    try conversation.say(.describe)
    let deadline = BootInstant.now().advanced(by: .seconds(idleLimit))
    while true {
      if stop.isSet { throw ArchiveError(.stopped, "the transfer is over") }
      let event = try conversation.next(until: deadline)
      switch consume event {
      case .message(.described(let description), _): return try checked(description)
      case .message(.ended(let error?), _): throw failure("failed before its export: \(error.words)")
      case .message(_, _): throw Violation(.state, "a message of the extension")
      case .ended: throw Violation(.truncated, "the channel")
      case .nothing:
        if BootInstant.now() >= deadline {
          throw failure("did not estimate its export within \(Int(idleLimit)) seconds and was ended")
        }
      }
    }
  }

  private func checked(_ description: ExportDescription) throws(ArchiveError) -> ExportDescription {
    guard description.estimate >= 0 else {
      throw failure("estimates its export at \(description.estimate) bytes, which is less than nothing")
    }
    return description
  }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(ArchiveError) -> ExportResult {
    let described = described.withLock { $0.take() }
    let conversation: ExtensionConversation
    switch consume described {
    case .some(let first): conversation = first
    case .none: conversation = try launch.start(.export, until: settings.stopSignal)
    }
    let attention = conversation.attention
    let archive = ArchiveExport<AppendedPlace>(settings) { attention.signal() }
    begin(archive)
    let export = AppExport(conversation, of: app.identifier, to: archive, idleLimit: idleLimit)
    let end = try export.run(platform: request?.platform ?? Self.platform, options: request?.options ?? [])
    switch end {
    case .done:
      try archive.waitUntilRead()
      return archive.result
    case .stopped(let isKilled):
      if isKilled { launch.observe(.notice("the app's exporter did not let its cancellation pass and was killed")) }
      throw ArchiveError(.stopped, "the transfer is over")
    }
  }

  private func failure(_ clause: String) -> ArchiveError {
    ArchiveError(.exportFailed, "the extension of \(app.identifier) \(clause)")
  }
}

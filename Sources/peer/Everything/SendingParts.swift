import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The sources of a `peer send`, one for each part of its plan: the folders are one part, and each
/// app is one.
struct SendingParts: Sendable {
  let sources: [any ItemSource]

  /// Opens the folders, and finds the apps. An app alone is taken at once: if it cannot export, the
  /// command fails before a code is asked for.
  init(
    _ options: SendOptions, selecting selection: Selection, home: [UInt8], until stop: StopSignal,
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(Failure) {
    if options.sources.isEmpty, options.apps.count == 1 {
      sources = [try appSource(options.apps[0], options, home: home, until: stop, telling: tell)]
      return
    }
    let tellOnce = Self.once(tell)
    var sources: [any ItemSource] = []
    for app in options.apps { sources.append(try Self.part(app, options, home: home, telling: tellOnce)) }
    if !options.sources.isEmpty {
      let folders = try FolderSource(paths: options.sources, selecting: selection, withOwners: options.owners) {
        tell(.notice($0))
      }
      sources.insert(folders, at: options.appsInFront)
    }
    self.sources = sources
  }

  /// An app as one of several parts.
  static func part(
    _ app: String, _ options: SendOptions, home: [UInt8], telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(Failure) -> AppPart {
    guard let home = try AppHome.ifThere(home) else { throw .notInstalled(app) }
    return try AppPart(
      app: app, home: home, claim: options.claim, idleLimit: options.idleLimit, observer: HostNews.telling(tell))
  }

  /// The parts that the user has chosen of a home.
  init(
    _ everything: ChosenEverything, telling tell: @escaping @Sendable (TransferEvent) -> Void, _ use: AppUse
  ) throws(Failure) {
    sources = try everything.sources(telling: Self.once(tell), use)
  }

  /// Tells each notice once: the apps of one device have the same to say about it.
  private static func once(
    _ tell: @escaping @Sendable (TransferEvent) -> Void
  ) -> @Sendable (TransferEvent) -> Void {
    let told = Condition<Set<String>>([])
    return { event in
      if case .notice(let text) = event, !told.withLock({ $0.insert(text).inserted }) { return }
      tell(event)
    }
  }

  /// Ends the work that the sources still do.
  func end() { for source in sources { source.end() } }
}

import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The parts of a transfer's two ends, made from the command line.
enum Ends {
  /// The importer of folders or of an app. In a home directory without a user to ask, folders that
  /// can run commands are refused.
  static func importer(
    _ options: ReceiveOptions, home: [UInt8], refusingRunning refusesRunning: Bool = false,
    until stop: StopSignal = StopSignal(), telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> any Importer {
    try failing { () throws in
      guard let app = options.app else {
        let area = try StagingArea(
          at: options.directory ?? Array(".".utf8),
          preserving: Preserved(owners: options.owners, setIDBits: options.setIDBits),
          atMost: options.mostBytes.map { MostBytes($0) })
        return FolderImporter(area, existing: options.existing, refusingRunning: refusesRunning)
      }
      var wanted = AppImporter.Options()
      wanted.platform = app.platform ?? wanted.platform
      wanted.requested = app.options
      wanted.replaces = app.replaces
      wanted.most = options.mostBytes.map { MostBytes($0) }
      wanted.isConfined = app.isConfined
      wanted.draft = app.draft
      return try AppImporter(app: app.identifier, home: try AppHome(home: home), options: wanted, until: stop) { news in
        if let event = TransferEvent(news) { tell(event) }
      }
    }
  }

  /// The source: folders or an app.
  static func source(
    _ options: SendOptions, _ selection: Selection, home: [UInt8], until stop: StopSignal = StopSignal(),
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> any ItemSource {
    try failing { () throws in
      guard let app = options.app else {
        return try FolderSource(paths: options.sources, selecting: selection, withOwners: options.owners)
      }
      return try self.app(app, options, home: home, until: stop, telling: tell)
    }
  }

  /// The app as the source; a missing home is not created.
  ///
  /// - Parameter edition: the bundle of another edition of the same app, whose extension exports
  ///   the data.
  static func app(
    _ app: String, _ options: SendOptions, home: [UInt8], edition: AppBundle? = nil,
    until stop: StopSignal = StopSignal(),
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> AppSource {
    try failing { () throws in
      guard let home = try AppHome.ifThere(home) else { throw HostError.notInstalled(app) }
      let observer = { @Sendable (news: HostNews) in
        if let event = TransferEvent(news) { tell(event) }
      }
      guard let edition else {
        return try AppSource(
          app: app, home: home, claim: options.claim, idleLimit: options.idleLimit, isConfined: options.isConfined,
          until: stop, observer: observer)
      }
      return try AppSource(
        edition: edition, home: home, claim: options.claim, idleLimit: options.idleLimit,
        isConfined: options.isConfined, until: stop, observer: observer)
    }
  }

  private static func failing<Value>(_ body: () throws -> Value) throws(TransferFailure) -> Value {
    do {
      return try body()
    } catch let error as TransferFailure {
      throw error
    } catch let error as HostError {
      throw TransferFailure(error)
    } catch let error as ArchiveError {
      throw TransferFailure(error)
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }
}

extension TransferEvent {
  /// An event for news of an extension's host; nil for news that only its author gets.
  init?(_ news: HostNews) {
    switch news {
    case .output(let output): self = .extensionOutput(isError: output.stream == .error, line: output.line)
    case .notice(let text): self = .notice(text)
    case .refused: return nil
    }
  }
}

extension Receiver.Options {
  /// The receiver's options, without the questions to its user.
  init(_ options: ReceiveOptions) {
    self.init(
      listen: options.listen ?? HostAndPort(host: nil, port: Limits.defaultPort), isPortChosen: options.listen != nil,
      label: ThisDevice.label(options.label), software: Version.software, giveUpAfter: options.giveUpAfter)
    from = options.from
    keeps = options.keeps
  }
}

extension Sender.Options {
  /// The sender's options.
  init(_ options: SendOptions) {
    self.init(
      target: options.to.map { .host($0) } ?? .nearby, search: NetworkSearch(), label: ThisDevice.label(options.label),
      software: Version.software, streams: options.streams,
      limit: options.limit, compression: options.compression, giveUpAfter: options.giveUpAfter)
  }
}

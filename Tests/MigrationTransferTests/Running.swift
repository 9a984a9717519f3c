import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// One end of a transfer on a thread of its own, which does not outlive this.
///
/// A test that ends by an error leaves nothing behind that way, either: the end is stopped, and its
/// thread waited for.
final class RunningEnd: Sendable {
  private let thread: RunningThread<TransferResult>
  private let name: String
  private let interrupt: @Sendable () -> Void

  init(
    _ name: String, run: @escaping @Sendable () throws -> TransferResult, interrupt: @escaping @Sendable () -> Void
  ) throws {
    self.name = name
    self.interrupt = interrupt
    thread = try RunningThread(name, run)
  }

  deinit {
    if thread.hasEnded(by: .now()) { return }
    interrupt()
    if !thread.hasEnded() { Issue.record(TookTooLong("the \(name), which was stopped")) }
  }

  /// Waits for the end.
  func result() throws -> TransferResult { try thread.value() }

  /// Waits for the end; nil when all went well.
  func failure() -> Failure? {
    do {
      _ = try result()
      return nil
    } catch let failure as Failure {
      return failure
    } catch {
      Issue.record(error)
      return nil
    }
  }

  /// Ends it, if it has not ended, and says how.
  func stop() -> Failure? {
    interrupt()
    return failure()
  }
}

extension LoopClock {
  /// A quarter of the clock's speed: deadlines of the program come four times as late, which a busy
  /// machine needs.
  static let patient = LoopClock(speed: 0.25)
}

/// A real receiver on a thread of its own.
final class RunningReceiver: Sendable {
  let events = Events()
  let destination: Scratch
  let receiver: Receiver
  private let end: RunningEnd

  init(
    _ destination: Scratch, pace: LoopClock = .patient, codePace: LoopClock? = nil, port: UInt16 = 0,
    giveUpAfter: Double = 0, keeps: Bool = false, keepsPairings: Bool = false,
    knownDevices: KnownDevices = .kept, store: TransferStore? = nil, from ranges: [AddressRange] = [],
    consent: ConsentAsker? = nil, restart: RestartAsker? = nil,
    importer: (any Importers)? = nil,
    seeing: @escaping @Sendable (TransferEvent) -> Void = { _ in }
  ) throws {
    self.destination = destination
    let events = events
    var options = Receiver.Options(
      listen: HostAndPort(host: "127.0.0.1", port: port), label: "new device", software: "test",
      giveUpAfter: giveUpAfter)
    options.pace = pace
    options.codePace = codePace
    options.from = ranges
    options.keeps = keeps
    options.keepsPairings = keepsPairings
    options.knownDevices = knownDevices
    var helpers = Receiver.Helpers()
    helpers.restart = restart
    helpers.consent = consent
    let receiver = try Receiver(
      options, with: helpers, importers: try importer ?? FolderImporter(StagingArea(at: Array(destination.path.utf8))),
      store: store
    ) { event in
      events.add(event)
      seeing(event)
    }
    self.receiver = receiver
    end = try RunningEnd("receiver", run: { try receiver.run() }, interrupt: { receiver.stop(.interrupted) })
  }

  func port() throws -> UInt16 { try events.port() }

  /// Waits for the end.
  func result() throws -> TransferResult { try end.result() }

  /// Waits for the end; nil when all went well.
  func failure() -> Failure? { end.failure() }

  /// Ends it, if it has not ended, and says how.
  @discardableResult
  func stop() -> Failure? { end.stop() }
}

/// A real sender on a thread of its own.
final class RunningSender: Sendable {
  let events = Events()
  let sender: Sender
  private let end: RunningEnd

  /// Without a code it must not need one.
  convenience init(
    _ paths: [[UInt8]], _ options: Sender.Options, store: TransferStore? = nil, code: PairingCode?,
    seeing: @escaping @Sendable (TransferEvent) -> Void = { _ in }
  ) throws {
    try self.init([try FolderSource(paths: paths)], options, store: store, code: code, seeing: seeing)
  }

  private init(
    _ sources: [any ItemSource], _ options: Sender.Options, store: TransferStore?, code: PairingCode?,
    seeing: @escaping @Sendable (TransferEvent) -> Void = { _ in }
  ) throws {
    let events = events
    let sender = try Sender(options, sources: sources, store: store) { event in
      events.add(event)
      seeing(event)
    } code: { (_, _) throws(Failure) in
      guard let code else { throw Failure(.usage, "a code was asked for") }
      return TypedCode(code: code)
    }
    self.sender = sender
    end = try RunningEnd("sender", run: { try sender.run() }, interrupt: { sender.stop(.interrupted) })
  }

  /// Sends to this machine.
  convenience init(
    sources: [any ItemSource], to port: UInt16, store: TransferStore? = nil, code: PairingCode?
  ) throws {
    try self.init(sources, Sender.Options(to: port), store: store, code: code)
  }

  /// Sends files and folders to this machine.
  convenience init(
    _ paths: [[UInt8]], to port: UInt16, giveUpAfter: Double = 0, store: TransferStore? = nil, streams: UInt32? = nil,
    code: PairingCode?
  ) throws {
    try self.init(
      paths, Sender.Options(to: port, streams: streams, giveUpAfter: giveUpAfter), store: store, code: code)
  }

  /// Waits for the end.
  func result() throws -> TransferResult { try end.result() }

  /// Waits for the end; nil when all went well.
  func failure() -> Failure? { end.failure() }

  /// Ends it, and says how it ended.
  func stop() -> Failure? { end.stop() }
}

extension Sender.Options {
  /// Those of a sender to this machine.
  init(
    to port: UInt16, streams: UInt32? = nil, limit: UInt64? = nil,
    compression: SenderEngine.CompressionPreference = .auto,
    giveUpAfter: Double = 0
  ) {
    self.init(
      target: .host(HostAndPort(host: "127.0.0.1", port: port)), label: "old device", software: "test",
      streams: streams,
      limit: limit, compression: compression, giveUpAfter: giveUpAfter)
  }
}

/// Runs a real sender to its end.
func send(
  _ paths: [[UInt8]], to port: UInt16, code: PairingCode, streams: UInt32 = 1,
  compression: SenderEngine.CompressionPreference = .auto,
  giveUpAfter: Double = 0, store: TransferStore? = nil, events: Events = Events()
) throws -> TransferResult {
  let options = Sender.Options(to: port, streams: streams, compression: compression, giveUpAfter: giveUpAfter)
  return try RunningSender(paths, options, store: store, code: code) { events.add($0) }.result()
}

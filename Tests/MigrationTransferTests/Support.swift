import Foundation
import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization
import Testing

@testable import MigrationTransfer

/// A fresh directory that goes away with the test.
final class Scratch: Sendable {
  let path: String

  /// Somewhere of its own, or at a place within another one.
  init(at path: String? = nil) throws {
    self.path = path ?? FileManager.default.temporaryDirectory.appendingPathComponent("peer-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func make(_ name: String, _ content: Data = Data()) throws {
    let url = URL(fileURLWithPath: path).appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: url)
  }

  func content(_ name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

  func path(_ name: String) -> [UInt8] { Array((path + "/" + name).utf8) }
}

/// The events of one side, which a test may wait for.
final class Events: Sendable {
  private let list = Condition<[TransferEvent]>([])

  func add(_ event: TransferEvent) {
    list.withLock { $0.append(event) }
    list.broadcast()
  }

  var all: [TransferEvent] { list.withLock { $0 } }

  /// The first thing that `pick` finds in the events, now or within ten seconds.
  func first<Value>(_ pick: (TransferEvent) -> Value?) throws -> Value {
    let deadline = BootInstant.now().advanced(by: .seconds(10))
    let found: Value? = list.wait(until: deadline) { (events) -> Value? in
      for event in events { if let value = pick(event) { return value } }
      return nil
    }
    return try #require(found, "the event came in time")
  }

  func port() throws -> UInt16 {
    try first { if case .listening(_, let port) = $0 { port } else { nil } }
  }

  /// The n-th code that was shown.
  func code(_ number: Int = 1) throws -> PairingCode {
    let deadline = BootInstant.now().advanced(by: .seconds(10))
    let found: PairingCode? = list.wait(until: deadline) { (events) -> PairingCode? in
      let codes = events.compactMap { if case .code(let code, _) = $0 { code } else { nil } }
      return codes.count >= number ? codes[number - 1] : nil
    }
    return try #require(found, "the code came in time")
  }

  var wrongCodes: Int { all.count { if case .wrongCode = $0 { true } else { false } } }
}

extension Promise {
  /// Waits for the end; nil when all went well.
  fileprivate func failure() -> TransferFailure? {
    do {
      _ = try wait()
      return nil
    } catch {
      return error as? TransferFailure
    }
  }
}

/// A real receiver on a thread of its own.
final class RunningReceiver: Sendable {
  let events = Events()
  let destination: Scratch
  let receiver: Receiver
  private let outcome = Promise<TransferResult>()

  init(
    _ destination: Scratch, pace: Pace = Pace(), port: UInt16 = 0, giveUpAfter: Double = 0, store: TransferStore? = nil,
    consent: ConsentAsker? = nil
  ) throws {
    self.destination = destination
    let events = events
    var options = Receiver.Options(
      listen: HostAndPort(host: "127.0.0.1", port: port), label: "new device", software: "test",
      giveUpAfter: giveUpAfter)
    options.pace = pace
    options.consent = consent
    receiver = try Receiver(
      options, sink: try FolderSink(destination: Array(destination.path.utf8)), store: store
    ) { events.add($0) }
    let (receiver, outcome) = (receiver, outcome)
    _ = try OwnerThread(name: "receiver") { outcome.fulfil(Result { try receiver.run() }) }
  }

  func port() throws -> UInt16 { try events.port() }

  /// Waits for the end.
  func result() throws -> TransferResult { try outcome.wait() }

  func failure() -> TransferFailure? { outcome.failure() }

  /// Ends it, if it has not ended, and says how.
  @discardableResult
  func stop() -> TransferFailure? {
    receiver.stop(.interrupted)
    return failure()
  }
}

/// A real sender on a thread of its own.
final class RunningSender: Sendable {
  let events = Events()
  let sender: Sender
  private let outcome = Promise<TransferResult>()

  /// Without a code it must not need one.
  init(
    _ paths: [[UInt8]], to port: UInt16, giveUpAfter: Double = 0, store: TransferStore? = nil, streams: UInt32? = nil,
    code: PairingCode?
  ) throws {
    let events = events
    sender = Sender(
      Sender.Options(
        target: HostAndPort(host: "127.0.0.1", port: port), label: "old device", software: "test",
        streams: streams, giveUpAfter: giveUpAfter),
      source: try FolderSource(paths: paths), store: store
    ) { events.add($0) }
    try sender.prepare()
    let (sender, outcome) = (sender, outcome)
    _ = try OwnerThread(name: "sender") {
      outcome.fulfil(
        Result {
          try sender.run { () throws(TransferFailure) in
            guard let code else { throw TransferFailure(.usage, "a code was asked for") }
            return code
          }
        })
    }
  }

  func result() throws -> TransferResult { try outcome.wait() }

  /// Waits for the end; nil when all went well.
  func failure() -> TransferFailure? { outcome.failure() }

  /// Ends it, and says how it ended.
  func stop() -> TransferFailure? {
    sender.stop(.interrupted)
    return failure()
  }
}

/// Runs a real sender to its end.
func send(
  _ paths: [[UInt8]], to port: UInt16, code: PairingCode, streams: UInt32 = 1, compression: CompressionWish = .auto,
  giveUpAfter: Double = 0, store: TransferStore? = nil, events: Events = Events()
) throws -> TransferResult {
  let sender = Sender(
    Sender.Options(
      target: HostAndPort(host: "127.0.0.1", port: port), label: "old device", software: "test", streams: streams,
      compression: compression, giveUpAfter: giveUpAfter),
    source: try FolderSource(paths: paths), store: store
  ) { events.add($0) }
  try sender.prepare()
  return try sender.run { code }
}

/// Bytes that differ from place to place.
func pattern(_ count: Int, seed: UInt64 = 1) -> Data {
  var state = seed
  var data = Data(capacity: count)
  for _ in 0..<(count + 7) / 8 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    withUnsafeBytes(of: state) { data.append(contentsOf: $0) }
  }
  return data.prefix(count)
}

func soon(_ seconds: Int = 5) -> BootInstant { BootInstant.now().advanced(by: .seconds(seconds)) }

import Foundation
import MigrationArchive
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationTransfer

@Suite struct TransferTests {
  @Test(arguments: [1, 3] as [UInt32])
  func `a tree arrives over any number of streams`(streams: UInt32) throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = pattern(20 << 20)
    try source.make("tree/big", big)
    try source.make("tree/empty")
    for number in 0..<300 { try source.make("tree/small/\(number)", pattern(number * 7, seed: UInt64(number))) }
    let receiver = try RunningReceiver(destination)
    let events = Events()
    let sent = try send(
      [source.path("tree")], to: try receiver.port(), code: try receiver.events.code(), streams: streams, events: events
    )
    let received = try receiver.result()
    #expect(sent.total == received.total)
    #expect(sent.total.items == 304)
    #expect(sent.sentBytes == sent.total.bytes)
    #expect(sent.unsent == 0)
    #expect(destination.names == ["tree"])
    #expect(destination.content("tree/big") == big)
    for number in 0..<300 {
      #expect(destination.content("tree/small/\(number)") == pattern(number * 7, seed: UInt64(number)))
    }
    let phases = events.all.compactMap { if case .progress(let progress) = $0 { progress.phase } else { nil } }
    #expect(phases.last == .importing)
    #expect(events.all.contains { if case .paired("new device", "127.0.0.1") = $0 { true } else { false } })
  }

  @Test func `an empty directory arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try FileManager.default.createDirectory(atPath: source.path + "/nothing", withIntermediateDirectories: false)
    let receiver = try RunningReceiver(destination)
    _ = try send([source.path("nothing")], to: try receiver.port(), code: try receiver.events.code())
    #expect(try receiver.result().total == Tally(items: 1, bytes: 0))
    #expect(destination.names == ["nothing"])
  }

  @Test func `a name that is taken is refused on both sides before any byte`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try source.make("thing", pattern(1000))
    try destination.make("thing", Data("mine".utf8))
    let receiver = try RunningReceiver(destination)
    let failure = #expect(throws: TransferFailure.self) {
      try send([source.path("thing")], to: try receiver.port(), code: try receiver.events.code())
    }
    #expect(failure?.kind == .refused)
    #expect(failure?.message.contains("thing") == true)
    #expect(receiver.failure()?.kind == .refused)
    #expect(destination.names == ["thing"])
    #expect(destination.content("thing") == Data("mine".utf8))
  }

  @Test func `a sender that is stopped tells the receiver, which keeps what it has`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try source.make("big", pattern(64 << 20))
    let receiver = try RunningReceiver(destination)
    let code = try receiver.events.code()
    let port = try receiver.port()
    let sender = Holder()
    let failure = #expect(throws: TransferFailure.self) {
      let made = Sender(
        Sender.Options(
          target: HostAndPort(host: "127.0.0.1", port: port), label: "old", software: "test", giveUpAfter: 0),
        source: try FolderSource(paths: [source.path("big")])
      ) { event in
        if case .progress = event { sender.sender?.stop(.interrupted) }
        if case .offer = event { sender.sender?.stop(.interrupted) }
      }
      sender.set(made)
      try made.prepare()
      _ = try made.run { code }
    }
    #expect(failure?.kind == .interrupted)
    #expect(receiver.failure()?.kind == .connectionLost)
    #expect(!destination.names.contains("big"))
  }

  @Test func `a receiver that is stopped while it waits ends at once`() throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    #expect(receiver.stop()?.kind == .interrupted)
  }

  @Test func `descriptors and threads are all given back`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try source.make("tree/file", pattern(3 << 20))
    func once() throws {
      let receiver = try RunningReceiver(destination)
      _ = try send([source.path("tree")], to: try receiver.port(), code: try receiver.events.code())
      _ = try receiver.result()
      try FileManager.default.removeItem(atPath: destination.path + "/tree")
    }
    try once()
    #expect(destination.names.isEmpty)
  }

  @Test func `an unreachable device is told as such`() throws {
    let source = try Scratch()
    try source.make("file")
    let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
    let port = socket.port
    _ = consume socket
    let failure = #expect(throws: TransferFailure.self) {
      try send([source.path("file")], to: port, code: PairingCode(number: 1_234_567))
    }
    #expect(failure?.kind == .connectionLost)
    #expect(failure?.hint != nil)
  }
}

/// Lets an observer reach the sender that it observes.
private final class Holder: Sendable {
  private let held = Condition<Sender?>(nil)

  var sender: Sender? { held.withLock { $0 } }

  func set(_ sender: Sender) { held.withLock { $0 = sender } }
}

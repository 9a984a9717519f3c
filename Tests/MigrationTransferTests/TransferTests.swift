import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct TransferTests {
  @Test(arguments: [1, 3] as [UInt32])
  func `a tree arrives over any number of streams`(streams: UInt32) throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = patternData(20 << 20)
    source.write("tree/big", big)
    source.write("tree/empty", [])
    for number in 0..<300 { source.write("tree/small/\(number)", patternData(number * 7, seed: UInt64(number))) }
    let receiver = try RunningReceiver(destination)
    let events = Events()
    let sent = try send(
      [source.at("tree")], to: try receiver.port(), code: try receiver.events.code(), streams: streams, events: events
    )
    let received = try receiver.result()
    sent.expectAgreement(with: received)
    expect(sent.total.items, is: 304)
    sent.expectSentOnce()
    expect(sent.unsent, is: 0)
    expect(destination.names(), is: ["tree"])
    expect(destination.content("tree/big"), is: big)
    for number in 0..<300 {
      expect(destination.content("tree/small/\(number)"), is: patternData(number * 7, seed: UInt64(number)))
    }
    let phases = events.all.compactMap { if case .progress(let progress) = $0 { progress.phase } else { nil } }
    expect(phases.last, is: .importing)
    expect(events.all.contains { if case .paired("new device", "127.0.0.1", false) = $0 { true } else { false } })
  }

  @Test func `an empty directory arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try FileManager.default.createDirectory(atPath: source.path + "/nothing", withIntermediateDirectories: false)
    let receiver = try RunningReceiver(destination)
    _ = try send([source.at("nothing")], to: try receiver.port(), code: try receiver.events.code())
    expect(try receiver.result().total, is: Tally(items: 1, bytes: 0))
    expect(destination.names(), is: ["nothing"])
  }

  @Test func `a sender that is stopped tells the receiver, which keeps what it has`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("big", patternData(64 << 20))
    let receiver = try RunningReceiver(destination)
    // So slow that it cannot be done before it is stopped.
    let sender = try RunningSender(
      [source.at("big")], Sender.Options(to: try receiver.port(), limit: 1_000_000), code: try receiver.events.code())
    try sender.events.first { if case .progress = $0 { () } else { nil } }
    sender.sender.stop(.interrupted)
    expect(sender.failure()?.kind, is: .interrupted)
    expect(receiver.failure()?.kind, is: .connectionLost)
    expect(!destination.names().contains("big"))
  }

  @Test func `a receiver that is stopped while it waits ends at once`() throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    expect(receiver.stop()?.kind, is: .interrupted)
  }

  @Test func `descriptors and threads are all given back`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", patternData(3 << 20))
    func once() throws {
      let receiver = try RunningReceiver(destination)
      _ = try send([source.at("tree")], to: try receiver.port(), code: try receiver.events.code())
      _ = try receiver.result()
      try FileManager.default.removeItem(atPath: destination.path + "/tree")
    }
    try once()
    expect(destination.names().isEmpty)
  }
}

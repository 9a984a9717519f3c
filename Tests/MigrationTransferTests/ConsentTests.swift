import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver whose user is asked.
@Suite struct ConsentTests {
  private let source: Scratch
  private let destination: Scratch

  init() throws {
    (source, destination) = (try Scratch(), try Scratch())
    source.write("folder/file", [1, 2, 3])
  }

  private func send(to receiver: RunningReceiver) throws -> RunningSender {
    try RunningSender([source.at("folder")], to: try receiver.port(), code: try receiver.events.code())
  }

  @Test func `an accepted offer arrives, and the question names the sender and its items`() throws {
    let asked = Mutex<[ConsentQuestion]>([])
    let receiver = try RunningReceiver(destination) { question, _ in
      asked.withLock { $0.append(question) }
      return .yes()
    }
    let sender = try send(to: receiver)
    expect(sender.failure() == nil && receiver.failure() == nil)
    expect(destination.content("folder/file"), is: .init([1, 2, 3]))
    let question = try #require(asked.withLock { $0.first })
    expect(asked.withLock { $0.count }, is: 1)
    expect(question.label, is: "old device")
    let part = try #require(question.parts.first)
    expect(part.offer.items == 2 && part.offer.bytes == 3 && (part.room.availableBytes ?? 0) > 0)
  }

  @Test func `a rejected offer is not written, and both ends say so`() throws {
    let receiver = try RunningReceiver(destination) { _, _ in .no }
    let sender = try send(to: receiver)
    expect(sender.failure()?.kind, is: .refused)
    expect(receiver.failure()?.kind, is: .refused)
    expect(destination.names(), is: [])
  }

  @Test func `a device that is forgotten while its first plan is asked about is a stranger, whatever the answer`()
    throws
  {
    let store = TransferStore(home: source.at("home"))
    let receiver = try RunningReceiver(
      destination, keepsPairings: true, knownDevices: .migrating(isKept: false), store: store
    ) { _, _ in
      #expect(throws: Never.self) {
        for device in try store.devices(as: .receiver) { _ = try store.forgetDevice(device.identifier) }
      }
      return .yes()
    }
    expect(try send(to: receiver).failure()?.kind, is: .refused)
    expect(receiver.failure()?.kind, is: .refused)
    expect(try store.devices(as: .receiver) == [] && destination.names() == [])
  }

  @Test func `a device whose offer is rejected needs a code again`() throws {
    let store = TransferStore(home: source.at("home"))
    let receiver = try RunningReceiver(
      destination, keepsPairings: true, knownDevices: .migrating(isKept: false), store: store
    ) { _, _ in
      expect((try? store.devices(as: .receiver).count), is: 1)
      return .no
    }
    expect(try send(to: receiver).failure()?.kind, is: .refused)
    expect(receiver.failure()?.kind, is: .refused)
    expect(try store.devices(as: .receiver), is: [])
  }

  /// Both sides, while the question is open; it is open until its answer is no longer needed.
  private func askedWithoutAnswer() throws -> (RunningReceiver, RunningSender) {
    let asked = Outcome<Void>(of: "the question")
    let receiver = try RunningReceiver(destination) { _, until in
      asked.set(())
      var poller = try? Poller()
      _ = try? poller?.wait(for: .readable, on: until, until: soon())
      return nil
    }
    let sender = try send(to: receiver)
    try asked.wait()
    return (receiver, sender)
  }

  @Test func `a sender that leaves while the question is open withdraws it`() throws {
    let (receiver, sender) = try askedWithoutAnswer()
    sender.sender.stop(.interrupted)
    expect(sender.failure()?.kind, is: .interrupted)
    expect(receiver.failure()?.kind, is: .connectionLost)
    expect(destination.names(), is: [])
  }

  @Test func `the user of the receiver may stop while the question stands`() throws {
    let (receiver, sender) = try askedWithoutAnswer()
    expect(receiver.stop()?.kind, is: .interrupted)
    expect(sender.failure()?.kind, is: .connectionLost)
  }
}

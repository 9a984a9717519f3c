import Foundation
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Pairings that both ends keep (Protocol §4.6), with real devices on loopback.
@Suite struct KnownDeviceTests {
  private let source: Scratch
  private let home: Scratch
  private var sending: TransferStore { TransferStore(home: home.at("sender")) }
  private var receiving: TransferStore { TransferStore(home: home.at("receiver")) }

  init() throws { (source, home) = (try Scratch(), try Scratch()) }

  /// A receiver into a new directory: its key is that of the store.
  private func receiver(remembers: Bool = true) throws -> RunningReceiver {
    try RunningReceiver(
      Scratch(), giveUpAfter: 60, keeps: true, keepsPairings: remembers, store: receiving)
  }

  private func sender(_ name: String, to port: UInt16, code: PairingCode? = nil) throws -> RunningSender {
    var options = Sender.Options(to: port, giveUpAfter: 60)
    options.keepsPairing = true
    return try RunningSender([source.at(name)], options, store: sending, code: code)
  }

  private func isKnown(_ sender: RunningSender) throws -> Bool {
    try sender.events.first { if case .paired(_, _, let isKnown) = $0 { isKnown } else { nil } }
  }

  @Test func `a device sends again without a code, also past restarts, until either end forgets it`() throws {
    for name in ["a", "b", "c", "d", "e"] { source.write(name, patternData(1000)) }
    let first = try receiver()
    let paired = try sender("a", to: try first.port(), code: try first.events.code())
    _ = try paired.result()
    #expect(try !isKnown(paired))
    // In the same run, and in the next one.
    let again = try sender("b", to: try first.port())
    _ = try again.result()
    #expect(try isKnown(again))
    _ = first.stop()
    let second = try receiver()
    _ = try sender("c", to: try second.port()).result()
    #expect(try sending.devices().map(\.transfers) == [3])
    #expect(try receiving.devices().map(\.label) == ["old device"])
    // Another process forgets it while the receiver runs.
    _ = try receiving.forgetDevice("old device")
    #expect(try sender("d", to: try second.port()).failure()?.message == "a code was asked for")
    _ = second.stop()
    #expect(first.destination.names() == ["a", "b"])
    #expect(second.destination.names() == ["c"])
  }

  @Test func `a receiver that is not told to remember devices wants a code from a known one`() throws {
    for name in ["a", "b"] { source.write(name, patternData(1000)) }
    let first = try receiver()
    _ = try sender("a", to: try first.port(), code: try first.events.code()).result()
    _ = first.stop()
    let second = try receiver(remembers: false)
    #expect(try sender("b", to: try second.port()).failure()?.message == "a code was asked for")
    _ = second.stop()
  }

  @Test func `an interrupted transfer of a known device waits, and another one begins beside it`() throws {
    source.write("big", patternData(64 << 20))
    source.write("small", patternData(1000))
    let first = try receiver()
    let port = try first.port()
    _ = try sender("small", to: port, code: try first.events.code()).result()
    var options = Sender.Options(to: port, limit: 4_000_000, giveUpAfter: 60)
    options.keepsPairing = true
    let slow = try RunningSender([source.at("big")], options, store: sending, code: nil)
    try slow.events.first { if case .progress(let progress) = $0, progress.bytes > 2 << 20 { () } else { nil } }
    _ = slow.stop()
    source.write("other", patternData(1000))
    _ = try sender("other", to: port).result()
    let resumed = try sender("big", to: port)
    let result = try resumed.result()
    #expect(result.heldBytes > 0)
    _ = first.stop()
    #expect(first.destination.names() == ["big", "other", "small"])
  }

  /// Whether the sender wants to keep the pairing at its second try.
  @Test(arguments: [true, false])
  func `a migration that ends while its plan is asked about needs no other code, and only then`(isKept: Bool) throws {
    source.write("a", patternData(1000))
    let first = try RunningReceiver(
      Scratch(), giveUpAfter: 60, keepsPairings: true, knownDevices: .migrating(isKept: false), store: receiving,
      consent: { _, ending in
        do {
          var poller = try Poller()
          _ = try poller.wait(for: .readable, on: ending)
        } catch {
          Issue.record(error)
        }
        return nil
      })
    let paired = try migration(to: try first.port(), code: try first.events.code())
    try first.events.first { if case .offer = $0 { () } else { nil } }
    // Another 'peer send' does not use the key meanwhile.
    let receiver = try #require(try sending.devices().first?.peer)
    #expect(throws: Fault.self) { try sending.hold(receiver) }
    _ = first.stop()
    _ = paired.stop()
    #expect(try sending.devices().count == 1 && receiving.devices().count == 1)
    let second = try RunningReceiver(
      Scratch(), giveUpAfter: 60, keepsPairings: true, knownDevices: .migrating(isKept: false), store: receiving)
    let again = try migration(to: try second.port(), isKept: isKept)
    _ = try again.result()
    #expect(try isKnown(again))
    #expect(try sending.devices().map(\.label) == (isKept ? ["new device"] : []))
    #expect(try receiving.devices().map(\.label) == (isKept ? ["old device"] : []))
  }

  private func migration(to port: UInt16, code: PairingCode? = nil, isKept: Bool = true) throws -> RunningSender {
    var options = Sender.Options(to: port, giveUpAfter: 60)
    (options.keepsPairing, options.knownDevices) = (isKept, .migrating(isKept: false))
    return try RunningSender([source.at("a")], options, store: sending, code: code)
  }

  @Test func `a key of a receiver that cannot be used is named with its file`() throws {
    _ = try receiver().stop()
    home.write("receiver/devices/key", [1, 2, 3], mode: 0o600)
    let failure = #expect(throws: TransferFailure.self) { try receiver() }
    #expect(failure?.message.contains("receiver/devices/key', cannot be used") == true, "\(failure as Any)")
    #expect(failure?.hint?.hasPrefix("Remove that file") == true)
  }
}

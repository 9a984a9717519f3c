import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
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
    expect(try !isKnown(paired))
    // In the same run, and in the next one.
    let again = try sender("b", to: try first.port())
    _ = try again.result()
    expect(try isKnown(again))
    _ = first.stop()
    let second = try receiver()
    _ = try sender("c", to: try second.port()).result()
    expect(try sending.devices().map(\.transfers), is: [3])
    expect(try receiving.devices().map(\.label), is: ["old device"])
    // Another process forgets it while the receiver runs.
    expect(try receiving.forgetDevice("old device").transfers.isEmpty)
    expect(try sender("d", to: try second.port()).failure()?.message, is: "a code was asked for")
    _ = second.stop()
    expect(first.destination.names(), is: ["a", "b"])
    expect(second.destination.names(), is: ["c"])
  }

  @Test func `a sender that was killed with its result sends a known device what has changed since`() throws {
    source.write("a", "first")
    let destination = try Scratch()
    let importer = FolderImporter(try StagingArea(at: destination.at("")), existing: .replace)
    let receiver = try RunningReceiver(
      destination, giveUpAfter: 60, keeps: true, keepsPairings: true, store: receiving, importer: importer)
    _ = try sender("a", to: try receiver.port(), code: try receiver.events.code()).result()
    // The record of one that died before it could remove it.
    let device = try #require(try sending.devices().first)
    var remembered = TransferRecord(
      transfer: 7, role: .sender, identity: device.identity, peer: device.peer, label: "", address: device.address,
      started: 1, lastSeen: 2, total: Tally(items: 1, bytes: 5), held: Tally(items: 1, bytes: 5),
      subject: .sources([source.at("a")]),
      plan: Plan([
        Part(
          .folders([Root(kind: .file, name: Array("a".utf8))]), name: "a",
          sources: try FolderSource(paths: [source.at("a")]).identities(by: sending.naming()))
      ]),
      parts: [PartRecord()])
    remembered.parts[0].finished = .init(
      done: Done(total: Tally(items: 1, bytes: 5)), at: Timestamp.coarseNow().seconds)
    _ = try sending.create(remembered)
    source.write("a", "second")
    let again = try sender("a", to: try receiver.port())
    let result = try again.result()
    expect(result.sentBytes > 0 && result.concludedAt == nil)
    let notice = "an earlier run ended before it could tell its result: 1 item, 5 B had arrived; "
    expect(again.events.all.contains { if case .notice(let text) = $0 { text.hasPrefix(notice) } else { false } })
    expect(try sending.list().transfers.isEmpty)
    _ = receiver.stop()
    expect(destination.names() == ["a"] && destination.text("a") == "second")
  }

  @Test func `a look at what devices have brought creates nothing, and cuts nothing off`() throws {
    let (own, peer) = (try Identity.generate(), try Identity.generate().fingerprint)
    _ = try receiving.expect(peer, as: .receiver, by: own, at: "192.0.2.1", meeting: nil)
    let part = Part(
      .folders([Root(kind: .directory, name: Array("a".utf8))]), name: "a", sources: [SourceIdentity(7)])
    let folder = "receiver/devices/\(peer.description)"
    let before = home.names(folder)
    expect(receiving.arrivedItems(of: part, at: Array("/b".utf8)).isEmpty)
    expect(home.names(folder), is: before)
    _ = try receiving.arrivedItems(from: peer, part, at: Array("/b".utf8))
    let record = try #require(Set(home.names(folder)).subtracting(before).first)
    home.write("\(folder)/\(record)", "no record")
    expect(receiving.arrivedItems(of: part, at: Array("/b".utf8)).count, is: 1)
    expect(home.text("\(folder)/\(record)"), is: "no record")
  }

  /// Both devices know each other, and the sender is sending something large.
  private func begun() throws -> (RunningReceiver, RunningSender) {
    source.write("small", patternData(1000))
    source.write("big", patternData(64 << 20))
    let receiver = try receiver()
    _ = try sender("small", to: try receiver.port(), code: try receiver.events.code()).result()
    var options = Sender.Options(to: try receiver.port(), limit: 4_000_000, giveUpAfter: 60)
    options.keepsPairing = true
    let slow = try RunningSender([source.at("big")], options, store: sending, code: nil)
    try slow.events.first { if case .progress(let progress) = $0, progress.bytes > 2 << 20 { () } else { nil } }
    return (receiver, slow)
  }

  @Test func `a device that is forgotten while it sends is a stranger, and nothing is left of its plan`() throws {
    let (receiver, slow) = try begun()
    let forgotten = try receiving.forgetDevice("old device")
    expect(forgotten.transfers.count == 1 && forgotten.transfers.first?.notice == nil)
    let failure = try #require(slow.failure())
    expect(failure.kind == .refused && failure.message == "the other device does not know this transfer", "\(failure)")
    expect(try receiving.devices().isEmpty && receiving.list().transfers.allSatisfy(\.remembered.isDone))
    expect(receiver.destination.names(), is: ["small"])
    expect(try sender("big", to: try receiver.port()).failure()?.message, is: "a code was asked for")
    expect(try receiving.devices().isEmpty)
    _ = receiver.stop()
  }

  @Test func `a device that is forgotten before its plan is agreed is a stranger when it comes back`() throws {
    for name in ["a", "b"] { source.write(name, patternData(1000)) }
    let first = try receiver()
    _ = try sender("a", to: try first.port(), code: try first.events.code()).result()
    _ = first.stop()
    let asked = Outcome<Void>(of: "the question")
    let isForgotten = AtomicFlag()
    let second = try RunningReceiver(
      Scratch(), giveUpAfter: 60, keeps: true, keepsPairings: true, store: receiving
    ) { _, until in
      if isForgotten.isSet { return .yes() }
      asked.set(())
      var poller = try? Poller()
      _ = try? poller?.wait(for: .readable, on: until, until: soon())
      return nil
    }
    let isDue = Mutex(false)
    let proxy = try Proxy(to: try second.port()) { _, _ in
      isDue.withLock { isDue in
        defer { isDue = false }
        return isDue ? .cutAll : .pass
      }
    }
    let known = try sender("b", to: proxy.port)
    try asked.wait()
    #expect(throws: Never.self) { try receiving.forgetDevice("old device") }
    isForgotten.set()
    isDue.withLock { $0 = true }
    // Bytes on any connection let the proxy cut all of them.
    _ = try? StrangeClient(port: proxy.port)
    expect(known.failure()?.kind != nil)
    expect(try second.destination.names() == [] && receiving.devices().isEmpty)
    // With a code it is as new.
    expect(try sender("b", to: try second.port(), code: try second.events.code()).failure() == nil)
    expect(try second.destination.names() == ["b"] && receiving.devices().count == 1)
    _ = second.stop()
    proxy.stop()
  }

  @Test func `a sender whose user forgets the receiver ends, and continues nothing without a code`() throws {
    let (receiver, slow) = try begun()
    expect(try sending.forgetDevice("new device").transfers.count, is: 1)
    expect(slow.failure()?.kind, is: .refused)
    expect(try sending.devices().isEmpty && sending.list().transfers.allSatisfy(\.remembered.isDone))
    expect(try sender("big", to: try receiver.port()).failure()?.message, is: "a code was asked for")
    _ = receiver.stop()
  }

  @Test func `a transfer of a forgotten device that no process ended is not continued`() throws {
    let (receiver, slow) = try begun()
    _ = (slow.stop(), receiver.stop())
    let transfer = try #require(try receiving.list().transfers.first { !$0.remembered.isDone }).remembered.transfer
    let directory = "receiver/transfers/\(transfer.hexadecimal)-receive"
    // The process that was to remove it was killed.
    home.write("\(directory)/forgotten", [])
    expect(try receiving.open(transfer, role: .receiver) == nil)
    expect(try receiving.list().transfers.allSatisfy(\.remembered.isDone))
    expect(receiver.destination.names(), is: ["small"])
  }

  @Test func `a record that is written while its device is forgotten does not bring it back`() throws {
    let identity = try Identity.generate()
    let device = KnownDevice(
      role: .receiver, identity: try identity.encoded(), peer: identity.fingerprint, label: "old", address: "a",
      since: 1, lastUsed: 1, until: nil)
    for _ in 0..<Rounds.count {
      expect(try receiving.changingDevices { try receiving.keep(device) })
      let thread = try OwnerThread(name: "use") { [receiving] in
        for _ in 0..<20 {
          _ = try? receiving.changingDevices {
            try receiving.noteUse(of: device.peer, as: .receiver, label: "old", address: "b", now: 2)
          }
        }
      }
      #expect(throws: Never.self) { try receiving.forgetDevice("old") }
      thread.join()
      expect(try receiving.devices().isEmpty)
    }
  }

  @Test func `a receiver that is not told to remember devices wants a code from a known one`() throws {
    for name in ["a", "b"] { source.write(name, patternData(1000)) }
    let first = try receiver()
    _ = try sender("a", to: try first.port(), code: try first.events.code()).result()
    _ = first.stop()
    let second = try receiver(remembers: false)
    expect(try sender("b", to: try second.port()).failure()?.message, is: "a code was asked for")
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
    expect(result.heldBytes > 0)
    _ = first.stop()
    expect(first.destination.names(), is: ["big", "other", "small"])
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
    #expect(throws: Failure.self) { try sending.hold(receiver) }
    _ = first.stop()
    _ = paired.stop()
    expect(try sending.devices().count == 1 && receiving.devices().count == 1)
    let second = try RunningReceiver(
      Scratch(), giveUpAfter: 60, keepsPairings: true, knownDevices: .migrating(isKept: false), store: receiving)
    let again = try migration(to: try second.port(), isKept: isKept)
    _ = try again.result()
    expect(try isKnown(again))
    expect(try sending.devices().map(\.label), is: (isKept ? ["new device"] : []))
    expect(try receiving.devices().map(\.label), is: (isKept ? ["old device"] : []))
  }

  private func migration(to port: UInt16, code: PairingCode? = nil, isKept: Bool = true) throws -> RunningSender {
    var options = Sender.Options(to: port, giveUpAfter: 60)
    (options.keepsPairing, options.knownDevices) = (isKept, .migrating(isKept: false))
    return try RunningSender([source.at("a")], options, store: sending, code: code)
  }

  @Test func `a key of a receiver that cannot be used is named with its file`() throws {
    _ = try receiver().stop()
    home.write("receiver/devices/key", [1, 2, 3], mode: 0o600)
    let failure = #expect(throws: Failure.self) { try receiver() }
    expect(failure?.message.contains("receiver/devices/key', cannot be used"), is: true, "\(failure as Any)")
    expect(failure?.hint?.hasPrefix("Remove that file"), is: true)
  }
}

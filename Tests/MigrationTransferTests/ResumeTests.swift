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

/// Two devices with memories, a proxy between them, and a tree that takes a while.
private final class Pair {
  let source = try! Scratch()
  let destination = try! Scratch()
  let sending = try! Scratch()
  let receiving = try! Scratch()
  let big = patternData(40 << 20)
  private let port: HeldPort

  init() throws {
    port = try HeldPort()
    source.write("tree/big", big)
    for number in 0..<100 { source.write("tree/\(number)", patternData(5000, seed: UInt64(number))) }
    // A fresh item gets a generation that no later session finds again.
    Thread.sleep(forTimeInterval: 0.02)
  }

  var sendingStore: TransferStore { TransferStore(home: sending.at("home")) }
  var receivingStore: TransferStore { TransferStore(home: receiving.at("home")) }

  /// A receiver; every one listens at the same port.
  func receiver(giveUpAfter: Double = 30) throws -> RunningReceiver {
    // The one before lets go when its last thread has ended.
    let deadline = soon()
    while true {
      do {
        let receiver = try RunningReceiver(
          destination, port: port.number, giveUpAfter: giveUpAfter, store: receivingStore)
        _ = try receiver.port()
        return receiver
      } catch let error as Failure where error.kind == .refused && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  /// A sender with one data stream, so that the test knows which connection carries what.
  func sender(to port: UInt16, giveUpAfter: Double = 30, code: PairingCode?) throws -> RunningSender {
    try RunningSender(
      [source.at("tree")], to: port, giveUpAfter: giveUpAfter, store: sendingStore, streams: 1, code: code)
  }

  func checkArrived() {
    expect(destination.content("tree/big"), is: big)
    for number in 0..<100 { expect(destination.content("tree/\(number)"), is: patternData(5000, seed: UInt64(number))) }
    expect(destination.names(), is: ["tree"])
  }
}

/// Holds up a proxy once enough has passed on a data stream, until the test has done what it wants
/// to.
private final class Barrier: Sendable {
  private let state = Condition((isReached: false, isOpen: false))
  private let bytes: Int

  init(after bytes: Int) { self.bytes = bytes }

  /// True once, when it has been opened.
  @discardableResult
  func pass(_ connection: Int, _ passed: Int) -> Bool {
    guard connection == 1, passed > bytes, state.withLock({ !$0.isReached }) else { return false }
    state.withLock { $0.isReached = true }
    state.broadcast()
    _ = try? state.wait(for: "the barrier to open") { $0.isOpen ? true : nil }
    return true
  }

  func waitUntilReached() throws {
    _ = try state.wait(for: "the barrier") { $0.isReached ? true : nil }
  }

  func open() {
    state.withLock { $0.isOpen = true }
    state.broadcast()
  }
}

@Suite struct ResumeTests {
  @Test func `a sender that missed the last answer asks again and is told`() throws {
    let pair = try Pair()
    let barrier = Barrier(after: 1 << 20)
    defer { barrier.open() }
    let transfers = pair.sending.path + "/home/transfers"
    let kept = pair.sending.path + "/kept"
    let total = try {
      let receiver = try pair.receiver()
      let tree = pair.destination.path + "/tree"
      let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
        barrier.pass(connection, bytes)
        // All that still comes then is that the sender has heard it.
        return connection == 0 && FileManager.default.fileExists(atPath: tree) ? .close : .pass
      }
      let sender = try pair.sender(to: proxy.port, code: try receiver.events.code())
      try barrier.waitUntilReached()
      // The sender's record if it had died before it heard the answer.
      try FileManager.default.copyItem(atPath: transfers, toPath: kept)
      barrier.open()
      let total = try sender.result().total
      _ = try receiver.events.first { if case .done = $0 { true } else { nil } }
      receiver.stop()
      proxy.stop()
      return total
    }()
    try FileManager.default.removeItem(atPath: transfers)
    try FileManager.default.moveItem(atPath: kept, toPath: transfers)
    let again = try pair.receiver()
    let result = try pair.sender(to: try again.port(), code: nil).result()
    expect(result.total == total && result.sentBytes == 0)
    pair.checkArrived()
    again.stop()
  }

  @Test func `a sender that was killed after the last answer reports it, and asks for nothing`() throws {
    let pair = try Pair()
    let identity = try Identity.generate()
    var remembered = TransferRecord(
      transfer: 7, role: .sender, identity: try identity.encoded(), peer: identity.fingerprint, label: "", address: "",
      started: 1, lastSeen: 2, total: Tally(items: 3, bytes: 4), held: Tally(items: 3, bytes: 4),
      subject: .sources([pair.source.at("tree")]),
      plan: Plan([
        Part(
          .folders([Root(kind: .directory, name: Array("tree".utf8))]), name: "tree",
          sources: try FolderSource(paths: [pair.source.at("tree")]).identities(by: pair.sendingStore.naming()))
      ]),
      parts: [PartRecord()])
    remembered.parts[0].finished = .init(
      done: Done(total: Tally(items: 3, bytes: 4)), at: Timestamp.coarseNow().seconds)
    remembered.parts[0].unsent = 1
    let path = try ArchivePath(Array("tree/a:b".utf8))
    remembered.parts[0].notStored = [NotStored(path: path, generation: 1, .nameNotAllowed)]
    _ = try pair.sendingStore.create(remembered)
    // No program listens there.
    let sender = try pair.sender(to: 1, code: nil)
    let result = try sender.result()
    expect(result.total, is: Tally(items: 3, bytes: 4))
    let isNamed = sender.events.all.contains { event in
      if case .notStored(let item, nil) = event {
        item.path == path.bytes && item.reason == .nameNotAllowed
      } else {
        false
      }
    }
    expect(isNamed)
    expect((result.sentBytes, result.heldBytes, result.unsent) == (0, 4, 1))
    expect(try pair.sendingStore.list().transfers.isEmpty)
  }

  @Test func `a transfer of which nothing had arrived gives way to a new pairing`() throws {
    let pair = try Pair()
    let identity = try Identity.generate()
    _ = try pair.receivingStore.create(
      TransferRecord(
        transfer: 7, role: .receiver, identity: try identity.encoded(), peer: identity.fingerprint, label: "",
        address: "", started: 1, lastSeen: 2, total: Tally(items: 3, bytes: 4), held: Tally(),
        subject: .destination(try StagingArea(at: Array(pair.destination.path.utf8)).place(), port: 1),
        plan: Plan([Part(.folders([Root(kind: .directory, name: [0x61])]), name: "a")]),
        parts: [PartRecord()]))
    let receiver = try pair.receiver()
    let sender = try pair.sender(to: try receiver.port(), code: try receiver.events.code())
    _ = try sender.result()
    _ = try receiver.result()
    pair.checkArrived()
    expect(try pair.receivingStore.list().transfers.isEmpty)
  }

  @Test func `a second receiver on one destination is refused and names the first`() throws {
    let pair = try Pair()
    let first = try pair.receiver()
    _ = try first.events.code()
    let failure = #expect(throws: Failure.self) {
      try RunningReceiver(pair.destination, store: pair.receivingStore)
    }
    expect(failure?.kind, is: .refused)
    expect(failure?.message.contains("(process \(getpid()))"), is: true, "\(failure.debugDescription)")
    first.stop()
  }
}

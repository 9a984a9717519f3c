import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// The disks and the store of a receiver that stays, where another process or a disk is in its way.
@Suite struct StayingTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  private let destination: Scratch
  private let home: Scratch
  private let store: TransferStore

  init() throws {
    (destination, home) = (try Scratch(), try Scratch())
    store = TransferStore(home: home.at("home"))
  }

  private func receiver(keeps: Bool = true) throws -> RunningReceiver {
    try RunningReceiver(destination, giveUpAfter: 60, keeps: keeps, store: store)
  }

  /// A sender of a directory of which an earlier run has received a part, and the name by which the
  /// run knows it.
  private func leaveOne() throws -> (Identity, TransferID) {
    let receiver = try receiver()
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try stream.say(Self.directory)
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    receiver.stop()
    stream.connection.close()
    sender.control.close()
    return (sender.identity, accept.transfer)
  }

  /// A frame with the root.
  private static var directory: [UInt8] {
    get throws {
      var frame = StrangeFrame()
      frame.item(ItemRecord(path: try ArchivePath(root.name), generation: 1, body: .directory, mode: 0o755))
      return frame.frame(0)
    }
  }

  /// Takes an entry of the store as another process would, as soon as it is free.
  private func take(_ transfer: TransferID) throws -> LockedTransferRecord {
    let deadline = soon()
    while BootInstant.now() < deadline {
      do {
        return try #require(try store.open(transfer, role: .receiver))
      } catch let error as Failure where error.code == .inUse {
        continue
      }
    }
    throw TookTooLong("a free entry")
  }

  /// A known sender comes back, and its offer is taken; else how it is turned away.
  private func comeBack(
    _ identity: Identity, to transfer: TransferID, _ port: UInt16
  ) throws -> Close.Code? {
    var sender = try StrangeClient(port: port, identity: identity).comeBack()
    defer { sender.control.close() }
    sender.propose(StrangeSender.offer([Self.root]), continuing: transfer)
    return try sender.next { message -> Close.Code?? in
      switch message {
      case .verdict: .some(nil)
      case .close(let close): .some(close.code)
      default: nil
      }
    } ?? nil
  }

  @Test func `a transfer that another process holds at the start is known, and resumes after it`() throws {
    let (known, transfer) = try leaveOne()
    var other: LockedTransferRecord? = try take(transfer)
    let receiver = try receiver()
    let port = try receiver.port()
    expect(try comeBack(known, to: transfer, port), is: .silent)
    withExtendedLifetime(other) {}
    other = nil
    expect(try comeBack(known, to: transfer, port) == nil)
    receiver.stop()
  }

  @Test func `a transfer that another process holds when its sender comes resumes at the next connection`()
    throws
  {
    let (known, transfer) = try leaveOne()
    let receiver = try receiver()
    let port = try receiver.port()
    var other: LockedTransferRecord? = try take(transfer)
    expect(try comeBack(known, to: transfer, port), is: .silent)
    withExtendedLifetime(other) {}
    other = nil
    expect(try comeBack(known, to: transfer, port) == nil)
    receiver.stop()
  }

  @Test
  func `a transfer is let go of beside the last messages of a stream, and with it old tombstones`()
    throws
  {
    let receiver = try receiver()
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let finished = try #require(try store.list().transfers.first?.remembered)
    var tombstone = TransferRecord(
      transfer: 1, role: .receiver, identity: finished.identity, peer: finished.peer, label: "",
      address: finished.address, started: 1, lastSeen: 1, total: Tally(), held: Tally(), subject: finished.subject,
      plan: finished.plan, parts: finished.parts)
    tombstone.parts[0].finished = .init(done: Done(total: Tally()), at: 1)
    try store.leave(tombstone)
    // The clock has not been set since that time.
    let clock = TransferStore.StoreTime(Timestamp.coarseNow().seconds, uptime: Int64(BootInstant.now().seconds))
    try Directory.open(store.home).replaceFile(Array("clock".utf8), with: clock.encoded)
    // No sequence begins with that, and the stream's end is not read.
    var frame = StrangeFrame()
    frame.item(ItemRecord(path: try ArchivePath(Self.root.name), generation: 1, body: .directory, mode: 0o755))
    try stream.say(frame.frame(7))
    expect(try sender.closeCode(), is: .violation)
    sender.control.close()
    expect(try comeBack(sender.identity, to: accept.transfer, port) == nil)
    expect(try store.list().transfers.map(\.remembered.transfer), is: [accept.transfer])
    stream.connection.close()
    receiver.stop()
  }
}

import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// The values that a receiver's loop keeps of several sessions at a time.
@Suite struct ReceiverLoopTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  /// A sender of a directory that an earlier run has received, and its mark.
  private func leaveOne(_ destination: Scratch, _ store: TransferStore) throws -> (Identity, TransferID, Mark) {
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, store: store)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let path = try ArchivePath(Self.root.name)
    var frame = StrangeFrame()
    frame.item(ItemRecord(path: path, generation: 1, body: .directory, mode: 0o755))
    try stream.say(frame.frame(0))
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    receiver.stop()
    stream.connection.close()
    sender.control.close()
    return (sender.identity, accept.transfer, accept.keys.mark(path: path, generation: 1))
  }

  @Test func `a late staging result of one transfer changes nothing in the session of another`() throws {
    let (destination, home) = (try Scratch(), try Scratch())
    let store = TransferStore(home: home.at("home"))
    let (known, transfer, mark) = try leaveOne(destination, store)
    let gate = Gateway()
    defer { gate.open() }
    let importer = FolderImporter(try StagingArea(at: Array(destination.path.utf8)))
    let receiver = try RunningReceiver(
      destination, giveUpAfter: 60, store: store,
      importer: SlowImporter(importer) { step, count in if step == .present, count == 1 { gate.pass() } })
    let port = try receiver.port()
    var held = try StrangeClient(port: port).pair(try receiver.events.code())
    _ = try held.offer(StrangeSender.offer([Root(kind: .directory, name: Array("other".utf8))]))
    try held.passOn()
    try gate.waitUntilReached()
    // Nothing of that transfer has come, so that it gives way.
    var sender = try StrangeClient(port: port, identity: known).comeBack()
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root]), continuing: transfer))
    gate.open()
    _ = try held.closeCode()
    for token in 0..<20 as Range<UInt64> {
      sender.control.say(.ping(token))
      _ = try sender.next { if case .pong(token) = $0 { true } else { nil } }
    }
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try stream.say(StreamMessage.end.frame())
    #expect(throws: ConnectionError.self) { while true { _ = try stream.connection.readExactly(1, until: soon()) } }
    let total = Tally(items: 1, bytes: 0)
    sender.control.say(.finish(Finish(total: total, unsent: 0, digest: mark)))
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    expect(done?.total, is: total)
    sender.control.say(.receipt)
    sender.control.close()
    expect(try receiver.result().total, is: total)
    held.control.close()
  }
}

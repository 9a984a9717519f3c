import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// What a receiver's loop keeps of several sessions at a time.
@Suite struct ReceiverLoopTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  /// A sender that has paired, whose offer was taken by a run that is over.
  private func leaveOne(_ destination: Scratch, _ store: TransferStore) throws -> StrangeSender {
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, store: store)
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    _ = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    receiver.stop()
    sender.control.close()
    return sender
  }

  @Test func `what was staged too late for one transfer changes nothing in the session of another`() throws {
    let (destination, home) = (try Scratch(), try Scratch())
    let store = TransferStore(home: home.at("home"))
    let known = try leaveOne(destination, store).identity
    let gate = Gateway()
    defer { gate.open() }
    let importer = FolderImporter(try StagingArea(at: Array(destination.path.utf8)))
    let receiver = try RunningReceiver(
      destination, giveUpAfter: 60, store: store,
      importer: SlowImporter(importer) { step, count in if step == .present, count == 1 { gate.pass() } })
    let port = try receiver.port()
    var held = try StrangeClient(port: port).pair(try receiver.events.code())
    held.control.say(StrangeSender.greeting)
    held.control.say(StrangeSender.offer([Root(kind: .directory, name: Array("other".utf8))]))
    try held.passOn()
    try gate.waitUntilReached()
    // Nothing of that transfer has come, so that it gives way.
    var sender = try StrangeClient(port: port, identity: known).comeBack()
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    gate.open()
    _ = try held.closeCode()
    for token in 0..<20 as Range<UInt64> {
      sender.control.say(.ping(token))
      _ = try sender.next { if case .pong(token) = $0 { true } else { nil } }
    }
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try stream.say(StreamMessage.end.frame())
    #expect(throws: ConnectionError.self) { while true { _ = try stream.connection.readExactly(1, until: soon()) } }
    sender.control.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0)))
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    #expect(done?.total == Tally())
    sender.control.say(.receipt)
    sender.control.close()
    #expect(try receiver.result().total == Tally())
    held.control.close()
  }
}

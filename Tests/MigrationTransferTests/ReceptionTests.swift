import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Data streams of a paired sender, and how they begin, follow each other and end.
@Suite struct ReceptionTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  private func directory() throws -> [UInt8] {
    var frame = StrangeFrame()
    let path = try ArchivePath(Array("root".utf8))
    frame.item(ItemRecord(path: path, generation: 1, body: .directory, mode: 0o755))
    return frame.frame(0)
  }

  /// A receiver that has paired, and has its offer accepted.
  private func begin(_ sender: inout StrangeSender) throws -> Begun {
    try #require(try sender.begin(StrangeSender.offer([Self.root])))
  }

  private func expectEnd(_ stream: inout StrangeClient) throws {
    // An acknowledgement may still be in front of the end.
    #expect(throws: ConnectionError.self) { while true { _ = try stream.connection.readExactly(1, until: soon()) } }
  }

  @Test func `nothing is taken behind the end of the export`() throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try begin(&sender)
    var stream = try sender.join(try receiver.port(), Join(session: accept.session, stream: 0))
    sender.control.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0)))
    _ = try sender.next { if case .done = $0 { true } else { nil } }
    try stream.say(try directory())
    try expectEnd(&stream)
    expect(destination.names(), is: [])
    sender.control.say(.receipt)
    sender.control.close()
    receiver.stop()
  }

  @Test func `a number that was used or replaced joins no more`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try begin(&sender)
    let port = try receiver.port()
    let first = try sender.join(port, Join(session: accept.session, stream: 3))
    var again = try sender.join(port, Join(session: accept.session, stream: 3))
    try expectEnd(&again)
    var replacement = try sender.join(port, Join(session: accept.session, stream: 4, replaces: 5))
    try replacement.say(try directory())
    expect(try replacement.connection.readExactly(1, until: soon()), is: [FrameType.ack.rawValue])
    var late = try sender.join(port, Join(session: accept.session, stream: 5))
    try expectEnd(&late)
    sender.control.say(.close(Close(.interrupted, "enough")))
    sender.control.close()
    expect(receiver.failure()?.kind, is: .connectionLost)
    _ = consume first
  }

  @Test func `the replacement of a stream that never came ends all other streams of the session`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try begin(&sender)
    let port = try receiver.port()
    var first = try sender.join(port, Join(session: accept.session, stream: 0))
    try first.say(try directory())
    expect(try first.connection.readExactly(1, until: soon()), is: [FrameType.ack.rawValue])
    let replacement = try sender.join(port, Join(session: accept.session, stream: 2, replaces: 1))
    try expectEnd(&first)
    sender.control.say(.close(Close(.interrupted, "enough")))
    sender.control.close()
    expect(receiver.failure()?.kind, is: .connectionLost)
    _ = consume replacement
  }

  @Test func `a silent data stream ends with its control connection`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try begin(&sender)
    var stream = try sender.join(try receiver.port(), Join(session: accept.session, stream: 0))
    try stream.say(Array(try directory().prefix(7)))
    sender.control.close()
    try expectEnd(&stream)
    expect(receiver.failure()?.kind, is: .connectionLost)
  }

  @Test func `a data stream that never pauses does not keep the receiver from stopping`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try begin(&sender)
    var stream = try sender.join(try receiver.port(), Join(session: accept.session, stream: 0))
    let watch = try Stopwatch()
    let deadline = soon()
    receiver.receiver.stop(.terminated)
    let ignored: [UInt8] = [0x90, 0, 0, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)
    while BootInstant.now() < deadline, (try? stream.connection.writeAll(ignored, until: deadline)) != nil {}
    let code = try sender.closeCode()
    expect(code, is: .interrupted)
    sender.control.close()
    expect(receiver.failure()?.kind, is: .terminated)
    expect(watch.seconds < 8)
  }

  @Test func `behind the gate nothing is written, and it does not shut on a writer`() throws {
    let gate = WritingGate()
    #expect(throws: ConnectionError(Violation(.state, "a data frame"))) { try gate.enter() }
    gate.open()
    expect(try gate.enter())
    #expect(throws: Violation.self) { try gate.shut() }
    gate.leave()
    try gate.shut()
    #expect(throws: ConnectionError(Violation(.state, "a data frame"))) { try gate.enter() }
  }

  @Test func `behind a closed gate no writer enters any more, and one that is inside may leave`() throws {
    let gate = WritingGate()
    gate.open()
    expect(try gate.enter())
    gate.discard()
    expect(try !gate.enter())
    gate.close()
    #expect(throws: ConnectionError.self) { try gate.enter() }
    gate.leave()
    #expect(throws: ConnectionError.self) { try gate.enter() }
  }
}

import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A paired device that breaks the protocol: the receiver ends with a typed failure, and touches
/// only its staging directory.
@Suite struct HostileSenderTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  private func record(_ path: String, _ body: ItemRecord.Body, generation: Generation = 1) throws -> ItemRecord {
    ItemRecord(path: try ArchivePath(Array(path.utf8)), generation: generation, body: body, mode: 0o644)
  }

  /// Pairs, has an offer accepted, joins one stream, and lets `act` misbehave on it; how the
  /// receiver ended.
  private func misbehave(
    _ destination: Scratch, _ act: (inout StrangeSender, inout StrangeClient, TransferKeys) throws -> Void
  ) throws -> (Failure?, Close.Code?) {
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try act(&sender, &stream, accept.keys)
    let code = try sender.closeCode()
    return (receiver.failure(), code)
  }

  @Test func `a sequence that is not the next one is refused`() throws {
    let (failure, code) = try misbehave(try Scratch()) { _, stream, keys in
      var frame = StrangeFrame()
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), keys)
      try stream.say(frame.frame(1))
    }
    expect(failure?.kind, is: .failed)
    expect(code, is: .violation)
  }

  @Test func `the receiver does not wait for a sender that breaks the protocol and leaves at once`() throws {
    let receiver = try RunningReceiver(try Scratch(), giveUpAfter: 600)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root], bytes: 8 << 20)))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let keys = accept.keys
    var frame = StrangeFrame()
    let content = [UInt8](repeating: 1, count: Limits.chunk)
    frame.file(try record("root/a", .file(size: UInt64(content.count))), content, keys)
    try stream.say(frame.frame(0))
    // One that has not joined yet is no stream of the session, and nothing that comes on it is
    // judged.
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    frame = StrangeFrame()
    frame.file(try record("root/b", .file(size: 5)), Array("hello".utf8), keys, spoil: true)
    try stream.say(frame.frame(1))
    _ = consume sender
    expect(receiver.failure()?.kind, is: .failed)
    _ = consume stream
  }

  @Test func `a sender that names more bytes of unsent items than allowed is refused`() throws {
    let (failure, code) = try misbehave(try Scratch()) { sender, _, _ in
      let path = [UInt8](repeating: 0x1B, count: Limits.path)
      for _ in 0...64 {
        sender.control.say(.notStored(NotStored(path: path, .vanished)))
        try sender.passOn()
      }
    }
    expect(failure?.message.contains("the list of items that are not stored exceeds its limit"), is: true)
    expect(code, is: .violation)
  }

  @Test func `a frame longer than any may be is refused before it is read`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    sender.control.sayRaw([0x10, 0xFF, 0xFF, 0xFF, 0xFF])
    expect(try sender.closeCode(), is: .violation)
    expect(receiver.failure()?.kind, is: .failed)
  }

  @Test func `a root that was not announced is refused, and nothing of it is kept`() throws {
    let destination = try Scratch()
    let (failure, code) = try misbehave(destination) { _, stream, _ in
      var frame = StrangeFrame()
      frame.item(try record("other", .directory))
      try stream.say(frame.frame(0))
    }
    expect(failure?.message.hasSuffix("a root is more than was announced"), is: true)
    expect(code, is: .announcement)
    expect(destination.names().allSatisfy { $0.hasPrefix(".peer-") })
  }

  @Test func `an offer that comes back greater is judged by the room that there is now`() throws {
    let (destination, home) = (try Scratch(), try Scratch())
    let receiver = try RunningReceiver(destination, giveUpAfter: 30, store: TransferStore(home: home.at("home")))
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root], bytes: 1, flags: .estimated)))
    let identity = sender.identity
    sender.control.close()
    _ = try receiver.events.first { if case .interrupted = $0 { true } else { nil } }
    var again = try StrangeClient(port: port, identity: identity).comeBack()
    let offer = StrangeSender.offer([Self.root], bytes: 1 << 60, flags: .estimated)
    expect(try again.begin(offer, continuing: accept.transfer) == nil)
    again.control.close()
    expect(receiver.failure()?.kind, is: .noSpace)
  }
}

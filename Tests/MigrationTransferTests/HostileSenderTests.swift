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
    _ destination: Scratch, _ act: (inout StrangeSender, inout StrangeClient, ChunkSealer) throws -> Void
  ) throws -> (TransferFailure?, Close.Code?) {
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try act(&sender, &stream, try ChunkSealer(accept.keys))
    let code = try sender.closeCode()
    return (receiver.failure(), code)
  }

  private func expectRefused(
    _ code: Close.Code = .violation,
    _ act: (inout StrangeFrame, ChunkSealer) throws -> Void
  ) throws {
    let destination = try Scratch()
    let (failure, told) = try misbehave(destination) { _, stream, sealer in
      var frame = StrangeFrame()
      try act(&frame, sealer)
      try stream.say(frame.frame(0))
    }
    #expect(failure?.kind == .failed || failure?.kind == .refused)
    #expect(told == code)
    #expect(destination.names().allSatisfy { $0.hasPrefix(".peer-") })
  }

  @Test func `content that does not fit its tag is refused`() throws {
    try expectRefused { frame, sealer in
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), sealer, spoil: true)
    }
  }

  @Test func `a root that was not announced is refused`() throws {
    try expectRefused(.announcement) { frame, sealer in
      frame.file(try record("other/a", .file(size: 5)), Array("hello".utf8), sealer)
    }
  }

  @Test func `a file through a symbolic link that was sent before is refused, and nothing is written there`() throws {
    let outside = try Scratch()
    try expectRefused(.violation) { frame, sealer in
      frame.item(try record("root", .directory))
      frame.item(
        ItemRecord(
          path: try ArchivePath(Array("root/link".utf8)), generation: 2,
          body: .symbolicLink(target: Array(outside.path.utf8))))
      frame.file(try record("root/link/x", .file(size: 5)), Array("hello".utf8), sealer)
    }
    #expect(outside.names().isEmpty)
  }

  @Test func `more bytes than announced are refused`() throws {
    try expectRefused(.announcement) { frame, sealer in
      let place = ChunkPlace(
        path: try ArchivePath(Array("root/a".utf8)), generation: 1, range: 0..<200_000_000, isHole: true)
      var tagged = ByteWriter()
      place.writeTagged(to: &tagged)
      frame.hole(place, sealer.seal(place: tagged.bytes, data: Span()))
    }
  }

  @Test func `two items of one path are refused`() throws {
    try expectRefused(.violation) { frame, sealer in
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), sealer)
      frame.file(try record("root/a", .file(size: 5), generation: 2), Array("world".utf8), sealer)
    }
  }

  @Test func `a sequence that is not the next one is refused`() throws {
    let (failure, code) = try misbehave(try Scratch()) { _, stream, sealer in
      var frame = StrangeFrame()
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), sealer)
      try stream.say(frame.frame(1))
    }
    #expect(failure?.kind == .failed)
    #expect(code == .violation)
  }

  @Test func `an archive other than that of FINISH is not imported`() throws {
    let destination = try Scratch()
    let (failure, code) = try misbehave(destination) { sender, stream, sealer in
      var frame = StrangeFrame()
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), sealer)
      try stream.say(frame.frame(0) + StreamMessage.end.frame())
      while try stream.connection.readExactly(1, until: soon()) != [FrameType.ack.rawValue] {}
      sender.control.say(.finish(Finish(total: Tally(items: 1, bytes: 5), unsent: 0, digest: 1)))
    }
    #expect(failure?.kind == .failed)
    #expect(code == .violation)
    #expect(destination.names().allSatisfy { $0.hasPrefix(".peer-") })
  }

  @Test(arguments: [
    ControlMessage.receipt, .progress(ImportProgress(phase: .verifying, done: 0, total: 1)),
    .done(Done(total: Tally())), .heldEnd(HeldEnd(held: Tally())),
    .greeting(Greeting(role: .sender, label: "again", software: "", features: [])),
    .offer(
      Offer(
        transfer: nil, contents: .folders([Root(kind: .file, name: [65])]), items: 1, bytes: 1, allocated: 1, flags: [])
    ),
  ])
  func `a message at the wrong time ends the session`(message: ControlMessage) throws {
    let (failure, code) = try misbehave(try Scratch()) { sender, _, _ in sender.control.say(message) }
    #expect(failure?.kind == .failed)
    #expect(code == .violation)
  }

  @Test func `the receiver does not wait for a sender that breaks the protocol and leaves at once`() throws {
    let receiver = try RunningReceiver(try Scratch(), giveUpAfter: 600)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root], bytes: 8 << 20)))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let sealer = try ChunkSealer(accept.keys)
    var frame = StrangeFrame()
    let content = [UInt8](repeating: 1, count: Limits.chunk)
    frame.file(try record("root/a", .file(size: UInt64(content.count))), content, sealer)
    try stream.say(frame.frame(0))
    // One that has not joined yet is no stream of the session, and nothing that comes on it is
    // judged.
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    frame = StrangeFrame()
    frame.file(try record("root/b", .file(size: 5)), Array("hello".utf8), sealer, spoil: true)
    try stream.say(frame.frame(1))
    _ = consume sender
    #expect(receiver.failure()?.kind == .failed)
    _ = consume stream
  }

  @Test func `a sender that names more bytes of unsent items than allowed is refused`() throws {
    let (failure, code) = try misbehave(try Scratch()) { sender, _, _ in
      let path = [UInt8](repeating: 0x1B, count: Limits.path)
      for _ in 0...64 {
        sender.control.say(.unsent(Unsent(path: path, reason: .vanished)))
        try sender.passOn()
      }
    }
    #expect(failure?.message.contains("the list of unsent items exceeds its limit") == true)
    #expect(code == .violation)
  }

  @Test func `a stream of another session, or with another key, joins nothing and harms nothing`() throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var foreign = try sender.join(port, Join(session: accept.session ^ 1, stream: 7))
    let answer = try foreign.connection.readExactly(Limits.frameHeader, until: soon())
    #expect(answer.first == FrameType.close.rawValue)
    #expect(throws: ConnectionError(AbortReason.unknownPeer)) {
      _ = try sender.join(port, Join(session: accept.session, stream: 8), as: try Identity.generate())
    }
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let content = Array("hello".utf8)
    let directory = try record("root", .directory)
    let file = try record("root/a", .file(size: 5))
    var frame = StrangeFrame()
    frame.item(directory)
    frame.file(file, content, try ChunkSealer(accept.keys))
    try stream.say(frame.frame(0) + StreamMessage.end.frame())
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    let digest = [directory, file].reduce(UInt128(0)) {
      $0 &+ accept.keys.mark(path: $1.path, generation: $1.generation)
    }
    sender.control.say(.finish(Finish(total: Tally(items: 2, bytes: 5), unsent: 0, digest: digest)))
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    #expect(done?.total == Tally(items: 2, bytes: 5))
    sender.control.say(.receipt)
    sender.control.close()
    #expect(try receiver.result().total == Tally(items: 2, bytes: 5))
    #expect(destination.content("root/a").map(Array.init) == content)
    _ = consume foreign
  }

  @Test func `a frame of a later version is skipped, one of an unknown type is not`() throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    _ = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    sender.control.sayRaw([0x90, 0, 0, 0, 2, 1, 2])
    sender.control.say(.ping(42))
    let answer = try sender.next { if case .pong(let token) = $0 { Optional(token) } else { nil } }
    #expect(answer == 42)
    sender.control.sayRaw([0x60, 0, 0, 0, 0])
    #expect(try sender.closeCode() == .violation)
    #expect(receiver.failure()?.kind == .failed)
  }

  @Test func `a frame longer than any may be is refused before it is read`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    sender.control.sayRaw([0x10, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(try sender.closeCode() == .violation)
    #expect(receiver.failure()?.kind == .failed)
  }
}

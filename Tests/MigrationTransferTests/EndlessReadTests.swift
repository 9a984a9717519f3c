import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTLS
@testable import MigrationTransfer

/// Endless bytes of the other end that contain no message: every read has an end.
@Suite struct EndlessReadTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  /// More than one second allows, in any second in which it is counted.
  private static let tooMany = 4 * Connection.ReadBound.silentRecords

  // MARK: The bound as a value

  @Test func `so much may be taken before READY, and no more`() throws {
    var bound = Connection.ReadBound()
    expect(try bound.room(1 << 20), is: Limits.beforeReady + Limits.tlsRecord)
    bound.took(Limits.beforeReady)
    expect(try bound.room(1 << 20), is: Limits.tlsRecord)
    expect(try bound.room(7), is: 7)
    bound.took(Limits.tlsRecord)
    expect(#expect(throws: ConnectionError.self) { try bound.room(1) }?.code, is: .violated)
    bound.passReady()
    expect(try bound.room(1 << 20), is: 1 << 20)
  }

  @Test func `records that bring nothing are counted by the second`() throws {
    var bound = Connection.ReadBound()
    bound.passReady()
    let start = BootInstant(nanoseconds: 0)
    for second in 1...5 {
      let tally = SilentTally(records: second * Connection.ReadBound.silentRecords, keyUpdates: second)
      try bound.check(tally, now: start.advanced(by: .seconds(second)))
    }
    let more = SilentTally(records: 5 * Connection.ReadBound.silentRecords + 1, keyUpdates: 6)
    #expect(throws: ConnectionError.self) { try bound.check(more, now: start.advanced(by: .milliseconds(5900))) }
  }

  @Test func `a key is not renewed before READY`() throws {
    var bound = Connection.ReadBound()
    try bound.check(SilentTally(records: 1), now: .now())
    #expect(throws: ConnectionError.self) { try bound.check(SilentTally(records: 2, keyUpdates: 1), now: .now()) }
  }

  // MARK: Towards a receiver

  @Test func `a client that only renews its key learns so before READY, in each phase`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let code = try receiver.events.code()
    for phase in 0..<3 {
      var client = try StrangeClient(port: port)
      if phase == 1 {
        try client.say(
          Array(
            PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair).bytes.prefix(5)
          ))
      }
      if phase == 2 { _ = try client.exchangeShares(code) }
      try client.connection.renewKey(times: 1)
      expect(client.connection.lastWord(), is: .malformed)
    }
    _ = try StrangeClient(port: port).pair(code)
    receiver.stop()
  }

  @Test func `twelve clients that renew their keys without end do not keep the receiver from ending`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let flood = try (0..<12).map { _ in
      try RunningThread("flood") {
        var client = try StrangeClient(port: port)
        while (try? client.connection.renewKey(times: 1000)) != nil {}
      }
    }
    // All of them are thrown out, and the next one is heard.
    for thread in flood { _ = try? thread.value() }
    var client = try StrangeClient(port: port)
    _ = try client.exchangeShares(try receiver.events.code())
    expect(receiver.stop()?.kind, is: .interrupted)
  }

  @Test func `a paired sender that only renews its key breaks the protocol`() throws {
    let receiver = try RunningReceiver(try Scratch(), giveUpAfter: 600)
    var client = try StrangeClient(port: try receiver.port())
    let confirmations = try client.exchangeShares(try receiver.events.code())
    expect(try client.confirm(confirmations.confirmA) == nil)
    try client.connection.say(.ready, until: soon())
    _ = try? client.connection.renewKey(times: Self.tooMany)
    // It does not wait for this sender to come back.
    expect(receiver.failure()?.kind, is: .failed)
    client.connection.close(within: .zero)
  }

  @Test func `a data stream on which only keys are renewed ends the session`() throws {
    let receiver = try RunningReceiver(try Scratch(), giveUpAfter: 600)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    _ = try? stream.connection.renewKey(times: Self.tooMany)
    expect(try sender.closeCode(), is: .violation)
    sender.control.close()
    expect(receiver.failure()?.kind, is: .failed)
  }

  @Test func `keys may be renewed between frames, as often as an honest sender does`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    var frame = StrangeFrame()
    frame.item(try record("root", .directory))
    for number in 0..<10 as Range<UInt64> {
      try stream.connection.renewKey(times: 2)
      try stream.say(frame.frame(number))
      expect(try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())[0], is: FrameType.ack.rawValue)
    }
    receiver.stop()
  }

  @Test func `a mebibyte may stand right behind READY`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root], bytes: 4 << 20)))
    var client = try StrangeClient(port: port, identity: sender.identity)
    try client.connection.say(
      .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .join), until: soon())
    guard case (.serverHello, _) = try client.connection.pairingFrame(until: soon()) else {
      throw Violation(.state, "a test")
    }
    var frame = StrangeFrame()
    let content = [UInt8](repeating: 7, count: 1 << 20)
    let place = FilePiece(path: try ArchivePath(Array("root/file".utf8)), generation: 1, range: 0..<UInt64(1 << 20))
    frame.chunk(place, content, accept.keys)
    client.connection.passReady()
    try client.say(
      PairingFrame.ready.bytes + StreamMessage.join(Join(session: accept.session, stream: 0)).frame() + frame.frame(0))
    expect(try client.connection.readExactly(Limits.frameHeader + 16, until: soon())[0], is: FrameType.ack.rawValue)
    receiver.stop()
  }

  @Test func `frames that are to be skipped may come without end, and the receiver still hears its user`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let (port, code) = (try receiver.port(), try receiver.events.code())
    let isUnderWay = Outcome<Void>(of: "the flood")
    let flood = try RunningThread("flood") {
      var client = try StrangeClient(port: port)
      let confirmations = try client.exchangeShares(code)
      guard try client.confirm(confirmations.confirmA) == nil else { return }
      let lump = (0..<50_000).flatMap { _ in [0x81, 0, 0, 0, 0] as [UInt8] }
      var frames = PairingFrame.ready.bytes
      while (try? client.say(frames)) != nil {
        if frames == lump { isUnderWay.set(()) }
        frames = lump
      }
    }
    try isUnderWay.wait()
    expect(receiver.stop()?.kind, is: .interrupted)
    _ = try? flood.value()
  }

  // MARK: Towards a sender

  @Test func `a receiver that only renews its key breaks the protocol`() throws {
    let source = try Scratch()
    source.write("file", patternData(1 << 20))
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, giveUpAfter: 600, code: receiver.code)
    var connection = try receiver.accept()
    try receiver.prove(&connection)
    _ = try? connection.renewKey(times: Self.tooMany)
    expect(sender.failure()?.kind, is: .failed)
    connection.close(within: .zero)
  }
}

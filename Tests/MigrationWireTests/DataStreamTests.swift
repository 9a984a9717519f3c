import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct DataStreamTests {
  private func header(_ sequence: UInt64) -> DataHeader {
    DataHeader(sequence: sequence, encoding: .plain, plainLength: 1)
  }

  @Test func `frames are numbered from 0 and acknowledged as written, then as durable`() throws {
    var stream = OutgoingStream()
    for sequence in 0..<3 as Range<UInt64> { expect(stream.assign(), is: sequence) }
    expect(stream.underWay, is: 3)
    expect(try stream.received(Acknowledgement(written: 2, durable: 0)), is: 2)
    expect(stream.underWay == 1 && stream.durable == 0)
    expect(try stream.received(Acknowledgement(written: 2, durable: 1)), is: 0)
    expect(try stream.received(Acknowledgement(written: 2, durable: 1)), is: 0)
    expect(stream.assign(), is: 3)
    expect(try stream.received(Acknowledgement(written: 4, durable: 4)), is: 2)
    expect(stream.underWay == 0 && stream.durable == 4)
  }

  @Test(arguments: [
    Acknowledgement(written: 4, durable: 1), Acknowledgement(written: .max, durable: .max),
    Acknowledgement(written: 1, durable: 1), Acknowledgement(written: 2, durable: 0),
    Acknowledgement(written: 3, durable: 0),
    Acknowledgement(), Acknowledgement(written: 2, durable: 3), Acknowledgement(written: 3, durable: .max),
  ])
  func `an acknowledgement that falls, exceeds the sent frames, or is durable before written is refused`(
    ack: Acknowledgement
  ) throws {
    var stream = OutgoingStream()
    for _ in 0..<3 { _ = stream.assign() }
    _ = try stream.received(Acknowledgement(written: 2, durable: 1))
    let before = stream
    #expect(throws: Violation.self) { try stream.received(ack) }
    expect(stream, is: before)
  }

  @Test func `acknowledgements come after END too`() throws {
    var stream = OutgoingStream()
    _ = stream.assign()
    stream.end()
    expect(try stream.received(Acknowledgement(written: 1, durable: 1)), is: 1)
  }

  @Test func `an incoming stream joins, counts, reports new acknowledgements, and ends`() throws {
    var stream = IncomingStream()
    try stream.joined()
    expect(stream.acknowledge() == nil)
    for sequence in 0..<3 as Range<UInt64> {
      try stream.received(header(sequence))
      stream.wrote()
    }
    expect(stream.writtenFrames, is: 3)
    expect(stream.acknowledge(), is: Acknowledgement(written: 3, durable: 0))
    expect(stream.acknowledge() == nil)
    stream.synced(2)
    stream.synced(1)
    expect(stream.acknowledge(), is: Acknowledgement(written: 3, durable: 2))
    try stream.ended()
    stream.synced(3)
    expect(stream.acknowledge(), is: Acknowledgement(written: 3, durable: 3))
  }

  @Test func `four written frames, or ten milliseconds, are acknowledged although more has come`() throws {
    var stream = IncomingStream()
    try stream.joined()
    for sequence in 0..<8 as Range<UInt64> {
      expect(!stream.owesAcknowledgement(after: 0.009) && stream.owesAcknowledgement(after: 0.01))
      try stream.received(header(sequence))
      stream.wrote()
      if sequence % 4 == 3 {
        expect(stream.owesAcknowledgement(after: 0))
        expect(stream.acknowledge()?.written, is: sequence + 1)
      }
    }
  }

  @Test(arguments: [0, 2, .max] as [UInt64])
  func `a wrong sequence is refused`(sequence: UInt64) throws {
    var stream = IncomingStream()
    try stream.joined()
    try stream.received(header(0))
    stream.wrote()
    #expect(throws: Violation.self) { try stream.received(header(sequence)) }
    try stream.received(header(1))
  }

  @Test func `JOIN comes first and once, nothing after END`() throws {
    var stream = IncomingStream()
    #expect(throws: Violation.self) { try stream.received(header(0)) }
    #expect(throws: Violation.self) { try stream.ended() }
    try stream.joined()
    #expect(throws: Violation.self) { try stream.joined() }
    try stream.ended()
    #expect(throws: Violation.self) { try stream.ended() }
    #expect(throws: Violation.self) { try stream.joined() }
    #expect(throws: Violation.self) { try stream.received(header(0)) }
  }

  @Test func `both ends of a stream agree`() throws {
    var random = Seeded(6)
    var (outgoing, incoming) = (OutgoingStream(), IncomingStream())
    var underWay: [UInt64] = []
    var durable: UInt64 = 0
    try incoming.joined()
    for _ in 0..<5_000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: underWay.append(outgoing.assign())
      case 1 where !underWay.isEmpty:
        try incoming.received(header(underWay.removeFirst()))
        incoming.wrote()
      case 2:
        durable = UInt64.random(in: 0...incoming.writtenFrames, using: &random)
        incoming.synced(durable)
      default:
        guard let ack = incoming.acknowledge() else { continue }
        _ = try outgoing.received(ack)
        expect(outgoing.underWay, is: UInt64(underWay.count))
      }
    }
  }
}

@Suite struct HeartbeatTests {
  @Test func `a PING is due after five seconds without sending, each with a new token`() {
    var heart = Heartbeat(now: 100)
    expect(heart.next, is: 105)
    expect(heart.due(now: 105.0.nextDown) == nil)
    expect(heart.due(now: 105), is: .ping(1))
    expect(heart.due(now: 105) == nil)
    expect(heart.next, is: 110)
    heart.sent(now: 108)
    expect(heart.due(now: 110) == nil)
    expect(heart.due(now: 113), is: .ping(2))
  }

  @Test func `fifteen seconds without hearing are silence`() {
    var heart = Heartbeat(now: 100)
    expect(!heart.isSilent(now: 115.0.nextDown) && heart.isSilent(now: 115))
    heart.heard(now: 112)
    expect(!heart.isSilent(now: 115) && heart.isSilent(now: 127))
  }

  @Test func `the next moment is that of the PING or of the silence`() {
    var heart = Heartbeat(now: 0)
    heart.sent(now: 14)
    expect(heart.next, is: 15)
    heart.heard(now: 14)
    expect(heart.next, is: 19)
  }

  @Test func `two ends that only ping each other stay alive`() {
    var (one, other) = (Heartbeat(now: 0), Heartbeat(now: 0))
    for tenth in 0..<10_000 {
      let now = Double(tenth) / 10
      if one.due(now: now) != nil { other.heard(now: now) }
      if other.due(now: now) != nil { one.heard(now: now) }
      if one.isSilent(now: now) || other.isSilent(now: now) { Issue.record("silence at \(now)") }
    }
  }
}

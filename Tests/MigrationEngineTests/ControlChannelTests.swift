import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The control connection as bytes: queued bytes, received messages, and the detection of silence.
@Suite struct ControlChannelTests {
  private static let later = FrameType(rawValue: 0x90)

  /// All complete messages.
  private func messages(_ channel: inout ControlChannel) throws -> [ControlMessage] {
    var messages: [ControlMessage] = []
    while let message = try channel.next() { messages.append(message) }
    return messages
  }

  /// Whether the other end has been silent for too long; a PING may be queued.
  private func beat(_ channel: inout ControlChannel, at now: Double) -> Bool {
    channel.beat(now: now)
    return channel.isSilent(now: now)
  }

  private func isSilent(_ channel: ControlChannel, at now: Double) -> Bool { channel.isSilent(now: now) }

  /// A frame with a body of zeros.
  private func frame(_ type: FrameType, length: Int = 0) -> [UInt8] {
    let length32 = UInt32(length)
    return [type.rawValue] + (0..<4).map { UInt8(truncatingIfNeeded: length32 >> (24 - 8 * $0)) }
      + [UInt8](repeating: 0, count: length)
  }

  @Test func `messages arrive complete, however their bytes are split`() throws {
    let bytes = ControlMessage.ping(1).frame + ControlMessage.receipt.frame + ControlMessage.pong(2).frame
    for size in [1, 3, bytes.count] {
      var channel = ControlChannel(now: 0)
      var come: [ControlMessage] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        channel.received(bytes[start..<min(bytes.count, start + size)].span, now: 0)
        come += try messages(&channel)
      }
      expect(come, is: [.ping(1), .receipt, .pong(2)])
    }
  }

  @Test func `ignorable frames of later versions are skipped, and other unknown frames are not`() throws {
    var channel = ControlChannel(now: 0)
    channel.received((frame(Self.later, length: 7) + frame(Self.later) + ControlMessage.ping(3).frame).span, now: 0)
    expect(try messages(&channel), is: [.ping(3)])
    channel.received(frame(FrameType(rawValue: 0x7F)).span, now: 0)
    #expect(throws: Violation(.unknown, "a frame")) { try messages(&channel) }
  }

  @Test func `bytes read in place count as heard, and a read without bytes does not`() throws {
    var channel = ControlChannel(now: 0)
    let bytes = ControlMessage.ping(4).frame
    for nothing in [nil, 0] {
      let count = channel.read(atMost: 100, now: 10) { (_, _) in nothing }
      expect(count, is: nothing)
    }
    expect(isSilent(channel, at: Heartbeat.silence))
    let count = channel.read(atMost: 100, now: 10) { (room, range) in
      expect(range.count, is: 100)
      room.replaceSubrange(range.prefix(bytes.count), with: bytes)
      return bytes.count
    }
    expect(count, is: bytes.count)
    expect(!isSilent(channel, at: Heartbeat.silence))
    expect(isSilent(channel, at: 10 + Heartbeat.silence))
    expect(try messages(&channel), is: [.ping(4)])
  }

  @Test func `a quiet end sends PING, and an end that hears nothing is cut off`() throws {
    var channel = ControlChannel(now: 0)
    expect(channel.nextMoment, is: Heartbeat.pause)
    expect(!beat(&channel, at: Heartbeat.pause - 0.1))
    expect(channel.unsent, is: 0)
    expect(!beat(&channel, at: Heartbeat.pause))
    expect(channel.outgoing, is: ControlMessage.ping(1).frame)
    // Sent bytes count as said; a write that took nothing does not.
    channel.sent(channel.unsent, now: 7)
    expect(channel.nextMoment, is: 7 + Heartbeat.pause)
    channel.sent(0, now: 8)
    expect(channel.nextMoment, is: 7 + Heartbeat.pause)
    channel.received([UInt8]().span, now: 9)
    expect(!isSilent(channel, at: 9 + Heartbeat.silence - 0.1))
    expect(isSilent(channel, at: 9 + Heartbeat.silence))
  }

  @Test func `bytes leave in their order, in pieces of any size`() {
    var channel = ControlChannel(now: 0)
    var gone: [UInt8] = []
    func take(_ count: Int) {
      gone += channel.outgoing[channel.sent..<channel.sent + count]
      channel.sent(count, now: 0)
    }
    channel.say(.ping(1))
    take(3)
    expect(channel.sent, is: 3)
    channel.say(.pong(2))
    take(10)
    take(channel.unsent)
    expect(channel.unsent == 0 && channel.outgoing.isEmpty && channel.sent == 0)
    channel.say(.receipt)
    take(channel.unsent)
    expect(gone, is: ControlMessage.ping(1).frame + ControlMessage.pong(2).frame + ControlMessage.receipt.frame)
  }

  @Test func `an end that does not read answers is not read from, and sent bytes are not kept`() {
    var channel = ControlChannel(now: 0)
    expect(channel.isReading && channel.isDrained)
    channel.sayRaw(frame(Self.later, length: 64 << 10))
    expect(channel.isReading && !channel.isDrained)
    channel.sent(5, now: 0)
    expect(channel.isDrained && channel.sent == 5)
    channel.sayRaw(frame(Self.later, length: 512 << 10))
    expect(!channel.isReading)
    channel.sent(300 << 10, now: 0)
    expect(channel.sent, is: 0)
    expect(channel.unsent, is: channel.outgoing.count)
    expect(channel.unsent, is: (64 + 512 - 300) << 10 + 5)
    expect(!channel.isReading)
    channel.sent((20 << 10) + 6, now: 0)
    expect(channel.isReading && !channel.isDrained)
  }
}

import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct ChannelTests {
  private static let identity = AppIdentity(
    bundleIdentifier: "org.example.notes", store: "some store", platform: "linux", version: "2 β")

  private static let hostMessages: [HostMessage] = [
    .describe, .cancel, .appended(nil), .appended(.cancelled),
    .appended(ReportedError(domain: "d", code: -5, text: "ä\n", userInfo: ["k": "v", "": "empty"])),
    .export(platform: "linux", options: []), .export(platform: "linux", options: [], hearsFailures: true),
    .export(
      platform: "", options: [.init(name: "a", value: [0, 255]), .init(name: "b", value: [])]),
    .importItems(directory: [0x2F, 0xFF], from: identity),
  ]

  private static let extensionMessages: [ExtensionMessage] = [
    .ready([.exports, .imports]), .progress(0), .progress(1_000_000), .ended(nil), .ended(.cancelled),
    .failedAppend(ReportedError(.fileReadNoSuchFile, "gone", path: "/a")), .notice(.unmovedProgress),
    .notice(ExtensionNotice(rawValue: 200)),
    .described(ExportDescription(estimate: -1, version: "", isCompressible: false)),
    .described(ExportDescription(estimate: .max, version: "1", isCompressible: true)),
    .described(ExportDescription(estimate: 0, version: "1", isCompressible: true, options: [])),
    .described(ExportDescription(estimate: 0, version: "1", isCompressible: true, options: ["a", "b c"])),
    .append(AppendedItem(path: [], content: .descriptor)),
    .append(
      AppendedItem(
        path: [0x61, 0],
        content: .symbolicLink(target: [0x62], modified: ItemTime(seconds: -1, nanoseconds: 999_999_999)))),
  ]

  @Test func `a message is read back as it was written`() throws {
    for message in Self.hostMessages { expect(try HostMessage(message.encoded), is: message) }
    for message in Self.extensionMessages { expect(try ExtensionMessage(message.encoded), is: message) }
  }

  @Test func `a truncated message, or one with a changed bit, is another message or none`() {
    for bytes in Self.extensionMessages.map(\.encoded) {
      for length in bytes.indices { check(Array(bytes[..<length])) }
      for index in bytes.indices {
        for bit in 0..<8 {
          var spoilt = bytes
          spoilt[index] ^= 1 << bit
          check(spoilt)
        }
      }
    }
  }

  /// Every message that can be parsed has only one encoding.
  private func check(_ bytes: [UInt8]) {
    guard let message = try? ExtensionMessage(bytes) else { return }
    expect((try? ExtensionMessage(message.encoded)), is: message)
  }

  @Test func `a message longer than a packet arrives whole, with its descriptor`() throws {
    var pair = try PacketSocket.pair()
    var sending = Channel(pair.takeOne())
    var receiving = Channel(pair.takeOther())
    let message = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let null = try Directory.open("/dev").openChild("null", .anyKind)
    try sending.send(message, passing: null.raw)
    try sending.send([1])
    let arrival = try receiving.receive()
    guard case .packet(var first) = consume arrival else {
      Issue.record("nothing came")
      return
    }
    expect(first.bytes, is: message)
    let passed = first.descriptor.take()
    let isReadable = if let passed { passed.isReadable } else { false }
    expect(isReadable)
    let next = try receiving.receive()
    guard case .packet(let second) = consume next else { return }
    expect(second.bytes, is: [1])
    let isNothing = if case .nothing = try receiving.receive(waiting: false) { true } else { false }
    expect(isNothing)
    var other = try PacketSocket.pair()
    sending = Channel(other.takeOne())
    let isEnd = if case .end = try receiving.receive() { true } else { false }
    expect(isEnd)
  }

  @Test func `a message without an end is refused`() throws {
    var pair = try PacketSocket.pair()
    let sending = pair.takeOne()
    var receiving = Channel(pair.takeOther())
    let packet = [1] + [UInt8](repeating: 0, count: PacketSocket.longestPacket - 1)
    var isRefused = false
    for _ in 0..<100 where !isRefused {
      _ = try sending.send(packet)
      do { _ = try receiving.receive(waiting: false) } catch is Channel.Malformed { isRefused = true }
    }
    expect(isRefused)
  }

  @Test func `packets without content, which only announce more, are refused`() throws {
    var pair = try PacketSocket.pair()
    let sending = pair.takeOne()
    var receiving = Channel(pair.takeOther())
    for packet in [[1], [1, 7]] as [[UInt8]] {
      _ = try sending.send(packet)
      var isRefused = false
      do { _ = try receiving.receive(waiting: false) } catch is Channel.Malformed { isRefused = true }
      expect(isRefused, "\(packet)")
    }
  }

  @Test func `an error's texts have limits, and no character is split`() {
    let error = ReportedError(
      domain: String(repeating: "ä", count: 1_000), code: 1, text: String(repeating: "€", count: 10_000),
      userInfo: Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", "v") }))
    expect(error.domain.utf8.count <= Limits.identifier && error.domain.allSatisfy { $0 == "ä" })
    expect(error.text.utf8.count <= 8 << 10 && error.text.allSatisfy { $0 == "€" })
    expect(error.userInfo.count, is: 32)
  }
}

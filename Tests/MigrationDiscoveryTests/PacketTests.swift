import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// Packets as bytes written by hand.
@Suite struct PacketTests {
  /// Another program's answer to a question for the type: PTR, with SRV, TXT, A and NSEC.
  static let answer = bytes(
    """
    0000 8400 0000 0001 0000 0004
    "_peer-migrate" "_tcp" "local" 00 000c 0001 00001194 000d | "old laptop" c00c
    c030 0021 8001 00000078 000f | 0000 0000 1092 "laptop" c01f
    c030 0010 8001 00001194 000a | "txtvers=1"
    c04f 0001 8001 00000078 0004 | c0000207
    c04f 002f 8001 00000078 0008 | c04f 0004 40000008
    """)

  @Test func `an answer in the form of other programs is read`() throws {
    let packet = try DNSPacket(Self.answer)
    expect(packet.isResponse && packet.isPlain)
    let instance = try #require(ServiceNames.instance(Array("old laptop".utf8)))
    let host = DNSName("laptop.local")
    expect(packet.answers, is: [DNSRecord(ServiceNames.type, .pointer(instance), ttl: 4500)])
    expect(
      packet.additionals,
      is: [
        DNSRecord(instance, .service(ServiceLocation(port: 4242, target: host)), ttl: 120, flushes: true),
        DNSRecord(instance, .text(bytes("\"txtvers=1\"")), ttl: 4500, flushes: true),
        DNSRecord(host, .address(ip(192, 0, 2, 7)), ttl: 120, flushes: true),
      ])
  }

  @Test func `a question is read and written`() throws {
    let question = bytes("0000 0200 0002 0000 0000 0000 \"LOCAL\" 00 000c 0001 \"a.b\" c00c 00ff 0001")
    let packet = try DNSPacket(question)
    expect(!packet.isResponse)
    // A number, the bit for a unicast answer and authorities are ignored.
    expect(
      try DNSPacket(
        bytes(
          "1234 0200 0002 0000 0001 0000 \"LOCAL\" 00 000c 8001 \"a.b\" c00c 00ff 0001 00 0001 0001 00000000 0004 c0000207"
        )),
      is: packet)
    expect(packet.questions[0], is: DNSQuestion(DNSName("local"), .ptr))
    expect(packet.questions[1].name.labels, is: [Array("a.b".utf8), Array("LOCAL".utf8)])
    expect(packet.encoded(), is: question)
  }

  @Test func `names differ in more than the case of ASCII letters`() {
    expect(DNSName("Laptop.LOCAL"), is: DNSName("laptop.local"))
    expect(DNSName(labels: [Array("a.b".utf8)]) != DNSName("a.b"))
    expect(DNSName(labels: [[0xc3, 0x84]]) != DNSName(labels: [[0xc3, 0xa4]]))
    expect(DNSName(labels: [[0x5b]]) != DNSName(labels: [[0x7b]]))
    expect(DNSName(labels: [[]]) == nil && DNSName(labels: [[UInt8](repeating: 97, count: 64)]) == nil)
    let long = [UInt8](repeating: 97, count: 63)
    expect(DNSName(labels: [long, long, long, Array(long.dropLast(2))]) != nil)
    expect(DNSName(labels: [long, long, long, Array(long.dropLast(1))]) == nil)
    expect(DNSName("old laptop.local").label(before: DNSName("LOCAL")), is: Array("old laptop".utf8))
    expect(DNSName("a.b.local").label(before: DNSName("local")) == nil)
    expect(DNSName("local").label(before: DNSName("local")) == nil)
  }

  @Test(arguments: [
    // A name that points to itself, forwards, and into the header.
    ("0000 0000 0001 0000 0000 0000 c00c 000c 0001", DNSPacket.Mistake.name),
    ("0000 0000 0001 0000 0000 0000 c010 000c 0001 00", .name),
    ("0000 0000 0001 0000 0000 0000 c000 000c 0001", .name),
    // Two names that point to each other.
    ("0000 0000 0002 0000 0000 0000 c012 000c 0001 c00c 000c 0001", .name),
    // A label of a name points back to the name.
    ("0000 0000 0001 0000 0000 0000 \"a\" c00c 000c 0001", .name),
    // Unknown kinds of labels.
    ("0000 0000 0001 0000 0000 0000 40 000c 0001", .name),
    ("0000 0000 0001 0000 0000 0000 80 000c 0001", .name),
    // Counts without their items.
    ("0000 8400 ffff ffff ffff ffff", .tooMany),
    ("0000 8400 0000 ffff 0000 0000", .tooMany),
    ("0000 8400 0000 0100 0000 0000 00", .truncated),
    ("0000 8400 0000 0001 0000 0000 00 000c 0001 00000000 ffff", .truncated),
    // Lengths that do not match the type.
    ("0000 8400 0000 0001 0000 0000 00 0001 0001 00000000 0003 c00002", .length),
    ("0000 8400 0000 0001 0000 0000 00 001c 0001 00000000 0004 c0000207", .length),
    ("0000 8400 0000 0001 0000 0000 00 0021 0001 00000000 0006 000000000000", .length),
    ("0000 8400 0000 0001 0000 0000 00 000c 0001 00000000 0001 \"a\" 00", .length),
    ("0000 8400 0000 0001 0000 0000 00 000c 0001 00000000 0004 \"a\" 00 00", .length),
    ("", .truncated), ("0000", .truncated),
  ])
  func `bytes that are not a packet are dropped`(text: String, error: DNSPacket.Mistake) {
    expect(refusal(bytes(text)), is: error)
  }

  @Test func `a name that would be longer than 255 bytes is refused`() {
    let label = "\"" + String(repeating: "a", count: 63) + "\" "
    let header = "0000 0000 0001 0000 0000 0000 "
    expect(refusal(bytes(header + label + label + label + label + "00 000c 0001")), is: .name)
    // A name that grows by pointers: each adds to the previous one.
    let begin = "0000 0000 0002 0000 0000 0000 " + label + label + label + "00 000c 0001 "
    expect(refusal(bytes(begin + "\"b\" c00c 000c 0001")) == nil)
    expect(refusal(bytes(begin + label + "c00c 000c 0001")), is: .name)
  }

  @Test func `a packet that is far longer without its compression is refused`() {
    let long = String(repeating: "\"" + String(repeating: "a", count: 61) + "\" ", count: 4)
    let begin = "0000 0000 0190 0000 0000 0000 " + long + "00 000c 0001 "
    expect(refusal(bytes(begin + String(repeating: "c00c 000c 0001 ", count: 399))), is: .tooLong)
    expect(refusal([UInt8](repeating: 0, count: 9001)), is: .tooLong)
    expect(refusal([UInt8](repeating: 0, count: 9000)) == nil)
  }

  @Test func `records of other classes and types, and questions of other classes, are left out`() throws {
    let packet = try DNSPacket(
      bytes(
        "0000 8400 0001 0003 0000 0000 00 0001 0003 00 0001 0003 00000000 0001 ff \"a\" 00 0029 0001 00000000 0002 c00c "
          + "00 0001 0001 00000000 0004 c0000207"))
    expect(packet.questions.isEmpty && packet.answers == [DNSRecord(.root, .address(ip(192, 0, 2, 7)), ttl: 0)])
  }

  @Test func `each prefix of a packet is refused, and a packet with any wrong bit reads as it is written`() throws {
    for count in 0..<Self.answer.count {
      expect(refusal(Array(Self.answer.prefix(count))) != nil)
    }
    for bit in 0..<Self.answer.count * 8 {
      var bytes = Self.answer
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let packet = try? DNSPacket(bytes) else { continue }
      let again = try DNSPacket(packet.encoded(), longest: DNSPacket.longest)
      expect(again, is: packet, "bit \(bit)")
    }
  }

  /// Why bytes are not a packet; nil if they are one.
  private func refusal(_ bytes: [UInt8]) -> DNSPacket.Mistake? {
    do throws(DNSPacket.Mistake) {
      _ = try DNSPacket(bytes)
      return nil
    } catch {
      return error
    }
  }
}

/// A packet of multicast DNS (RFC 1035 §4.1, RFC 6762 §18).
///
/// A packet that can be read can be written, and reading it again gives an equal packet.
package struct DNSPacket: Hashable, Sendable {
  /// The most questions and records in a packet; a packet with more is malformed.
  package static let mostRecords = 1024
  /// The longest packet that can be written, and the greatest length of a packet without its
  /// compression.
  package static let longest = 65_535

  package var id: UInt16
  /// The second word of the header.
  package var flags: UInt16
  package var questions: [DNSQuestion] = []
  package var answers: [DNSRecord] = []
  package var authorities: [DNSRecord] = []
  package var additionals: [DNSRecord] = []

  package init(id: UInt16 = 0, flags: UInt16) {
    self.id = id
    self.flags = flags
  }

  /// A question without answers.
  package static var query: DNSPacket { DNSPacket(flags: 0) }
  /// An authoritative answer.
  package static var response: DNSPacket { DNSPacket(flags: 0x8400) }

  package var isResponse: Bool { flags & 0x8000 != 0 }
  /// Whether it is an ordinary question or answer: other operations and failures are ignored (RFC
  /// 6762 §18.3, §18.11).
  package var isPlain: Bool { flags & 0x780f == 0 }
  /// Whether more known answers follow in other packets (RFC 6762 §7.2).
  package var isTruncated: Bool {
    get { flags & 0x0200 != 0 }
    set { flags = newValue ? flags | 0x0200 : flags & ~0x0200 }
  }

  /// Reads a packet. Bytes behind its last record are ignored.
  package init(_ bytes: [UInt8], longest: Int = MulticastDNS.longestPacket) throws(PacketError) {
    guard bytes.count <= longest else { throw .tooLong }
    var reader = PacketReader(bytes)
    id = try reader.word()
    flags = try reader.word()
    var counts: [Int] = []
    for _ in 0..<4 { counts.append(Int(try reader.word())) }
    let records = counts[1] + counts[2] + counts[3]
    guard counts[0] + records <= Self.mostRecords else { throw .tooMany }
    guard counts[0] * PacketReader.shortestQuestion + records * PacketReader.shortestRecord <= reader.left else {
      throw .truncated
    }
    for _ in 0..<counts[0] { questions.append(try reader.question()) }
    for _ in 0..<counts[1] { answers.append(try reader.record()) }
    for _ in 0..<counts[2] { authorities.append(try reader.record()) }
    for _ in 0..<counts[3] { additionals.append(try reader.record()) }
  }

  /// The packet in its sent form. Plain resolvers do not expect compression in SRV records (RFC
  /// 6762 §18.14).
  package func encoded(compressingTargets: Bool = true) -> [UInt8] {
    var writer = PacketWriter(compressesTargets: compressingTargets)
    writer.word(id)
    writer.word(flags)
    for count in [questions.count, answers.count, authorities.count, additionals.count] { writer.word(UInt16(count)) }
    for question in questions { writer.question(question) }
    for record in answers { writer.record(record) }
    for record in authorities { writer.record(record) }
    for record in additionals { writer.record(record) }
    return writer.bytes
  }
}

/// Why bytes are not a packet. The whole packet is dropped.
package enum PacketError: Error, Equatable, Sendable {
  /// It exceeds the maximum length, with or without its compression.
  case tooLong
  /// It announces more questions and records than `DNSPacket.mostRecords`.
  case tooMany
  /// It ends too early.
  case truncated
  /// A name has a label of an unknown kind, is too long, or does not point backwards.
  case name
  /// A record's length does not match its type.
  case length
}

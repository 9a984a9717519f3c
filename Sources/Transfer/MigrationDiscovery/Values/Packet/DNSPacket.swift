package import MigrationSystem

/// A packet of multicast DNS (RFC 1035 §4.1, RFC 6762 §18), with the records that announce a service:
/// those of other types and classes, and questions of other classes, are left out.
///
/// A packet that can be read can be written, and reading it again gives an equal packet.
package struct DNSPacket: Hashable, Sendable {
  /// The most questions and records in a packet; a packet with more is malformed.
  package static let mostRecords = 1024
  /// The longest packet that can be written, and the greatest length of a packet without its
  /// compression.
  package static let longest = 65_535

  /// The second word of the header.
  package var flags: UInt16
  package var questions: [DNSQuestion] = []
  package var answers: [DNSRecord] = []
  package var additionals: [DNSRecord] = []

  /// A question without answers.
  package static var query: DNSPacket { DNSPacket(flags: 0) }
  /// An authoritative answer.
  package static var response: DNSPacket { DNSPacket(flags: 0x8400) }

  package var isResponse: Bool { flags & 0x8000 != 0 }
  /// Whether it is an ordinary question or answer: other operations and failures are ignored (RFC
  /// 6762 §18.3, §18.11).
  package var isPlain: Bool { flags & 0x780f == 0 }
}

extension DNSPacket {
  /// Reads a packet. Its number, its authorities and bytes behind its last record are ignored.
  package init(_ bytes: [UInt8], longest: Int = MulticastDNS.longestPacket) throws(Mistake) {
    guard bytes.count <= longest else { throw .tooLong }
    var reader = Reader(bytes)
    _ = try reader.word()
    self.init(flags: try reader.word())
    var counts: [Int] = []
    for _ in 0..<4 { counts.append(Int(try reader.word())) }
    let records = counts[1] + counts[2] + counts[3]
    guard counts[0] + records <= Self.mostRecords else { throw .tooMany }
    guard counts[0] * Reader.shortestQuestion + records * Reader.shortestRecord <= reader.left else {
      throw .truncated
    }
    for _ in 0..<counts[0] { if let question = try reader.question() { questions.append(question) } }
    for _ in 0..<counts[1] { if let record = try reader.record() { answers.append(record) } }
    for _ in 0..<counts[2] { _ = try reader.record() }
    for _ in 0..<counts[3] { if let record = try reader.record() { additionals.append(record) } }
  }

  /// The packet in its sent form.
  package func encoded() -> [UInt8] {
    var writer = Writer()
    writer.word(0)
    writer.word(flags)
    for count in [questions.count, answers.count, 0, additionals.count] { writer.word(UInt16(count)) }
    for question in questions { writer.question(question) }
    for record in answers + additionals { writer.record(record) }
    return writer.bytes
  }

  /// Why bytes are not a packet. The whole packet is dropped.
  package enum Mistake: Error, Equatable, Sendable {
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
}

/// A domain name: labels of bytes. A dot in a label is an ordinary byte.
///
/// Names are equal if they differ only in the case of ASCII letters (RFC 6762 §16).
package struct DNSName: Hashable, Sendable {
  /// The longest label, in bytes.
  package static let longestLabel = 63
  /// The longest name in its sent form, in bytes, with a length before each label and the end.
  package static let longest = 255
  /// The name without labels.
  package static let root = DNSName(wire: [0])

  /// The sent form, without compression.
  let wire: [UInt8]
  /// The same in lower case. Lengths are below 64, so no length is mistaken for a letter.
  private let folded: [UInt8]

  /// Creates it from bytes that are a valid name without compression.
  init(wire: [UInt8]) {
    self.wire = wire
    folded = wire.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
  }

  /// Nil if a label is empty or too long, or the whole name is too long.
  package init?(labels: [[UInt8]]) {
    guard labels.allSatisfy({ !$0.isEmpty && $0.count <= Self.longestLabel }) else { return nil }
    guard labels.reduce(1, { $0 + 1 + $1.count }) <= Self.longest else { return nil }
    self.init(wire: labels.flatMap { [UInt8($0.count)] + $0 } + [0])
  }

  package var labels: [[UInt8]] {
    var labels: [[UInt8]] = []
    var at = 0
    while wire[at] > 0 {
      let end = at + 1 + Int(wire[at])
      labels.append(Array(wire[at + 1..<end]))
      at = end
    }
    return labels
  }

  /// The first label, if the rest of the name is `rest`.
  package func label(before rest: DNSName) -> [UInt8]? {
    let end = 1 + Int(wire[0])
    guard end > 1, folded[end...].elementsEqual(rest.folded) else { return nil }
    return Array(wire[1..<end])
  }

  package static func == (left: DNSName, right: DNSName) -> Bool { left.folded == right.folded }
  package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// A resource record of the Internet class (RFC 1035 §4.1.3), with the cache-flush bit separate from the
/// class (RFC 6762 §10.2).
package struct DNSRecord: Hashable, Sendable {
  package let name: DNSName
  package let data: DNSRecordData
  /// The seconds for which it is valid; 0 withdraws it.
  package var ttl: UInt32
  /// Whether it replaces all older records of its name and type.
  package var flushes: Bool

  package init(_ name: DNSName, _ data: DNSRecordData, ttl: UInt32, flushes: Bool = false) {
    self.name = name
    self.data = data
    self.ttl = ttl
    self.flushes = flushes
  }

  package var type: DNSType { data.type }

  /// Whether two records say the same, apart from their lifetimes and cache-flush bits.
  package func says(_ other: DNSRecord) -> Bool { data == other.data && name == other.name }
}

/// A question for records of the Internet class (RFC 1035 §4.1.2). The bit for a unicast answer is
/// ignored: every answer goes to all devices (RFC 6762 §5.4).
package struct DNSQuestion: Hashable, Sendable {
  package let name: DNSName
  package let type: DNSType

  package init(_ name: DNSName, _ type: DNSType) {
    self.name = name
    self.type = type
  }
}

/// The type of a record, or of the records that a question asks for.
package struct DNSType: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let a = DNSType(rawValue: 1)
  package static let ptr = DNSType(rawValue: 12)
  package static let txt = DNSType(rawValue: 16)
  package static let aaaa = DNSType(rawValue: 28)
  package static let srv = DNSType(rawValue: 33)
  /// In questions: every type.
  package static let any = DNSType(rawValue: 255)
}

/// The content of a record.
package enum DNSRecordData: Hashable, Sendable {
  /// A or AAAA, depending on the address's length.
  case address(SocketAddress)
  case pointer(DNSName)
  case service(ServiceLocation)
  /// TXT: strings, each with its length before it, as received.
  case text([UInt8])

  package var type: DNSType {
    switch self {
    case .address(let address): address.isV6 ? .aaaa : .a
    case .pointer: .ptr
    case .service: .srv
    case .text: .txt
    }
  }
}

/// The location of a service: the content of an SRV record (RFC 2782).
package struct ServiceLocation: Hashable, Sendable {
  package let priority: UInt16
  package let weight: UInt16
  package let port: UInt16
  package let target: DNSName

  package init(priority: UInt16 = 0, weight: UInt16 = 0, port: UInt16, target: DNSName) {
    self.priority = priority
    self.weight = weight
    self.port = port
    self.target = target
  }

  /// The fields before the target.
  var numbers: [UInt8] { [priority, weight, port].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] } }
}

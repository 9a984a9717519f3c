/// The records of a service under one of its names, on a link with given addresses.
struct OwnRecords: Sendable {
  /// The lifetime of records that name the host, in seconds (RFC 6762 §10).
  static let hostTTL: UInt32 = 120
  /// The lifetime of other records.
  static let otherTTL: UInt32 = 4500
  /// The longest lifetime in an answer to a plain resolver (§6.7).
  static let legacyTTL: UInt32 = 10

  let instance: DNSName
  let host: DNSName
  private let location: ServiceLocation
  private let textBytes: [UInt8]

  init(_ service: Service, label: [UInt8]) {
    instance = ServiceNames.instance(label) ?? ServiceNames.type
    host = ServiceNames.host(service.instance)
    location = ServiceLocation(port: service.port, target: host)
    textBytes = Service.text(ofInstance: service.instance)
  }

  /// The records of a kind; empty for a family of which the link has no address.
  func records(_ kind: AnswerKind, _ addresses: [IPAddress]) -> [DNSRecord] {
    switch kind {
    case .pointer: [DNSRecord(ServiceNames.type, .pointer(instance), ttl: Self.otherTTL)]
    case .enumeration: [DNSRecord(ServiceNames.enumeration, .pointer(ServiceNames.type), ttl: Self.otherTTL)]
    case .service: [DNSRecord(instance, .service(location), ttl: Self.hostTTL, flushes: true)]
    case .text: [DNSRecord(instance, .text(textBytes), ttl: Self.otherTTL, flushes: true)]
    case .v4, .v6:
      addresses.filter { $0.isV6 == (kind == .v6) }.map {
        DNSRecord(host, .address($0), ttl: Self.hostTTL, flushes: true)
      }
    case .instanceTypes: [types(instance, [.txt, .srv], ttl: Self.otherTTL)]
    case .hostTypes: [types(host, [DNSType.a, .aaaa].filter { Self.has($0, addresses) }, ttl: Self.hostTTL)]
    }
  }

  /// The records of all kinds, in the kinds' order.
  func records(_ kinds: AnswerSet, _ addresses: [IPAddress]) -> [DNSRecord] {
    kinds.flatMap { records($0, addresses) }
  }

  /// The kinds that a question asks for, if they can be answered with these addresses.
  func answers(_ question: DNSQuestion, _ addresses: [IPAddress]) -> AnswerSet {
    guard question.isInternet else { return [] }
    func asks(_ type: DNSType) -> Bool { question.type == type || question.type == .any }
    switch question.name {
    case ServiceNames.type: return asks(.ptr) ? [.pointer] : []
    case ServiceNames.enumeration: return asks(.ptr) ? [.enumeration] : []
    case instance:
      var there: AnswerSet = []
      if asks(.srv) { there.insert(.service) }
      if asks(.txt) { there.insert(.text) }
      return there.isEmpty ? [.instanceTypes] : there
    case host:
      var there: AnswerSet = []
      if asks(.a), Self.has(.a, addresses) { there.insert(.v4) }
      if asks(.aaaa), Self.has(.aaaa, addresses) { there.insert(.v6) }
      return there.isEmpty ? [.hostTypes] : there
    default: return []
    }
  }

  /// Additional records that the asker is likely to need (RFC 6763 §12).
  func additions(_ answers: AnswerSet) -> AnswerSet {
    var more: AnswerSet = []
    if answers.contains(.pointer) { more.formUnion([.service, .text, .v4, .v6, .instanceTypes, .hostTypes]) }
    if answers.contains(.service) { more.formUnion([.v4, .v6, .hostTypes]) }
    if !answers.isDisjoint(with: [.v4, .v6]) { more.formUnion([.v4, .v6, .hostTypes]) }
    return more.subtracting(answers)
  }

  /// Whether there are addresses of a type, A or AAAA.
  private static func has(_ type: DNSType, _ addresses: [IPAddress]) -> Bool {
    addresses.contains { $0.isV6 == (type == .aaaa) }
  }

  /// A record that lists the types of a name, and so denies all others (RFC 6762 §6.1).
  private func types(_ name: DNSName, _ types: [DNSType], ttl: UInt32) -> DNSRecord {
    var bits = [UInt8](repeating: 0, count: 6)
    for type in types { bits[Int(type.rawValue) / 8] |= 0x80 >> UInt8(type.rawValue % 8) }
    let length = (bits.lastIndex { $0 != 0 } ?? -1) + 1
    let bitmap = length > 0 ? [0, UInt8(length)] + bits.prefix(length) : []
    return DNSRecord(name, .types(next: name, bitmap: bitmap), ttl: ttl, flushes: true)
  }
}

/// The kinds of answers of a responder. Records of one name and type are always sent together,
/// because they replace all known records of that name and type (RFC 6762 §10.2).
enum AnswerKind: Int, CaseIterable, Sendable {
  /// PTR: the type has this instance.
  case pointer
  /// PTR: there are services of this type.
  case enumeration
  /// SRV: the instance's host and port.
  case service
  /// TXT: the instance's id.
  case text
  /// A: the host's addresses over IPv4.
  case v4
  /// AAAA: the host's addresses over IPv6.
  case v6
  /// NSEC: the instance has no other types.
  case instanceTypes
  /// NSEC: the host has no other types.
  case hostTypes

  /// Whether other devices have records of the same name and type.
  var isShared: Bool { self == .pointer || self == .enumeration }
  /// Whether it changes with the instance's label.
  var namesInstance: Bool { self == .pointer || self == .service || self == .text || self == .instanceTypes }
  /// Whether it changes with the addresses.
  var namesAddresses: Bool { self == .v4 || self == .v6 || self == .hostTypes }
}

/// A set of kinds of answers, always in order.
struct AnswerSet: Equatable, Sequence, ExpressibleByArrayLiteral, Sendable {
  private var bits: UInt8

  private init(bits: UInt8) { self.bits = bits }
  init(_ kinds: some Sequence<AnswerKind>) { bits = kinds.reduce(0) { $0 | 1 << $1.rawValue } }
  init(arrayLiteral kinds: AnswerKind...) { self.init(kinds) }

  /// Records that are announced after probing (RFC 6762 §8.3).
  static let announced: AnswerSet = [.pointer, .enumeration, .service, .text, .v4, .v6]
  /// Records that are withdrawn at the end. Other devices may still have services of the type, so
  /// that record is not withdrawn.
  static let withdrawn: AnswerSet = [.pointer, .service, .text, .v4, .v6]
  /// Records that are withdrawn with a name.
  static let instance: AnswerSet = [.pointer, .service, .text]

  var isEmpty: Bool { bits == 0 }
  func contains(_ kind: AnswerKind) -> Bool { bits & 1 << kind.rawValue != 0 }
  func isDisjoint(with other: AnswerSet) -> Bool { bits & other.bits == 0 }
  func union(_ other: AnswerSet) -> AnswerSet { AnswerSet(bits: bits | other.bits) }
  func subtracting(_ other: AnswerSet) -> AnswerSet { AnswerSet(bits: bits & ~other.bits) }

  mutating func insert(_ kind: AnswerKind) { bits |= 1 << kind.rawValue }
  mutating func formUnion(_ other: AnswerSet) { bits |= other.bits }
  mutating func subtract(_ other: AnswerSet) { bits &= ~other.bits }

  func makeIterator() -> some IteratorProtocol<AnswerKind> {
    AnswerKind.allCases.lazy.filter { [self] in contains($0) }.makeIterator()
  }
}

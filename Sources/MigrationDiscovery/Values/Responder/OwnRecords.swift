/// The records of a service under one of its names, on a link with given addresses.
struct OwnRecords: Sendable {
  /// The lifetime of records that name the host, in seconds (RFC 6762 §10).
  static let hostTTL: UInt32 = 120
  /// The lifetime of the others.
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
    textBytes = ServiceText.bytes(instance: service.instance)
  }

  /// The records of a kind; none if there are no such addresses.
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

import MigrationSystem

/// The records of a service, on a link with given addresses.
struct OwnRecords: Sendable {
  let instance: DNSName
  let host: DNSName
  private let location: ServiceLocation
  private let textBytes: [UInt8]

  init(_ service: Service) {
    instance = ServiceNames.instance(service.labelBytes) ?? ServiceNames.type
    host = ServiceNames.host(service.instance)
    location = ServiceLocation(port: service.port, target: host)
    textBytes = Service.text(ofInstance: service.instance)
  }

  private func name(_ kind: AnswerKind) -> DNSName {
    switch kind {
    case .pointer: ServiceNames.type
    case .service, .text: instance
    case .v4, .v6: host
    }
  }

  /// The records of a kind; empty for a family of which the link has no address.
  func records(_ kind: AnswerKind, _ addresses: [SocketAddress]) -> [DNSRecord] {
    let data: [DNSRecordData] =
      switch kind {
      case .pointer: [.pointer(instance)]
      case .service: [.service(location)]
      case .text: [.text(textBytes)]
      case .v4, .v6: addresses.filter { $0.isV6 == (kind == .v6) }.map(DNSRecordData.address)
      }
    return data.map { DNSRecord(name(kind), $0, ttl: kind.ttl, flushes: kind != .pointer) }
  }

  /// The records of several kinds, in the kinds' order.
  func records(_ kinds: Set<AnswerKind>, _ addresses: [SocketAddress]) -> [DNSRecord] {
    kinds.sorted().flatMap { records($0, addresses) }
  }

  /// The kinds of records that have a name, and the type, if it is given.
  func kinds(_ name: DNSName, _ type: DNSType?) -> [AnswerKind] {
    AnswerKind.allCases.filter { self.name($0) == name && (type == nil || type == $0.type) }
  }
}

/// The kinds of answers of a responder, in the order in which an asker needs them. Records of one name
/// and type are always sent together, because they replace all known records of that name and type (RFC
/// 6762 §10.2).
enum AnswerKind: Int, CaseIterable, Comparable, Sendable {
  /// PTR: the type has this instance. Other devices have records of the same name and type.
  case pointer
  /// SRV: the instance's host and port.
  case service
  /// TXT: the instance's id.
  case text
  /// A: the host's addresses over IPv4.
  case v4
  /// AAAA: the host's addresses over IPv6.
  case v6

  static let all = Set(allCases)

  static func < (left: AnswerKind, right: AnswerKind) -> Bool { left.rawValue < right.rawValue }

  var type: DNSType {
    switch self {
    case .pointer: .ptr
    case .service: .srv
    case .text: .txt
    case .v4: .a
    case .v6: .aaaa
    }
  }

  /// The lifetime of its records, in seconds: shorter for those that name the host (RFC 6762 §10).
  var ttl: UInt32 { self == .pointer || self == .text ? 4500 : 120 }
}

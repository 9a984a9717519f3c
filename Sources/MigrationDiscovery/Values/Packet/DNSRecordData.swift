/// The type of a record, or of the records that a question asks for.
package struct DNSType: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let a = DNSType(rawValue: 1)
  package static let ptr = DNSType(rawValue: 12)
  package static let txt = DNSType(rawValue: 16)
  package static let aaaa = DNSType(rawValue: 28)
  package static let srv = DNSType(rawValue: 33)
  package static let nsec = DNSType(rawValue: 47)
  /// In questions: every type.
  package static let any = DNSType(rawValue: 255)
}

/// The content of a record.
package enum DNSRecordData: Hashable, Sendable {
  /// A or AAAA, depending on the address's length.
  case address(IPAddress)
  case pointer(DNSName)
  case service(ServiceLocation)
  /// TXT: strings, each with its length before it, as received.
  case text([UInt8])
  /// NSEC: the next name, and the bitmap of types as received (RFC 4034 §4.1.2).
  case types(next: DNSName, bitmap: [UInt8])
  /// Any other type, or a class other than the Internet's: bytes as received.
  case opaque(DNSType, [UInt8])

  package var type: DNSType {
    switch self {
    case .address(let address): address.isV6 ? .aaaa : .a
    case .pointer: .ptr
    case .service: .srv
    case .text: .txt
    case .types: .nsec
    case .opaque(let type, _): type
    }
  }

  /// The data in its sent form without compression, for comparing simultaneous probes (RFC 6762
  /// §8.2).
  var uncompressed: [UInt8] {
    switch self {
    case .address(let address): address.bytes
    case .pointer(let name): name.wire
    case .service(let location): location.numbers + location.target.wire
    case .text(let bytes), .opaque(_, let bytes): bytes
    case .types(let next, let bitmap): next.wire + bitmap
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

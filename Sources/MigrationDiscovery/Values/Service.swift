/// The service that a receiver announces.
package struct Service: Hashable, Sendable {
  /// The preferred name of the instance: any text.
  package let label: String
  package let port: UInt16
  /// A random number of this run, which is in the TXT record and in the host name.
  package let instance: UInt64

  package init(label: String, port: UInt16, instance: UInt64) {
    self.label = label
    self.port = port
    self.instance = instance
  }
}

/// The names of this service type (RFC 6763).
package enum ServiceNames {
  /// `_peer-migrate._tcp.local`, a part of every instance's name.
  package static let type = name("_peer-migrate", "_tcp", "local")
  /// The list of the types of all services (RFC 6763 §9).
  package static let enumeration = name("_services", "_dns-sd", "_udp", "local")

  /// The name of the instance with this label; nil if the label is empty or too long.
  package static func instance(_ label: [UInt8]) -> DNSName? { DNSName(labels: [label] + type.labels) }

  /// The host name of a run: `peer-` with 16 hexadecimal digits, in `local`.
  package static func host(_ instance: UInt64) -> DNSName { name("peer-" + Hexadecimal.digits(instance), "local") }

  /// A name of labels that are known to be valid.
  private static func name(_ labels: String...) -> DNSName { DNSName(labels: labels.map { Array($0.utf8) }) ?? .root }
}

/// Numbers as 16 hexadecimal digits.
enum Hexadecimal {
  static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Nil unless there are exactly 16 digits.
  static func number(_ digits: some Collection<UInt8>) -> UInt64? {
    guard digits.count == 16 else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: number = number << 4 | UInt64(digit - 0x30)
      case 0x41...0x46, 0x61...0x66: number = number << 4 | UInt64((digit & 0xdf) - 0x41 + 10)
      default: return nil
      }
    }
    return number
  }
}

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

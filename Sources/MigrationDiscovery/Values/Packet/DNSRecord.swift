/// A resource record (RFC 1035 §4.1.3), with the cache-flush bit separate from its class (RFC 6762
/// §10.2).
package struct DNSRecord: Hashable, Sendable {
  package let name: DNSName
  package let data: DNSRecordData
  /// The seconds for which it is valid; 0 withdraws it.
  package var ttl: UInt32
  /// Whether it replaces all older records of its name and type.
  package var flushes: Bool
  /// The class without the cache-flush bit.
  package let recordClass: UInt16

  package init(
    _ name: DNSName, _ data: DNSRecordData, ttl: UInt32, flushes: Bool = false,
    recordClass: UInt16 = DNSQuestion.internet
  ) {
    self.name = name
    self.data = data
    self.ttl = ttl
    self.flushes = flushes
    self.recordClass = recordClass
  }

  package var type: DNSType { data.type }

  /// Whether two records say the same, apart from their lifetimes and cache-flush bits.
  package func says(_ other: DNSRecord) -> Bool {
    recordClass == other.recordClass && data == other.data && name == other.name
  }
}

/// A question (RFC 1035 §4.1.2), with the bit for a unicast answer separate from its class (RFC
/// 6762 §5.4).
package struct DNSQuestion: Hashable, Sendable {
  /// The class of the Internet.
  package static let internet: UInt16 = 1
  /// Any class.
  package static let anyClass: UInt16 = 255

  package let name: DNSName
  package let type: DNSType
  /// Whether the asker accepts a unicast answer (QU).
  package let wantsUnicast: Bool
  /// The class without that bit.
  package let questionClass: UInt16

  package init(_ name: DNSName, _ type: DNSType, wantsUnicast: Bool = false, questionClass: UInt16 = internet) {
    self.name = name
    self.type = type
    self.wantsUnicast = wantsUnicast
    self.questionClass = questionClass
  }

  /// Whether it asks for records of the Internet class.
  var isInternet: Bool { questionClass == Self.internet || questionClass == Self.anyClass }
}

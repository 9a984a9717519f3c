/// The secret of the devices that may use a relay (Protocol §16.1).
package struct RelayToken: Hashable, Sendable {
  /// The number of bytes.
  package static let size = 16
  /// The number of bytes of a proof.
  static let proofSize = 32

  package let bytes: [UInt8]

  /// Takes random bytes.
  package init(_ bytes: [UInt8]) {
    precondition(bytes.count == Self.size, "a token has sixteen bytes")
    self.bytes = bytes
  }

  /// Reads 32 hexadecimal digits; blanks and dashes do not count. Nil for another text.
  package init?(typed text: [UInt8]) {
    var (bytes, high): ([UInt8], UInt8?) = ([], nil)
    for byte in text where ![UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t"), 13, 10].contains(byte) {
      guard
        let digit = Unicode.Scalar(byte).properties.isASCIIHexDigit
          ? UInt8(String(Unicode.Scalar(byte)), radix: 16) : nil
      else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
      guard bytes.count <= Self.size else { return nil }
    }
    guard bytes.count == Self.size, high == nil else { return nil }
    self.bytes = bytes
  }

  /// The text in a file, in groups that a person can type.
  package var text: String {
    stride(from: 0, to: Self.size, by: 2).map { bytes[$0...$0 + 1].hexadecimal }.joined(separator: "-")
  }
}

/// The 16 bytes at which two paired devices meet at a relay (Protocol §16.3).
package struct RelayMeeting: Hashable, Sendable {
  /// The number of bytes.
  package static let size = 16
  /// The number of bytes of the secret of a pairing.
  package static let secretSize = 32
  /// The label with which TLS exports that secret.
  package static let exporter = "EXPORTER-peer-meeting"

  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    precondition(bytes.count == Self.size, "a meeting has sixteen bytes")
    self.bytes = bytes
  }
}

import MigrationWire

/// Reads the first bytes of a connection: TLS begins with a record that holds the client's hello.
enum FirstRecord: Equatable {
  /// Its length is not known before there are so many bytes.
  case unknown(needed: Int)
  /// It is whole when there are so many bytes.
  case long(Int)
  /// The bytes are not TLS.
  case foreign

  private static let header = 5
  private static let handshake: UInt8 = 22
  private static let longest = 16_384

  init(_ bytes: Span<UInt8>) {
    guard bytes.isEmpty || bytes[0] == Self.handshake, bytes.count < 2 || bytes[1] == 3 else {
      self = .foreign
      return
    }
    guard bytes.count >= Self.header else {
      self = .unknown(needed: Self.header)
      return
    }
    let length = Int(bytes[3]) << 8 | Int(bytes[4])
    self = 1...Self.longest ~= length ? .long(Self.header + length) : .foreign
  }

  /// How many bytes there must be before it can be said more.
  var needed: Int? {
    switch self {
    case .unknown(let needed), .long(let needed): needed
    case .foreign: nil
    }
  }
}

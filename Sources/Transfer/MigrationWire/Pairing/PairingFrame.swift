/// The purpose of a connection.
package enum ConnectionMode: UInt8, Sendable {
  case pair = 1
  case resume = 2
  case join = 3
}

/// The reason why an end stops before READY (Protocol §4.2).
package enum AbortReason: UInt8, Error, Sendable {
  case codeMismatch = 1
  case notPairing = 2
  case codeExpired = 3
  case busy = 4
  case version = 5
  case malformed = 6
  case unknownPeer = 7
}

/// The values behind the reason of an ABORT (Protocol §4.2), if the reason has any.
package enum AbortDetails: Equatable, Sendable {
  /// When to come again, and how many senders come first; 0 if that is not told.
  case busy(wait: Wait, place: UInt16)
  /// The lowest and the highest version that the server speaks.
  case versions(UInt8, UInt8)

  /// An unknown value counts as a moment.
  package struct Wait: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let moment = Wait(rawValue: 0)
    /// The sender may come again after the receiver's other work.
    package static let later = Wait(rawValue: 1)
    /// Trying again does not help in this run of the receiver.
    package static let never = Wait(rawValue: 2)
  }

  fileprivate func write(to writer: inout ByteWriter) {
    switch self {
    case .busy(let wait, let place):
      writer.u8(wait.rawValue)
      writer.u16(place)
    case .versions(let lowest, let highest):
      writer.u8(lowest)
      writer.u8(highest)
    }
  }
}

/// The frames before READY (Protocol §4.2).
package enum PairingFrame: Equatable, Sendable {
  case clientHello(versions: ClosedRange<UInt8>, mode: ConnectionMode)
  case serverHello(version: UInt8, mode: ConnectionMode)
  case pairA([UInt8])
  case pairB([UInt8])
  case confirmA([UInt8])
  case confirmB([UInt8])
  case ready
  case abort(AbortReason, AbortDetails? = nil)

  /// The one version that this implementation speaks.
  package static let version: UInt8 = 3
  /// The bytes before the body.
  package static let headerSize = 3

  /// The whole length of the frame that starts with these three bytes. Only the known frames are
  /// accepted.
  package static func length(_ header: Span<UInt8>) throws(Violation) -> Int {
    var reader = ByteReader(0..<header.count, of: "a frame before READY")
    let type = try reader.u8(header)
    let length = Int(try reader.u16(header))
    guard let expected = bodyLengths(type) else { throw Violation(.unknown, "a frame before READY") }
    guard expected.contains(length) else { throw Violation(.value, "a frame before READY") }
    return headerSize + length
  }

  private static func bodyLengths(_ type: UInt8) -> [Int]? {
    switch type {
    case 0x01: [11]
    case 0x02: [10]
    case 0x03, 0x04: [65]
    case 0x05, 0x06: [32]
    case 0x07: [0]
    // The reason says which of them.
    case 0x0F: [1, 3, 4]
    default: nil
    }
  }

  /// ABORT as this program says it.
  package static func abort(saying reason: AbortReason) -> PairingFrame {
    switch reason {
    case .busy: .abort(.busy, .busy(wait: .moment, place: 0))
    case .version: .abort(.version, .versions(version, version))
    case .codeMismatch, .notPairing, .codeExpired, .malformed, .unknownPeer: .abort(reason)
    }
  }

  /// Reads one whole frame.
  package init(_ bytes: Span<UInt8>) throws(Violation) {
    let subject = "a frame before READY"
    guard try Self.length(bytes.extracting(first: min(bytes.count, Self.headerSize))) == bytes.count else {
      throw Violation(.truncated, subject)
    }
    var reader = ByteReader(Self.headerSize..<bytes.count, of: subject)
    switch bytes[0] {
    case 0x01:
      try Self.magic(&reader, bytes)
      let (low, high) = (try reader.u8(bytes), try reader.u8(bytes))
      let mode = try Self.mode(&reader, bytes)
      guard low <= high else { throw Violation(.value, subject) }
      self = .clientHello(versions: low...high, mode: mode)
    case 0x02:
      try Self.magic(&reader, bytes)
      self = .serverHello(version: try reader.u8(bytes), mode: try Self.mode(&reader, bytes))
    case 0x03: self = .pairA(try reader.rest(bytes))
    case 0x04: self = .pairB(try reader.rest(bytes))
    case 0x05: self = .confirmA(try reader.rest(bytes))
    case 0x06: self = .confirmB(try reader.rest(bytes))
    case 0x07: self = .ready
    default:
      guard let reason = AbortReason(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, subject) }
      self = .abort(reason, try Self.details(reason, &reader, bytes))
    }
  }

  private static func details(
    _ reason: AbortReason, _ reader: inout ByteReader, _ bytes: Span<UInt8>
  ) throws(Violation) -> AbortDetails? {
    let details: AbortDetails? =
      switch reason {
      case .busy: .busy(wait: AbortDetails.Wait(rawValue: try reader.u8(bytes)), place: try reader.u16(bytes))
      case .version: .versions(try reader.u8(bytes), try reader.u8(bytes))
      case .codeMismatch, .notPairing, .codeExpired, .malformed, .unknownPeer: nil
      }
    try reader.finish()
    return details
  }

  private static func magic(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) {
    guard try reader.array(bytes, 4) == Array("PEER".utf8) else { throw Violation(.value, "a hello") }
  }

  /// The mode and the flags behind it, which must be zero.
  private static func mode(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> ConnectionMode {
    guard let mode = ConnectionMode(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, "a hello") }
    guard try reader.u32(bytes) == 0 else { throw Violation(.value, "a hello") }
    return mode
  }

  /// The whole frame.
  package var bytes: [UInt8] {
    var body = ByteWriter()
    let type: UInt8
    switch self {
    case .clientHello(let versions, let mode):
      type = 0x01
      body.array(Array("PEER".utf8) + [versions.lowerBound, versions.upperBound, mode.rawValue])
      body.u32(0)
    case .serverHello(let version, let mode):
      type = 0x02
      body.array(Array("PEER".utf8) + [version, mode.rawValue])
      body.u32(0)
    case .pairA(let point), .pairB(let point):
      if case .pairA = self { type = 0x03 } else { type = 0x04 }
      body.array(point)
    case .confirmA(let mac), .confirmB(let mac):
      if case .confirmA = self { type = 0x05 } else { type = 0x06 }
      body.array(mac)
    case .ready: type = 0x07
    case .abort(let reason, let details):
      type = 0x0F
      body.u8(reason.rawValue)
      details?.write(to: &body)
    }
    var frame = ByteWriter()
    frame.u8(type)
    frame.u16(UInt16(body.bytes.count))
    frame.array(body.bytes)
    return frame.bytes
  }
}

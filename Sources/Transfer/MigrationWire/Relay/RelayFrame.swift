/// The reason for which a relay closes a connection (Protocol §16.1).
package enum RelayRefusal: UInt8, Sendable, CaseIterable {
  case malformed = 1
  case token = 2
  case absent = 3
  case busy = 4
  case volume = 5
  case ending = 6
  /// The device has sent nothing for too long.
  case idle = 7
  /// The share of the device has no place left.
  case full = 8
}

/// The purpose of a connection to a relay.
package enum RelayErrand: Hashable, Sendable {
  /// A receiver waits here.
  case register
  /// A sender calls the receiver at a place.
  case call(RelayPlace)
  /// A device calls the device with which it has paired.
  case meet(RelayMeeting)
  /// A receiver answers a call.
  case answer(RelayCall)
}

/// Names a call at a relay: random bytes.
package struct RelayCall: Hashable, Sendable {
  /// The number of bytes.
  package static let size = 16

  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    precondition(bytes.count == Self.size, "a call has sixteen bytes")
    self.bytes = bytes
  }
}

/// The first frame of a device: what it wants, and the proof that it may.
package struct RelayRequest: Equatable, Sendable {
  /// The most bytes of the relay's name.
  package static let longestName = 255

  package let errand: RelayErrand
  /// The relay, as the device's user names it: with the port.
  package let name: String
  private let nonce: [UInt8]

  /// `nonce` is 16 random bytes.
  package init(_ errand: RelayErrand, at name: String, nonce: [UInt8]) {
    precondition(nonce.count == RelayFrame.challengeSize && name.utf8.count <= Self.longestName, "a request's fields")
    self.errand = errand
    self.name = name
    self.nonce = nonce
  }

  /// The frame up to the proof.
  package var signedPart: [UInt8] {
    var body = ByteWriter()
    body.u8(RelayFrame.version)
    body.array(nonce)
    body.u8(UInt8(name.utf8.count))
    body.array(Array(name.utf8))
    let type: UInt8
    switch errand {
    case .register: type = 0x11
    case .call(let place):
      type = 0x12
      body.u8(1)
      body.u32(place.number)
    case .meet(let meeting):
      type = 0x12
      body.u8(2)
      body.array(meeting.bytes)
    case .answer(let call):
      type = 0x13
      body.array(call.bytes)
    }
    var frame = ByteWriter()
    frame.u8(type)
    frame.u16(UInt16(body.bytes.count + RelayToken.proofSize))
    frame.array(body.bytes)
    return frame.bytes
  }

  /// Reads the body of a frame, without judging its proof, which is returned with it.
  fileprivate static func read(
    _ type: UInt8, _ reader: inout ByteReader, _ bytes: Span<UInt8>
  ) throws(Violation) -> (RelayRequest, proof: [UInt8]) {
    guard try reader.u8(bytes) == RelayFrame.version else { throw RelayFrame.wrong(.unknown) }
    let nonce = try reader.array(bytes, RelayFrame.challengeSize)
    let length = Int(try reader.u8(bytes))
    guard let name = String(validating: try reader.array(bytes, length), as: UTF8.self) else {
      throw RelayFrame.wrong(.value)
    }
    let errand: RelayErrand
    switch type {
    case 0x11: errand = .register
    case 0x12:
      switch try reader.u8(bytes) {
      case 1:
        guard let place = RelayPlace(number: try reader.u32(bytes)) else { throw RelayFrame.wrong(.value) }
        errand = .call(place)
      case 2: errand = .meet(RelayMeeting(try reader.array(bytes, RelayMeeting.size)))
      default: throw RelayFrame.wrong(.value)
      }
    default: errand = .answer(RelayCall(try reader.array(bytes, RelayCall.size)))
    }
    return (RelayRequest(errand, at: name, nonce: nonce), proof: try reader.array(bytes, RelayToken.proofSize))
  }
}

/// The frames between a device and a relay, up to JOINED (Protocol §16.1).
package enum RelayFrame: Equatable, Sendable {
  case challenge([UInt8])
  case place(RelayPlace)
  /// Where the caller is, as the relay sees it.
  case ring(RelayCall, InternetAddress)
  /// Where this device itself is, as the relay sees it.
  case joined(InternetAddress)
  case ping
  case pong
  /// `wait` is in seconds.
  case refused(RelayRefusal, wait: UInt16 = 0)
  /// The same behind JOINED: the last bytes of a connection that the relay cuts.
  case cut(RelayRefusal, wait: UInt16 = 0)
  case request(RelayRequest, proof: [UInt8])
  case meet(RelayMeeting)

  /// The one version.
  package static let version: UInt8 = 1
  /// The bytes before the body.
  package static let headerSize = 3
  /// The most bytes of a whole frame.
  package static let longest = 512
  /// The number of bytes of a challenge, and of a nonce.
  package static let challengeSize = 16
  /// The number of bytes of a cut.
  package static let cutSize = 10
  private static let magic = Array("PEER".utf8)

  fileprivate static func wrong(_ code: Violation.Code) -> Violation { Violation(code, "a frame of a relay") }

  /// The whole length of the frame that starts with these three bytes.
  package static func length(_ header: Span<UInt8>) throws(Violation) -> Int {
    var reader = ByteReader(0..<header.count, of: "a frame of a relay")
    _ = try reader.u8(header)
    let length = headerSize + Int(try reader.u16(header))
    guard length <= longest else { throw wrong(.limit) }
    return length
  }

  /// Reads one whole frame.
  package init(_ bytes: Span<UInt8>) throws(Violation) {
    guard bytes.count >= Self.headerSize, try Self.length(bytes.extracting(first: Self.headerSize)) == bytes.count
    else {
      throw Self.wrong(.truncated)
    }
    var reader = ByteReader(Self.headerSize..<bytes.count, of: "a frame of a relay")
    switch bytes[0] {
    case 0x01:
      guard try reader.array(bytes, 4) == Self.magic, try reader.u8(bytes) == Self.version else {
        throw Self.wrong(.unknown)
      }
      self = .challenge(try reader.array(bytes, Self.challengeSize))
    case 0x02:
      guard let place = RelayPlace(number: try reader.u32(bytes)) else { throw Self.wrong(.value) }
      self = .place(place)
    case 0x03:
      let call = RelayCall(try reader.array(bytes, RelayCall.size))
      self = .ring(call, try InternetAddress(&reader, bytes, of: "a frame of a relay"))
    case 0x04: self = .joined(try InternetAddress(&reader, bytes, of: "a frame of a relay"))
    case 0x05: self = .ping
    case 0x06: self = .pong
    case 0x07:
      guard try reader.array(bytes, 4) == Self.magic else { throw Self.wrong(.value) }
      self = .cut(try Self.reason(&reader, bytes), wait: try reader.u16(bytes))
    case 0x0F: self = .refused(try Self.reason(&reader, bytes), wait: try reader.u16(bytes))
    case 0x11, 0x12, 0x13:
      let (request, proof) = try RelayRequest.read(bytes[0], &reader, bytes)
      self = .request(request, proof: proof)
    case 0x14: self = .meet(RelayMeeting(try reader.array(bytes, RelayMeeting.size)))
    default: throw Self.wrong(.unknown)
    }
    try reader.finish()
  }

  private static func reason(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> RelayRefusal {
    RelayRefusal(rawValue: try reader.u8(bytes)) ?? .busy
  }

  /// Why a relay has cut a connection on which these bytes came last; nil if it has not.
  package static func cut(atEndOf last: [UInt8]) -> RelayRefusal? {
    guard last.count == cutSize, case .cut(let reason, _)? = try? RelayFrame(last.span) else { return nil }
    return reason
  }

  /// The whole frame.
  package var bytes: [UInt8] {
    if case .request(let request, let proof) = self { return request.signedPart + proof }
    var body = ByteWriter()
    let type: UInt8
    switch self {
    case .challenge(let challenge):
      type = 0x01
      body.array(Self.magic)
      body.u8(Self.version)
      body.array(challenge)
    case .place(let place):
      type = 0x02
      body.u32(place.number)
    case .ring(let call, let caller):
      type = 0x03
      body.array(call.bytes)
      caller.write(to: &body)
    case .joined(let device):
      type = 0x04
      device.write(to: &body)
    case .ping: type = 0x05
    case .pong: type = 0x06
    case .cut(let reason, let wait):
      type = 0x07
      body.array(Self.magic)
      body.u8(reason.rawValue)
      body.u16(wait)
    case .refused(let reason, let wait):
      type = 0x0F
      body.u8(reason.rawValue)
      body.u16(wait)
    case .meet(let meeting):
      type = 0x14
      body.array(meeting.bytes)
    case .request: preconditionFailure("a request is written above")
    }
    var frame = ByteWriter()
    frame.u8(type)
    frame.u16(UInt16(body.bytes.count))
    frame.array(body.bytes)
    return frame.bytes
  }
}

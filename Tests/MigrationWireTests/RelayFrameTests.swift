import Expectations
import Testing

@testable import MigrationWire

@Suite struct RelayFrameTests {
  private static let sixteen = [UInt8](0..<16)

  @Test func `each frame has one encoding`() throws {
    let place = try #require(RelayPlace(number: 572_4))
    let frames: [RelayFrame] = [
      .challenge(Self.sixteen), .place(place),
      .ring(RelayCall(Self.sixteen), InternetAddress(address: [1, 2, 3, 4], port: 5)),
      .ring(RelayCall(Self.sixteen), InternetAddress(address: Self.sixteen, port: 5)),
      .joined(InternetAddress(address: [1, 2, 3, 4], port: 5)), .ping, .pong,
      .refused(.volume, wait: 9), .cut(.idle, wait: 9), .meet(RelayMeeting(Self.sixteen)),
    ]
    let errands: [RelayErrand] = [
      .register, .call(place), .meet(RelayMeeting(Self.sixteen)), .answer(RelayCall(Self.sixteen)),
    ]
    let requests = errands.map {
      RelayFrame.request(
        RelayRequest($0, at: "relay.example.org:47471", nonce: Self.sixteen), proof: Self.sixteen + Self.sixteen)
    }
    for frame in frames + requests {
      let bytes = frame.bytes
      expect(try RelayFrame(bytes.span), is: frame)
      expect(try RelayFrame.length(bytes.span.extracting(first: 3)), is: bytes.count)
      for count in 0..<bytes.count {
        #expect(throws: Violation.self) { try RelayFrame(bytes.span.extracting(first: count)) }
      }
      #expect(throws: Violation.self) { try RelayFrame((bytes + [0]).span) }
    }
    #expect(throws: Violation.self) { try RelayFrame.length([0x01, 0x02, 0x00].span) }
  }

  @Test func `a cut is known by its bytes, which come last`() {
    let cut = RelayFrame.cut(.volume, wait: 9).bytes
    expect(cut.count == RelayFrame.cutSize && RelayFrame.cut(atEndOf: cut) == .volume)
    expect(RelayFrame.cut(atEndOf: cut.dropFirst() + [0]) == nil && RelayFrame.cut(atEndOf: []) == nil)
    expect(RelayFrame.cut(atEndOf: [7, 0, 7] + Array("PEER".utf8) + [200, 0, 0]), is: .busy)
  }

  @Test func `a token is typed as it is shown`() {
    let token = RelayToken([UInt8](0..<16))
    expect(token.text, is: "0001-0203-0405-0607-0809-0a0b-0c0d-0e0f")
    expect(RelayToken(typed: Array(" 00010203 04050607-08090A0B0C0D0E0F\n".utf8)), is: token)
    for wrong in ["", "00", token.text + "0", token.text + "00", "g" + token.text.dropFirst()] {
      expect(RelayToken(typed: Array(wrong.utf8)) == nil, "\(wrong)")
    }
  }

  @Test(
    arguments: [
      ("4829-1367", "48291367", nil), ("5724 4829 1367", "48291367", 5724), ("572-448291367", "48291367", 5724),
    ] as [(String, String, UInt32?)])
  func `the last eight digits are the code`(typed: String, code: String, place: UInt32?) throws {
    let read = try TypedCode(typed: Array(typed.utf8).span)
    expect(read.code.digits == Array(code.utf8) && read.place?.number == place)
    expect(try read.place.map { try TypedCode(typed: Array($0.shown(with: read.code).utf8).span) } ?? read, is: read)
  }

  @Test(
    arguments: [
      ("5725-4829-1367", .mistyped), ("5724-4829-1366", .mistyped), ("57-4829-1367", .malformed),
      ("0044-4829-1367", .mistyped), ("572x-44829-1367", .malformed), ("57244829-136", .mistyped), ("", .malformed),
      ("1234567890-4829-1367", .malformed),
    ] as [(String, PairingCode.Mistake)])
  func `mistakes are found before there is a connection`(typed: String, mistake: PairingCode.Mistake) {
    #expect(throws: mistake) { try TypedCode(typed: Array(typed.utf8).span) }
  }
}

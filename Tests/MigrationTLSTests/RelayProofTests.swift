import Expectations
import MigrationWire
import Testing

@testable import MigrationTLS

@Suite struct RelayProofTests {
  private static let challenge = [UInt8](0..<16)

  @Test func `HMAC and HKDF give the published values`() {
    let (key, message) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
    expect(
      unsafe hmac(key: key.span.bytes, message: message.span.bytes).copied().hexadecimal,
      is: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    // RFC 5869, test case 3, with the first block of its output.
    let secret = [UInt8](repeating: 0x0b, count: 22)
    expect(
      unsafe hkdf(secret.span.bytes, info: []).copied().hexadecimal,
      is: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
  }

  @Test func `the proof and the meeting are those of the protocol`() {
    let token = RelayToken([UInt8](0..<16))
    expect(
      token.proof(of: [1], challenge: Self.challenge).hexadecimal,
      is: "d1b1e5d26359a21c6a2996d0d47b4c64b7a0e6dae91c902aa1969a6e69894878")
    expect(
      RelayMeeting(ofSecret: [UInt8](repeating: 7, count: RelayMeeting.secretSize)).bytes.hexadecimal,
      is: "17bce366c1264df0407b1a77b20a07e1")
  }

  @Test func `a token's proof fits one challenge`() {
    let token = RelayToken([UInt8](0..<16))
    let proof = token.proof(of: [1], challenge: Self.challenge)
    expect(token.accepts(proof, of: [1], challenge: Self.challenge))
    expect(!token.accepts(proof, of: [2], challenge: Self.challenge))
    expect(!token.accepts(proof, of: [1], challenge: Self.challenge.reversed()))
    expect(!token.accepts(Array(proof.dropLast()), of: [1], challenge: Self.challenge))
    for place in proof.indices {
      var wrong = proof
      wrong[place] ^= 0x10
      expect(!token.accepts(wrong, of: [1], challenge: Self.challenge), "byte \(place)")
    }
  }
}

import Expectations
import Foundation
import MigrationWire
import Testing

@testable import MigrationTLS

@Suite struct PairingTests {
  private let known = vectors(in: "peer-pair-v1")[0]

  private func names(binding: [UInt8]) throws -> (idA: [UInt8], idB: [UInt8], aad: [UInt8]) {
    let client = try #require(KeyFingerprint(bytes: known["client"]))
    let server = try #require(KeyFingerprint(bytes: known["server"]))
    return (
      PairingBinding.identityA(client: client, channelBinding: binding),
      PairingBinding.identityB(server: server, channelBinding: binding),
      PairingBinding.associatedData(clientHello: known["HELLO_C"], serverHello: known["HELLO_S"])
    )
  }

  @Test func `a typed code has the digits of the vector`() throws {
    expect(try PairingCode(typed: Array("4829-1367".utf8)).digits, is: known["code"])
  }

  @Test func `both ends write the HELLO frames of the vector`() {
    expect(
      PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair).bytes,
      is: known["HELLO_C"])
    expect(PairingFrame.serverHello(version: PairingFrame.version, mode: .pair).bytes, is: known["HELLO_S"])
  }

  @Test func `the printed pairing has every value of the vector`() throws {
    let file = URL(filePath: "../Interop/vectors.md", relativeTo: URL(filePath: #filePath))
    let document = try String(contentsOf: file, encoding: .utf8)
    let section = try #require(document.components(separatedBy: "<!-- pairing: begin -->").dropFirst().first)
    let printed = try #require(section.components(separatedBy: "<!-- pairing: end -->").first)
    let digits = printed.filter { !$0.isWhitespace }
    let names = [
      "code", "s", "w", "EKM", "client", "server", "HELLO_C", "HELLO_S", "idA", "idB", "AAD", "x", "y", "pA", "pB", "K",
      "SHA-256(TT)", "Ke", "Ka", "KcA", "KcB", "CONF_A", "CONF_B",
    ]
    expect(digits, is: names.map { $0 + hexadecimal(known[$0]) }.joined())
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
  }

  @Test func `the secret of a code matches the vector`() throws {
    let stretched = try PairingSecret.stretch(known["code"])
    expect(stretched.copied(), is: known["s"])
    expect(try PairingSecret.scalar(fromDigits: known["code"]).bytes.copied(), is: known["w"])
  }

  @Test func `identities and associated data match the vector`() throws {
    let names = try names(binding: known["EKM"])
    expect(names.idA, is: known["idA"])
    expect(names.idB, is: known["idB"])
    expect(names.aad, is: known["AAD"])
  }

  @Test func `a whole pairing matches the vector on both sides`() throws {
    let names = try names(binding: known["EKM"])
    for role in [Spake2.Role.a, .b] {
      let run = try Spake2(
        role: role, secret: PairingSecret(copying: known["w"]), idA: names.idA, idB: names.idB, aad: names.aad,
        scalar: known[role == .a ? "x" : "y"])
      expect(run.share, is: known[role == .a ? "pA" : "pB"])
      let peerShare = known[role == .a ? "pB" : "pA"]
      let shared = try run.sharedPoint(peerShare: peerShare)
      expect(shared.copied(), is: known["K"])

      let secret = try P256.Scalar(known["w"].span.bytes).encoded()
      let transcript = Spake2.Names(idA: names.idA, idB: names.idB, aad: names.aad)
        .transcript(shareA: known["pA"], shareB: known["pB"], sharedPoint: shared, secret: secret)
      let digest = Spake2.Keys.digest(of: transcript)
      expect(digest.copied(), is: known["SHA-256(TT)"])
      let confirmationKeys = Spake2.Keys.confirmationKeys(digest: digest, aad: names.aad)
      expect(confirmationKeys.copied(), is: known["KcA"] + known["KcB"])

      let keys = try run.finish(peerShare: peerShare)
      expect(keys.encryptionKey.copied(), is: known["Ke"])
      expect(PairingFrame.confirmA(keys.confirmA).bytes, is: known["CONF_A"])
      expect(PairingFrame.confirmB(keys.confirmB).bytes, is: known["CONF_B"])
    }
  }

  @Test func `the last byte of the channel binding changes the confirmation`() throws {
    var binding = known["EKM"]
    binding[31] = 0
    let idA = try names(binding: binding).idA
    let names = try names(binding: known["EKM"])
    let run = try Spake2(
      role: .a, secret: PairingSecret(copying: known["w"]), idA: idA, idB: names.idB, aad: names.aad, scalar: known["x"]
    )
    let keys = try run.finish(peerShare: known["pB"])
    expect(PairingFrame.confirmA(keys.confirmA).bytes, is: known["CONF_A with an EKM in idA that ends in 00"])
  }

  @Test func `equal bytes are equal and others are not`() {
    expect(constantTimeEqual([], []))
    expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
    expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
    expect(!constantTimeEqual([0, 2, 3], [1, 2, 3]))
    expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    expect(!constantTimeEqual([], [0]))
  }
}

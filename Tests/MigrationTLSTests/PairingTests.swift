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

  @Test func `the secret of a code matches the vector`() throws {
    let stretched = try PairingSecret.stretch(known["code"])
    #expect(stretched.copied() == known["scrypt48"])
    #expect(try PairingSecret.scalar(fromDigits: known["code"]) == known["w"])
  }

  @Test func `identities and associated data match the vector`() throws {
    let names = try names(binding: known["binding"])
    #expect(names.idA == known["idA"])
    #expect(names.idB == known["idB"])
    #expect(names.aad == known["AAD"])
  }

  @Test func `a whole pairing matches the vector on both sides`() throws {
    let names = try names(binding: known["binding"])
    for role in [Spake2.Role.a, .b] {
      let run = try Spake2(
        role: role, secret: known["w"], idA: names.idA, idB: names.idB, aad: names.aad,
        scalar: known[role == .a ? "x" : "y"])
      #expect(run.share == known[role == .a ? "pA" : "pB"])
      let peerShare = known[role == .a ? "pB" : "pA"]
      let shared = try run.sharedPoint(peerShare: peerShare)
      #expect(shared.copied() == known["K"])

      let secret = try P256.Scalar(known["w"].span.bytes).encoded()
      let transcript = Spake2Names(idA: names.idA, idB: names.idB, aad: names.aad)
        .transcript(shareA: known["pA"], shareB: known["pB"], sharedPoint: shared, secret: secret)
      let digest = Spake2Keys.digest(of: transcript)
      #expect(digest.copied() == known["H"])
      let confirmationKeys = Spake2Keys.confirmationKeys(digest: digest, aad: names.aad)
      #expect(confirmationKeys.copied() == known["KcA"] + known["KcB"])

      let keys = try run.finish(peerShare: peerShare)
      #expect(keys.encryptionKey.copied() == known["Ke"])
      #expect(keys.confirmA == known["cA"])
      #expect(keys.confirmB == known["cB"])
    }
  }

  @Test func `the last byte of the channel binding changes the confirmation`() throws {
    var binding = known["binding"]
    binding[31] = 0
    let idA = try names(binding: binding).idA
    let names = try names(binding: known["binding"])
    let run = try Spake2(
      role: .a, secret: known["w"], idA: idA, idB: names.idB, aad: names.aad, scalar: known["x"])
    let keys = try run.finish(peerShare: known["pB"])
    #expect(keys.confirmA == known["cA with a binding that ends in 00"])
  }

  @Test func `equal bytes are equal and others are not`() {
    #expect(constantTimeEqual([], []))
    #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
    #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
    #expect(!constantTimeEqual([0, 2, 3], [1, 2, 3]))
    #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    #expect(!constantTimeEqual([], [0]))
  }

  @Test func `a cleansed array is empty`() {
    var bytes: [UInt8] = [1, 2, 3]
    cleanse(&bytes)
    #expect(bytes.isEmpty)
  }
}

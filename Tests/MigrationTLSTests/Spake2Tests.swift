import Expectations
import Testing

@testable import MigrationTLS

@Suite struct Spake2Tests {
  static let published = vectors(in: "spake2-rfc9382")

  @Test func `there are four published vectors`() {
    expect(Self.published.count, is: 4)
  }

  @Test(arguments: published, [Spake2.Role.a, .b])
  func `both roles match the published vectors`(vector: Vector, role: Spake2.Role) throws {
    let scalar = vector[role == .a ? "x" : "y"]
    let run = try Spake2(
      role: role, secret: PairingSecret(copying: vector["w"]), idA: vector["A"], idB: vector["B"], aad: [],
      scalar: scalar)
    let peerShare = vector[role == .a ? "pB" : "pA"]
    expect(run.share, is: vector[role == .a ? "pA" : "pB"])
    let shared = try run.sharedPoint(peerShare: peerShare)
    expect(shared.copied(), is: vector["K"])

    let names = Spake2.Names(idA: vector["A"], idB: vector["B"], aad: [])
    let secret = try P256.Scalar(vector["w"].span.bytes).encoded()
    let transcript = names.transcript(
      shareA: vector["pA"], shareB: vector["pB"], sharedPoint: shared, secret: secret)
    expect(transcript.copied(), is: vector["TT"])
    let digest = Spake2.Keys.digest(of: transcript)
    expect(digest.copied(), is: vector["Hash(TT)"])
    expect(digest.part(16..<32).copied(), is: vector["Ka"])
    expect(Spake2.Keys.confirmationKeys(digest: digest, aad: []).copied(), is: vector["KcA"] + vector["KcB"])

    let keys = try run.finish(peerShare: peerShare)
    expect(keys.encryptionKey.copied(), is: vector["Ke"])
    expect(keys.confirmA, is: vector["A conf"])
    expect(keys.confirmB, is: vector["B conf"])
  }

  @Test func `two sides with the same code agree`() throws {
    let secret = PairingSecret(copying: Self.published[0]["w"])
    let a = try Spake2(role: .a, secret: secret, idA: [1], idB: [2], aad: [3])
    let b = try Spake2(role: .b, secret: secret, idA: [1], idB: [2], aad: [3])
    let (shareA, shareB) = (a.share, b.share)
    let keysA = try a.finish(peerShare: shareB)
    let keysB = try b.finish(peerShare: shareA)
    expect(keysA.confirmA, is: keysB.confirmA)
    expect(keysA.confirmB, is: keysB.confirmB)
    expect(keysA.encryptionKey.copied(), is: keysB.encryptionKey.copied())
    expect(keysA.confirmA != keysA.confirmB)
  }

  @Test(arguments: [0, 1, 2, 3])
  func `one difference makes both confirmations differ`(difference: Int) throws {
    var secret = Self.published[0]["w"]
    var names: [[UInt8]] = [[1], [2], [3]]
    let a = try Spake2(role: .a, secret: PairingSecret(copying: secret), idA: names[0], idB: names[1], aad: names[2])
    if difference == 3 { secret[31] ^= 1 } else { names[difference] = [9] }
    let b = try Spake2(role: .b, secret: PairingSecret(copying: secret), idA: names[0], idB: names[1], aad: names[2])
    let (shareA, shareB) = (a.share, b.share)
    let keysA = try a.finish(peerShare: shareB)
    let keysB = try b.finish(peerShare: shareA)
    expect(keysA.confirmA != keysB.confirmA)
    expect(keysA.confirmB != keysB.confirmB)
  }

  @Test func `every run has another share`() throws {
    let secret = PairingSecret(copying: Self.published[0]["w"])
    let first = try Spake2(role: .a, secret: secret, idA: [], idB: [], aad: [])
    let second = try Spake2(role: .a, secret: secret, idA: [], idB: [], aad: [])
    expect(first.share != second.share)
  }
}

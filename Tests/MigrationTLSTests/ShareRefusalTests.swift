import Expectations
import Testing

@testable import MigrationTLS

@Suite struct ShareRefusalTests {
  private let vector = vectors(in: "spake2-rfc9382")[0]

  private func refusal(_ share: [UInt8], role: Spake2.Role = .a) throws -> TLSError? {
    let scalar = vector[role == .a ? "x" : "y"]
    let run = try Spake2(
      role: role, secret: PairingSecret(copying: vector["w"]), idA: [], idB: [], aad: [], scalar: scalar)
    do {
      _ = try run.finish(peerShare: share)
      return nil
    } catch {
      return error
    }
  }

  private func expectRefused(_ share: [UInt8], _ detail: String? = nil, role: Spake2.Role = .a) throws {
    let error = try refusal(share, role: role)
    expect(error?.code, is: .invalidShare, "\(share.count) bytes, \(share.prefix(2))")
    if let detail { expect(error?.detail, is: detail) }
  }

  @Test func `an honest share is taken`() throws {
    expect(try refusal(vector["pB"]) == nil)
    expect(try refusal(vector["pA"], role: .b) == nil)
  }

  @Test func `every other length is refused`() throws {
    let share = vector["pB"]
    for count in 0..<share.count { try expectRefused(Array(share.prefix(count)), "not an uncompressed point") }
    try expectRefused(share + [0], "not an uncompressed point")
    try expectRefused(share + share, "not an uncompressed point")
  }

  @Test func `every other first byte is refused`() throws {
    var share = vector["pB"]
    for first in UInt8.min...UInt8.max where first != 4 {
      share[0] = first
      try expectRefused(share, "not an uncompressed point")
    }
  }

  @Test func `a compressed point is refused`() throws {
    let share = vector["pB"]
    try expectRefused([2 + share[64] % 2] + share[1..<33], "not an uncompressed point")
  }

  @Test func `a hybrid point is refused`() throws {
    var share = vector["pB"]
    share[0] = 6 + share[64] % 2
    try expectRefused(share, "not an uncompressed point")
  }

  @Test func `infinity is refused in every encoding`() throws {
    try expectRefused([0], "not an uncompressed point")
    try expectRefused([UInt8](repeating: 0, count: 65), "not an uncompressed point")
    try expectRefused([4] + [UInt8](repeating: 0, count: 64))
  }

  @Test(arguments: [1, 20, 32, 33, 64])
  func `a point beside the curve is refused`(position: Int) throws {
    var share = vector["pB"]
    share[position] ^= 1
    try expectRefused(share)
  }

  @Test func `a coordinate that is no element of the field is refused`() throws {
    try expectRefused([4] + [UInt8](repeating: 0xff, count: 64))
  }

  @Test func `this side's own share is refused`() throws {
    try expectRefused(vector["pA"], "the other side sent back this side's own share")
    try expectRefused(vector["pB"], "the other side sent back this side's own share", role: .b)
  }

  @Test(arguments: [Spake2.Role.a, .b])
  func `a share that is only the blinding is refused`(role: Spake2.Role) throws {
    let blind =
      role == .a
      ? "03d8bbd6c639c62937b04d997f38c3770719c629d7014d49a24b4f98baa1292b49"
      : "02886e2f97ace46e55ba9dd7242579f2993b64e16ef3dcab95afd497333d8fa12f"
    let curve = try P256()
    let secret = try P256.Scalar(vector["w"].span.bytes)
    let crafted = try curve.encode(curve.multiply(curve.decode(bytes(hex: blind)), by: secret))
    try expectRefused(crafted, "the share without its blinding is infinity", role: role)
  }

  @Test func `a refusal leaves no error behind for the next call`() throws {
    var beside = vector["pB"]
    beside[64] ^= 1
    try expectRefused(beside)
    expect(try refusal(vector["pB"]) == nil)
    expect(openSSLErrorIsPending, is: false)
  }
}

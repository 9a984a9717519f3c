import Expectations
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationCredentials

struct CredentialCodingTests {
  static let attributes: [CredentialItem.Attribute: CredentialItem.Value] = [
    .account: .text("ann"), .service: .data([1, 2]), .label: .text(""), .generic: .data([]), .accessible: .text("ak"),
  ]
  static let key: [CredentialItem.Attribute: CredentialItem.Value] = [
    .applicationLabel: .text("first"), .keySize: .number(-256), .comment: .text("größer"),
  ]
  static let time = Timestamp(seconds: -3, nanoseconds: 999_000_000)
  static let item = CredentialItem(.genericPassword, attributes, data: [0, 255], created: time, modified: time)
  static let query = CredentialQuery(.key, key, group: "org.example.a", created: time, modified: time)
  static let requests: [CredentialRequest] = [
    .add(.genericPassword, attributes, data: [7], group: nil, returning: []),
    .add(.key, [:], data: [], group: "org.example.a", returning: .all), .copy(query, limit: 1, returning: .data),
    .copy(CredentialQuery(.genericPassword), limit: .max, returning: .attributes),
    .update(query, CredentialChanges(key, data: [], group: "")), .update(query, CredentialChanges(data: [1])),
    .delete(query), .delete(CredentialQuery(.key)), .account(user: "u"),
  ]
  static let replies: [CredentialReply] = [
    .item(item, group: "org.example.a.clip"), .ended(.success), .ended(.missingEntitlement), .account(nil),
    .account(.revoked), .account(.authorized),
  ]

  @Test func `a decoded value equals the encoded value`() throws {
    expect(try CredentialItem(Self.item.encoded), is: Self.item)
    for request in Self.requests { expect(try CredentialRequest(request.encoded), is: request) }
    for reply in Self.replies { expect(try CredentialReply(reply.encoded), is: reply) }
  }

  /// If changed bytes can be decoded, encoding the value returns the same bytes: each value has one
  /// encoding.
  @Test func `cut, extended or changed bytes are refused, or encode another value`() {
    for bytes in Self.requests.map(\.encoded) {
      for changed in Self.changes(of: bytes) {
        guard let request = try? CredentialRequest(changed) else { continue }
        expect(request.encoded, is: changed)
      }
    }
    for bytes in Self.replies.map(\.encoded) {
      for changed in Self.changes(of: bytes) {
        guard let reply = try? CredentialReply(changed) else { continue }
        expect(reply.encoded, is: changed)
      }
    }
    for changed in Self.changes(of: Self.item.encoded) {
      guard let item = try? CredentialItem(changed) else { continue }
      expect(item.encoded, is: changed)
    }
  }

  private static func changes(of bytes: [UInt8]) -> [[UInt8]] {
    var changes = (0..<bytes.count).map { Array(bytes.prefix($0)) } + [bytes + [0], bytes + [200, 0]]
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        changes.append(changed)
      }
    }
    return changes
  }

  @Test func `a field that is left out if it is empty is refused if it is there, and the other way round`() {
    let deletion = CredentialRequest.delete(CredentialQuery(.key)).encoded
    #expect(throws: Violation.self) { try CredentialRequest(deletion + [2, 0]) }
    let update = CredentialRequest.update(CredentialQuery(.key), CredentialChanges(data: [1])).encoded
    #expect(throws: Violation.self) { try CredentialRequest(update + [9, 0]) }
    for missing in 2...3 as ClosedRange<UInt8> {
      var fields = Fields()
      fields.append(1, [CredentialItem.Kind.key.rawValue])
      fields.append(5 - missing, [])
      for tag in 4...5 as ClosedRange<UInt8> { fields.append(tag) { $0.timestamp(Self.time) } }
      var writer = ByteWriter()
      fields.write(to: &writer)
      #expect(throws: Violation.self) { try CredentialItem(writer.bytes) }
    }
  }

  @Test func `the decoder refuses an unknown field`() {
    for bytes in Self.requests.map(\.encoded) {
      #expect(throws: Violation.self) { try CredentialRequest(bytes + [200, 1, 0]) }
    }
    for bytes in Self.replies.map(\.encoded) {
      #expect(throws: Violation.self) { try CredentialReply(bytes + [200, 1, 0]) }
    }
    #expect(throws: Violation.self) { try CredentialItem(Self.item.encoded + [200, 1, 0]) }
  }

  @Test func `the decoder refuses an attribute of the other kind`() {
    let mixed = CredentialRequest.delete(CredentialQuery(.key, [.account: .text("ann")]))
    #expect(throws: Violation.self) { try CredentialRequest(mixed.encoded) }
  }

  @Test func `the largest request fits into one packet`() throws {
    let text = String(repeating: "x", count: CredentialLimits.attributes - 4)
    let attributes: [CredentialItem.Attribute: CredentialItem.Value] = [.label: .text(text)]
    let request = CredentialRequest.update(
      CredentialQuery(
        .key, attributes, group: String(repeating: "g", count: Limits.identifier), created: Self.time,
        modified: Self.time),
      CredentialChanges(
        attributes, data: [UInt8](repeating: 1, count: CredentialLimits.data),
        group: String(repeating: "g", count: Limits.identifier)))
    expect(attributes.encoded.count, is: CredentialLimits.attributes)
    expect(request.encoded.count <= PacketSocket.longestPacket)
    expect(try CredentialRequest(request.encoded), is: request)
  }

  @Test(arguments: [
    CredentialRequest.add(
      .key, [:], data: [UInt8](repeating: 0, count: CredentialLimits.data + 1), group: nil, returning: []),
    .delete(CredentialQuery(.key, [.label: .text(String(repeating: "x", count: CredentialLimits.attributes))])),
    .account(user: String(repeating: "u", count: CredentialLimits.user + 1)),
  ])
  func `the decoder refuses a request beyond a limit as too large`(_ request: CredentialRequest) {
    let error = #expect(throws: Violation.self) { try CredentialRequest(request.encoded) }
    expect(error?.code, is: .limit)
  }

  @Test(arguments: [
    CredentialRequest.account(user: ""), .update(CredentialQuery(.key), CredentialChanges()),
    .copy(CredentialQuery(.key), limit: 0, returning: []),
    .copy(CredentialQuery(.key), limit: 1, returning: CredentialAspects(rawValue: 4)),
  ])
  func `the decoder refuses a request without a meaning`(_ request: CredentialRequest) {
    #expect(throws: Violation.self) { try CredentialRequest(request.encoded) }
  }
}

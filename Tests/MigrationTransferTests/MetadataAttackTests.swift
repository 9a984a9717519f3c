import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Extended attributes and access control lists from a paired device that means ill.
@Suite struct MetadataAttackTests {
  private let attack: Attack

  init() throws { attack = try Attack() }

  /// One attribute as it is written; a length that is not the value's own makes it malformed.
  private static func attribute(_ name: String, _ value: [UInt8] = [1], length: Int? = nil) -> [UInt8] {
    var writer = ByteWriter()
    writer.u8(UInt8(name.utf8.count))
    writer.array(Array(name.utf8))
    writer.varint(UInt64(length ?? value.count))
    writer.array(value)
    return writer.bytes
  }

  private static let hostileAttributes: [[UInt8]] = [
    attribute("security.capability", [1, 0, 0, 2]), attribute("trusted.overlay.opaque"),
    attribute("system.posix_acl_access"), attribute("system.data"), attribute("user."), attribute("user"),
    attribute("USER.x"), attribute(""), attribute("user.x\0security.y"), attribute("user.x", [1], length: 2),
    attribute("user.x", [1], length: 1 << 40), attribute("user.b") + attribute("user.a"),
    attribute("user.a") + attribute("user.a"), attribute("user.big", [UInt8](repeating: 1, count: 128 << 10)), [],
  ]

  @Test func `attributes of other name spaces, out of order, and beyond their bound are refused`() throws {
    for list in Self.hostileAttributes {
      let record = StrangeRecord(Array("root/x".utf8), .file, size: 0, attributes: list)
      let failure = try attack.refused { frame, _ in frame.item(raw: record.bytes) }
      #expect(failure?.kind == .failed)
      #expect(failure?.message.hasPrefix("the other device broke the protocol: an item's") == true)
    }
    try attack.expectHarmless()
  }

  private static func entry(_ tag: UInt8, _ permissions: UInt8, _ id: UInt8 = 0) -> [UInt8] {
    [tag, permissions, 0, 0, 0, id]
  }

  private static let hostileLists: [[UInt8]] = [
    entry(0, 7), entry(7, 7), entry(1, 8), entry(1, 0xFF), entry(1, 7, 1), entry(3, 7, 1), entry(5, 7, 1),
    entry(6, 7, 1), Array(entry(1, 7).dropLast()), entry(1, 7) + [2], [],
    Array((0...Limits.aclEntries).map { _ in entry(2, 7, 1) }.joined()),
  ]

  @Test func `access control lists that are none are refused`() throws {
    for list in Self.hostileLists {
      let record = StrangeRecord(Array("root/x".utf8), .file, size: 0, accessList: list)
      let failure = try attack.refused { frame, _ in frame.item(raw: record.bytes) }
      #expect(failure?.kind == .failed)
      #expect(failure?.message.hasPrefix("the other device broke the protocol: an item's") == true)
    }
    try attack.expectHarmless()
  }

  @Test func `a list that makes no sense, and more attributes than a file can have, are left out and counted`() throws {
    let senseless: [[AccessEntry]] = [
      [AccessEntry(subject: .user, permissions: 7, id: 0)],
      (0..<1_024).map { _ in AccessEntry(subject: .user, permissions: 7, id: 1) },
      [AccessEntry(subject: .other, permissions: 7, id: 0), AccessEntry(subject: .owner, permissions: 0, id: 0)],
    ]
    var records: [ItemRecord] = []
    for (number, list) in senseless.enumerated() {
      var file = try record("root/list\(number)", .file(size: 0))
      file.mode = 0o600
      file.accessList = list
      records.append(file)
    }
    var directory = try record("root/d", .directory)
    directory.mode = 0o700
    directory.defaultAccessList = senseless[0]
    var many = try record("root/many", .file(size: 0))
    many.attributes = (0..<4_000).map {
      ExtendedAttribute(name: Array("user.\(10_000 + $0)".utf8), value: [UInt8](repeating: 1, count: 16))
    }
    records += [directory, many]
    let sent = records
    let done = try attack.taken { frame, _ in
      for item in sent { frame.item(item) }
      return sent
    }
    #expect(done?.losses.first { $0.kind == .accessList }?.count == 4)
    #expect(done?.losses.first { $0.kind == .attribute }?.count == 1)
    // A refused record has widened no bound.
    var status = stat()
    for name in ["list0", "list1", "list2"] {
      #expect(lstat(attack.surroundings.destination.path + "/root/" + name, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o600, "\(name)")
    }
    try attack.expectHarmless()
  }
}

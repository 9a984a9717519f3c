import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Users and groups by their names.
@Suite struct OwnerNameTests {
  private func record(_ names: [OwnerName]) throws -> ItemRecord {
    var record = ItemRecord(path: try ArchivePath(ascii("p")), generation: 1, body: .directory)
    record.owner = ItemRecord.Owner(user: 4_000_001, group: 4_000_002)
    record.accessList = [
      AccessEntry(subject: .owner, permissions: 7, id: 0), AccessEntry(subject: .user, permissions: 1, id: 4_000_003),
      AccessEntry(subject: .user, permissions: 4, id: 4_000_004),
      AccessEntry(subject: .groupOwner, permissions: 5, id: 0),
      AccessEntry(subject: .mask, permissions: 7, id: 0), AccessEntry(subject: .other, permissions: 0, id: 0),
    ]
    record.names = names
    return record
  }

  private let stranger = "no such user"
  private let root: [OwnerName] = [
    OwnerName(.user, 4_000_001, ascii("root")), OwnerName(.group, 4_000_002, ascii("root")),
  ]

  @Test func `the names of this system are found, and lead back`() {
    expect(SystemAccounts.name(ofUser: 0) == ascii("root") && SystemAccounts.name(ofGroup: 0) == ascii("root"))
    expect(SystemAccounts.user(named: ascii("root")) == 0 && SystemAccounts.group(named: ascii("root")) == 0)
    expect(SystemAccounts.user(named: ascii(stranger)) == nil && SystemAccounts.group(named: ascii(stranger)) == nil)
    expect(SystemAccounts.name(ofUser: 4_000_000_001) == nil && SystemAccounts.name(ofGroup: 4_000_000_001) == nil)
  }

  @Test func `an item gets the users and groups that have its names here`() throws {
    let (here, record) = (LocalOwners(OwnerMap()), try record(root))
    expect(here.owner(of: record) == ItemRecord.Owner(user: 0, group: 0) && here.knowsAll(of: record))
  }

  @Test func `a number stays where it has no name, or one that is unknown here, which counts`() throws {
    let here = LocalOwners(OwnerMap())
    let (plain, strange) = (try record([]), try record([OwnerName(.user, 4_000_003, ascii(stranger))]))
    expect(here.owner(of: plain) == plain.owner && here.knowsAll(of: plain))
    expect(here.list(strange.accessList, of: strange) == strange.accessList && !here.knowsAll(of: strange))
  }

  @Test func `number 0 is the same user everywhere`() throws {
    var record = try record([OwnerName(.user, 0, ascii(stranger)), OwnerName(.group, 0, ascii(stranger))])
    record.owner = ItemRecord.Owner(user: 0, group: 0)
    let here = LocalOwners(OwnerMap())
    expect(here.owner(of: record) == record.owner && here.knowsAll(of: record))
  }

  @Test func `the user's rules come first, those for a name before those for its number`() throws {
    var map = OwnerMap()
    expect(map.add(.user, .number(4_000_001), 5) && map.add(.user, .name(ascii("root")), 6))
    expect(map.add(.user, .number(4_000_003), 9) && map.add(.user, .number(4_000_004), 8))
    expect(!map.add(.user, .number(4_000_004), 8) && map.add(.group, .number(0), 3))
    let (here, record) = (LocalOwners(map), try record(root))
    expect(here.owner(of: record), is: ItemRecord.Owner(user: 6, group: 0))
    expect(here.number(.group, 0, in: []).number, is: 3)
    // In the kernel's order.
    expect(here.list(record.accessList, of: record).map(\.id), is: [0, 8, 9, 0, 0, 0])
    expect(here.list(record.accessList, of: record)[1].permissions, is: 4)
  }

  @Test func `of two entries that become one the first counts`() throws {
    var map = OwnerMap()
    expect(map.add(.user, .number(4_000_003), 8) && map.add(.user, .number(4_000_004), 8))
    let (here, record) = (LocalOwners(map), try record([]))
    let list = here.list(record.accessList, of: record)
    expect(list.count == record.accessList.count - 1 && list[1] == AccessEntry(subject: .user, permissions: 1, id: 8))
  }

  @Test func `a sender names the users and groups that it knows`() throws {
    var record = try record([])
    record.owner = ItemRecord.Owner(user: 0, group: 4_000_002)
    expect(OwnerNames().names(of: record), is: [])
    guard
      let (user, name) = (1..<100 as Range<UInt32>).lazy.compactMap({ id in
        SystemAccounts.name(ofUser: id).map { (id, $0) }
      }).first
    else { return }
    record.owner = ItemRecord.Owner(user: user, group: 0)
    expect(OwnerNames().names(of: record), is: [OwnerName(.user, user, name)])
  }
}

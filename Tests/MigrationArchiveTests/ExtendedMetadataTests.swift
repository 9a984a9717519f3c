import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct ExtendedMetadataTests {
  private static let list = [
    AccessEntry(subject: .owner, permissions: 7, id: 0), AccessEntry(subject: .user, permissions: 7, id: 4_321),
    AccessEntry(subject: .groupOwner, permissions: 4, id: 0), AccessEntry(subject: .group, permissions: 1, id: 1_234),
    AccessEntry(subject: .mask, permissions: 5, id: 0), AccessEntry(subject: .other, permissions: 0, id: 0),
  ]

  private func attribute(_ name: String, _ value: [UInt8]) -> ExtendedAttribute {
    ExtendedAttribute(name: Array("user.\(name)".utf8), value: value)
  }

  private func descriptor(_ scratch: Scratch, _ name: String) throws -> Descriptor {
    try Descriptor.open(scratch.at(name))
  }

  private func metadata(_ scratch: Scratch, _ name: String) throws -> ExtendedMetadata {
    try ExtendedMetadata(of: descriptor(scratch, name))
  }

  private func give(_ scratch: Scratch, _ name: String, _ metadata: ExtendedMetadata) throws {
    let item = try descriptor(scratch, name)
    for attribute in metadata.attributes { try item.setAttribute(attribute.name, attribute.value) }
    if !metadata.accessList.isEmpty { try item.setAccessList(metadata.accessList, .access) }
    if !metadata.defaultAccessList.isEmpty { try item.setAccessList(metadata.defaultAccessList, .default) }
  }

  private func everything(_ number: UInt8) -> ExtendedMetadata {
    var metadata = ExtendedMetadata()
    metadata.attributes = [
      attribute("a \u{e4}", []), attribute("b", [0, number, 255]), attribute("c", pattern(1_500)),
    ]
    metadata.accessList = Self.list
    return metadata
  }

  private func send(
    _ scratch: Scratch, preserving preserved: Preserved = Preserved(), withOwners: Bool = false
  ) throws -> [Done.Loss] {
    scratch.letSettle()
    let source = try FolderSource(paths: [scratch.at("source")], withOwners: withOwners)
    let summary = try source.prepare(until: StopSignal())
    let outlet = Outlet()
    let result = try source.export(to: outlet)
    expect(outlet.unsent.isEmpty)
    let offer = Offer(
      contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes, allocated: 0,
      flags: [])
    let arrival = try Arrival(scratch, offer, preserving: preserved)
    try arrival.write(outlet.frames)
    return try arrival.finish(result.finish)
  }

  @Test(arguments: [false, true])
  func `attributes and access lists of files, directories and roots arrive`(onDisk: Bool) throws {
    let scratch = try Scratch.withFolders(onDisk: onDisk)
    var expected = ["source": everything(1)]
    expected["source"]?.defaultAccessList = Self.list
    for (number, (name, size)) in [("small", 10), ("empty", 0), ("large", 600_000)].enumerated() {
      scratch.write("source/\(name)", pattern(size))
      expected["source/\(name)"] = everything(UInt8(number))
    }
    scratch.write("source/readonly", [1])
    expected["source/readonly"] = everything(9)
    scratch.makeDirectory("source/directory")
    expected["source/directory"] = everything(8)
    expected["source/directory"]?.defaultAccessList =
      Array(Self.list.dropLast()) + [
        AccessEntry(subject: .other, permissions: 1, id: 0)
      ]
    scratch.write("source/plain", [1])
    for (name, metadata) in expected { try give(scratch, name, metadata) }
    scratch.setMode("source/readonly", 0o440)
    scratch.setMode("source/directory", 0o555)
    scratch.setTime("source", 77)
    for name in expected.keys { expected[name] = try metadata(scratch, name) }
    // Entries by number need owners on both sides.
    expect(try send(scratch, preserving: Preserved(owners: true), withOwners: true), is: [])
    for (name, metadata) in expected {
      expect(try self.metadata(scratch, "destination/\(name)"), is: metadata, "\(name)")
    }
    expect(try metadata(scratch, "destination/source/plain"), is: ExtendedMetadata())
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
    expect(scratch.time("destination/source"), is: [77, 0])
  }

  @Test func `metadata that the destination cannot hold is counted once an item, and the rest arrives`() throws {
    let scratch = try Scratch.withFolders()
    var file = try record("root/file", .file(size: 3), mode: 0o600, modified: ItemTime(seconds: 5, nanoseconds: 0))
    // No kernel accepts this much in one attribute, or a list without an owner.
    file.attributes = [
      attribute("first", [1]), attribute("large", [UInt8](repeating: 7, count: 65_537)), attribute("later", [2]),
    ]
    file.accessList = Array(Self.list.dropFirst())
    file.owner = ItemRecord.Owner(user: geteuid(), group: getegid())
    var directory = try record("root", .directory, mode: 0o750)
    directory.attributes = file.attributes
    directory.accessList = file.accessList
    directory.defaultAccessList = file.accessList
    directory.owner = file.owner
    let arrival = try Arrival(scratch, offer(), preserving: Preserved(owners: true))
    try arrival.write([
      Crafted.frame { frame in
        frame.file(file, [1, 2, 3])
        frame.item(directory)
      }
    ])
    let losses = try arrival.finish(finish([file, directory]))
    expect(losses.first { $0.kind == .attribute }?.count, is: 2)
    expect(losses.first { $0.kind == .accessList }?.count, is: 3)
    expect(scratch.read("destination/root/file"), is: [1, 2, 3])
    expect(scratch.snapshot("destination")["root/file"]?.mode, is: 0o600)
    // The mode's group bits were the mask; the group's own entry has no more than reading.
    expect(scratch.snapshot("destination")["root"]?.mode, is: 0o740)
    expect(scratch.time("destination/root/file"), is: [5, 0])
    for path in ["destination/root/file", "destination/root"] {
      expect(try metadata(scratch, path).attributes, is: [attribute("first", [1]), attribute("later", [2])])
    }
  }

  @Test func `a changed attribute is another generation, and a removed attribute disappears`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    try give(scratch, "source/file", everything(1))
    scratch.letSettle()
    let first = try Export([scratch.at("source")])
    let arrival = try Arrival(scratch, first.offer)
    try arrival.write(first.outlet.frames)
    try descriptor(scratch, "source/file").removeAttribute(Array("user.b".utf8))
    scratch.letSettle()
    let second = try Export([scratch.at("source")], held: HeldItems(of: arrival.staging))
    expect(try second.entries.map(\.text), is: ["source/file"])
    arrival.staging.beginSession(second.offer)
    arrival.staging.drop(second.result.stale)
    try arrival.write(second.outlet.frames)
    try arrival.finish(second.result.finish)
    expect(
      try metadata(scratch, "destination/source/file").attributes == metadata(scratch, "source/file").attributes)
  }

  @Test func `entries of lists by number are dropped and counted without owners, and add no reader`() throws {
    for (owners, withOwners) in [(false, false), (true, false), (false, true)] {
      let scratch = try Scratch.withFolders()
      scratch.write("source/file", [1])
      for name in ["source", "source/file"] { try give(scratch, name, everything(1)) }
      // The group's bits are the mask.
      expect(scratch.snapshot("source")["file"]?.mode, is: 0o750)
      let losses = try send(scratch, preserving: Preserved(owners: owners), withOwners: withOwners)
      expect(losses.first { $0.kind == .accessList }?.count, is: 2)
      for name in ["source", "source/file"] {
        expect(try metadata(scratch, "destination/\(name)").accessList, is: [])
        expect(scratch.snapshot("destination")[name]?.mode, is: 0o740, "\(name)")
      }
    }
  }

  @Test func `received items do not inherit the default list of the destination`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["source/folder/file", "source/file"] { scratch.write(name, [1]) }
    scratch.setMode("source/file", 0o640)
    let destination = try descriptor(scratch, "destination")
    try destination.setAccessList(Self.list, .default)
    expect(try send(scratch), is: [])
    for name in ["source", "source/file", "source/folder", "source/folder/file"] {
      expect(try metadata(scratch, "destination/\(name)"), is: ExtendedMetadata(), "\(name)")
    }
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
  }

  @Test func `a directory loses the metadata that a failed completion set`() throws {
    let scratch = try Scratch.withFolders()
    var directory = try record("root/directory", .directory, mode: 0o755)
    directory.attributes = [attribute("old", [1])]
    directory.accessList = Self.list
    directory.defaultAccessList = Self.list
    directory.owner = ItemRecord.Owner(user: geteuid(), group: getegid())
    let root = try record("root", .directory, mode: 0o755)
    let arrival = try Arrival(scratch, offer(), preserving: Preserved(owners: true))
    try arrival.write([
      Crafted.frame { frame in
        frame.item(directory)
        frame.item(root)
      }
    ])
    // The state that a completion leaves when it is killed before its journal record.
    let places = arrival.staging.disk.places()
    arrival.staging.setExtended(in: places, directory, isRoot: false)
    let tree = "\(arrival.tree)/root/directory"
    expect(try metadata(scratch, tree).defaultAccessList, is: Self.list)
    let disk = try reopened(arrival.staging.disk.name, in: scratch.open("destination"))
    _ = try Staging.recover(
      from: disk, for: offer(), transfer: arrival.staging.transfer, keys: testKeys)
    expect(try metadata(scratch, tree), is: ExtendedMetadata())
  }

  @Test func `more attributes than a record can hold are reported`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    let item = try descriptor(scratch, "source/file")
    for name in ["a", "b", "c"] {
      // Few file systems accept this much.
      guard (try? item.setAttribute(Array("user.\(name)".utf8), pattern(43_690))) != nil else { return }
    }
    let export = try Export([scratch.at("source")])
    expect(export.outlet.unsent.map(\.path), is: [Array("source/file".utf8)])
    expect(export.outlet.unsent.first?.reason, is: .attributes)
  }

  @Test func `a copy that replaces a link has the attributes and the list too`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    try give(scratch, "source/file", everything(1))
    let places = DirectoryTree(tree: try scratch.open("source"))
    try places.makeCopy(ArchivePath(Array("copy".utf8)), of: ArchivePath(Array("file".utf8)))
    expect(try metadata(scratch, "source/copy") == metadata(scratch, "source/file"))
    expect(scratch.snapshot("source")["copy"], is: scratch.snapshot("source")["file"])
  }

  @Test func `the kernel's format of a list is read back, and other formats are refused`() throws {
    expect([AccessEntry](attribute: Self.list.attribute), is: Self.list)
    expect(Self.list.attribute.count, is: 4 + 8 * Self.list.count)
    expect(
      Self.list.attribute.starts(with: [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 0xE1, 0x10, 0, 0]))
    for length in 0..<Self.list.attribute.count where length % 8 != 4 {
      expect([AccessEntry](attribute: Array(Self.list.attribute[..<length])) == nil)
    }
    for (place, byte) in [(0, 3), (4, 3), (6, 8)] as [(Int, UInt8)] {
      var bytes = Self.list.attribute
      bytes[place] = byte
      expect([AccessEntry](attribute: bytes) == nil, "byte \(place)")
    }
  }

  // MARK: Owners and set-id bits

  private func owner(_ scratch: Scratch, _ name: String) -> [UInt32] {
    var status = stat()
    precondition(lstat("\(scratch.path)/\(name)", &status) == 0)
    return [status.st_uid, status.st_gid]
  }

  private func ownedTree() throws -> Scratch {
    let scratch = try Scratch.withFolders()
    scratch.write("source/small", [1])
    scratch.write("source/large", pattern(600_000))
    scratch.makeDirectory("source/directory")
    scratch.makeLink("source/link", to: "small")
    for (index, name) in ["", "/small", "/large", "/directory", "/link"].enumerated() {
      precondition(lchown("\(scratch.path)/source\(name)", uid_t(5_000 + index), gid_t(6_000 + index)) == 0)
    }
    scratch.setMode("source/small", 0o4755)
    scratch.setMode("source/large", 0o2711)
    scratch.setMode("source/directory", 0o2775)
    return scratch
  }

  private static let owned = ["source", "source/small", "source/large", "source/directory", "source/link"]

  @Test(.enabled(if: isRoot, "not root")) func `owners and set-id bits arrive if both users ask for them`() throws {
    let scratch = try ownedTree()
    expect(try send(scratch, preserving: Preserved(owners: true, setIDBits: true), withOwners: true), is: [])
    for name in Self.owned { expect(owner(scratch, "destination/\(name)"), is: owner(scratch, name), "\(name)") }
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
  }

  @Test(.enabled(if: isRoot, "not root"))
  func `owners that the receiver does not want are dropped and counted, with their bits`()
    throws
  {
    let scratch = try ownedTree()
    let losses = try send(scratch, withOwners: true)
    expect(losses, is: [Done.Loss(kind: .owner, count: 5), Done.Loss(kind: .setIDBit, count: 3)])
    for name in Self.owned { expect(owner(scratch, "destination/\(name)"), is: [geteuid(), getegid()]) }
    expect(scratch.snapshot("destination")["source/small"]?.mode, is: 0o755)
  }

  @Test(.enabled(if: isRoot, "not root"))
  func `without the sender's owners, only set-id bits are counted as lost`() throws {
    let scratch = try ownedTree()
    let losses = try send(scratch, preserving: Preserved(owners: true, setIDBits: true))
    expect(losses, is: [Done.Loss(kind: .setIDBit, count: 3)])
    expect(owner(scratch, "destination/source/small"), is: [geteuid(), getegid()])
    expect(scratch.snapshot("destination")["source/small"]?.mode, is: 0o755)
  }

  @Test func `an item whose owner cannot be set has no set-id bits`() throws {
    let scratch = try Scratch.withFolders()
    // The number −1 changes nothing, also for root.
    let owner = ItemRecord.Owner(user: .max, group: .max)
    var root = try record("root", .directory, mode: 0o2775)
    var file = try record("root/file", .file(size: 1), mode: 0o6755)
    (root.owner, file.owner) = (owner, owner)
    let arrival = try Arrival(scratch, offer(), preserving: Preserved(owners: true, setIDBits: true))
    expect(!arrival.staging.lacksOwners)
    try arrival.write([
      Crafted.frame { frame in
        frame.file(file, [1])
        frame.item(root)
      }
    ])
    let losses = try arrival.finish(finish([file, root]))
    expect(losses, is: [Done.Loss(kind: .owner, count: 2), Done.Loss(kind: .setIDBit, count: 2)])
    for (name, mode) in [("root", 0o775), ("root/file", 0o755)] as [(String, mode_t)] {
      expect(scratch.snapshot("destination")[name]?.mode, is: mode, "\(name)")
    }
  }

  @Test(.enabled(if: isRoot && MountedDisk.Kind.ntfs.isHere, "not root, or ntfs-3g cannot be mounted"))
  func `owners and lists that ntfs-3g accepts and does not keep are counted`() throws {
    let disk = try MountedDisk(.ntfs)
    let file = try disk.directory.directory.createFile("file")
    #expect(throws: SystemError.self) { try file.setOwner(user: 5_000, group: 6_000) }
    #expect(throws: SystemError.self) { try file.setAccessList(Self.list, .access) }
    #expect(throws: SystemError.self) {
      try disk.directory.directory.setOwner(Array("file".utf8), user: 5_000, group: 6_000)
    }
  }
}

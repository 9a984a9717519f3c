import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The treatment of taken names, each mode against the same destination.
@Suite struct ExistingTests {
  @Test func `refuse leaves everything unchanged, so nothing is staged`() throws {
    let ground = try PreparedGround()
    expect(failure { _ = try ground.arrive(.refuse) }, is: "exists")
    expect(ground.destination.differences(from: ground.before), is: [])
  }

  @Test func `skip adds the missing items, changes no other items, and names those that are not stored`() throws {
    let ground = try PreparedGround()
    let conflicts = try ground.migrate(.skip)
    expect(ground.broken(.skip, isWhole: true), is: [])
    expect(conflicts.renamed, is: [])
    expect(
      conflicts.notStored.map { "\(String(decoding: $0.path, as: UTF8.self)) \($0.reason.rawValue)" }.sorted(),
      is: [
        "notes.txt 34", "photos/folder-to-file 34", "photos/link 34", "photos/old.jpg 34", "photos/sub/deep 34",
        "photos/to-folder 34", "photos/to-folder/x 22",
      ])
  }

  @Test func `an item that equals the existing one counts as stored`() throws {
    let ground = try PreparedGround()
    let scratch = ground.scratch
    scratch.remove("destination/photos/old.jpg")
    scratch.write("destination/photos/old.jpg", scratch.read("source/photos/old.jpg"), mode: 0o600)
    scratch.setTime("destination/photos/old.jpg", 1_600_000_002, 5)
    expect(try !ground.migrate(.skip).notStored.contains { $0.path == Array("photos/old.jpg".utf8) })
  }

  @Test func `with skip existing items are not sent, and different items are named`() throws {
    let ground = try PreparedGround()
    let scratch = ground.scratch
    // Equal in size and time, another link, and another name of an existing file.
    scratch.remove("destination/photos/old.jpg")
    scratch.write("destination/photos/old.jpg", scratch.read("source/photos/old.jpg"), mode: 0o600)
    scratch.setTime("destination/photos/old.jpg", 1_600_000_002, 5)
    scratch.makeLink("source/photos/same", to: "anywhere")
    scratch.makeLink("destination/photos/same", to: "anywhere")
    expect(link("\(scratch.path)/source/photos/old.jpg", "\(scratch.path)/source/photos/second"), is: 0)
    let roots = ["new.txt", "notes.txt", "photos"].map { scratch.at("source/\($0)") }
    let arrival = try Arrival(scratch, try Export(roots).offer, existing: .skip)
    let present = try arrival.importer.present(
      try Export(roots).offer, for: arrival.staging, takesBases: false)
    var held = HeldItems()
    held.add(Held(kind: .present, marks: present.present))
    held.add(Held(kind: .taken, marks: present.taken))
    let export = try Export(roots, held: held)
    let sent = Set(try export.entries.compactMap { $0.record?.kind == .directory ? nil : $0.text })
    expect(
      sent,
      is: [
        "new.txt", "photos/locked/inside", "photos/new.jpg", "photos/new/one", "photos/new/twin", "photos/second",
        "photos/sub/below/leaf", "photos/to-folder/x",
      ])
    expect(export.result.finish.leftOut == LeftOut(present: 2, differing: 4) && export.result.finish.unsent == 0)
    let differing = export.outlet.unsent
    expect(differing.allSatisfy { $0.reason == .existsAndDiffers })
    expect(
      differing.map { String(decoding: $0.path, as: UTF8.self) }.sorted(),
      is: [
        "notes.txt", "photos/folder-to-file", "photos/link", "photos/sub/deep",
      ])
    let before = scratch.snapshot("destination")
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    expect(scratch.read("destination/photos/second"), is: scratch.read("source/photos/old.jpg"))
    for (path, entry) in ground.destination.entries where before.entries[path]?.type == S_IFREG {
      expect(entry, is: before.entries[path])
    }
  }

  @Test func `with skip existing items need no space`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("destination/root/file", pattern(3 << 20))
    let offer = offer(items: 2, allocated: 3 << 20)
    // With this much space: other programs change the real disk's space, too.
    func shortage(_ existing: Existing) throws(Failure) -> Close.Space? {
      let importer = try FolderImporter(scratch, existing: existing)
      do {
        let terms = importer.terms(of: 0xABC, keys: testKeys)
        _ = try importer.judge(offer, held: Tally(), on: terms, availableBytes: 1 << 20, availableItems: nil)
        return nil
      } catch {
        return error.bytes
      }
    }
    expect(try shortage(.skip) == nil)
    expect(try shortage(.replace), is: Close.Space(needed: 3 << 20 + 512, available: 1 << 20))
  }

  @Test func `existing items are examined when the transfer is staged, also if space was short before`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("destination/root/file", pattern(3 << 20))
    let importer = try FolderImporter(scratch, existing: .skip)
    let terms = importer.terms(of: 0xABC, keys: testKeys)
    let offer = offer(items: 3, allocated: 3 << 20)
    _ = try importer.judge(offer, held: Tally(), on: terms, availableBytes: 1 << 20, availableItems: nil)
    let staging = try importer.area.stage(offer, on: terms)
    scratch.write("destination/root/later", [1])
    let present = try importer.present(offer, for: staging, takesBases: false)
    expect(present.taken.count == 3 && present.present.count == 2)
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `with skip an offer larger than the free space is accepted if the rest exists`() throws {
    let scratch = try Scratch.withFolders()
    try #require(mount("tmpfs", scratch.path("destination"), "tmpfs", 0, "size=8m") == 0)
    defer { umount2(scratch.path("destination"), CInt(MNT_DETACH)) }
    scratch.write("destination/root/file", pattern(3 << 20))
    let room = try StagingArea(at: scratch.at("destination")).destination.space().availableBytes
    let big = offer(items: 2, allocated: room + (1 << 20))
    let skipping = try FolderImporter(scratch, existing: .skip)
    expect(failure { try skipping.judge(big) } == nil)
    let replacing = try FolderImporter(scratch, existing: .replace)
    expect(failure { try replacing.judge(big) }, is: "noSpace")
  }

  @Test(
    arguments: [
      // Bytes offered, held and available, and whether they fit; each of the two items needs 256
      // more.
      (1 << 20, 0, 1 << 20 + 512, true), (1 << 20, 0, 1 << 20 + 511, false), (1 << 20, 1 << 20, 512, true),
      (1 << 20, 1 << 20, 511, false), (1 << 20, 1 << 19, 1 << 19 + 512, true), (1 << 20, 1 << 40, 512, true),
      (1 << 62, 1 << 62 - 1, 513, true), (0, 0, 0, false), (1 << 63 - 1, 0, 1 << 63 - 1, false),
    ] as [(UInt64, UInt64, UInt64, Bool)])
  func `an offer needs space for its missing bytes and for the metadata of each item`(
    offered: UInt64, held: UInt64, available: UInt64, fits: Bool
  ) {
    let shortage = SpaceShortage(
      of: offer(items: 2, allocated: offered), held: Tally(bytes: held), availableBytes: available, availableItems: nil)
    expect((shortage == nil), is: fits)
  }

  @Test func `a file system with too few entries left has no space`() {
    func shortage(_ held: UInt64, _ available: UInt64) -> SpaceShortage? {
      SpaceShortage(
        of: offer(items: 20), held: Tally(items: held), availableBytes: 1 << 40, availableItems: available)
    }
    // Staging needs eight more.
    expect(shortage(0, 28) == nil && shortage(0, 27)?.items?.needed == 28)
    expect(shortage(15, 13) == nil && shortage(15, 12)?.items?.needed == 13)
  }

  @Test func `replace replaces files with files, and puts an item next to one of another type`() throws {
    let ground = try PreparedGround()
    let conflicts = try ground.migrate(.replace)
    expect(ground.broken(.replace, isWhole: true), is: [])
    expect(conflicts.notStored, is: [])
    expect(
      conflicts.renamed.map { "\($0.path.text) > \($0.target.text)" },
      is: [
        "photos/folder-to-file > photos/folder-to-file (2)", "photos/to-folder > photos/to-folder (2)",
      ])
  }

  @Test func `replace gives an existing folder no new permission`() throws {
    let ground = try PreparedGround()
    let modes: [(String, mode_t, mode_t)] = [("own", 0o777, 0o700), ("sub", 0o750, 0o1777), (".", 0o500, 0o755)]
    for (name, sent, there) in modes {
      ground.scratch.makeDirectory("source/photos/\(name)")
      ground.scratch.setMode("source/photos/\(name)", sent)
      ground.scratch.setMode("destination/photos/\(name)", there)
    }
    let list = [
      AccessEntry(subject: .owner, permissions: 7, id: 0), AccessEntry(subject: .groupOwner, permissions: 7, id: 0),
      AccessEntry(subject: .mask, permissions: 7, id: 0), AccessEntry(subject: .other, permissions: 7, id: 0),
    ]
    try Descriptor.open(ground.scratch.at("source/photos/own")).setAccessList(list, .access)
    try Descriptor.open(ground.scratch.at("source/photos/own")).setAccessList(list, .default)
    _ = try ground.migrate(.replace)
    let arrived = ground.destination
    expect(
      ["photos/own", "photos/sub", "photos"].map { arrived[$0].map { $0.mode & 0o7777 } }, is: [0o700, 0o1750, 0o500])
    expect(
      try ExtendedMetadata(of: Descriptor.open(ground.scratch.at("destination/photos/own"))), is: ExtendedMetadata())
  }

  @Test func `keep-both gives a root whose name is taken the next free number`() throws {
    let ground = try PreparedGround()
    ground.scratch.write("destination/notes (2).txt", [7])
    let conflicts = try ground.migrate(.keepBoth)
    expect(
      ground.destination.differences(from: ground.before).allSatisfy { $0.contains(" (") || $0.hasPrefix("new.txt") })
    expect(
      conflicts.renamed.map { "\($0.path.text) > \($0.target.text)" },
      is: [
        "notes.txt > notes (3).txt", "photos > photos (2)",
      ])
    let arrived = ground.scratch.snapshot("destination/photos (2)")
    expect(arrived.differences(from: ground.scratch.snapshot("source/photos")), is: [])
    expect(ground.scratch.snapshot("destination")["photos (2)"], is: ground.scratch.snapshot("source")["photos"])
    expect(ground.scratch.read("destination/notes (3).txt"), is: ground.scratch.read("source/notes.txt"))
    expect(ground.scratch.read("destination/new.txt"), is: ground.scratch.read("source/new.txt"))
  }

  @Test(arguments: [
    ("photos", true, "photos (2)"), ("photos.d", true, "photos.d (2)"), ("notes.txt", false, "notes (2).txt"),
    ("a.tar.gz", false, "a.tar (2).gz"), (".bashrc", false, ".bashrc (2)"), ("..x", false, "..x (2)"),
    ("ends.", false, "ends. (2)"), ("plain", false, "plain (2)"), (".a.b", false, ".a (2).b"),
    (String(repeating: "n", count: 255), false, String(repeating: "n", count: 251) + " (2)"),
    (String(repeating: "n", count: 251) + ".txt", false, String(repeating: "n", count: 247) + " (2).txt"),
    (String(repeating: "é", count: 127), true, String(repeating: "é", count: 125) + " (2)"),
    ("a." + String(repeating: "e", count: 250), false, "a." + String(repeating: "e", count: 249) + " (2)"),
  ]) func `a number precedes the extension and never makes a name too long`(
    _ name: String, _ isDirectory: Bool, _ expected: String
  ) {
    let made = NewName.numbered(Array(name.utf8)[...], isDirectory: isDirectory, number: 2)
    expect(String(decoding: made, as: UTF8.self) == expected && made.count <= 255)
  }

  @Test func `a link to a directory is treated as a link and not followed`() throws {
    for existing in [Existing.skip, .replace, .update, .merge] {
      let ground = try PreparedGround()
      ground.scratch.makeDirectory("outside/held")
      ground.scratch.remove("destination/notes.txt")
      ground.scratch.makeLink("destination/photos/sub-link", to: "../../outside/held")
      ground.scratch.makeDirectory("source/photos/sub-link")
      ground.scratch.write("source/photos/sub-link/x", [1])
      _ = try ground.migrate(existing)
      expect(ground.scratch.names("outside/held"), is: [])
      expect(ground.scratch.exists("destination/photos/sub-link (2)/x"), is: (existing != .skip))
      expect(ground.destination["photos/sub-link"]?.type, is: S_IFLNK)
    }
  }

  @Test func `a new name of a file with another name at the destination does not change that name`() throws {
    let ground = try PreparedGround()
    expect(link("\(ground.scratch.path)/destination/photos/old.jpg", "\(ground.scratch.path)/outside/twin"), is: 0)
    let old = ground.scratch.read("outside/twin")
    _ = try ground.migrate(.replace)
    expect(ground.scratch.read("outside/twin"), is: old)
    expect(ground.scratch.read("destination/photos/old.jpg"), is: ground.scratch.read("source/photos/old.jpg"))
  }

  @Test(.enabled(if: isRoot, "not root"))
  func `a target that cannot be changed is named, stays whole, and can be repaired`() throws {
    let ground = try PreparedGround()
    let path = "\(ground.scratch.path)/destination/photos/old.jpg"
    try setImmutable(path, true)
    defer { try? setImmutable(path, false) }
    let arrival = try ground.arrive(.replace)
    do {
      try arrival.finish(ground.export.result.finish)
      Issue.record("it was replaced")
    } catch let error as Failure {
      expect(error.code == .importFailed && error.name == Array("photos/old.jpg".utf8))
    }
    expect(ground.destination["photos/old.jpg"], is: ground.before["photos/old.jpg"])
    expect(ground.broken(.replace, isWhole: false), is: [])
    try setImmutable(path, false)
    try ground.goOn(.replace)
    expect(ground.broken(.replace, isWhole: true), is: [])
  }

  /// Mounts another file system, or another folder of the same one, at a path.
  private func cover(_ place: String, with folder: String?) throws {
    if let folder { try #require(mkdir(folder, 0o700) == 0) }
    let flags = folder == nil ? 0 : UInt(MS_BIND)
    try #require(mount(folder ?? "tmpfs", place, "tmpfs", flags, folder == nil ? "size=1m" : nil) == 0)
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"), arguments: [false, true])
  func `a mount point in the destination is named and left unchanged`(isSame: Bool) throws {
    let ground = try PreparedGround()
    let place = "\(ground.scratch.path)/destination/photos/sub"
    try cover(place, with: isSame ? ground.scratch.path("bound") : nil)
    defer { umount2(place, CInt(MNT_DETACH)) }
    let arrival = try ground.arrive(.replace)
    do {
      try arrival.finish(ground.export.result.finish)
      Issue.record("it was imported")
    } catch let error as Failure {
      expect(error.code == .importFailed && error.name == Array("photos/sub".utf8))
    }
    expect(ground.scratch.names("destination/photos/sub"), is: [])
    expect(umount2(place, CInt(MNT_DETACH)), is: 0)
    try ground.goOn(.replace)
    expect(ground.broken(.replace, isWhole: true), is: [])
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"), arguments: [false, true])
  func `where folders are merged, a folder arrives beside a mount point with its name`(isSame: Bool) throws {
    let ground = try PreparedGround(for: .merge)
    let place = "\(ground.scratch.path)/destination/photos/sub"
    try cover(place, with: isSame ? ground.scratch.path("bound") : nil)
    defer { umount2(place, CInt(MNT_DETACH)) }
    let arrival = try ground.arrive(.merge)
    try arrival.finish(ground.export.result.finish)
    expect(ground.scratch.names("destination/photos/sub"), is: [])
    expect(ground.scratch.names("destination/photos/sub (2)"), is: ground.scratch.names("source/photos/sub"))
  }

  @Test func `a transfer continues in its first mode unless another is requested`() throws {
    let ground = try PreparedGround()
    do { _ = try ground.arrive(.skip) }
    func recovered(_ chosen: Existing?) throws -> Existing? {
      let importer = try FolderImporter(ground.scratch, existing: chosen)
      return try importer.recover(ground.export.offer, transfer: 0xABC, keys: testKeys)?.existing
    }
    expect(try recovered(nil), is: .skip)
    expect(try recovered(.replace), is: .replace)
    expect(try recovered(nil), is: .replace)
  }

  @Test func `what another source has delivered is another's, and of unknown sources each transfer is one`() throws {
    let all = Deliveries()
    let (device, path) = (
      KeyFingerprint(digest: [UInt8](repeating: 1, count: 32)), try ArchivePath(Array("root/a".utf8))
    )
    func part(_ source: SourceIdentity, _ transfer: TransferID) -> Deliveries.OfPart {
      all.of(device, [Array("root".utf8): source], in: transfer)
    }
    for (source, isOfTransfer) in [(SourceIdentity(1), false), (.unknown, true)] {
      part(source, 1).note(path, from: path)
      expect(!part(source, 1).hasOthers(at: path, than: path))
      expect(part(source, 2).hasOthers(at: path, than: path), is: isOfTransfer)
      expect(part(SourceIdentity(2), 1).hasOthers(at: path, than: path))
    }
  }
}

private func setImmutable(_ path: String, _ isImmutable: Bool) throws {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  try #require(file >= 0)
  defer { close(file) }
  // FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_IMMUTABLE_FL.
  var flags: CInt = 0
  guard ioctl(file, 0x8008_6601, &flags) == 0 else { return }
  flags = isImmutable ? flags | 0x10 : flags & ~0x10
  _ = ioctl(file, 0x4008_6602, &flags)
}

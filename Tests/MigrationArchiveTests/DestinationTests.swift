import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct DestinationTests {
  @Test func `an existing entry of any type is named, and nothing is written`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("destination/dir")
    scratch.write("destination/file", [1])
    scratch.makeLink("destination/link", to: "nowhere")
    let before = scratch.snapshot("destination")
    let importer = try FolderImporter(scratch)
    for name in ["dir", "file", "link"] {
      do {
        try importer.judge(offer(["a", name, "z"]))
        Issue.record("\(name) was admitted")
      } catch {
        expect(error.code == .exists && error.name == Array(name.utf8))
      }
    }
    expect(scratch.snapshot("destination").differences(from: before), is: [])
  }

  @Test func `a destination that was removed is the reason why nothing can be written there`() throws {
    let scratch = try Scratch.withFolders()
    let area = try StagingArea(at: scratch.at("destination"))
    let failure = Failure(
      "creating", try ArchivePath(Array("a".utf8)), SystemError(errno: ENOENT, operation: "open"))
    expect((area.reason(of: failure) as? Failure)?.description, is: failure.description)
    expect(rename("\(scratch.path)/destination", "\(scratch.path)/elsewhere"), is: 0)
    let reason = try #require(area.reason(of: failure) as? Failure)
    expect(reason.code == .storage && reason.description.contains("was moved or removed"))
  }

  @Test(
    arguments: [
      (1, 1 << 62), (1 << 62, 0), (UInt64(Int64.max), UInt64(Int64.max)), (UInt64(Int64.max), 0),
      (0, UInt64(Int64.max)),
    ] as [(UInt64, UInt64)])
  func `an offer that does not fit is refused with its sizes`(_ items: UInt64, _ allocated: UInt64) throws {
    let scratch = try Scratch.withFolders()
    let importer = try FolderImporter(scratch)
    do {
      try importer.judge(offer(items: items, allocated: allocated))
      Issue.record("it was admitted")
    } catch {
      let bytes = try #require(error.bytes)
      expect(error.code == .noSpace && bytes.needed >= allocated)
      expect(bytes.isShort || error.items?.isShort == true)
    }
    expect(scratch.names("destination"), is: [])
  }

  @Test func `an app's data is refused`() throws {
    let scratch = try Scratch.withFolders()
    let importer = try FolderImporter(scratch)
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    let offer = Offer(contents: .app(app), items: 1, bytes: 1, allocated: 1, flags: [])
    let error = #expect(throws: Failure.self) { try importer.judge(offer) }
    expect(error?.code == .otherApp && error?.hint?.contains("'peer receive --app a'") == true)
    expect(try importer.area.destination.space().availableBytes > 0)
  }

  @Test(arguments: [
    "", ".refused-7", " (2)", ". ", "x",
  ])
  func `a root is refused that has a name of staging, in any form that a file system takes for it`(
    ending: String
  ) throws {
    let scratch = try Scratch.withFolders()
    let importer = try FolderImporter(scratch, existing: .replace)
    let name = ".peer-00000000000000000000000000ff0abc"
    for form in [
      name, name.uppercased(), ".PEER" + name.dropFirst(5), name.replacing("-", with: "-\u{200D}"),
      name.replacing("ff", with: "\u{FB00}"),
    ] {
      let error = #expect(throws: Failure.self) { try importer.judge(offer(["a", form + ending].sorted())) }
      expect(error?.code == .unfit && error?.hint?.hasPrefix("Rename it on") == true, "\(form)")
    }
    try importer.judge(offer([".peer-notes", ".peer-0123456789abcdef", ".peer" + name.dropFirst(6)]))
  }

  @Test func `a missing destination is created`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["new", "new/", "destination/deeper///"] {
      let importer = try FolderImporter(scratch, at: name)
      try importer.judge(offer())
      try importer.stage(offer(), transfer: 1).remove()
      let bare = name.split(separator: "/").joined(separator: "/")
      expect(scratch.names(bare), is: [])
      expect(rmdir("\(scratch.path)/\(bare)"), is: 0)
    }
  }

  @Test(arguments: [
    "outside/secret", "outside/secret/x", "missing/x", "dangling", "dangling/x", "missing/../x", "missing/.",
  ])
  func `a path that is not a directory and cannot become one is refused`(_ name: String) throws {
    let scratch = try Scratch.withFolders()
    scratch.makeLink("dangling", to: "nowhere")
    let before = TreeSnapshot.of(scratch.path)
    expect(failure { _ = try FolderImporter(scratch, at: name) }, is: "unfit")
    expect(TreeSnapshot.of(scratch.path).differences(from: before), is: [])
    expect(failure { _ = try StagingArea(at: []) }, is: "unfit")
  }

  @Test func `a link to a directory that the user named is followed`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeLink("link", to: "destination")
    let importer = try FolderImporter(scratch, at: "link")
    _ = try importer.stage(offer(), transfer: 1)
    try importer.area.clear(1, testKeys)
    expect(scratch.names("destination"), is: [])
  }

  @Test func `an unwritable directory is refused`() throws {
    let scratch = try Scratch.withFolders()
    try withoutPrivileges(owning: [scratch.path, scratch.path + "/destination"]) {
      expect(failure { _ = try FolderImporter(scratch) } == nil)
      scratch.setMode("destination", 0o500)
      expect(failure { _ = try FolderImporter(scratch) }, is: "unfit")
      expect(failure { _ = try FolderImporter(scratch, at: "destination/new") }, is: "unfit")
    }
  }

  @Test func `an existing staging directory of that name is not used`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let before = scratch.snapshot(arrival.tree)
    let other = try arrival.importer.stage(offer(), transfer: 0xABC)
    expect(other.disk.name != arrival.staging.disk.name)
    expect(scratch.snapshot(arrival.tree).differences(from: before), is: [])
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `a full disk is named, nothing is left behind, and the transfer resumes once there is space`() throws {
    let scratch = try Scratch.withFolders()
    try #require(mount("tmpfs", "\(scratch.path)/destination", "tmpfs", 0, "size=3m,nr_inodes=40") == 0)
    defer { umount2("\(scratch.path)/destination", CInt(MNT_DETACH)) }
    let importer = try FolderImporter(scratch)
    expect(failure { try importer.judge(offer(items: 1, allocated: 4 << 20)) }, is: "noSpace")
    expect(failure { try importer.judge(offer(items: 100, allocated: 0)) }, is: "noSpace")
    scratch.write("destination/filler", pattern(1 << 20))
    do {
      let arrival = try Arrival(scratch, offer(items: 5, bytes: 16 << 20))
      let writer = arrival.writer()
      let chunks = try (0..<3).map { index in
        try Crafted.frame { try $0.chunk("root/f", 1, at: UInt64(index) << 20, pattern(1 << 20)) }
      }
      try writer.write(chunks[0])
      expect(failure { for chunk in chunks.dropFirst() { try writer.write(chunk) } }, is: "noSpace")
      scratch.remove("destination/filler")
      for chunk in chunks.prefix(2) { try writer.write(chunk) }
      let item = try record("root/f", .file(size: 2 << 20))
      try writer.write(Crafted.frame { $0.item(item) })
      // The whole journal is readable, even after an interrupted write.
      expect(try JournalReading(scratch, arrival).records.last, is: .sealed(item))
      try arrival.clear()
    }
    expect(scratch.names("destination"), is: [])
    // Without space for the journal no staging directory exists.
    scratch.write("destination/filler", [])
    let file = open("\(scratch.path)/destination/filler", O_WRONLY | O_CLOEXEC)
    while posix_fallocate(file, 0, off_t(scratch.snapshot("destination")["filler"]!.size + 4096)) == 0 {}
    close(file)
    expect(failure { _ = try importer.stage(offer(), transfer: 5) }, is: "noSpace")
    expect(scratch.names("destination"), is: ["filler"])
  }
}

@Suite struct FolderImportTests {
  @Test(arguments: [0, 1, 2])
  func `an entry created in the meantime is left unchanged, and the received data is kept`(_ kind: Int) throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(["a", "b"]))
    let records = [try record("a", .file(size: 1)), try record("b", .directory), try record("b/x", .file(size: 1))]
    try arrival.write([
      Crafted.frame { frame in
        frame.file(records[0], [1])
        frame.item(records[1])
        frame.file(records[2], [2])
      }
    ])
    try arrival.staging.complete(finish(records)) { _ in }
    switch kind {
    case 0: scratch.write("destination/b", [9, 9])
    case 1: scratch.makeDirectory("destination/b")
    default: scratch.makeLink("destination/b", to: "../outside")
    }
    let before = scratch.snapshot("destination")["b"]
    do {
      _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
      Issue.record("it was imported")
    } catch {
      expect(error.code == .importFailed && error.name == [0x62])
      expect(error.hint?.contains("--existing keep-both"), is: true)
    }
    expect(scratch.snapshot("destination")["b"], is: before)
    expect(!scratch.exists("destination/a"))
    expect(scratch.snapshot(arrival.tree)["a"]?.content, is: [1])
    expect(scratch.snapshot(arrival.tree)["b/x"]?.content, is: [2])
    // Once the name is free, the same import succeeds.
    try scratch.open("destination").directory.removeTree("b")
    _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
    try arrival.clear()
    expect(scratch.names("destination"), is: ["a", "b"])
    expect(scratch.snapshot("outside").entries.count, is: 1)
  }

  @Test func `directories without permissions arrive, with their times`() throws {
    let scratch = try Scratch.withFolders()
    let names = ["r000", "r500", "r755"]
    let arrival = try Arrival(scratch, offer(names))
    var records: [ItemRecord] = []
    for (name, mode) in zip(names, [0, 0o500, 0o755] as [UInt16]) {
      let time = ItemTime(seconds: Int64(mode) - 5, nanoseconds: 17)
      records.append(try record(name, .directory, mode: mode, modified: time))
      records.append(try record("\(name)/in", .directory, mode: mode, modified: time))
      records.append(try record("\(name)/in/side", .file(size: 1), mode: mode, modified: time))
    }
    // The directories come first in one, last in the other.
    let frames = records.map { item in
      Crafted.frame { if item.kind == .file { $0.file(item, [1]) } else { $0.item(item) } }
    }
    try arrival.write(Array(frames[0..<3] + frames[3..<9].reversed()))
    var phases: [ImportProgress] = []
    try arrival.staging.complete(finish(records)) { phases.append($0) }
    _ = try arrival.importer.importItems(of: arrival.staging) { phases.append($0) }
    try arrival.clear()
    expect(phases.filter { $0.phase == .importing }.map(\.done), is: [1, 2, 3])
    for (name, mode) in zip(names, [0, 0o500, 0o755] as [mode_t]) {
      var status = stat()
      expect(lstat("\(scratch.path)/destination/\(name)", &status), is: 0)
      expect(status.st_mode & 0o7777 == mode && status.st_mtim.tv_sec == Int(mode) - 5 && status.st_mtim.tv_nsec == 17)
      if isRoot {
        for inner in ["in", "in/side"] {
          let entry = scratch.snapshot("destination")["\(name)/\(inner)"]
          expect(entry?.mode == mode && entry?.seconds == Int(mode) - 5 && entry?.nanoseconds == 17)
        }
      }
    }
    expect(scratch.names("destination"), is: names)
  }

  @Test func `removing a staging directory removes its contents, regardless of their permissions`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let records = [
      try record("root", .directory, mode: 0), try record("root/d", .directory, mode: 0),
      try record("root/d/f", .file(size: 1), mode: 0), try link("root/l", to: "../../../../outside"),
    ]
    try arrival.write([
      try Crafted.frame { frame in
        for item in records { if item.kind == .file { frame.file(item, [1]) } else { frame.item(item) } }
        try frame.chunk("root/part", 1, at: 0, [1])
      }
    ])
    try arrival.staging.complete(finish(records)) { _ in }
    try arrival.clear()
    expect(scratch.names("destination"), is: [])
    expect(scratch.snapshot("outside").entries.count, is: 1)
  }
}

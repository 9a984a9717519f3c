import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Files that change before they move to their places.
@Suite struct StagedFilesTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    for name in ["config/a/deep", "config/b", "rc"] { scratch.write("source/\(name)", Array("old".utf8), mode: 0o440) }
    scratch.makeLink("source/config/link", to: "b")
    scratch.setTime("source/rc", 1_600_000_000)
    scratch.letSettle()
  }

  /// The staged items, on a disk whose process may die.
  private func staged() throws -> (Staging, MortalDisk) {
    let export = try Export(["config", "rc"].map { scratch.at("source/\($0)") })
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    let mortal = MortalDisk(
      try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination")), dyingAt: nil, diesAfter: false)
    return (try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys), mortal)
  }

  private let rc = try! ArchivePath(Array("rc".utf8))

  private var tree: String {
    "destination/\(String(decoding: Staging.name(of: 0xABC), as: UTF8.self))/tree"
  }

  @Test func `a look shows texts and links, follows no link, and counts every byte that it reads`() throws {
    let binary = [UInt8](repeating: 1, count: 700) + [0]
    for name in ["data1", "data2"] { scratch.write("source/config/\(name)", binary) }
    scratch.write("source/config/zero", [0] + binary)
    let files = StagedFiles(of: try staged().0)
    func seen(_ items: Int = 100, bytes: Int = 1 << 20) -> [String] {
      var seen: [String] = []
      files.look(atMost: items, bytes: bytes) { path, sight in
        let name = String(decoding: path.bytes, as: UTF8.self)
        switch sight {
        case .link(let target): seen.append("\(name) -> \(String(decoding: target, as: UTF8.self))")
        case .text(let text): seen.append("\(name): \(String(decoding: text, as: UTF8.self))")
        case .other(let beginning): seen.append("\(name), \(beginning.count)")
        }
      }
      return seen
    }
    let all = [
      "rc: old", "config/b: old", "config/data1, 512", "config/data2, 512", "config/link -> b", "config/zero, 512",
      "config/a/deep: old",
    ]
    expect(seen(), is: all)
    expect(seen(3), is: Array(all.prefix(3)))
    // Each of the first two is read twice, the second time whole.
    expect(seen(bytes: 6 + 2 * (512 + 701) + 1 + 512), is: Array(all.prefix(6)))
    expect(seen(bytes: 6 + 512 + 701), is: Array(all.prefix(3)))
    expect(files.content(of: rc, atMost: 3), is: Array("old".utf8))
    expect(files.content(of: rc, atMost: 2) == nil)
    for name in ["config", "config/link", "missing"] {
      expect(files.content(of: try ArchivePath(Array(name.utf8)), atMost: 10) == nil)
    }
    expect(try scratch.directory.openBeneath(Array("\(tree)/rc".utf8)).status().mode, is: 0o440)
  }

  @Test func `a look at the files leaves the permissions of their directories`() throws {
    let source = try scratch.directory.openDirectoryBeneath("source/config")
    scratch.makeDirectory("source/config/c")
    try source.setMode(Array("a".utf8), 0o500)
    try source.setMode(Array("c".utf8), 0o700)
    let files = StagedFiles(of: try staged().0)
    let arrived = try scratch.directory.openDirectoryBeneath("\(tree)/config")
    try arrived.setMode(Array("c".utf8), 0o300)
    files.look(atMost: 100) { _, _ in }
    expect(try arrived.status(Array("a".utf8)).mode, is: 0o500)
    expect(try arrived.status(Array("c".utf8)).mode, is: 0o300)
    try source.setMode(Array("a".utf8), 0o700)
  }

  @Test func `a file with another content keeps its mode and its time`() throws {
    let importer = FolderImporter(
      try StagingArea(at: scratch.at("destination")),
      preparing: { (files) throws(Failure) in
        try files.replaceContent(of: try! ArchivePath(Array("rc".utf8)), with: Array("a longer content".utf8))
      })
    let export = try Export(["config", "rc"].map { scratch.at("source/\($0)") })
    let staging = try importer.area.stage(export.offer, on: importer.terms(of: 0xABC, keys: testKeys))
    let writer = StagingWriter(staging)
    for frame in export.outlet.frames { try writer.write(frame) }
    try staging.complete(export.result.finish) { _ in }
    _ = try importer.importItems(of: staging) { _ in }
    try importer.area.clear(0xABC, testKeys)
    expect(scratch.text("destination/rc"), is: "a longer content")
    let status = try scratch.directory.openBeneath(Array("destination/rc".utf8)).status()
    expect(status.mode, is: 0o440)
    expect(status.modified.seconds, is: 1_600_000_000)
    expect(scratch.names("destination"), is: ["config", "rc"])
  }

  @Test func `a process that dies leaves the old content or the new one, and the next one goes on`() throws {
    var last = 0
    var hasDied = true
    while hasDied {
      last += 1
      let ground = try StagedFilesTests()
      let (staging, mortal) = try ground.staged()
      mortal.life.withLock { life in
        life.operations = 0
        life.last = (last + 1) / 2
        life.diesAfter = last % 2 == 0
      }
      let files = StagedFiles(of: staging)
      hasDied = thrown { () throws(Failure) in try files.replaceContent(of: rc, with: Array("new".utf8)) } != nil
      expect(hasDied, is: mortal.hasDied)
      let text = ground.scratch.text("\(ground.tree)/rc")
      expect(hasDied ? ["old", "new"].contains(text) : text == "new")
      mortal.life.withLock { $0 = MortalDisk.Life() }
      try files.replaceContent(of: rc, with: Array("new".utf8))
      expect(ground.scratch.text("\(ground.tree)/rc"), is: "new")
      expect(ground.scratch.names(ground.tree), is: ["config", "rc"])
    }
    expect(last > 8)
  }
}

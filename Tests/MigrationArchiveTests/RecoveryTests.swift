import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A small transfer that was interrupted: some frames are staged, and a process without knowledge
/// of them continues.
private final class Interruption {
  static let transfer: TransferID = 0xABC
  static let sizes = ArchiveSizes(smallFile: 300, chunk: 600, fullFrame: 400)

  enum Outcome: Equatable {
    /// The staged data is held, or a part of it.
    case resumed(Tally)
    /// The journal was not trusted.
    case refused
  }

  let scratch: Scratch
  let wanted: TreeSnapshot
  private let export: Export
  private let staged: Int
  private let syncedAfter: Int

  /// Stages this many frames, and syncs after some of them; concludes if these are all frames.
  init(stagedFrames: Int, syncedAfter: Int) throws {
    scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/d")
    scratch.write("source/d/small", pattern(200))
    scratch.write("source/d/chunked", pattern(2_500, seed: 2))
    scratch.write("source/empty", [])
    scratch.write("source/large", pattern(1_700, seed: 3))
    scratch.makeLink("source/link", to: "d/small")
    scratch.setMode("source/d", 0o550)
    scratch.setTime("source/d", 1_000_000_000, 5)
    scratch.letSettle()
    wanted = scratch.snapshot("source")
    export = try Export([scratch.at("source")], sizes: Self.sizes)
    staged = stagedFrames
    self.syncedAfter = syncedAfter
  }

  var frames: Int { export.outlet.frames.count }

  /// Stages all frames as the first process did, and dies. Returns the paths of the archive and the
  /// journal.
  func stage(isExposed: Bool = false) throws -> (tree: String, journal: String) {
    let arrival = try Arrival(scratch, export.offer, transfer: Self.transfer)
    for (index, frame) in export.outlet.frames.prefix(staged).enumerated() {
      try arrival.write([frame])
      if index + 1 == syncedAfter { try arrival.staging.synchronize() }
    }
    if staged >= frames { try arrival.staging.complete(export.result.finish) { _ in } }
    if isExposed { try arrival.staging.expose() }
    return (arrival.tree, arrival.journal)
  }

  /// Recovers the staged data, sends the missing items, and imports. The tree must be right in
  /// every case.
  func resume() throws -> Outcome {
    let importer = try FolderImporter(scratch)
    var outcome = Outcome.refused
    var staging: Staging?
    do {
      staging = try importer.recover(export.offer, transfer: Self.transfer, keys: testKeys)
      outcome = .resumed(staging?.held ?? Tally())
    } catch let error as Failure where error.code == .journal {
      // It is left as it is, and the transfer starts afresh beside it.
    }
    let recovered = try staging ?? importer.stage(export.offer, transfer: Self.transfer)
    if recovered.stage == .receiving {
      recovered.beginSession(export.offer)
      let again = try Export([scratch.at("source")], held: HeldItems(of: recovered), sizes: Self.sizes)
      let writer = StagingWriter(recovered)
      for frame in again.outlet.frames { try writer.write(frame) }
      recovered.drop(again.result.stale)
      try recovered.complete(again.result.finish) { _ in }
    }
    _ = try importer.importItems(of: recovered) { _ in }
    try importer.area.clear(Self.transfer, testKeys)
    expect(scratch.snapshot("destination/source").differences(from: wanted), is: [])
    return outcome
  }

  /// Removes the tree or the journal from the staging directory.
  func lose(_ part: String) throws {
    let staging = "destination/\(String(decoding: Staging.name(of: Self.transfer), as: UTF8.self))"
    if part == "tree" {
      try scratch.open(staging).directory.removeTree("tree")
    } else {
      scratch.remove("\(staging)/\(part)")
    }
  }

  /// Restores the destination's first state.
  func clear() throws {
    try Directory.open(scratch.path).removeTree("destination")
    scratch.makeDirectory("destination")
  }

  /// Stages, damages the journal, and resumes.
  func outcome(spoiling spoil: (inout [UInt8]) -> Void) throws -> Outcome {
    defer { try? clear() }
    let path = try stage().journal
    var journal = scratch.read(path)
    spoil(&journal)
    scratch.write(path, journal)
    return try resume()
  }
}

@Suite struct RecoveryTests {
  /// Half of the frames are staged and half of those synced; or all frames are staged and none
  /// imported.
  private static let states = [(5, 3), (Int.max, 3)]

  @Test(arguments: states) func `a journal that is cut anywhere never leads to a wrong tree`(
    frames: Int, synced: Int
  ) throws {
    let interruption = try Interruption(stagedFrames: frames, syncedAfter: synced)
    let whole = interruption.scratch.read(try interruption.stage().journal).count
    try interruption.clear()
    var held: [UInt64] = []
    for length in Rounds.positions(through: whole) {
      let outcome = try interruption.outcome { $0.removeLast($0.count - length) }
      if case .resumed(let tally) = outcome { held.append(tally.bytes) }
      // Without its first record the journal is not trusted.
      expect((outcome == .refused), is: (length < 52), "\(length)")
    }
    // The longer the journal, the more is held.
    expect(held, is: held.sorted())
    expect(held.last.map { $0 > 0 }, is: true)
  }

  @Test(arguments: states) func `a journal with any byte flipped never leads to a wrong tree`(
    frames: Int, synced: Int
  ) throws {
    let interruption = try Interruption(stagedFrames: frames, syncedAfter: synced)
    let whole = interruption.scratch.read(try interruption.stage().journal).count
    try interruption.clear()
    let positions = Rounds.positions(through: whole - 1)
    var refused = 0
    for position in positions {
      let mask: UInt8 = position.isMultiple(of: 2) ? 0xFF : 1 << UInt8(position / 2 % 8)
      if try interruption.outcome(spoiling: { $0[position] ^= mask }) == .refused { refused += 1 }
    }
    // Records before a sync mark were durable: a power loss cannot have changed them.
    expect(refused > 200 / Rounds.step && refused < positions.count)
  }

  @Test func `the tags decide about data without a sync mark`() throws {
    let interruption = try Interruption(stagedFrames: 7, syncedAfter: 0)
    expect(interruption.frames > 7)
    let scratch = interruption.scratch
    _ = try interruption.stage()
    let whole = try interruption.resume()
    try interruption.clear()
    for name in ["source/d/small", "source/d/chunked", "source/large"] {
      let tree = try interruption.stage().tree
      if scratch.exists("\(tree)/\(name)") {
        scratch.patch("\(tree)/\(name)", [0xEE], at: 100)
        expect(try interruption.resume() != whole)
      }
      try interruption.clear()
    }
  }

  @Test func `another transfer's journal is refused`() throws {
    let interruption = try Interruption(stagedFrames: 6, syncedAfter: 3)
    let outcome = try interruption.outcome { journal in
      var writer = ByteWriter()
      JournalRecord.opened(77).write(to: &writer, position: 0, key: testKeys.journalKey)
      journal.replaceSubrange(..<writer.bytes.count, with: writer.bytes)
    }
    expect(outcome, is: .refused)
  }

  @Test func `the receiver removes unclaimed items, and requests missing items again`() throws {
    let interruption = try Interruption(stagedFrames: 5, syncedAfter: 5)
    let scratch = interruption.scratch
    let tree = try interruption.stage().tree
    scratch.write("\(tree)/source/stranger", pattern(10))
    scratch.makeDirectory("\(tree)/source/strangers")
    scratch.write("\(tree)/source/strangers/inside", pattern(10))
    scratch.remove("\(tree)/source/empty")
    _ = try interruption.resume()
  }

  @Test(arguments: ["", "/tree", "/journal", "/tree/source", "/tree/source/large"])
  func `no link that was put into staging between two runs is followed`(place: String) throws {
    let interruption = try Interruption(stagedFrames: 5, syncedAfter: 0)
    let scratch = interruption.scratch
    let tree = try interruption.stage().tree
    let path = tree.dropLast("/tree".count) + place
    scratch.move(String(path), to: "outside/moved")
    scratch.makeLink(String(path), to: scratch.path("outside/moved"))
    let before = scratch.snapshot("outside")
    // Where it does not fail, everything arrives.
    let outcome = try? interruption.resume()
    expect(outcome != nil || !scratch.exists("destination/source"))
    expect(scratch.snapshot("outside").differences(from: before), is: [])
  }

  @Test(arguments: [["tree"], ["journal"], ["tree", "journal"]])
  func `a staging directory that was only partly durable when the power was lost starts afresh`(
    missing: [String]
  ) throws {
    let interruption = try Interruption(stagedFrames: 0, syncedAfter: 0)
    _ = try interruption.stage()
    for part in missing { try interruption.lose(part) }
    expect(try interruption.resume(), is: .resumed(Tally()))
  }

  /// Records that were not synced may outlive their items.
  @Test func `a staging directory without a tree starts afresh if nothing was synced`() throws {
    let interruption = try Interruption(stagedFrames: 5, syncedAfter: 0)
    _ = try interruption.stage()
    try interruption.lose("tree")
    expect(try interruption.resume(), is: .resumed(Tally()))
  }

  @Test(arguments: states) func `a staging directory without its synced tree is refused`(
    frames: Int, synced: Int
  ) throws {
    let interruption = try Interruption(stagedFrames: frames, syncedAfter: synced)
    _ = try interruption.stage()
    try interruption.lose("tree")
    expect(try interruption.resume(), is: .refused)
  }

  @Test func `items that an importer moved or changed before it died are sent again, and no others`() throws {
    let interruption = try Interruption(stagedFrames: .max, syncedAfter: 2)
    let scratch = interruption.scratch
    let tree = try interruption.stage(isExposed: true).tree
    scratch.remove("\(tree)/source/link")
    scratch.write("\(tree)/source/d/small", pattern(200, seed: 9))
    scratch.setTime("\(tree)/source/d/small", 1_000_000_000)
    scratch.patch("\(tree)/source/d/chunked", [0xFF], at: 700)
    scratch.move("\(tree)/source/large", to: "outside/large")
    scratch.write("\(tree)/source/new", pattern(10))
    // The remaining data: two directories, the empty file, and three of the five ranges of the file
    // in which one byte changed.
    expect(try interruption.resume(), is: .resumed(Tally(items: 3, bytes: 2_500 - 600)))
  }

  @Test func `a file with only some valid parts keeps these, and gets the rest by its record`() throws {
    let interruption = try Interruption(stagedFrames: .max, syncedAfter: 2)
    let scratch = interruption.scratch
    let tree = try interruption.stage(isExposed: true).tree
    let file = "\(tree)/source/d/chunked"
    scratch.patch(file, [0xFF], at: 700)
    try Descriptor.open(scratch.at(file)).setAttribute(Array("user.old".utf8), [1])
    scratch.setMode(file, 0o444)
    _ = try interruption.resume()
    let arrived = try ExtendedMetadata(of: Descriptor.open(scratch.at("destination/source/d/chunked")))
    expect(arrived, is: ExtendedMetadata())
  }

  @Test func `without an importer's mark durable data is not read again`() throws {
    let interruption = try Interruption(stagedFrames: .max, syncedAfter: 2)
    let tree = try interruption.stage().tree
    interruption.scratch.patch("\(tree)/source/d/chunked", [0xFF], at: 700)
    // The guarantee requires that no process changes staging; this shows that the other test can
    // fail.
    withKnownIssue { _ = try interruption.resume() }
  }

  @Test func `an import that stopped between two moves continues`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["a", "b", "c"] {
      scratch.makeDirectory("source/\(name)")
      scratch.write("source/\(name)/file", pattern(50))
    }
    let before = scratch.snapshot("source")
    let export = try Export(["a", "b", "c"].map { scratch.at("source/\($0)") })
    do {
      let arrival = try Arrival(scratch, export.offer)
      try arrival.write(export.outlet.frames)
      try arrival.staging.complete(export.result.finish) { _ in }
      // The first root is moved, and then the process dies.
      let inode = try scratch.open("\(arrival.tree)/a").directory.status().inode
      try arrival.staging.journal.append([
        .moving(ArchivePath(Array("a".utf8)), inode: inode, to: ArchivePath(Array("a".utf8)))
      ])
      scratch.move("\(arrival.tree)/a", to: "destination/a")
    }
    let importer = try FolderImporter(scratch)
    let recovered = try #require(
      try importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
    expect(recovered.stage, is: .concluded(export.result.finish.total))
    _ = try importer.importItems(of: recovered) { _ in }
    // Once more, as after a crash before the tombstone.
    let again = try #require(try importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
    expect(again.stage, is: .imported(export.result.finish.total))
    _ = try importer.importItems(of: again) { _ in }
    try importer.area.clear(0xABC, testKeys)
    expect(scratch.snapshot("destination").differences(from: before), is: [])
  }

  @Test func `the conclusion of an earlier process is durable before an import continues`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/note", [1, 2, 3])
    let export = try Export([scratch.at("source")])
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    // The process dies while it makes the last record durable.
    let last = try #require(try JournalReading(scratch, arrival).positions.dropLast().last)
    let disk = ForgetfulDisk(
      try reopened(Staging.name(of: 0xABC), in: scratch.open("destination")),
      durable: Array(scratch.read(arrival.journal).prefix(Int(last))))
    for _ in 0..<2 {
      let staging = try Staging.recover(
        from: disk, for: export.offer, transfer: 0xABC, keys: testKeys)
      expect(staging.stage, is: .concluded(export.result.finish.total))
      try disk.losePower()
    }
  }
}

import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The items that a sender leaves out because the destination cannot hold them.
@Suite struct WithholdingTests {
  private static let narrow: DestinationTraits = {
    var traits = DestinationTraits()
    traits.largestFile = 4_294_967_295
    traits.keepsSymbolicLinks = false
    traits.nameRules = [.utf8Only, .noWindowsCharacters, .noTrailingDot, .noTrailingSpace, .foldsNames]
    return traits
  }()

  private func tree() throws -> Scratch {
    let scratch = try Scratch.withFolders()
    for name in ["plain", "A", "a", "dot.", "space ", "what?", "d/x", "d./x", "d./e/y"] {
      scratch.write("source/\(name)", pattern(10))
    }
    _ = try scratch.open("source").directory.createFile([0x6E, 0xFF])
    scratch.makeLink("source/link", to: "plain")
    scratch.makeLink("source/d./link", to: "plain")
    scratch.write("source/large", [1])
    scratch.cut("source/large", to: 4_294_967_296)
    expect(link(scratch.path("source/large"), scratch.path("source/large too")), is: 0)
    // The destination cannot hold the first name, but can hold the second, which becomes the file.
    scratch.write("source/a-first:", pattern(20))
    expect(link(scratch.path("source/a-first:"), scratch.path("source/z-second")), is: 0)
    scratch.letSettle()
    return scratch
  }

  @Test func `items that the destination cannot hold are left out, in the announced number`() throws {
    let scratch = try tree()
    let export = try Export([scratch.at("source")], traits: Self.narrow)
    let left = export.outlet.unsent.map {
      "\(String(decoding: $0.path.dropFirst("source/".count), as: UTF8.self)) \($0.reason.name)"
    }
    expect(
      left.sorted(),
      is: [
        "a-first: nameNotAllowed", "d. nameNotAllowed", "d./e directoryNotStored", "d./e/y directoryNotStored",
        "d./link directoryNotStored", "d./x directoryNotStored", "dot. nameNotAllowed", "large too tooLarge",
        "large tooLarge", "link kindNotSupported", "n\u{FFFD} nameNotAllowed", "space  nameNotAllowed",
        "what? nameNotAllowed",
      ])
    expect(export.outlet.unsent.allSatisfy { $0.reason.party == .receiver })
    let finish = export.result.finish
    expect(finish.withheld == 13 && finish.unsent == 0 && finish.total.items + 13 == export.summary.total.items)
    expect(export.source.withholding(for: Self.narrow).count, is: 13)
    let sent = try export.entries.compactMap(\.record)
    expect(
      sent.map { String(decoding: $0.path.bytes, as: UTF8.self) }.sorted(),
      is: [
        "source", "source/A", "source/a", "source/d", "source/d/x", "source/plain", "source/z-second",
      ])
    expect(sent.allSatisfy { $0.kind != .hardLink && Self.narrow.refusal(of: $0) == nil })
    // Progress is complete nevertheless.
    expect(export.outlet.skipped.bytes + export.outlet.counted.bytes, is: export.summary.total.bytes)
  }

  @Test func `the user learns the numbers of left-out items before any data is sent`() throws {
    let scratch = try tree()
    let export = try Export([scratch.at("source")])
    expect(
      export.source.withholding(for: Self.narrow).clause,
      is: "the destination cannot hold names that are not UTF-8 (1 left out), names with control characters or "
        + "one of \" * : < > ? \\ | (2), names that end in a dot (2), names that end in a space (1), "
        + "symbolic links (1), files of 4 GiB or more (2), and items in directories that it cannot hold (4)")
    var few = DestinationTraits()
    few.keepsSymbolicLinks = false
    few.largestFile = 4_294_967_295
    expect(
      export.source.withholding(for: few).clause,
      is: "the destination cannot hold symbolic links (2 left out), and files of 4 GiB or more (2)")
    expect(export.source.withholding(for: DestinationTraits()).clause == nil)
    few.keepsSymbolicLinks = true
    few.largestFile = 17_592_186_040_320
    few.longestTarget = 4
    expect(
      export.source.withholding(for: few).clause,
      is: "the destination cannot hold symbolic links with targets of more than 4 bytes (2 left out)")
  }

  @Test func `a destination that can hold every item gets every item`() throws {
    let scratch = try tree()
    scratch.cut("source/large", to: 10)
    scratch.letSettle()
    let export = try Export([scratch.at("source")])
    expect(export.result.finish.withheld == 0 && export.result.finish.total == export.summary.total)
  }

  @Test func `an item that became too large after the walk is left out, too`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["file", "link"] { scratch.write("source/\(name)", [1]) }
    var traits = DestinationTraits()
    traits.largestFile = 10
    traits.keepsSymbolicLinks = false
    let export = try Export([scratch.at("source/file"), scratch.at("source/link")], traits: traits) {
      scratch.write("source/file", pattern(11))
      scratch.letSettle()
    }
    expect(export.result.finish.withheld == 1 && export.outlet.unsent.map(\.reason) == [.tooLarge])
    expect(try export.entries.map(\.text), is: ["link"])
  }

  @Test func `an app's items are left out in the same way`() throws {
    let appending = Appending(traits: Self.narrow)
    let scratch = try tree()
    try appending.appender.appendLink(
      target: [1], modified: ItemTime(seconds: 1, nanoseconds: 0), at: Array("link".utf8))
    let directory = try Directory.open(scratch.path("source/d")).release()
    try appending.append(directory, at: Array("in./d".utf8))
    try appending.append(scratch.open("source").directory.openChild("plain"), at: Array("plain".utf8))
    let result = appending.finish()
    // The link, the directory created on the way, the directory in it and the file in that.
    expect(result.finish.withheld == 4 && result.finish.total.items == 1 && result.finish.unsent == 0)
  }
}

/// Times that the destination keeps less precisely than the source.
@Suite struct RoundedTimeTests {
  @Test(arguments: [1, 100, 1_000_000_000, 2_000_000_000] as [UInt32])
  func `with skip a file whose time was rounded is not sent again`(granularity: UInt32) throws {
    let scratch = try Scratch.withFolders()
    var traits = DestinationTraits()
    traits.timeGranularity = granularity
    for (name, time) in [("even", 1_600_000_002), ("odd", 1_600_000_003), ("old", -7)] {
      scratch.write("source/root/\(name)", pattern(100))
      scratch.write("destination/root/\(name)", pattern(100))
      scratch.setTime("source/root/\(name)", time, 987_654_321)
      let kept = ItemTime(seconds: Int64(time), nanoseconds: 987_654_321).rounded(to: granularity)
      scratch.setTime("destination/root/\(name)", Int(kept.seconds), Int(kept.nanoseconds))
    }
    scratch.letSettle()
    func leftOut(_ traits: DestinationTraits) throws -> LeftOut {
      let marks = try PresentItems(
        of: [PresentItems.root("root")], in: scratch.open("destination"), keys: testKeys,
        timeGranularity: traits.timeGranularity)
      var held = HeldItems()
      held.add(Held(kind: .present, marks: marks.present))
      held.add(Held(kind: .taken, marks: marks.taken))
      return try Export([scratch.at("source/root")], held: held, traits: traits).result.finish.leftOut
    }
    expect(try leftOut(traits), is: LeftOut(present: 3))
    expect(try leftOut(DestinationTraits()), is: (granularity == 1 ? LeftOut(present: 3) : LeftOut(differing: 3)))
  }

  @Test(.enabled(if: MountedDisk.Kind.ext4.isHere, "no ext4 can be mounted here"))
  func `a time beyond those that the destination keeps is a loss, and arrives once`() throws {
    let scratch = try Scratch.withFolders()
    // With inodes of this size, times are of 32 bits.
    let disk = try MountedDisk(.ext4, options: ["-I", "128"])
    let point = scratch.path("destination")
    try #require(mount(disk.path, point, nil, UInt(MS_BIND), nil) == 0)
    defer { umount2(point, CInt(MNT_DETACH)) }
    for (name, time) in [("early", -3_000_000_000), ("late", 4_000_000_000), ("plain", 1_600_000_000)] {
      scratch.write("source/root/\(name)", pattern(100))
      scratch.setTime("source/root/\(name)", time)
    }
    scratch.setTime("source/root", 1_600_000_000)
    scratch.letSettle()
    func pass(_ existing: Existing, _ number: TransferID) throws -> (LeftOut, [Done.Loss]) {
      let offer = try Export([scratch.at("source/root")]).offer
      let arrival = try Arrival(scratch, offer, transfer: number, existing: existing)
      let present = try arrival.importer.present(
        offer, for: arrival.staging, after: arrival.judgement, takesBases: false)
      var held = HeldItems()
      held.add(Held(kind: .present, marks: present.present))
      held.add(Held(kind: .taken, marks: present.taken))
      let export = try Export([scratch.at("source/root")], held: held, traits: arrival.staging.disk.traits)
      try arrival.write(export.outlet.frames)
      return (export.result.finish.leftOut, try arrival.finish(export.result.finish))
    }
    expect(try pass(.skip, 1).1, is: [Done.Loss(kind: .time, count: 2)])
    expect(try pass(.skip, 2).0, is: LeftOut(present: 3))
    expect(try pass(.merge, 3).0 == LeftOut(present: 3) && scratch.names("destination/root").count == 3)
  }

  @Test func `rounded times and fixed permissions are counted once each`() throws {
    let scratch = try Scratch.withFolders()
    var abilities = DiskAbilities()
    abilities.timeGranularity = 2_000_000_000
    abilities.fixedRights = DiskAbilities.FixedRights(file: 0o755, directory: 0o700)
    let disk = KnownDisk(
      disk: try DirectoryDisk(making: Array("staging".utf8), in: scratch.open("destination")), abilities: abilities)
    let staging = try Staging(on: disk, for: offer(), transfer: 1, keys: testKeys)
    func time(_ seconds: Int64, _ nanoseconds: UInt32 = 0) -> ItemTime {
      ItemTime(seconds: seconds, nanoseconds: nanoseconds)
    }
    let records = [
      try record("root", .directory, mode: 0o755, modified: time(1_700_000_001)),
      try record("root/exact", .file(size: 1), mode: 0o755, modified: time(1_700_000_000)),
      try record("root/odd", .file(size: 1), modified: time(1_700_000_001)),
      try record("root/fraction", .file(size: 0), modified: time(1_700_000_000, 1)),
      try record("root/none", .file(size: 1)),
      try record("root/sub", .directory, mode: 0o700, modified: time(1_700_000_002)),
      try record("root/other", .file(size: 1), mode: 0o644),
    ]
    try StagingWriter(staging).write(
      Crafted.frame { crafted in
        for record in records { if record.size > 0 { crafted.file(record, [7]) } else { crafted.item(record) } }
      })
    try staging.complete(finish(records)) { _ in }
    let losses = [Done.Loss(kind: .mode, count: 2), Done.Loss(kind: .time, count: 3)]
    expect(staging.losses, is: losses)
    // Another process that recovers the same data counts the same.
    let again = try Staging.recover(from: disk, for: offer(), transfer: 1, keys: testKeys)
    expect(again.losses, is: losses)
  }
}

/// A disk that reports only these abilities.
private struct KnownDisk: StagingDisk {
  let disk: DirectoryDisk
  let abilities: DiskAbilities

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  func places() -> any StagingTree { disk.places() }
  func synchronize() throws(SystemError) { try disk.synchronize() }
  func space() -> FileSystemSpace? { disk.space() }
}

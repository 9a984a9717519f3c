import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Files that are larger than the largest file of the destination.
@Suite struct LargestFileTests {
  @Test func `of a file that is too large for the destination only the record crosses, and is refused`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/root/large", pattern(3_001))
    scratch.write("source/root/plain", pattern(3_000))
    scratch.letSettle()
    var abilities = DiskAbilities()
    abilities.largestFile = 3_000
    let disk = KnownDisk(
      disk: try DirectoryDisk(making: Array("staging".utf8), in: scratch.open("destination")), abilities: abilities)
    let export = try Export(
      [scratch.at("source/root")], traits: abilities.traits,
      sizes: .init(smallFile: 500, chunk: 1_000, fullFrame: 1_200))
    expect(export.outlet.counted.bytes == 3_000 && export.outlet.skipped.bytes == 3_001)
    let staging = try Staging(on: disk, for: export.offer, transfer: 1, keys: testKeys)
    staging.beginSession(export.offer)
    let writer = StagingWriter(staging)
    for frame in export.outlet.frames { try writer.write(frame) }
    try staging.complete(export.result.finish) { _ in }
    expect(staging.refusals(from: 0).map(\.reason), is: [.tooLarge])
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
        offer, for: arrival.staging, takesBases: false)
      var held = HeldItems()
      held.add(Held(kind: .present, marks: present.present))
      held.add(Held(kind: .taken, marks: present.taken))
      let export = try Export([scratch.at("source/root")], held: held, traits: arrival.staging.abilities.traits)
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

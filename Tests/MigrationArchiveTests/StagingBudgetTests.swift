import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The metadata that staging keeps: at most as much as there is space for, and as little as
/// possible in memory.
@Suite struct StagingBudgetTests {
  /// A real disk that reports a given space.
  private struct TightDisk: StagingDisk {
    let disk: DirectoryDisk
    let room: UInt64?

    var name: [UInt8] { disk.name }
    var journal: any StagedFile { disk.journal }
    func places() -> any StagingTree { disk.places() }
    func synchronize() throws(SystemError) { try disk.synchronize() }
    func space() -> FileSystemSpace? { room.map { FileSystemSpace(availableBytes: $0, totalBytes: $0) } }
  }

  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func staging(room: UInt64?, flags: Offer.Flags) throws -> Staging {
    let directory = SharedDirectory(try Directory.open(scratch.path))
    let disk = TightDisk(disk: try DirectoryDisk(making: Array("staging".utf8), in: directory), room: room)
    let offer = Offer(
      contents: .folders([Root(kind: .directory, name: Array("root".utf8))]), items: 1, bytes: 0,
      allocated: 0, flags: flags)
    return try Staging(on: disk, for: offer, transfer: 1, keys: testKeys)
  }

  private func full(_ name: String) throws -> ItemRecord {
    var full = try record(name, .directory)
    full.attributes = [ExtendedAttribute(name: Array("user.a".utf8), value: pattern(60_000))]
    return full
  }

  @Test(arguments: [Offer.Flags(), .estimated]) func `metadata takes at most half of the space, each half twice`(
    flags: Offer.Flags
  ) throws {
    let staging = try staging(room: 1 << 20, flags: flags)
    let writer = StagingWriter(staging)
    // The ninth crosses half a megabyte, and the tenth finds that.
    for number in 0..<9 { try writer.write(try Crafted.frame { $0.item(try full("root/\(number)")) }) }
    let frame = try Crafted.frame { $0.item(try full("root/9")) }
    expect(failure { try writer.write(frame) }, is: "noSpace")
    expect(failure { try writer.write(try Crafted.frame { try $0.hole("root/f", 1, at: 0, 1) }) }, is: "noSpace")
    // Another session begins with the space at that time.
    staging.beginSession(offer(bytes: 0))
    try writer.write(frame)
  }

  @Test func `if the space is unknown only the offer counts`() throws {
    let writer = StagingWriter(try staging(room: nil, flags: .estimated))
    for number in 0..<40 { try writer.write(try Crafted.frame { $0.item(try full("root/\(number)")) }) }
  }

  @Test func `the items of one frame never replace each other`() throws {
    let directory = try Crafted.frame { $0.item(try record("root/d", .directory)) }
    // The contents of a directory without a record are not in the journal either.
    let inside = try Crafted.frame { $0.file(try record("root/d/f", .file(size: 1)), [1]) }
    let file = try Crafted.frame { $0.item(try record("root/d", .file(size: 0), generation: 2)) }
    let again = try Crafted.frame { $0.item(try record("root/d", .directory, generation: 2)) }
    let chunk = try Crafted.frame { try $0.chunk("root/d", 2, at: 0, [1]) }
    let attempts = [
      (directory + file, violation(.conflict)), (directory + again, violation(.conflict)),
      (directory + chunk, violation(.conflict)), (inside + file, violation(.conflict)),
      (inside + chunk, violation(.conflict)),
    ]
    for (number, (frame, refusal)) in attempts.enumerated() {
      let arrival = try Arrival(try Scratch(), offer())
      expect(failure { try arrival.writer().write(frame) }, is: refusal, "\(number)")
    }
  }

  @Test func `each item that is not here needs space besides its content`() {
    let offer = Offer(contents: .folders([]), items: 10, bytes: 0, allocated: 5_000, flags: [])
    let shortage = { (available: UInt64, held: Tally) in
      SpaceShortage(of: offer, held: held, availableBytes: available, availableItems: nil)
    }
    expect(shortage(5_000 + 10 * 256, Tally()) == nil)
    expect(shortage(5_000 + 10 * 256 - 1, Tally())?.bytes.needed, is: 5_000 + 10 * 256)
    expect(shortage(5_000 + 9 * 256, Tally(items: 1)) == nil)
    expect(shortage(5_000 + 9 * 256 - 1, Tally(items: 1)) != nil)
    expect(shortage(0, Tally(items: 10, bytes: 5_000)) == nil)
    let most = Offer(
      contents: .folders([]), items: Limits.fileSize, bytes: 0, allocated: Limits.fileSize, flags: [])
    expect(
      SpaceShortage(of: most, held: Tally(), availableBytes: .max - 2, availableItems: nil)?.bytes.needed,
      is: UInt64.max
        - 1)
  }

  @Test func `no piece of a file with a long path costs more than it brings`() throws {
    let directory = "source/" + (0..<10).map { _ in String(repeating: "n", count: 250) }.joined(separator: "/")
    scratch.write("\(directory)/sparse", [])
    for block in 0..<20 { scratch.patch("\(directory)/sparse", pattern(4_096), at: block * 16_384) }
    scratch.letSettle()
    let export = try Export([scratch.at("source")])
    var (cost, bytes) = (0, 0)
    for case .chunk(let place, _, let data) in try export.entries {
      cost += 96 + place.path.bytes.count
      bytes += data.count
    }
    for case .hole(let place, _) in try export.entries { cost += 96 + place.path.bytes.count }
    expect(cost > 20 * 2_500 && cost <= bytes + 2 * 2_700)
    let arrival = try Arrival(scratch, export.offer)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    let name = directory.replacing("source", with: "destination/source") + "/sparse"
    expect(scratch.read(name), is: scratch.read("\(directory)/sparse"))
  }

  @Test func `records that are applied at the end are read from the journal, also after a restart`() throws {
    let arrival = try Arrival(scratch, offer(items: 20))
    var items = [try record("root", .directory), try record("root/f", .file(size: 1))]
    for number in 0..<3 {
      items.append(try full("root/d\(number)"))
      items.append(try hardLink("root/link\(number)", to: "root/f"))
    }
    try arrival.write([
      Crafted.frame { frame in
        for item in items { if item.size > 0 { frame.file(item, [7]) } else { frame.item(item) } }
      }
    ])
    arrival.staging.beginSession(offer(items: 20))
    let directory = SharedDirectory(try Directory.open(scratch.at("destination")))
    let again = try Staging.recover(
      from: try reopened(arrival.staging.disk.name, in: directory), for: offer(items: 20),
      transfer: arrival.staging.transfer, keys: testKeys)
    for staging in [arrival.staging, again] {
      let path = try ArchivePath(Array("root/d1".utf8))
      expect(try staging.directoryRecord(path), is: items[4])
      expect(try staging.directoryRecord(try ArchivePath(Array("root/f".utf8))) == nil)
    }
    try again.complete(finish(items)) { _ in }
    expect(scratch.read("\(arrival.tree)/root/link2"), is: [7])
  }
}

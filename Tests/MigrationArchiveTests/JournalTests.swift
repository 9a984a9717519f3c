import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A journal on disk, record by record.
struct JournalReading {
  var records: [JournalRecord] = []
  var positions: [UInt64] = []

  init(_ scratch: Scratch, _ arrival: Arrival) throws {
    let bytes = scratch.read(arrival.journal)
    var position = 0
    while position < bytes.count {
      let read = try JournalRecord.read(
        bytes.span.extracting(position...), position: UInt64(position), key: testKeys.journalKey)
      let (record, length) = try #require(read, "the journal ends in the middle of a record")
      records.append(record)
      positions.append(UInt64(position))
      position += length
    }
    positions.append(UInt64(position))
  }
}

@Suite struct JournalTests {
  @Test func `every claim is on disk when its frame is written`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(), transfer: 42)
    let directory = try record("root", .directory, mode: 0o755)
    let small = try record("root/small", .file(size: 2))
    let large = try record("root/large", .file(size: 3))
    let stale = try place("root/stale", 1, 0, 1)
    let writer = arrival.writer()
    try writer.write(
      try Crafted.frame { frame in
        frame.item(directory)
        frame.file(small, [1, 2])
        try frame.chunk("root/large", 1, at: 0, [1, 2])
        try frame.chunk("root/stale", 1, at: 0, [1])
      })
    var kinds = try JournalReading(scratch, arrival).records.map(kind)
    expect(kinds, is: ["opened", "item root", "sealed item root/small", "range root/large", "range root/stale"])
    try writer.write(
      try Crafted.frame { frame in
        frame.item(large)
        try frame.hole("root/large", 1, at: 2, 1)
        try frame.chunk("root/stale", 2, at: 0, [5])
        // Repeated data is claimed once.
        try frame.hole("root/large", 1, at: 2, 1)
        frame.item(directory)
      })
    kinds = try JournalReading(scratch, arrival).records.map(kind)
    expect(kinds[5...], is: ["discarded root/stale", "sealed root/large", "hole root/large", "range root/stale"])
    let first = try JournalReading(scratch, arrival)
    expect(first.records[0], is: .opened(42))
    guard case .range(let claimed, let lanes) = first.records[4] else {
      Issue.record("no range")
      return
    }
    expect(claimed, is: stale)
    let data: [UInt8] = [1]
    expect(lanes, is: PieceLanes(checkLanes(of: data.span)))
    try arrival.clear()
  }

  @Test func `a sync mark vouches for the records before it`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let file = try record("root", .file(size: 0))
    try arrival.staging.synchronize()
    try arrival.write([Crafted.frame { $0.item(file) }])
    try arrival.staging.synchronize()
    try arrival.staging.complete(finish([file])) { _ in }
    let journal = try JournalReading(scratch, arrival)
    expect(
      journal.records,
      is: [
        .opened(0xABC), .synced(upTo: journal.positions[1]), .item(file, nil), .synced(upTo: journal.positions[3]),
        .synced(upTo: journal.positions[4]), .concluded(Tally(items: 1, bytes: 0)),
      ])
    try arrival.clear()
  }

  @Test func `an entry that is refused is not claimed`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    var frame = try Crafted.frame { try $0.chunk("root/f", 1, at: 0, [1]) }
    frame[frame.count - 1] ^= 1
    expect(failure { try arrival.writer().write(frame) }, is: violation(.check))
    expect(try JournalReading(scratch, arrival).records, is: [.opened(0xABC)])
    expect(arrival.staging.report.partials.isEmpty && arrival.staging.held == Tally())
    try arrival.clear()
  }

  @Test func `the staging directory is private to its owner`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let snapshot = scratch.snapshot("destination")
    let name = String(decoding: arrival.staging.disk.name, as: UTF8.self)
    expect(name, is: ".peer-00000000000000000000000000000abc")
    expect(snapshot[name]?.mode == 0o700 && snapshot["\(name)/journal"]?.mode == 0o600)
    try arrival.clear()
  }

  private func kind(_ record: JournalRecord) -> String {
    func name(_ path: ArchivePath) -> String { String(decoding: path.bytes, as: UTF8.self) }
    switch record {
    case .opened: return "opened"
    case .item(let item, nil): return "item \(name(item.path))"
    case .item(let item, _?): return "sealed item \(name(item.path))"
    case .range(let place, _): return (place.isHole ? "hole " : "range ") + name(place.path)
    case .sealed(let item): return "sealed \(name(item.path))"
    case .discarded(let path): return "discarded \(name(path))"
    case .discardedTree(let path): return "discarded tree \(name(path))"
    case .void: return "void"
    case .moving: return "moving"
    case .aside: return "aside"
    case .importing: return "importing"
    case .placed: return "placed"
    case .kept(let item, _): return "kept \(name(item.path))"
    case .rewritten: return "rewritten"
    case .following: return "following"
    case .refused: return "refused"
    case .existing(let existing): return "existing \(existing.name)"
    case .placing(_, let target): return target == nil ? "placing nothing" : "placing"
    case .synced: return "synced"
    case .concluded: return "concluded"
    case .exposed: return "exposed"
    case .imported: return "imported"
    case .arrived(let item): return "arrived \(name(item.path))"
    }
  }
}

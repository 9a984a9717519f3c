import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct StreamOrderTests {
  private let content = pattern(3 * 1000)

  private func chunks(_ generation: Generation = 1, _ path: String = "root/file") throws -> [[UInt8]] {
    try (0..<3).map { (index: Int) -> [UInt8] in
      let start = index * 1000
      let piece = Array(content[start..<start + 1000])
      return try Crafted.frame { try $0.chunk(path, generation, at: UInt64(start), piece) }
    }
  }

  private func fileRecord(_ generation: Generation = 1) throws -> ItemRecord {
    try record(
      "root/file", .file(size: 3000), generation: generation, mode: 0o640,
      modified: ItemTime(seconds: 99, nanoseconds: 3))
  }

  private func check(_ frames: [[UInt8]], _ generation: Generation = 1) throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer())
    let writers = [arrival.writer(), arrival.writer(), arrival.writer()]
    for (index, frame) in frames.enumerated() { try writers[index % 3].write(frame) }
    try arrival.finish(finish([try fileRecord(generation)]))
    let entry = try #require(scratch.snapshot("destination")["root/file"])
    expect(entry.content == content && entry.mode == 0o640 && entry.seconds == 99 && entry.nanoseconds == 3)
    // The staging directory keeps four open (its parent, itself, its tree, its journal), and each
    // writer the directory it wrote to last.
    expect(scratch.openDescriptors() <= 4 + writers.count)
  }

  @Test func `every order of a record and its chunks results in the file`() throws {
    let item = try Crafted.frame { $0.item(try fileRecord()) }
    let parts = try chunks() + [item]
    for first in 0..<4 {
      for second in 0..<4 where second != first {
        for third in 0..<4 where third != first && third != second {
          try check([first, second, third, 6 - first - second - third].map { parts[$0] })
        }
      }
    }
  }

  @Test func `repeated entries change nothing`() throws {
    let item = try Crafted.frame { $0.item(try fileRecord()) }
    let chunks = try chunks()
    try check([item, item] + chunks + chunks + [item])
    try check(chunks + [item] + chunks + [item])
    try check([chunks[1], chunks[1], item, chunks[0], chunks[1], item, chunks[2], chunks[0]])
  }

  @Test func `another generation starts afresh`() throws {
    let old = try chunks(1)
    let new = try chunks(2)
    let item = try Crafted.frame { $0.item(try fileRecord(2)) }
    let short = try Crafted.frame { try $0.chunk("root/file", 1, at: 5000, [1, 2, 3]) }
    try check([old[0], short] + new + [item], 2)
    try check([old[0], old[2], item] + new, 2)
    try check([try Crafted.frame { $0.item(try fileRecord(1)) }, old[0], new[0], item, new[2], new[1]], 2)
    let whole = try Crafted.frame { $0.file(try fileRecord(2), content) }
    try check([old[0], old[1], whole], 2)
  }

  @Test func `a file that becomes another type between two generations arrives as that type`() throws {
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(["root", "x"]))
    let records = [
      try link("root/a", to: "b", generation: 2), try record("root/b", .directory, generation: 2),
      try record("root/c", .file(size: 0), generation: 2), try hardLink("root/d", to: "root/c", generation: 2),
    ]
    for name in ["a", "b", "c", "d"] {
      try arrival.write([try Crafted.frame { try $0.chunk("root/\(name)", 1, at: 0, [1]) }])
    }
    try arrival.write([Crafted.frame { for record in records { $0.item(record) } }])
    try arrival.finish(finish(records))
    expect(scratch.names("destination/root"), is: ["a", "b", "c", "d"])
    expect(scratch.openDescriptors() <= 5)
  }

  @Test func `two streams write one large file, and one of them completes it`() throws {
    for round in 0..<20 as Range<UInt128> {
      let scratch = try Scratch.withFolders()
      let arrival = try Arrival(scratch, offer(), transfer: round)
      let pieces = 64
      let bytes = pattern(pieces * 512)
      let whole = try record(
        "root/file", .file(size: UInt64(bytes.count)), mode: 0o600, modified: ItemTime(seconds: 7, nanoseconds: 0))
      let frames = try (0..<pieces).map { (index: Int) -> [UInt8] in
        let start = index * 512
        let piece = Array(bytes[start..<start + 512])
        return try Crafted.frame { try $0.chunk("root/file", 1, at: UInt64(start), piece) }
      }
      let item = Crafted.frame { $0.item(whole) }
      var halves: [[[UInt8]]] = [[], []]
      for (index, frame) in frames.enumerated() { halves[index % 2].append(frame) }
      // The record comes first, last, or in between.
      halves[Int(round) % 2].insert(item, at: Int(round) * 32 / 19)
      expect(try concurrently(halves, into: arrival), is: [nil, nil])
      try arrival.finish(finish([whole]))
      let entry = try #require(scratch.snapshot("destination")["root/file"])
      expect(entry.content == bytes && entry.seconds == 7)
    }
  }

  @Test func `a record and the first chunk of its file arrive at the same moment`() throws {
    // A file of one chunk is two entries in two frames, on two streams; thousands of them meet in
    // every order.
    let scratch = try Scratch.withFolders()
    let arrival = try Arrival(scratch, offer(items: 10_000))
    var streams: [[[UInt8]]] = [[], []]
    var records: [ItemRecord] = []
    for number in 0..<1_500 {
      let path = "root/\(number)"
      let file = try record(path, .file(size: 4), generation: 2, mode: 0o644)
      records.append(file)
      // Half of them had arrived in part, in another generation.
      if number % 2 == 0 {
        try arrival.write([try Crafted.frame { try $0.chunk(path, 1, at: 0, [9]) }])
        if number % 4 == 0 { try arrival.write([try Crafted.frame { try $0.chunk(path, 1, at: 7, [9]) }]) }
      }
      streams[0].append(Crafted.frame { $0.item(file) })
      streams[1].append(try Crafted.frame { try $0.chunk(path, 2, at: 0, [1, 2, 3, 4]) })
      if streams[0].count == 100 || number == 1_499 {
        expect(try concurrently(streams, into: arrival), is: [nil, nil])
        streams = [[], []]
      }
    }
    expect(arrival.staging.report.partials.isEmpty)
    try arrival.finish(finish(records))
    let snapshot = scratch.snapshot("destination/root")
    expect(snapshot.entries.count, is: 1_500)
    expect(snapshot.entries.values.allSatisfy { $0.content == [1, 2, 3, 4] })
  }

  @Test func `four streams bring one tree with every item twice`() throws {
    let scratch = try Scratch.withFolders()
    for directory in 0..<10 {
      scratch.makeDirectory("source/\(directory)")
      for file in 0..<40 { scratch.write("source/\(directory)/\(file)", pattern(3000, seed: UInt64(file + 1))) }
      scratch.write("source/\(directory)/big", pattern(1_500_000))
    }
    let before = scratch.snapshot("source")
    let export = try Export([scratch.at("source")])
    let arrival = try Arrival(scratch, export.offer)
    var streams = [[[UInt8]]](repeating: [], count: 4)
    for (index, frame) in export.outlet.frames.enumerated() { streams[index % 4].append(frame) }
    expect(try concurrently(streams, into: arrival), is: [nil, nil, nil, nil])
    expect(try concurrently(streams.map { $0.reversed() }, into: arrival), is: [nil, nil, nil, nil])
    try arrival.finish(export.result.finish)
    expect(scratch.snapshot("destination/source").differences(from: before), is: [])
  }

  @Test func `one stream at a time writes into a file`() throws {
    let arrival = try Arrival(try Scratch.withFolders(), offer())
    let inside = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let file = NarrowFile(arrival.staging.disk.journal) { (_) throws(SystemError) in
      most.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      sched_yield()
      inside.subtract(1, ordering: .relaxed)
    }
    let open = Staging.OpenFile(file: file, isRecovered: false)
    let threads = try (0..<3).map { number in
      try RunningThread("stream") { for _ in 0..<500 { try open.write(at: UInt64(number), [1].span) } }
    }
    for thread in threads { try thread.value() }
    expect(most.load(ordering: .relaxed), is: 1)
  }

  /// Writes each list of frames on its own thread. Returns the result of each.
  private func concurrently(_ streams: [[[UInt8]]], into arrival: Arrival) throws -> [String?] {
    let waiting = Atomic<Int>(streams.count)
    let staging = arrival.staging
    let threads = try streams.map { frames in
      try RunningThread("stream") {
        let writer = StagingWriter(staging)
        waiting.subtract(1, ordering: .acquiringAndReleasing)
        while waiting.load(ordering: .acquiring) > 0 { sched_yield() }
        return failure { for frame in frames { try writer.write(frame) } }
      }
    }
    return try threads.map { try $0.value() }
  }
}

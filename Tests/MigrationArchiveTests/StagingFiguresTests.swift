import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The data that threads may read from an archive without waiting for a disk.
@Suite struct StagingFiguresTests {
  /// Holds a thread until it is released.
  private final class Barrier: Sendable {
    private let state = Condition((isReached: false, isOpen: false))

    func pass() {
      state.withLock { $0.isReached = true }
      state.broadcast()
      _ = state.wait(until: soon()) { $0.isOpen ? true : nil }
    }

    func open() {
      state.withLock { $0.isOpen = true }
      state.broadcast()
    }

    /// Whether a thread is held, and has not finished.
    func isReached(unless isThrough: () -> Bool) throws -> Bool {
      let deadline = soon()
      while BootInstant.now() < deadline {
        let isReached = state.wait(until: .now() + .milliseconds(20)) { $0.isReached ? true : nil }
        if isReached == true { return true }
        if isThrough() { return false }
      }
      throw TookTooLong("that a disk stands still")
    }
  }

  /// New states of items that an earlier session brought, in parts and whole, so that every
  /// operation is performed.
  private func frames() throws -> (old: [[UInt8]], new: [[UInt8]]) {
    let old = try Crafted.frame { frame in
      frame.file(try record("root/whole", .file(size: 3)), [1, 2, 3])
      try frame.chunk("root/parts", 1, at: 0, pattern(100))
      frame.item(try record("root/tree", .directory))
      frame.file(try record("root/tree/leaf", .file(size: 1)), [9])
    }
    let new = try (0..<4).map { index in
      try Crafted.frame { frame in
        switch index {
        case 0: frame.file(try record("root/whole", .file(size: 2), generation: 2), [4, 5])
        case 1: try frame.chunk("root/parts", 2, at: 0, pattern(50))
        case 2: frame.file(try record("root/tree", .file(size: 1), generation: 2), [7])
        default: frame.item(try record("root/parts", .file(size: 50), generation: 2))
        }
      }
    }
    return ([old], new)
  }

  /// An archive that a second session is about to change, on a disk that hangs at one of these
  /// operations.
  private func staging(_ scratch: Scratch) throws -> (Staging, MortalDisk) {
    let directory = SharedDirectory(try Directory.open(scratch.at("destination")))
    let disk = MortalDisk(
      try DirectoryDisk(making: Staging.name(of: 0xABC), in: directory), dyingAt: nil, diesAfter: false)
    let staging = try Staging(on: disk, for: offer(), transfer: 0xABC, keys: testKeys)
    staging.beginSession(offer())
    let writer = StagingWriter(staging)
    for frame in try frames().old { try writer.write(frame) }
    staging.beginSession(offer())
    return (staging, disk)
  }

  @Test func `holes are counted as they come, and those of an earlier process are not`() throws {
    let scratch = try Scratch.withFolders()
    let directory = SharedDirectory(try Directory.open(scratch.at("destination")))
    let name = Staging.name(of: 0xABC)
    do {
      let staging = try Staging(
        on: try DirectoryDisk(making: name, in: directory), for: offer(), transfer: 0xABC, keys: testKeys)
      staging.beginSession(offer())
      let writer = StagingWriter(staging)
      try writer.write(
        try Crafted.frame { frame in
          try frame.chunk("root/sparse", 1, at: 0, pattern(100))
          try frame.hole("root/sparse", 1, at: 100, 900)
        })
      expect(staging.arrived, is: Arrived(Tally(bytes: 1000), holes: 900))
    }
    let again = try Staging.recover(
      from: try reopened(name, in: directory), for: offer(), transfer: 0xABC, keys: testKeys)
    expect(again.arrived, is: Arrived(Tally(bytes: 1000), uncounted: 1000))
  }

  @Test func `the progress can be read while a disk hangs`() throws {
    var stops = 0
    while true {
      let scratch = try Scratch.withFolders()
      let (staging, disk) = try staging(scratch)
      let barrier = Barrier()
      defer { barrier.open() }
      let stop = stops
      disk.life.withLock { $0.stranger = ($0.operations + stop + 1, { barrier.pass() }) }
      let new = try frames().new
      let isThrough = Mutex(false)
      let writing = try RunningThread("writer") {
        defer { isThrough.withLock { $0 = true } }
        let writer = StagingWriter(staging)
        for frame in new { try writer.write(frame) }
      }
      let isHeld = try barrier.isReached { isThrough.withLock { $0 } }
      // On a separate thread, so that a wait fails the test and does not stop the machine.
      let asking = try RunningThread("asking") {
        (staging.held, staging.settled, staging.notStored, staging.losses)
      }
      let answer = try asking.value()
      expect(answer.0.items <= 4 && answer.1 == answer.0 && answer.2 == 0 && answer.3 == [])
      barrier.open()
      try writing.value()
      expect(staging.held, is: Tally(items: 3, bytes: 53))
      guard isHeld else { break }
      stops += 1
    }
    expect(stops > 20)
  }

  @Test func `the figures equal the ledger's after each step, including refusals and a recovery`() throws {
    let scratch = try Scratch.withFolders()
    let directory = SharedDirectory(try Directory.open(scratch.at("destination")))
    let name = Staging.name(of: 0xABC)
    func check(_ staging: Staging) {
      let (held, refused) = staging.shared.withLock {
        (Tally(items: $0.ledger.total.items, bytes: $0.ledger.heldBytes), $0.ledger.refusedTotal)
      }
      expect(staging.held == held && staging.notStored == refused.items && staging.settled == held.adding(refused))
    }
    let frames = try [
      Crafted.frame { $0.file(try record("root/a", .file(size: 3)), [1, 2, 3]) },
      Crafted.frame { $0.file(try record("root/b:c", .file(size: 2)), [1, 2]) },
      Crafted.frame { try $0.chunk("root/d", 1, at: 0, pattern(100)) },
      Crafted.frame { $0.item(try link("root/link", to: "a")) },
    ]
    do {
      let disk = NarrowDisk(try DirectoryDisk(making: name, in: directory))
      let staging = try Staging(on: disk, for: offer(), transfer: 0xABC, keys: testKeys)
      staging.beginSession(offer())
      check(staging)
      let writer = StagingWriter(staging)
      for frame in frames {
        try writer.write(frame)
        check(staging)
      }
      expect(staging.held == Tally(items: 1, bytes: 103) && staging.notStored == 2)
    }
    let disk = NarrowDisk(try reopened(name, in: directory))
    let staging = try Staging.recover(
      from: disk, for: offer(), transfer: 0xABC, keys: testKeys)
    check(staging)
    expect(staging.held == Tally(items: 1, bytes: 103) && staging.notStored == 2)
  }
}

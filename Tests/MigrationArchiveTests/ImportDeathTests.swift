import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationArchive

/// The import dies at each of its operations in turn, and is run again.
@Suite struct ImportDeathTests {
  @Test(arguments: [Existing.skip, .keepBoth, .replace], [false, true])
  func `an import that dies at any operation leaves every old file old or new, and can be completed`(
    _ existing: Existing, _ diesAfter: Bool
  ) throws {
    let expected = try whole(existing)
    var last = 0
    while true {
      last += 1
      let ground = try PreparedGround()
      let hasDied = try dies(ground, existing, at: last, diesAfter: diesAfter)
      let broken = ground.broken(existing, isWhole: !hasDied)
      #expect(broken == [], "died at \(last)")
      guard hasDied, broken.isEmpty else { break }
      // A second death a little later, and then to the end.
      if try dies(ground, nil, at: last % 7 + 3, diesAfter: diesAfter) {
        #expect(ground.broken(existing, isWhole: false) == [], "died again after \(last)")
      }
      try ground.goOn(nil)
      #expect(ground.broken(existing, isWhole: true) == [], "completed after \(last)")
      #expect(names(ground) == expected, "completed after \(last)")
    }
    #expect(last > 15)
  }

  /// All names at the destination: nothing arrives twice.
  private func names(_ ground: PreparedGround) -> [String] {
    ground.destination.entries.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  private func whole(_ existing: Existing) throws -> [String] {
    let ground = try PreparedGround()
    _ = try ground.migrate(existing)
    return names(ground)
  }

  /// Runs the import of what has arrived until it dies; false if it does not. `existing` is nil for one that was begun before.
  private func dies(
    _ ground: PreparedGround, _ existing: Existing?, at last: Int, diesAfter: Bool
  ) throws -> Bool {
    if let existing {
      let arrival = try ground.arrive(existing)
      try arrival.staging.complete(ground.export.packer.finish) { _ in }
    }
    let disk = try DirectoryDisk(opening: Staging.name(of: 0xABC), in: try ground.scratch.open("destination"))
    let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: diesAfter)
    let staging = try Staging.recover(
      from: mortal, for: ground.export.offer, transfer: 0xABC, keys: testKeys, sealer: HashSealer())
    mortal.life.withLock { life in
      life.operations = 0
      life.last = last
    }
    var moves = FolderImport(staging, to: mortal)
    do {
      try moves.run { _ in }
    } catch {
      #expect(mortal.hasDied, "\(error)")
    }
    return mortal.hasDied
  }
}

import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The import dies at each of its operations in turn, and is run again.
@Suite struct ImportDeathTests {
  /// A configuration of a disk: how it moves names, and how taken names are treated.
  struct Course: CustomTestStringConvertible, Sendable {
    let renaming: MortalDisk.Renaming
    let existing: Existing
    /// Whether a crash may leave an empty file under a name that was free.
    var mayClaim: Bool { [.claiming, .claimingFreshly, .claimingByPath].contains(renaming) }
    var testDescription: String { "\(renaming), \(existing)" }

    static let all = MortalDisk.Renaming.allCases.flatMap { renaming in
      [Existing.skip, .keepBoth, .replace, .merge].map { Course(renaming: renaming, existing: $0) }
    }
  }

  @Test(arguments: Course.all)
  func `an import that dies at any operation leaves every old file old or new, and can be completed`(
    _ course: Course
  ) throws {
    let existing = course.existing
    let expected = try whole(existing)
    var last = 0
    // Before each operation, which is behind the one in front of it; at the end, behind the last one.
    // With steps of several operations, the last ones come one by one.
    var (step, isBehind) = (Rounds.step, false)
    while true {
      if !isBehind { last += step }
      let ground = try PreparedGround(for: existing)
      let hasDied = try dies(ground, existing, at: last, isBehind: isBehind, course)
      let broken = ground.broken(existing, isWhole: !hasDied, mayClaim: course.mayClaim)
      #expect(broken == [], "died at \(last)")
      guard broken.isEmpty, hasDied || !isBehind else { break }
      if !hasDied {
        last -= step
        isBehind = step == 1
        step = 1
        continue
      }
      // A second death a little later, and then completion.
      if try dies(ground, nil, at: last % 7 + 3, course) {
        #expect(ground.broken(existing, isWhole: false, mayClaim: course.mayClaim) == [], "died again after \(last)")
      }
      // Completion, on such a disk too.
      if try dies(ground, nil, at: nil, course) { Issue.record("it died again") }
      try ground.goOn(nil)
      #expect(ground.broken(existing, isWhole: true) == [], "completed after \(last)")
      #expect(names(ground) == expected, "completed after \(last)")
      if isBehind { break }
    }
    #expect(last > 15)
  }

  /// All names at the destination: no item arrives twice.
  private func names(_ ground: PreparedGround) -> [String] {
    ground.destination.entries.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  private func whole(_ existing: Existing) throws -> [String] {
    let ground = try PreparedGround(for: existing)
    _ = try ground.migrate(existing)
    return names(ground)
  }

  @Test(arguments: MortalDisk.Renaming.allCases)
  func `a name that another program takes keeps that program's entry`(_ renaming: MortalDisk.Renaming) throws {
    var at = 0
    var isOver = false
    while !isOver {
      at += 1
      let ground = try PreparedGround()
      let stranger = Stranger(ground.scratch.path("destination"))
      let course = Course(renaming: renaming, existing: .skip)
      isOver = try !dies(ground, .skip, at: nil, course, stranger: (at, { stranger.act() })) && !stranger.hasActed
      #expect(stranger.replaced == [], "at \(at)")
      #expect(ground.broken(.skip, isWhole: false).filter { !stranger.isAbout($0) } == [], "at \(at)")
    }
    #expect(at > 15)
  }

  /// Runs the import of the received data until it dies; false if it does not. `existing` is nil
  /// for a transfer that was begun before.
  private func dies(
    _ ground: PreparedGround, _ existing: Existing?, at last: Int?, isBehind: Bool = false, _ course: Course,
    stranger: (at: Int, act: @Sendable () -> Void)? = nil
  ) throws -> Bool {
    if let existing {
      let arrival = try ground.arrive(existing)
      try arrival.staging.complete(ground.export.result.finish) { _ in }
    }
    let disk = try reopened(Staging.name(of: 0xABC), in: try ground.scratch.open("destination"))
    let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: isBehind, renaming: course.renaming)
    let staging = try Staging.recover(
      from: mortal, for: ground.export.offer, transfer: 0xABC, keys: testKeys)
    mortal.life.withLock { life in
      life.operations = 0
      life.last = last
      life.stranger = stranger
    }
    var moves = FolderImport(staging, to: mortal)
    do {
      try moves.run { _ in }
      try staging.finishImport()
    } catch {
      #expect(mortal.hasDied, "\(error)")
    }
    return mortal.hasDied
  }
}

/// Another program that takes names in the destination as early as possible, and puts files into
/// existing directories.
private final class Stranger: Sendable {
  private static let names = ["new.txt", "photos/new.jpg", "photos/new", "photos/locked", "photos/sub/below"]
  private static let content = "another program's"
  private let destination: String
  private let made = Mutex<[String]?>(nil)

  init(_ destination: String) { self.destination = destination }

  var hasActed: Bool { made.withLock { $0 != nil } }
  /// Its entries that have been removed or changed.
  var replaced: [String] { made.withLock { $0 ?? [] }.filter { text($0) != Self.content } }

  func act() {
    let made = Self.names.flatMap { name in make(name) ? [name] : make("\(name)/stranger") ? ["\(name)/stranger"] : [] }
    self.made.withLock { $0 = made }
  }

  /// Whether it caused a problem of the destination.
  func isAbout(_ complaint: String) -> Bool { Self.names.contains { complaint.hasPrefix($0) } }

  private func make(_ name: String) -> Bool {
    let file = open("\(destination)/\(name)", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    return write(file, Self.content, Self.content.utf8.count) == Self.content.utf8.count
  }

  private func text(_ name: String) -> String? {
    (try? FileContent.read(Array("\(destination)/\(name)".utf8), limit: 1 << 10)).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

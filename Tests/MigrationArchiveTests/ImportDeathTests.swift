import Expectations
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
    var mayHavePlaceholder: Bool { [.placeholder, .placeholderFreshly, .placeholderByPath].contains(renaming) }
    var testDescription: String { "\(renaming), \(existing)" }

    static let all = MortalDisk.Renaming.allCases.flatMap { renaming in
      [Existing.skip, .keepBoth, .replace, .update, .merge].map { Course(renaming: renaming, existing: $0) }
    }

    /// The operations at which the import dies. All courses together try each of them.
    func positions(through last: Int) -> [Int] {
      guard Rounds.step > 1 else { return Array(1...last) }
      let number = Self.all.firstIndex { $0.testDescription == testDescription }!
      return Array(stride(from: 1 + number, to: last, by: Self.all.count)) + [last]
    }
  }

  @Test func `where each folder is synced, a run syncs those of items that a run before has placed`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["a", "f/b", "f/g/c"] { scratch.write("source/root/\(name)", Array("new".utf8)) }
    scratch.write("destination/root/f/g/own", Array("own".utf8))
    let root = [scratch.at("source/root")]
    let arrival = try Arrival(scratch, try Export(root).offer, existing: .merge)
    let export = try Export(root)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    func noted() throws -> [String] {
      let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
      let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: false)
      let staging = try Staging.recover(from: mortal, for: export.offer, transfer: 0xABC, keys: testKeys)
      mortal.life.withLock { $0.syncsEach = true }
      var moves = FolderImport(staging, to: mortal)
      try moves.run { _ in }
      return mortal.life.withLock { $0.noted.map(\.text).sorted() }
    }
    // The second run finds everything in its place.
    for _ in 1...2 { expect(try noted(), is: ["root", "root/a", "root/f", "root/f/b", "root/f/g", "root/f/g/c"]) }
  }

  @Test(arguments: Course.all)
  func `an import that dies at any operation leaves every old file old or new, and can be completed`(
    _ course: Course
  ) throws {
    let existing = course.existing
    let expected = try whole(existing)
    let ground = try PreparedGround(for: existing)
    let alive = try importing(ground, existing, at: nil, course)
    expect(
      !alive.hasDied && ground.broken(existing, isWhole: true, mayHavePlaceholder: course.mayHavePlaceholder) == [])
    let last = alive.life.withLock { $0.operations }
    expect(last > 15)
    // Before each operation, which is behind the one in front of it; at the end, behind the last one.
    for (at, isBehind) in course.positions(through: last).map({ ($0, false) }) + [(last, true)] {
      let ground = try PreparedGround(for: existing)
      let hasDied = try importing(ground, existing, at: at, isBehind: isBehind, course).hasDied
      let broken = ground.broken(existing, isWhole: false, mayHavePlaceholder: course.mayHavePlaceholder)
      expect(hasDied && broken == [], "died at \(at)")
      guard hasDied, broken.isEmpty else { break }
      // A second death a little later, and then completion.
      if try importing(ground, nil, at: at % 7 + 3, course).hasDied {
        expect(
          ground.broken(existing, isWhole: false, mayHavePlaceholder: course.mayHavePlaceholder), is: [],
          "died again after \(at)")
      }
      // Completion, on such a disk too.
      if try importing(ground, nil, at: nil, course).hasDied { Issue.record("it died again") }
      try ground.goOn(nil)
      expect(ground.broken(existing, isWhole: true), is: [], "completed after \(at)")
      expect(names(ground), is: expected, "completed after \(at)")
    }
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
    var at = 1 + MortalDisk.Renaming.allCases.firstIndex(of: renaming)! - Rounds.step
    var isOver = false
    while !isOver {
      at += Rounds.step
      let ground = try PreparedGround()
      let stranger = Stranger(ground.scratch.path("destination"))
      let course = Course(renaming: renaming, existing: .skip)
      isOver =
        try !importing(ground, .skip, at: nil, course, stranger: (at, { stranger.act() })).hasDied && !stranger.hasActed
      expect(stranger.replaced, is: [], "at \(at)")
      expect(ground.broken(.skip, isWhole: false).filter { !stranger.isAbout($0) }, is: [], "at \(at)")
    }
    expect(at > 15)
  }

  /// Runs the import of the received data on a disk until it dies, or to its end. `existing` is nil
  /// for a transfer that was begun before.
  private func importing(
    _ ground: PreparedGround, _ existing: Existing?, at last: Int?, isBehind: Bool = false, _ course: Course,
    stranger: (at: Int, act: @Sendable () -> Void)? = nil
  ) throws -> MortalDisk {
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
      expect(mortal.hasDied, "\(error)")
    }
    return mortal
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

import Glibc
import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationArchive

/// The import dies at each of its operations in turn, and is run again.
@Suite struct ImportDeathTests {
  /// What is to be tried of a disk: how it moves names, what becomes of taken ones, and whether the last operation is done.
  struct Course: CustomTestStringConvertible, Sendable {
    let renaming: MortalDisk.Renaming
    let existing: Existing
    let diesAfter: Bool
    /// Whether a crash may leave an empty file of a name that was free.
    var mayClaim: Bool { [.claiming, .claimingFreshly, .claimingByPath].contains(renaming) }
    var testDescription: String { "\(renaming), \(existing), \(diesAfter ? "after" : "before")" }

    static let all = MortalDisk.Renaming.allCases.flatMap { renaming in
      [Existing.skip, .keepBoth, .replace].flatMap { existing in
        [false, true].map { Course(renaming: renaming, existing: existing, diesAfter: $0) }
      }
    }
  }

  @Test(arguments: Course.all)
  func `an import that dies at any operation leaves every old file old or new, and can be completed`(
    _ course: Course
  ) throws {
    let existing = course.existing
    let expected = try whole(existing)
    var last = 0
    while true {
      last += 1
      let ground = try PreparedGround()
      let hasDied = try dies(ground, existing, at: last, course)
      let broken = ground.broken(existing, isWhole: !hasDied, mayClaim: course.mayClaim)
      #expect(broken == [], "died at \(last)")
      guard hasDied, broken.isEmpty else { break }
      // A second death a little later, and then to the end.
      if try dies(ground, nil, at: last % 7 + 3, course) {
        #expect(ground.broken(existing, isWhole: false, mayClaim: course.mayClaim) == [], "died again after \(last)")
      }
      // And to the end, on such a disk too.
      if try dies(ground, nil, at: nil, course) { Issue.record("it died again") }
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

  @Test(arguments: MortalDisk.Renaming.allCases)
  func `a name that another program takes at any operation stays that program's`(_ renaming: MortalDisk.Renaming) throws
  {
    var at = 0
    var isOver = false
    while !isOver {
      at += 1
      let ground = try PreparedGround()
      let stranger = Stranger(ground.scratch.path("destination"))
      let course = Course(renaming: renaming, existing: .skip, diesAfter: false)
      isOver = try !dies(ground, .skip, at: nil, course, stranger: (at, { stranger.act() })) && !stranger.hasActed
      #expect(stranger.replaced == [], "at \(at)")
      #expect(ground.broken(.skip, isWhole: false).filter { !stranger.isAbout($0) } == [], "at \(at)")
    }
    #expect(at > 15)
  }

  /// Runs the import of what has arrived until it dies; false if it does not. `existing` is nil for one that was begun before.
  private func dies(
    _ ground: PreparedGround, _ existing: Existing?, at last: Int?, _ course: Course,
    stranger: (at: Int, act: @Sendable () -> Void)? = nil
  ) throws -> Bool {
    if let existing {
      let arrival = try ground.arrive(existing)
      try arrival.staging.complete(ground.export.result.finish) { _ in }
    }
    let disk = try DirectoryDisk(opening: Staging.name(of: 0xABC), in: try ground.scratch.open("destination"))
    let mortal = MortalDisk(disk, dyingAt: nil, diesAfter: course.diesAfter, renaming: course.renaming)
    let staging = try Staging.recover(
      from: mortal, for: ground.export.offer, transfer: 0xABC, keys: testKeys, sealer: HashSealer())
    mortal.life.withLock { life in
      life.operations = 0
      life.last = last
      life.stranger = stranger
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

/// Another program that takes names in the destination as soon as it may, and puts files into directories that are there.
private final class Stranger: Sendable {
  private static let names = ["new.txt", "photos/new.jpg", "photos/new", "photos/locked", "photos/sub/below"]
  private static let content = "another program's"
  private let destination: String
  private let made = Mutex<[String]?>(nil)

  init(_ destination: String) { self.destination = destination }

  var hasActed: Bool { made.withLock { $0 != nil } }
  /// What it has made and is not there any more as it was.
  var replaced: [String] { made.withLock { $0 ?? [] }.filter { text($0) != Self.content } }

  func act() {
    let made = Self.names.flatMap { name in make(name) ? [name] : make("\(name)/stranger") ? ["\(name)/stranger"] : [] }
    self.made.withLock { $0 = made }
  }

  /// Whether something that is wrong with the destination is its doing.
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

import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Attacks of another user who may write to the destination: each name in it may lead elsewhere at
/// any moment.
@Suite struct HeldStagingTests {
  private let scratch: Scratch
  private let thesis: TreeSnapshot
  private static let name = String(decoding: Staging.name(of: 0xABC), as: UTF8.self)

  init() throws {
    scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/photos")
    scratch.write("source/photos/new", pattern(200))
    scratch.setMode("source/photos", 0o755)
    scratch.makeDirectory("destination/thesis/journal")
    scratch.write("destination/thesis/chapter", pattern(100))
    scratch.setMode("destination/thesis", 0o700)
    thesis = scratch.snapshot("destination/thesis")
  }

  private func exchange(_ one: String, _ other: String = "thesis") throws {
    let shared = try scratch.open("destination")
    try shared.directory.exchange(Array(one.utf8), with: shared.directory, Array(other.utf8))
  }

  private func arrive(_ existing: Existing? = nil) throws -> (Arrival, Export) {
    let export = try Export([scratch.at("source/photos")])
    let arrival = try Arrival(scratch, export.offer, existing: existing)
    try arrival.write(export.outlet.frames)
    return (arrival, export)
  }

  private func recover(_ export: Export) throws -> Staging? {
    try FolderImporter(scratch).recover(export.offer, transfer: 0xABC, keys: testKeys)
  }

  private func isUntouched(_ name: String) -> Bool {
    scratch.snapshot("destination/\(name)").differences(from: thesis) == []
  }

  @Test func `a directory in the place of the staging directory is neither imported from nor emptied`() throws {
    let (arrival, export) = try arrive()
    try exchange(Self.name)
    try arrival.staging.complete(export.result.finish) { _ in }
    _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
    expect(scratch.names("destination/photos"), is: ["new"])
    #expect(throws: Failure.self) { try arrival.staging.remove() }
    expect(isUntouched(Self.name) && scratch.names("destination/thesis") == [])
  }

  @Test func `an empty directory that others may change is not taken for a new one`() throws {
    let (_, export) = try arrive()
    scratch.makeDirectory("destination/theirs/tree")
    scratch.write("destination/theirs/journal", [])
    for name in ["theirs", "theirs/tree", "theirs/journal"] { scratch.setMode("destination/\(name)", 0o777) }
    try exchange(Self.name, "theirs")
    let again = try FolderImporter(scratch).stage(export.offer, transfer: 0xABC)
    expect(String(decoding: again.disk.name, as: UTF8.self), is: Self.name + ".2")
    expect(scratch.names("destination/\(Self.name)"), is: [])
  }

  @Test(arguments: ["thesis", "another user's"])
  func `an earlier run's staging directory is known by its journal, not by its name`(_ other: String) throws {
    let (_, export) = try arrive()
    if other != "thesis" {
      scratch.makeDirectory("destination/\(other)/tree/photos")
      scratch.write("destination/\(other)/journal", pattern(100))
      scratch.setMode("destination/\(other)", 0o777)
    }
    let before = scratch.snapshot("destination/\(other)")
    try exchange(Self.name, other)
    let failure = #expect(throws: Failure.self) { try recover(export) }
    expect(failure?.code == .journal && failure?.description.contains(Self.name) == true)
    let again = try FolderImporter(scratch).stage(export.offer, transfer: 0xABC)
    expect(String(decoding: again.disk.name, as: UTF8.self), is: Self.name + ".2")
    expect(try recover(export) != nil)
    let left = try StagingArea.discard(0xABC, testKeys, from: scratch.at("destination"))
    expect(left?.contains("'\(Self.name)'") == true && !scratch.exists("destination/\(Self.name).2"))
    expect(scratch.snapshot("destination/\(Self.name)").differences(from: before), is: [])
  }

  @Test(arguments: ["", "/tree", "/journal", "/tree/photos", "/tree/photos/new"])
  func `a link in the place of an earlier run's staging directory, or of a part of it, leads nowhere`(
    _ part: String
  ) throws {
    let (_, export) = try arrive()
    let place = "destination/\(Self.name)\(part)"
    scratch.move(place, to: "moved")
    let isFile = part.hasSuffix("journal") || part.hasSuffix("new")
    scratch.makeLink(place, to: scratch.path("destination/thesis" + (isFile ? "/chapter" : "")))
    if let again = try? recover(export) {
      _ = try? again.complete(export.result.finish) { _ in }
      _ = try? FolderImporter(scratch).importItems(of: again) { _ in }
    }
    expect(isUntouched("thesis"))
    expect(!scratch.exists("destination/photos/new") || scratch.read("destination/photos/new") == pattern(200))
  }

  @Test func `a new folder gets its metadata wherever its name leads, and success is not claimed`() throws {
    let (arrival, export) = try arrive()
    try arrival.staging.complete(export.result.finish) { _ in }
    let disk = try #require(arrival.staging.disk.destination as? DirectoryDisk)
    var moves = FolderImport(arrival.staging, to: RacedDisk(disk) { try? exchange("photos") })
    let failure = #expect(throws: Failure.self) { try moves.run { _ in } }
    expect(failure?.code == .importFailed && failure?.name == Array("photos".utf8))
    expect(isUntouched("photos") && scratch.names("destination/thesis") == ["new"])
    expect(try scratch.open("destination").directory.status(Array("thesis".utf8)).mode, is: 0o755)
  }

  @Test(arguments: [Existing.skip, .replace], [RacedDisk.Moment.moved, .entering])
  func `items are merged into the folder that was looked at, or not at all`(
    _ existing: Existing, _ moment: RacedDisk.Moment
  ) throws {
    scratch.makeDirectory("destination/photos")
    let (arrival, export) = try arrive(existing)
    try arrival.staging.complete(export.result.finish) { _ in }
    let disk = try #require(arrival.staging.disk.destination as? DirectoryDisk)
    var moves = FolderImport(arrival.staging, to: RacedDisk(disk, moment) { try? exchange("photos") })
    #expect(throws: Failure.self) { try moves.run { _ in } }
    expect(isUntouched("photos") && scratch.names("destination/thesis") == (moment == .moved ? ["new"] : []))
  }

  @Test(arguments: [Existing.refuse, .keepBoth, .skip, .replace], ["renamed", "removed", "replaced"])
  func `a destination that is elsewhere is found out, and the record of the success is missing`(
    _ existing: Existing, _ fate: String
  ) throws {
    let (arrival, export) = try arrive(existing)
    try arrival.staging.complete(export.result.finish) { _ in }
    if fate == "removed" {
      try scratch.directory.removeTree("destination")
    } else {
      try scratch.directory.renameAmongOwn("destination", to: scratch.directory, as: "elsewhere")
      if fate == "replaced" { scratch.makeDirectory("destination") }
    }
    let failure = #expect(throws: Failure.self) {
      try arrival.importer.importItems(of: arrival.staging) { _ in }
    }
    expect(failure?.code == .importFailed && arrival.staging.stage != .imported(export.result.finish.total))
    if fate != "removed" { expect(failure?.description.contains("elsewhere"), is: true) }
  }

  @Test func `a root that has vanished from staging is not taken for an imported one`() throws {
    let (arrival, export) = try arrive()
    try arrival.staging.complete(export.result.finish) { _ in }
    try scratch.open(arrival.tree).directory.removeTree("photos")
    for _ in 1...2 {
      let failure = #expect(throws: Failure.self) {
        try arrival.importer.importItems(of: arrival.staging) { _ in }
      }
      expect(failure?.code == .importFailed && failure?.name == Array("photos".utf8))
    }
  }
}

/// A destination in which another program acts at a moment of the import.
struct RacedDisk: ImportDestination {
  enum Moment { case moved, entering }

  private let disk: DirectoryDisk
  private let moment: Moment
  private let act: () -> Void

  init(_ disk: DirectoryDisk, _ moment: Moment = .moved, _ act: @escaping () -> Void) {
    self.disk = disk
    self.moment = moment
    self.act = act
  }

  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.move(path, to: target)
    if moment == .moved { act() }
  }
  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry? { try disk.occupant(ofStaged: path) }
  func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry? { try disk.occupant(at: target) }
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try disk.replace(target, with: path)
  }
  func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile { try disk.open(staged: path) }
  func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    try disk.open(target, seen: seen)
  }
  func enter(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) {
    if moment == .entering { act() }
    try disk.enter(target, seen: seen)
  }
  func synchronize() throws(SystemError) { try disk.synchronize() }
}

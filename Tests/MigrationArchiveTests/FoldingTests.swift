import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Names that the destination treats as equal and staging does not.
@Suite struct FoldingTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    scratch.makeDirectory("destination/root")
  }

  /// A receiver that has received all of `source/root`.
  private func arrive(_ existing: Existing) throws -> Export {
    let export = try Export([scratch.at("source/root")])
    let arrival = try Arrival(scratch, export.offer, existing: existing)
    try arrival.write(export.outlet.frames)
    try arrival.staging.complete(export.result.finish) { _ in }
    return export
  }

  /// The import, as another process would begin it.
  private func moves(_ export: Export) throws -> FolderImport {
    let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
    let staging = try Staging.recover(
      from: disk, for: export.offer, transfer: 0xABC, keys: testKeys)
    return FolderImport(staging, to: FoldingDestination(disk: disk))
  }

  @Test func `an entry that is found by a short form of its name decides what an item is`() throws {
    write("toolsf~1/ls", "notesf~1/x", "PROFIL~1", "rest")
    for name in ["tools for me/old", "notes for me/old", ".profile"] { write(name, into: "destination/root") }
    let export = try arrive(.replace)
    let staging = try Staging.recover(
      from: try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination")), for: export.offer,
      transfer: 0xABC, keys: testKeys)
    var facts = ArrivalRule.Facts(destination: Array("/h".utf8))
    (facts.homes, facts.running) = ([Array("/h/root".utf8)], [Array("/h/root/tools for me".utf8)])
    try staging.take(only: ArrivalRule(facts).permit(at: nil, taking: .files))
    let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
    let short = ["toolsf~1": "tools for me", "notesf~1": "notes for me", "profil~1": ".profile"]
    var moves = FolderImport(staging, to: FoldingDestination(disk: disk, short: short))
    try moves.run { _ in }
    expect(
      named(moves), is: ["directoryNotStored root/toolsf~1/ls", "notTaken root/PROFIL~1", "notTaken root/toolsf~1"])
    expect(text("tools for me/ls") == nil && text(".profile") == "destination/root .profile")
    expect(text("notes for me/x") == "source/root notesf~1/x" && text("rest") == "source/root rest")
  }

  private func write(_ names: String..., into folder: String = "source/root") {
    for name in names {
      scratch.makeDirectory(
        (["\(folder)"] + name.split(separator: "/").dropLast().map(String.init)).joined(separator: "/"))
      scratch.write("\(folder)/\(name)", Array("\(folder) \(name)".utf8))
    }
  }

  private func text(_ name: String) -> String? {
    scratch.exists("destination/root/\(name)") ? scratch.text("destination/root/\(name)") : nil
  }

  private func named(_ moves: FolderImport) -> [String] {
    moves.staging.refusals(from: 0).map { "\($0.reason.name) \(String(decoding: $0.path, as: UTF8.self))" }.sorted()
  }

  @Test(arguments: [Existing.skip, .replace])
  func `if the names of two items fold, the first arrives and the other is named`(_ existing: Existing) throws {
    write("A", "a", "Folder/x", "folder/y", "other")
    var moves = try moves(try arrive(existing))
    try moves.run { _ in }
    expect(named(moves), is: ["directoryNotStored root/folder/y", "nameTaken root/a", "nameTaken root/folder"])
    expect(text("A") == "source/root A" && text("other") == "source/root other")
    expect(text("Folder/x") == "source/root Folder/x" && text("Folder/y") == nil)
    expect(scratch.names("destination/root"), is: ["A", "Folder", "other"])
  }

  @Test func `two names of one file are two items`() throws {
    write("A")
    expect(link(scratch.path("source/root/A"), scratch.path("source/root/a")), is: 0)
    var moves = try moves(try arrive(.replace))
    try moves.run { _ in }
    expect(named(moves) == ["nameTaken root/a"] && text("A") == "source/root A")
  }

  @Test(arguments: [Existing.skip, .replace])
  func
    `a file of the destination whose name folds is treated as one of the same name, and what does not arrive is named`(
      _ existing: Existing
    ) throws
  {
    write("a", "b")
    write("A", into: "destination/root")
    var moves = try moves(try arrive(existing))
    try moves.run { _ in }
    expect(named(moves), is: (existing == .skip ? ["nameTaken root/a"] : []))
    expect(text("A"), is: (existing == .skip ? "destination/root A" : "source/root a"))
    expect(text("b"), is: "source/root b")
  }

  @Test func `a file of the destination is replaced by the item with its exact name, in either order`() throws {
    write("A", "a")
    write("a", into: "destination/root")
    var moves = try moves(try arrive(.replace))
    try moves.run { _ in }
    expect(named(moves), is: ["nameTaken root/A"])
    expect(text("a"), is: "source/root a")
  }

  @Test func `after a restart no imported item is replaced by another item`() throws {
    write("A", "Folder/x", "a", "b", "folder/x")
    let export = try arrive(.replace)
    // The first run moved these, and then died.
    let disk = try reopened(Staging.name(of: 0xABC), in: try scratch.open("destination"))
    for name in ["root/A", "root/Folder"] {
      let path = try ArchivePath(Array(name.utf8))
      try disk.replace(path, with: path)
    }
    var moves = try moves(export)
    try moves.run { _ in }
    expect(named(moves), is: ["directoryNotStored root/folder/x", "nameTaken root/a", "nameTaken root/folder"])
    expect(text("A") == "source/root A" && text("Folder/x") == "source/root Folder/x")
  }

  @Test func `two hundred pairs are never mixed`() throws {
    for number in 0..<200 { write("name-\(number)", "NAME-\(number)") }
    var moves = try moves(try arrive(.replace))
    try moves.run { _ in }
    expect(moves.staging.notStored == 200 && moves.staging.refusals(from: 0).allSatisfy { $0.reason == .nameTaken })
    expect(scratch.names("destination/root").count, is: 200)
    for name in scratch.names("destination/root") { expect(text(name), is: "source/root \(name)") }
  }

  @Test func `an item that arrives next to an existing one never takes another item's name`() throws {
    // "x" is renamed because of a directory; "x (2)" is another item.
    write("x", "x (2)", "y", "Y (2)")
    for name in ["x", "y"] { scratch.makeDirectory("destination/root/\(name)") }
    var moves = try moves(try arrive(.replace))
    try moves.run { _ in }
    expect(text("x (2)") == "source/root x (2)" && text("x (3)") == "source/root x")
    expect(text("Y (2)") == "source/root Y (2)" && text("y (3)") == "source/root y")
    expect(named(moves), is: [])
  }

  @Test func `a name that a folding directory cannot have is the item's fault, and a full or failing disk is not`() {
    expect(SystemError(errno: ENAMETOOLONG, operation: "rename").placingRefusal, is: .nameTooLong)
    expect(SystemError(errno: EILSEQ, operation: "rename").placingRefusal, is: .nameNotAllowed)
    for errno in [ENOSPC, EDQUOT, EIO, EROFS, ESTALE, ENOTCONN, ENODEV, ENOMEM, EACCES, EPERM, EXDEV, EINVAL] {
      expect(SystemError(errno: errno, operation: "rename").placingRefusal == nil, "\(errno)")
    }
  }
}

import Expectations
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Folders that need not come again, and folders that need not be looked at again.
@Suite struct UnchangedFolderTests {
  private let scratch: Scratch
  private let source = SourceIdentity(1)

  init() throws {
    scratch = try Scratch.withFolders()
    for folder in ["", "/f", "/f/g", "/h"] { scratch.makeDirectory("source/root\(folder)") }
    for name in ["f/in", "f/g/deep", "h/x"] { scratch.write("source/root/\(name)", "first \(name)") }
    for folder in ["", "/f", "/f/g", "/h"] { scratch.setTime("source/root\(folder)", 1_500_000_000) }
  }

  private func pass() throws -> Passes.Pass { try Passes(scratch).pass(from: source) }

  /// The times of the folders at the destination.
  private var times: [Int] { ["", "/f", "/f/g", "/h"].map { scratch.time("destination/root\($0)")[0] } }

  @Test func `a folder that is as it came does not come again, unless something in it does`() throws {
    expect(try pass().folders, is: ["", "f", "f/g", "h"])
    let second = try pass()
    expect(second.folders == [] && second.sent == [] && second.leftOut == LeftOut(present: 7))

    // The content alone: no folder changes.
    scratch.write("source/root/f/g/deep", "other f/g/deep")
    let third = try pass()
    expect(third.sent == ["f/g/deep"] && third.folders == ["", "f", "f/g"] && third.leftOut == LeftOut(present: 3))
    expect(scratch.text("destination/root/f/g/deep"), is: "other f/g/deep")
    expect(times, is: [Int](repeating: 1_500_000_000, count: 4))
    expect(try pass().folders, is: [])

    // The metadata alone: what follows needs no folder.
    scratch.setMode("source/root/f/in", 0o640)
    scratch.setMode("source/root/h", 0o711)
    let fifth = try pass()
    expect(fifth.following == ["f/in"] && fifth.folders == ["", "h"])
    expect(scratch.snapshot("destination/root")["h"]?.mode, is: 0o711)
    expect(try pass().folders, is: [])
  }

  @Test func `a folder comes as a record where it was removed here, and not where the user added to it`() throws {
    _ = try pass()
    scratch.write("destination/root/f/own", "own")
    scratch.move("destination/root/h", to: "gone")
    let second = try pass()
    expect(second.folders == ["", "h"] && second.removed.count == 2 && second.leftOut.removed == 1)
    expect(!scratch.exists("destination/root/h") && scratch.text("destination/root/f/own") == "own")
    // Its newer mode does not follow: the user has touched it.
    scratch.setMode("source/root/f", 0o711)
    expect(try pass().folders, is: ["", "f", "h"])
    expect(scratch.snapshot("destination/root")["f"]?.mode != 0o711)
  }

  @Test func `a root that was walked before is walked again only if a folder in it has changed`() throws {
    scratch.makeDirectory("source/other")
    scratch.write("source/other/file", "other")
    let roots = try ["other", "root"].map { try SourceRoot(path: scratch.at("source/\($0)")) }
    scratch.letSettle()
    let known = Dictionary(
      uniqueKeysWithValues: try roots.map { ($0.name, try SourceWalk.walk([$0])) })
    let whole = try SourceWalk.walk(roots)
    func listing(_ tree: SourceTree) throws -> [String] {
      try tree.nodes.indices.map { try "\(tree.path($0).text) \(tree.nodes[$0].size)" }
    }
    // Only a look at the file would tell.
    scratch.write("source/root/f/in", "longer than before")
    let again = try SourceWalk.walk(roots, knowing: known)
    expect(try listing(again) == listing(whole) && again.total == whole.total)
    expect(again.isCurrent(of: roots))
    scratch.write("source/root/f/g/new", "new")
    expect(!again.isCurrent(of: roots))
    let changed = try SourceWalk.walk(roots, knowing: known)
    expect(try listing(changed) == listing(SourceWalk.walk(roots)) && changed.total.items == whole.total.items + 1)
  }
}

import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

/// One table of hostile paths and trees, and what either way of resolving makes of it: always the same.
@Suite struct BeneathTableTests {
  /// Where a link leads that stands in the place of a directory or file.
  static let targets = [
    "real", "../outside", "/etc", "missing", "link", ".", "..", "/proc/self/root", "/dev/null", "real/",
  ]

  /// The tree of the table: `a/b/c` with a link beside each of them, a FIFO, and what may not be searched.
  private func tree(_ scratch: Scratch, linkTo target: String) throws {
    try scratch.directory.makeDirectories("a/b")
    try scratch.directory.makeDirectories("real/b")
    for path in ["a/b", "real/b"] {
      _ = try scratch.directory.openDirectoryBeneath(path).createFile("c")
    }
    for path in ["", "a", "a/b"] {
      let directory =
        path.isEmpty ? try scratch.directory.duplicate() : try scratch.directory.openDirectoryBeneath(path)
      try directory.makeSymbolicLink("link", target: target)
    }
  }

  private func answer(_ path: String, _ flags: OpenFlags, in scratch: Scratch, _ way: PathResolution) -> CInt? {
    failure { () throws(SystemError) in _ = try scratch.directory.openBeneath(path, flags, by: way) }
  }

  @Test(arguments: targets) func `a link at any place of a path is a link, whatever it leads to`(target: String) throws
  {
    let scratch = try Scratch()
    try tree(scratch, linkTo: target)
    for path in ["link", "link/b", "link/b/c", "a/link", "a/link/c", "a/link/link/c", "a/b/link", "a/b/link/x"] {
      for way in BeneathTests.ways {
        #expect(answer(path, .readOnly, in: scratch, way) == ELOOP, "\(way) \(path)")
        #expect(answer(path, .directory, in: scratch, way) == ELOOP, "\(way) \(path)")
      }
    }
  }

  @Test(arguments: [
    "a/b/c", "a", "a/b", "none", "none/c", "a/none/c", "a/b/none", "a/b/c/x", "a/b/c/x/y", "..", "a/..", "a/../a/b/c",
    "a/./b", "/a", "a//b", "a/", "", ".", "a/b/c/..", "a/b/c/.", "a/b/c/", "none/..", "a/link/..", "\u{1B}", "a\\b",
    String(repeating: "n", count: 256), "a/" + String(repeating: "n", count: 255),
    String(repeating: "n", count: 256) + "/x", String(repeating: "a/", count: 3_000) + "a",
  ])
  func `both ways give the same answer`(path: String) throws {
    let scratch = try Scratch()
    try tree(scratch, linkTo: "real")
    for flags in [OpenFlags.readOnly, .readWrite, .directory] {
      #expect(answer(path, flags, in: scratch, .kernel) == answer(path, flags, in: scratch, .walk), "\(path)")
    }
  }

  @Test(.enabled(if: canMount, "no file system can be mounted"))
  func `a file system that is mounted below is gone into by both ways, and not out of`() throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("mounted")
    try #require(mount("tmpfs", scratch.path + "/mounted", "tmpfs", 0, "size=1m") == 0)
    defer { umount2(scratch.path + "/mounted", CInt(MNT_DETACH)) }
    let inside = try scratch.directory.openDirectoryBeneath("mounted")
    _ = try inside.createFile("c")
    try inside.makeSymbolicLink("out", target: "../../..")
    for way in BeneathTests.ways {
      #expect(answer("mounted/c", .readOnly, in: scratch, way) == nil)
      #expect(answer("mounted/out/etc", .readOnly, in: scratch, way) == ELOOP)
      #expect(failure { () throws(SystemError) in _ = try inside.openBeneath("../x", by: way) } == EINVAL)
    }
  }

  @Test(arguments: BeneathTests.ways, ["file", "directory", "link"])
  func `a component that is swapped again and again is found as one or the other, and never outside`(
    way: PathResolution, leaf: String
  ) throws {
    let outside = try Scratch()
    outside.write("c", "outside")
    let scratch = try Scratch()
    try tree(scratch, linkTo: outside.path)
    try scratch.directory.openDirectoryBeneath("a/b").openChild("c", .readWrite).append("inside".utf8.span.bytes)
    let path = scratch.path
    let swapper = try RunningThread("swapper") {
      guard let directory = try? Directory.open(path + "/a") else { return }
      for _ in 0..<3_000 { try? directory.exchange("b", with: directory, "link") }
    }
    // What is asked for decides what is swapped under it: the leaf's directory, or the leaf itself.
    for _ in 0..<3_000 {
      do {
        let name = leaf == "directory" ? "a/b" : leaf == "link" ? "a/link/c" : "a/b/c"
        if leaf == "directory" {
          let directory = try scratch.directory.openDirectoryBeneath(name, by: way)
          #expect(try directory.names().count == 2)
        } else {
          #expect(try scratch.directory.openBeneath(name, by: way).text() == "inside")
        }
      } catch {
        #expect(error.errno == ELOOP)
      }
    }
    try swapper.value()
  }
}

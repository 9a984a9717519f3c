import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

/// A table of hostile paths and trees, and the results of both ways of resolving: always the same.
@Suite struct BeneathTableTests {
  /// The targets of a link in the place of a directory or file.
  static let targets = [
    "real", "../outside", "/etc", "missing", "link", ".", "..", "/proc/self/root", "/dev/null", "real/",
  ]

  /// The tree of the table: `a/b/c` with a link next to each of them, a FIFO, and a directory
  /// without search permission.
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

  @Test(arguments: targets) func `a link at any place of a path is an error`(target: String) throws {
    let scratch = try Scratch()
    try tree(scratch, linkTo: target)
    for path in ["link", "link/b", "link/b/c", "a/link", "a/link/c", "a/link/link/c", "a/b/link", "a/b/link/x"] {
      for way in BeneathTests.ways {
        expect(answer(path, .readOnly, in: scratch, way), is: ELOOP, "\(way) \(path)")
        expect(answer(path, .directory, in: scratch, way), is: ELOOP, "\(way) \(path)")
      }
    }
  }

  @Test(arguments: [
    "a/b/c", "a", "a/b", "none", "none/c", "a/none/c", "a/b/none", "a/b/c/x", "a/b/c/x/y", "..", "a/..", "a/../a/b/c",
    "a/./b", "/a", "a//b", "a/", "", ".", "a/b/c/..", "a/b/c/.", "a/b/c/", "none/..", "a/link/..", "\u{1B}", "a\\b",
    String(repeating: "n", count: 256), "a/" + String(repeating: "n", count: 255),
    String(repeating: "n", count: 256) + "/x", String(repeating: "a/", count: 3_000) + "a",
  ])
  func `both ways return the same result`(path: String) throws {
    let scratch = try Scratch()
    try tree(scratch, linkTo: "real")
    for flags in [OpenFlags.readOnly, .readWrite, .directory] {
      expect(answer(path, flags, in: scratch, .kernel), is: answer(path, flags, in: scratch, .walk), "\(path)")
    }
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `both ways enter a file system that is mounted inside, and do not leave it`() throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("mounted")
    try #require(mount("tmpfs", scratch.path + "/mounted", "tmpfs", 0, "size=1m") == 0)
    defer { umount2(scratch.path + "/mounted", CInt(MNT_DETACH)) }
    let inside = try scratch.directory.openDirectoryBeneath("mounted")
    _ = try inside.createFile("c")
    try inside.makeSymbolicLink("out", target: "../../..")
    for way in BeneathTests.ways {
      expect(answer("mounted/c", .readOnly, in: scratch, way) == nil)
      expect(answer("mounted/out/etc", .readOnly, in: scratch, way), is: ELOOP)
      expect(failure { () throws(SystemError) in _ = try inside.openBeneath("../x", by: way) }, is: EINVAL)
    }
  }

  @Test(arguments: BeneathTests.ways, ["file", "directory", "link"])
  func `a component that is exchanged repeatedly is found in one of its states, and never outside`(
    way: PathResolution, leaf: String
  ) throws {
    let outside = try Scratch()
    outside.write("c", "outside")
    let scratch = try Scratch()
    try tree(scratch, linkTo: outside.path)
    try scratch.directory.openDirectoryBeneath("a/b").openChild("c", .readWrite).append("inside".utf8.span)
    let path = scratch.path
    let swapper = try RunningThread("swapper") {
      guard let directory = try? Directory.open(path + "/a") else { return }
      for _ in 0..<3_000 { try? directory.exchange("b", with: directory, "link") }
    }
    // The operation decides which component is exchanged: the leaf's directory, or the leaf itself.
    for _ in 0..<3_000 {
      do {
        let name = leaf == "directory" ? "a/b" : leaf == "link" ? "a/link/c" : "a/b/c"
        if leaf == "directory" {
          let directory = try scratch.directory.openDirectoryBeneath(name, by: way)
          expect(try directory.names().count, is: 2)
        } else {
          expect(try scratch.directory.openBeneath(name, by: way).text(), is: "inside")
        }
      } catch {
        expect(error.errno, is: ELOOP)
      }
    }
    try swapper.value()
  }
}

import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite(.serialized) struct BeneathTests {
  static let ways: [PathResolution] = [.kernel, .walk]

  func opening(_ path: [UInt8], in scratch: Scratch, by way: PathResolution) -> CInt? {
    failure { () throws(SystemError) in _ = try scratch.directory.openBeneath(path, by: way) }
  }

  @Test(arguments: ways) func `a file inside is opened`(way: PathResolution) throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("a/b")
    try scratch.directory.openDirectoryBeneath("a/b").createFile("c").append("deep".utf8.span)
    expect(try scratch.directory.openBeneath("a/b/c", by: way).text(), is: "deep")
    expect(try scratch.directory.openDirectoryBeneath("a/b", by: way).names(), is: [Array("c".utf8)])
  }

  @Test(
    arguments: ways, ["", "/", "/etc/passwd", "..", "a/..", "a/../a", "../x", "a//b", "a/", "/a", ".", "a/.", "./a"])
  func `a path that is not a plain chain of names is refused`(way: PathResolution, path: String) throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("a/b")
    expect(opening(Array(path.utf8), in: scratch, by: way), is: EINVAL)
    expect(
      failure { () throws(SystemError) in try scratch.directory.makeDirectories(path, by: way) }, is: EINVAL)
  }

  @Test(arguments: ways) func `a NUL is refused and truncates nothing`(way: PathResolution) throws {
    let scratch = try Scratch()
    scratch.write("a", "")
    expect(opening([UInt8(ascii: "a"), 0, UInt8(ascii: "b")], in: scratch, by: way), is: EINVAL)
    expect(opening([UInt8(ascii: "a"), 0], in: scratch, by: way), is: EINVAL)
  }

  @Test(arguments: ways) func `a link is refused as the last component and on the way`(way: PathResolution) throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("real")
    try scratch.directory.openDirectoryBeneath("real").createFile("file").append("x".utf8.span)
    try scratch.directory.makeSymbolicLink("directory", target: "real")
    try scratch.directory.makeSymbolicLink("file", target: "real/file")
    try scratch.directory.makeSymbolicLink("dangling", target: "nowhere")
    for path in ["directory/file", "file", "dangling", "directory"] {
      expect(opening(Array(path.utf8), in: scratch, by: way), is: ELOOP, "\(path)")
    }
    expect(
      failure { () throws(SystemError) in _ = try scratch.directory.openDirectoryBeneath("directory", by: way) },
      is: ELOOP)
    expect(
      failure { () throws(SystemError) in try scratch.directory.makeDirectories("directory/new", by: way) }, is: ELOOP)
    expect(
      failure { () throws(SystemError) in try scratch.directory.makeDirectories("dangling/new", by: way) }, is: ELOOP)
  }

  @Test(arguments: ways) func `magic links are refused`(way: PathResolution) throws {
    let process = try Directory.open("/proc/self")
    for path in ["fd/0", "cwd", "cwd/x", "root/etc/passwd", "exe"] {
      expect(failure { () throws(SystemError) in _ = try process.openBeneath(path, by: way) }, is: ELOOP, "\(path)")
    }
  }

  @Test(arguments: ways) func `a missing item and a non-directory are reported as such`(way: PathResolution) throws {
    let scratch = try Scratch()
    scratch.write("file", "")
    expect(opening(Array("none".utf8), in: scratch, by: way), is: ENOENT)
    expect(opening(Array("none/x".utf8), in: scratch, by: way), is: ENOENT)
    expect(opening(Array("file/x".utf8), in: scratch, by: way), is: ENOTDIR)
    expect(
      failure { () throws(SystemError) in _ = try scratch.directory.openDirectoryBeneath("file", by: way) }, is: ENOTDIR
    )
    expect(opening([UInt8](repeating: 97, count: 256), in: scratch, by: way), is: ENAMETOOLONG)
    expect(opening([UInt8](repeating: 97, count: 5000), in: scratch, by: way), is: ENAMETOOLONG)
  }

  @Test(arguments: ways) func `a directory exchanged for a link is noticed`(way: PathResolution) throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("a")
    try scratch.directory.openDirectoryBeneath("a").createFile("x").append("inside".utf8.span)
    expect(opening(Array("a/x".utf8), in: scratch, by: way) == nil)
    try scratch.directory.removeTree("a")
    try scratch.directory.makeSymbolicLink("a", target: "/etc")
    expect(opening(Array("a/passwd".utf8), in: scratch, by: way), is: ELOOP)
  }

  @Test(arguments: ways) func `a directory exchanged repeatedly never leads outside`(way: PathResolution) throws {
    let outside = try Scratch()
    outside.write("x", "outside")
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("real")
    try scratch.directory.openDirectoryBeneath("real").createFile("x").append("inside".utf8.span)
    try scratch.directory.makeSymbolicLink("link", target: outside.path)
    let path = scratch.path
    let swapper = try RunningThread("swapper") {
      guard let directory = try? Directory.open(path) else { return }
      for _ in 0..<2_000 {
        try? directory.rename("real", to: directory, as: "d", noReplace: true)
        try? directory.rename("d", to: directory, as: "real", noReplace: true)
        try? directory.rename("link", to: directory, as: "d", noReplace: true)
        try? directory.rename("d", to: directory, as: "link", noReplace: true)
      }
    }
    for _ in 0..<4_000 {
      do {
        let file = try scratch.directory.openBeneath("d/x", by: way)
        expect(try file.text(), is: "inside")
      } catch {
        expect([ELOOP, ENOENT, ENOTDIR].contains(error.errno))
      }
    }
    try swapper.value()
  }

  @Test(arguments: ways) func `paths longer than the kernel accepts work`(way: PathResolution) throws {
    let scratch = try Scratch()
    let component = [UInt8](repeating: UInt8(ascii: "n"), count: 200)
    let path = Array(repeating: component, count: 30).joined(separator: [UInt8(ascii: "/")])
    let deepest = try scratch.directory.makeDirectories(Array(path), by: way)
    try deepest.createFile("leaf").append("far".utf8.span)
    let leaf = Array(path) + Array("/leaf".utf8)
    expect(leaf.count > 6_000)
    expect(try scratch.directory.openBeneath(leaf, by: way).text(), is: "far")
    let again = try scratch.directory.makeDirectories(Array(path), by: way)
    expect(try again.status().inode == deepest.status().inode)
    try deepest.makeSymbolicLink("link", target: "leaf")
    expect(opening(Array(path) + Array("/link".utf8), in: scratch, by: way), is: ELOOP)
    try scratch.directory.removeTree(component)
    expect(try scratch.directory.names().isEmpty)
  }

  @Test(arguments: ways) func `a long path is split at any separator`(way: PathResolution) throws {
    let scratch = try Scratch()
    // Every length of the first component moves the point at which the kernel's limit applies.
    for first in [1, 94, 95, 96, 97, 98, 99, 100, 101, 102, 200] {
      var path = [UInt8](repeating: UInt8(ascii: "f"), count: first)
      for _ in 0..<25 { path += [UInt8(ascii: "/")] + [UInt8](repeating: UInt8(ascii: "n"), count: 199) }
      let deepest = try scratch.directory.makeDirectories(path, by: way)
      let opened = try scratch.directory.openDirectoryBeneath(path, by: way)
      expect(try opened.status().inode == deepest.status().inode)
      for cut in [4094, 4095, 4096] where path[cut] != UInt8(ascii: "/") {
        expect(opening(Array(path[..<cut]) + [1], in: scratch, by: way), is: ENOENT)
      }
    }
  }

  @Test func `the kernel's abilities are tested once`() {
    expect([.kernel, .walk].contains(PathResolution.preferred))
  }
}

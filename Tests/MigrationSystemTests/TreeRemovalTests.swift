import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct TreeRemovalTests {
  @Test func `a deep tree of unreadable directories is removed`() throws {
    let scratch = try Scratch()
    let path = scratch.path
    try withoutPrivileges(owning: [path]) { try Self.buildAndRemove(in: path) }
    expect(try scratch.directory.names().isEmpty)
  }

  static func buildAndRemove(in path: String) throws(SystemError) {
    let root = try Directory.open(path)
    let component = [UInt8](repeating: UInt8(ascii: "d"), count: 100)
    let chain = Array(Array(repeating: component, count: 300).joined(separator: [UInt8(ascii: "/")]))
    let deepest = try root.makeDirectories(chain)
    _ = try deepest.createFile("leaf")
    // From the bottom, because a directory without permissions blocks access.
    for depth in stride(from: 300, to: 0, by: -1) {
      let directory = try root.openDirectoryBeneath(Array(chain[..<(depth * 101 - 1)]))
      try directory.descriptor.setMode(0)
    }
    try root.removeTree(component)
    // Directories that can be listed, or not even that, and that cannot be changed.
    for mode: UInt32 in [0o500, 0o400, 0o300, 0o100] {
      let tree = try root.makeDirectories("tree/inner")
      _ = try tree.createFile("file")
      try tree.descriptor.setMode(mode)
      try root.setMode("tree", mode)
      try root.removeTree("tree")
    }
  }

  @Test func `links are removed and not followed`() throws {
    let outside = try Scratch()
    outside.write("precious", "x")
    let scratch = try Scratch()
    let tree = try scratch.directory.makeDirectories("tree/sub")
    try tree.makeSymbolicLink("directory", target: outside.path)
    try tree.makeSymbolicLink("file", target: outside.path + "/precious")
    try scratch.directory.removeTree("tree")
    try scratch.directory.makeSymbolicLink("root", target: outside.path)
    try scratch.directory.removeTree("root")
    expect(try scratch.directory.names().isEmpty)
    expect(try outside.directory.names().count, is: 1)
  }

  @Test func `a wide tree is removed, and so is a single file`() throws {
    let scratch = try Scratch()
    let tree = try scratch.directory.makeDirectories("tree")
    for index in 0..<300 {
      let sub = try tree.makeDirectories("sub-\(index)")
      for file in 0..<5 { _ = try sub.createFile("file-\(file)") }
    }
    try scratch.directory.removeTree("tree")
    scratch.write("file", "")
    try scratch.directory.removeTree("file")
    expect(try scratch.directory.names().isEmpty)
    expect(failure { () throws(SystemError) in try scratch.directory.removeTree("none") }, is: ENOENT)
  }

  /// In a process of its own, whose descriptors are few.
  @Test func `a removal uses few descriptors at any depth`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      try scratch.directory.makeDirectories(Array(repeating: "d", count: 200).joined(separator: "/"))
      let next = try scratch.directory.descriptor.duplicate().raw
      var limit = rlimit(rlim_cur: rlim_t(next) + 8, rlim_max: rlim_t(next) + 8)
      expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit), is: 0)
      try scratch.directory.removeTree("d")
      expect(try scratch.directory.names().isEmpty)
    }
  }
}

import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct DirectoryTests {
  static let oddNames: [[UInt8]] = [
    [UInt8](repeating: UInt8(ascii: "n"), count: 255), Array("new\nline".utf8), [0xff, 0xfe, 0x80], Array("...".utf8),
    Array("..a".utf8), Array(" ".utf8), Array("\\".utf8), [1], Array("e\u{301}".utf8),
  ]

  @Test(arguments: oddNames) func `any bytes except NUL and the separator form a name`(name: [UInt8]) throws {
    let scratch = try Scratch()
    try scratch.directory.createFile(name).append("content".utf8.span)
    expect(try scratch.directory.names(), is: [name])
    expect(try scratch.directory.status(name).size, is: 7)
    expect(try scratch.directory.openBeneath(name).text(), is: "content")
    try scratch.directory.rename(name, to: scratch.directory, as: "plain", noReplace: true)
    try scratch.directory.rename("plain", to: scratch.directory, as: name, noReplace: false)
    try scratch.directory.remove(name)
    expect(try scratch.directory.names().isEmpty)
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "a/", "/etc", "a\0b", "\0"].map { Array($0.utf8) })
  func `every operation refuses bytes that are not one name`(name: [UInt8]) throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectories("a")
    scratch.write("other", "")
    func refuses(_ line: Int = #line, _ operation: (borrowing Directory) throws(SystemError) -> Void) {
      expect(failure { () throws(SystemError) in try operation(scratch.directory) }, is: EINVAL, "line \(line)")
    }
    let time = Timestamp(seconds: 0)
    refuses { (it) throws(SystemError) in _ = try it.createFile(name) }
    refuses { (it) throws(SystemError) in _ = try it.openOrCreateFile(name) }
    refuses { (it) throws(SystemError) in _ = try it.openChild(name) }
    refuses { (it) throws(SystemError) in _ = try it.openChildDirectory(name) }
    refuses { (it) throws(SystemError) in try it.makeDirectory(name) }
    refuses { (it) throws(SystemError) in try it.makeSymbolicLink(name, target: "t") }
    refuses { (it) throws(SystemError) in try it.makeHardLink("other", in: it, as: name) }
    refuses { (it) throws(SystemError) in try it.makeHardLink(name, in: it, as: "new") }
    refuses { (it) throws(SystemError) in _ = try it.readLink(name) }
    refuses { (it) throws(SystemError) in _ = try it.status(name) }
    refuses { (it) throws(SystemError) in try it.remove(name) }
    refuses { (it) throws(SystemError) in try it.removeDirectory(name) }
    refuses { (it) throws(SystemError) in try it.removeTree(name) }
    refuses { (it) throws(SystemError) in try it.setMode(name, 0o600) }
    refuses { (it) throws(SystemError) in try it.setTimes(name, modified: time) }
    refuses { (it) throws(SystemError) in try it.rename(name, to: it, as: "new", noReplace: false) }
    refuses { (it) throws(SystemError) in try it.rename("other", to: it, as: name, noReplace: true) }
    expect(try scratch.directory.names().count, is: 2)
  }

  @Test func `creating a file replaces nothing and follows no link`() throws {
    let scratch = try Scratch()
    scratch.write("file", "old")
    try scratch.directory.makeSymbolicLink("dangling", target: "new")
    for name in ["file", "dangling"] {
      expect(failure { () throws(SystemError) in _ = try scratch.directory.createFile(name) }, is: EEXIST)
    }
    expect(failure { () throws(SystemError) in _ = try scratch.directory.openOrCreateFile("dangling") }, is: ELOOP)
    expect(try scratch.directory.openChild("file").text(), is: "old")
    expect(failure { () throws(SystemError) in _ = try scratch.directory.status("new") }, is: ENOENT)
  }

  @Test func `opening a name follows no link`() throws {
    let scratch = try Scratch()
    scratch.write("file", "secret")
    try scratch.directory.makeDirectory("directory")
    try scratch.directory.makeSymbolicLink("to file", target: "file")
    try scratch.directory.makeSymbolicLink("to directory", target: "directory")
    expect(failure { () throws(SystemError) in _ = try scratch.directory.openChild("to file") }, is: ELOOP)
    expect(failure { () throws(SystemError) in _ = try scratch.directory.openChildDirectory("to directory") } != nil)
  }

  @Test(arguments: ["fifo", "socket", "directory"])
  func `what is no regular file is refused under its name, and no opening waits for it`(name: String) throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/\(name)"
    try scratch.directory.makeDirectory("directory")
    expect(mkfifo(scratch.path + "/fifo", 0o600), is: 0)
    expect(mknod(scratch.path + "/socket", S_IFSOCK | 0o600, 0), is: 0)
    let base = scratch.path
    let opening = try RunningThread("opening") { () -> [String: String?] in
      let directory = try Directory.open(base)
      func words(_ body: () throws(SystemError) -> Void) -> String? { thrown(by: body)?.words }
      return [
        "child": words { () throws(SystemError) in _ = try directory.openChild(name) },
        "changed": words { () throws(SystemError) in _ = try directory.openChild(name, .readWrite) },
        "kernel": words { () throws(SystemError) in _ = try directory.openBeneath(name, by: .kernel) },
        "walk": words { () throws(SystemError) in _ = try directory.openBeneath(name, by: .walk) },
        "made": words { () throws(SystemError) in _ = try directory.openOrCreateFile(name) },
        "read": words { () throws(SystemError) in _ = try FileContent.read(Array(path.utf8), limit: 9) },
      ]
    }
    // Lets a thread that waits end.
    defer { if !opening.hasEnded(by: .now()) { _ = try? Descriptor.openThroughLinks(path, .readWrite) } }
    let refusals = try opening.value(until: .now() + .seconds(20))
    expect(refusals.values.allSatisfy { $0 != nil }, "\(refusals)")
  }

  @Test func `renaming without replacing refuses to overwrite`() throws {
    let scratch = try Scratch()
    scratch.write("one", "1")
    scratch.write("two", "2")
    try scratch.directory.makeDirectory("full")
    try scratch.directory.makeDirectory("empty")
    let rename = { (from: String, to: String) in
      failure { () throws(SystemError) in
        try scratch.directory.rename(from, to: scratch.directory, as: to, noReplace: true)
      }
    }
    expect(rename("one", "two"), is: EEXIST)
    expect(rename("full", "empty"), is: EEXIST)
    expect(try scratch.directory.openChild("two").text(), is: "2")
    expect(rename("none", "three"), is: ENOENT)
    expect(rename("one", "three") == nil)
    expect(rename("full", "full2") == nil)
    try scratch.directory.rename("three", to: scratch.directory, as: "two", noReplace: false)
    expect(try scratch.directory.openChild("two").text(), is: "1")
  }

  @Test(arguments: [Directory.RenameMethod.preferred, .plain])
  func `a move among private names refuses to overwrite too`(_ means: Directory.RenameMethod) throws {
    let scratch = try Scratch()
    scratch.write("one", "1")
    scratch.write("two", "2")
    for name in ["full/inside", "empty"] { try scratch.directory.makeDirectories(name) }
    try scratch.directory.makeSymbolicLink("link", target: "nowhere")
    let move = { (from: String, to: String) in
      failure { () throws(SystemError) in
        try scratch.directory.renameAmongOwn(from, to: scratch.directory, as: to, by: means)
      }
    }
    for taken in ["two", "link", "full", "empty"] { expect(move("one", taken), is: EEXIST, "\(taken)") }
    for taken in ["two", "link", "empty"] { expect(move("full", taken), is: EEXIST, "\(taken)") }
    expect(move("none", "three"), is: ENOENT)
    expect(move("one", "a/b") == EINVAL && move("one", "..") == EINVAL)
    for (from, to) in [("one", "three"), ("link", "moved"), ("full", "full2")] { expect(move(from, to) == nil) }
    expect(try scratch.directory.openChild("three").text(), is: "1")
    expect(try scratch.directory.openChild("two").text(), is: "2")
    expect(try scratch.directory.readLink("moved"), is: Array("nowhere".utf8))
    expect(scratch.names(), is: ["empty", "full2", "moved", "three", "two"])
  }

  @Test func `two names are exchanged, and neither is ever missing`() throws {
    let scratch = try Scratch()
    scratch.write("file", "1")
    try scratch.directory.makeDirectories("directory/inside")
    let other = try scratch.directory.openChildDirectory("directory")
    try scratch.directory.exchange("file", with: other, "inside")
    expect(try scratch.directory.status("file").kind, is: .directory)
    expect(try other.openChild("inside").text(), is: "1")
    expect(failure { () throws(SystemError) in try other.exchange("inside", with: other, "none") }, is: ENOENT)
    expect(failure { () throws(SystemError) in try other.exchange("inside", with: other, "..") }, is: EINVAL)
    expect(try other.openChild("inside").text(), is: "1")
  }

  @Test func `another file system is reported`() throws {
    let scratch = try Scratch()
    let memory = try Directory.open("/dev/shm")
    guard try memory.status().device != scratch.directory.status().device else { return }
    scratch.write("file", "")
    let error = failure { () throws(SystemError) in
      try scratch.directory.rename("file", to: memory, as: "peer-never-there", noReplace: true)
    }
    expect(error, is: EXDEV)
  }

  @Test func `links of every length are read completely`() throws {
    let scratch = try Scratch()
    for length in [1, 255, 256, 257, 511, 512, 4095] {
      let target = [UInt8](repeating: 0xfe, count: length)
      try scratch.directory.makeSymbolicLink("\(length)", target: target)
      expect(try scratch.directory.readLink("\(length)"), is: target)
    }
    scratch.write("file", "")
    expect(failure { () throws(SystemError) in _ = try scratch.directory.readLink("file") }, is: EINVAL)
  }

  @Test func `hard links share a file, and a link to a link is the link`() throws {
    let scratch = try Scratch()
    scratch.write("file", "x")
    try scratch.directory.makeSymbolicLink("link", target: "file")
    try scratch.directory.makeHardLink("file", in: scratch.directory, as: "second")
    try scratch.directory.makeHardLink("link", in: scratch.directory, as: "secondLink")
    expect(try scratch.directory.status("second").inode == scratch.directory.status("file").inode)
    expect(try scratch.directory.status("file").linkCount, is: 2)
    expect(try scratch.directory.status("secondLink").kind, is: .symbolicLink)
  }

  @Test func `modes have twelve bits and do not affect the targets of links`() throws {
    let scratch = try Scratch()
    scratch.write("file", "")
    try scratch.directory.makeSymbolicLink("link", target: "file")
    try scratch.directory.setMode("file", 0o4751)
    expect(try scratch.directory.status("file").mode, is: 0o4751)
    expect(failure { () throws(SystemError) in try scratch.directory.setMode("link", 0o777) }, is: EOPNOTSUPP)
    expect(try scratch.directory.status("file").mode, is: 0o4751)
    try scratch.directory.openChild("file").setMode(0o600)
    expect(try scratch.directory.status("file").mode, is: 0o600)
  }

  @Test(arguments: [
    Timestamp(seconds: -1, nanoseconds: 999_999_999), Timestamp(seconds: -86_400 * 365, nanoseconds: 1),
    Timestamp(seconds: 0), Timestamp(seconds: 2_147_483_648, nanoseconds: 123_456_789),
    Timestamp(seconds: 4_102_444_800, nanoseconds: 500),
  ])
  func `times before 1970 and after 2038 are kept to the nanosecond`(time: Timestamp) throws {
    let scratch = try Scratch()
    let file = try scratch.directory.createFile("file")
    try scratch.directory.makeSymbolicLink("link", target: "file")
    try scratch.directory.makeDirectory("directory")
    try file.setTimes(modified: time)
    expect(try file.status().modified, is: time)
    let other = Timestamp(seconds: 1, nanoseconds: 2)
    try scratch.directory.setTimes("link", modified: other)
    try scratch.directory.setTimes("directory", modified: time)
    expect(try scratch.directory.status("link").modified, is: other)
    expect(try scratch.directory.status("directory").modified, is: time)
    expect(try scratch.directory.status("file").modified, is: time)
  }

  @Test func `thousands of entries are each listed once`() throws {
    let scratch = try Scratch()
    var expected: Set<[UInt8]> = []
    for index in 0..<5_000 {
      let name = "entry-\(index)"
      if index % 10 == 0 {
        try scratch.directory.makeDirectory(name)
      } else {
        _ = try scratch.directory.createFile(name)
      }
      expected.insert(Array(name.utf8))
    }
    for _ in 0..<2 {
      var seen: Set<[UInt8]> = []
      var directories = 0
      try scratch.directory.forEachEntry { (name, kind) throws(SystemError) in
        expect(seen.insert(name.copied()).inserted)
        if kind == .directory { directories += 1 }
        return true
      }
      expect(seen, is: expected)
      expect(directories, is: 500)
    }
    var count = 0
    try scratch.directory.forEachEntry { (_, _) throws(SystemError) in
      count += 1
      return count < 3
    }
    expect(count, is: 3)
  }

  @Test func `a released descriptor is unusable, and keeps no file`() throws {
    let scratch = try Scratch()
    let file = try scratch.directory.createFile("file")
    let directory = try scratch.directory.duplicate()
    try file.letGo()
    try directory.descriptor.letGo()
    #expect(throws: SystemError.self) { try file.append("content".utf8.span) }
    #expect(throws: SystemError.self) { _ = try directory.createFile("another") }
    #expect(throws: SystemError.self) { try file.synchronize() }
    expect(try scratch.directory.names(), is: [Array("file".utf8)])
    expect(try scratch.directory.status("file").size, is: 0)
  }

  @Test func `a readable directory that cannot be entered is listed again`() throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectory("readable")
    let directory = try scratch.directory.openChildDirectory("readable")
    _ = try directory.createFile("first")
    expect(try directory.names(), is: [Array("first".utf8)])
    try directory.descriptor.setMode(0o400)
    _ = try? directory.createFile("second")
    expect(try directory.names().count, is: (getuid() == 0 ? 2 : 1))
    try directory.descriptor.setMode(0o700)
  }
}

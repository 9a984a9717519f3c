import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct DescriptorTests {
  @Test func `a descriptor closes itself, and a released one stays open`() throws {
    let scratch = try Scratch()
    let number: CInt
    do {
      let file = try scratch.directory.createFile("file")
      number = file.release()
    }
    expect(fcntl(number, F_GETFD), is: FD_CLOEXEC)
    let file = Descriptor(owning: number)
    let twin = try file.duplicate()
    expect(fcntl(twin.raw, F_GETFD), is: FD_CLOEXEC)
    expect(try twin.status().inode == file.status().inode)
    try file.close()
    expect(try twin.status().kind, is: .regular)
  }

  @Test func `a pipe's reader sees the end when the only writer closes`() throws {
    var ends: [CInt] = [0, 0]
    expect(pipe(&ends), is: 0)
    let reader = Descriptor(owning: ends[0])
    // If a writer stays open, the read fails and does not wait forever.
    expect(fcntl(reader.raw, F_SETFL, O_NONBLOCK), is: 0)
    do {
      let writer = Descriptor(owning: ends[1])
      try writer.append("x".utf8.span)
    }
    var bytes: [UInt8] = [0, 0]
    let counts = [try reader.readNext(into: &bytes), try reader.readNext(into: &bytes)]
    expect(counts, is: [1, 0])
  }

  @Test(arguments: [0, 1, 65_536, 200_000])
  func `the whole input is read, unless it is too long`(size: Int) throws {
    let scratch = try Scratch()
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try scratch.directory.openOrCreateFile("file").append(content.span)
    expect(try scratch.directory.openChild("file").readToEnd(limit: size), is: content)
    guard size > 0 else { return }
    #expect(throws: SystemError.self) { try scratch.directory.openChild("file").readToEnd(limit: size - 1) }
  }

  @Test func `bytes are read back from their position`() throws {
    let scratch = try Scratch()
    let file = try scratch.directory.openOrCreateFile("file")
    try file.append("hello".utf8.span)
    try file.append(" world".utf8.span)
    try file.write(at: 6, "W".utf8.span)
    expect(try file.text(), is: "hello World")
    try file.truncate(to: 5)
    expect(try file.text(), is: "hello")
    var buffer = [UInt8](repeating: 0, count: 4)
    expect(try buffer.withUnsafeMutableBytes { try file.readFully(at: 3, into: $0) }, is: 2)
    expect(try buffer.withUnsafeMutableBytes { try file.read(at: 5, into: $0) }, is: 0)
    try file.synchronizeData()
    try file.synchronize()
    try file.synchronizeFileSystem()
    try scratch.directory.synchronize()
  }

  @Test func `holes are found`() throws {
    let scratch = try Scratch()
    let file = try scratch.directory.openOrCreateFile("sparse")
    let megabyte: Int64 = 1 << 20
    try file.write(at: megabyte, "data".utf8.span)
    try file.truncate(to: 3 * megabyte)
    expect(try file.nextData(from: 0), is: megabyte)
    let hole = try #require(try file.nextHole(from: megabyte))
    expect(hole > megabyte && hole <= megabyte + (64 << 10))
    expect(try file.nextData(from: hole) == nil)
    expect(try file.nextHole(from: 3 * megabyte) == nil)
    expect(try file.nextData(from: 3 * megabyte) == nil)
    let status = try file.status()
    expect(status.size, is: 3 * megabyte)
    expect(status.allocatedBytes < megabyte)
  }

  @Test func `a lock keeps other openers out until it is released`() throws {
    let scratch = try Scratch()
    let first = try scratch.directory.openOrCreateFile("lock")
    let second = try scratch.directory.openOrCreateFile("lock")
    expect(try first.lock())
    expect(try !second.lock())
    expect(try !second.lock(exclusive: false))
    try first.unlock()
    expect(try second.lock(exclusive: false))
    expect(try first.lock(exclusive: false))
    expect(try !first.lock())
  }

  @Test func `every type is recognised`() throws {
    let scratch = try Scratch()
    scratch.write("regular", "")
    try scratch.directory.makeDirectory("directory")
    try scratch.directory.makeSymbolicLink("link", target: "x")
    expect(mkfifo(scratch.path + "/fifo", 0o600), is: 0)
    let kinds: [(String, FileKind)] = [
      ("regular", .regular), ("directory", .directory), ("link", .symbolicLink), ("fifo", .fifo),
    ]
    for (name, kind) in kinds { expect(try scratch.directory.status(name).kind, is: kind) }
    expect(try Directory.open("/dev").status("null").kind, is: .characterDevice)
    let status = try scratch.directory.status("regular")
    expect(status.owner == geteuid() && status.group == getegid() && status.linkCount == 1)
  }

  @Test func `a file system reports its space`() throws {
    let scratch = try Scratch()
    let space = try FileSystemSpace.of(scratch.directory.descriptor)
    expect(space.totalBytes > 0 && space.availableBytes <= space.totalBytes)
    expect(space.blockSize >= 512 && space.blockSize & (space.blockSize - 1) == 0)
    expect(try FileSystemSpace.of(Directory.open("/proc").descriptor).availableItems == nil)
  }

  @Test func `an error is described by a clause`() throws {
    let scratch = try Scratch()
    do {
      _ = try scratch.directory.openBeneath([UInt8(ascii: "a"), UInt8(ascii: "\n"), 0xff])
      Issue.record("opened a missing file")
    } catch {
      expect(error.description, is: "cannot open a\\n\\xff: No such file or directory")
      expect(error.isNotFound && !error.isWouldBlock)
    }
    expect(SystemError(errno: EACCES, operation: "open").description, is: "cannot open: Permission denied")
  }

  @Test func `text is escaped so that different bytes look different`() {
    let table: [([UInt8], String)] = [
      (Array("plain é 日本".utf8), "plain é 日本"), ([0x1b, 0x5b], "\\x1b["), ([0xc3], "\\xc3"),
      ([0xc3, 0x28], "\\xc3("), (Array("\\xc3".utf8), "\\\\xc3"), ([0x7f], "\\x7f"),
      ([0xff, 0xe9, 0x61], "\\xff\\xe9a"),
      (Array("\u{202e}".utf8), "\\u{202e}"), (Array("\u{85}".utf8), "\\u{85}"), ([], ""),
    ]
    for (bytes, text) in table { expect(EscapedText.describing(bytes), is: text) }
  }
}

import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct AppendingTests {
  private let scratch: Scratch
  private let appending = Appending()

  init() throws {
    scratch = try Scratch.withFolders()
  }

  private func append(_ source: String, at path: String) throws {
    let file = Glibc.open("\(scratch.path)/source/\(source)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    try #require(file >= 0)
    try appending.append(Descriptor(owning: file), at: Array(path.utf8))
  }

  /// Stages the existing frames. Returns the staging and the offer.
  private func stage() throws -> (Staging, Offer) {
    let identity = AppIdentity(bundleIdentifier: "org.example", store: "", platform: "linux", version: "1")
    let offer = Offer(
      contents: .app(identity), items: 1000, bytes: 1 << 20, allocated: 1 << 20, flags: .estimated)
    let disk = try DirectoryDisk(making: Array("stage".utf8), in: try scratch.open("destination"))
    let staging = try Staging(on: disk, for: offer, transfer: 7, keys: testKeys)
    let writer = StagingWriter(staging)
    for frame in appending.outlet.frames { try writer.write(frame) }
    return (staging, offer)
  }

  /// Stages everything that was appended, and returns the tree.
  private func arrive() throws -> TreeSnapshot {
    let result = appending.finish()
    let (staging, _) = try stage()
    try staging.complete(result.finish) { _ in }
    return scratch.snapshot("destination/stage/tree")
  }

  private func names(_ snapshot: TreeSnapshot) -> [String] {
    snapshot.entries.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  @Test func `an item arrives under the path given for it`() throws {
    for name in ["a%20b", "with space", "a\u{301}", "á", "new\nline"] {
      scratch.write("source/file", Array(name.utf8))
      scratch.letSettle()
      try append("file", at: name)
      try append("file", at: "deep/\(name)/copy")
    }
    let tree = try arrive()
    for name in ["a%20b", "with space", "a\u{301}", "á", "new\nline"] {
      expect(scratch.read("destination/stage/tree/\(name)"), is: Array(name.utf8))
      expect(scratch.read("destination/stage/tree/deep/\(name)/copy"), is: Array(name.utf8))
    }
    expect(names(tree).count, is: 5 + 1 + 5 + 5)
  }

  @Test func `a directory arrives with its contents`() throws {
    scratch.makeDirectory("source/tree")
    scratch.makeDirectory("source/tree/.hidden")
    scratch.makeDirectory("source/tree/empty")
    scratch.write("source/tree/.hidden/.file", [1])
    scratch.write("source/tree/large", pattern(3 << 20))
    scratch.makeLink("source/tree/link", to: "../outside")
    let before = scratch.snapshot("source/tree")
    try append("tree", at: "Documents/copy")
    _ = try arrive()
    expect(scratch.snapshot("destination/stage/tree/Documents/copy").differences(from: before), is: [])
    expect(appending.outlet.unsent.isEmpty)
  }

  @Test func `directories merge, and a second item with the same path is refused`() throws {
    for name in ["one", "two", "three"] { scratch.makeDirectory("source/\(name)") }
    for name in ["one", "two"] { scratch.makeDirectory("source/\(name)/both") }
    scratch.write("source/one/a", [1])
    scratch.write("source/one/both/x", [2])
    scratch.write("source/two/both/y", [3])
    scratch.write("source/three/a", [4])
    scratch.write("source/file", [5])
    try append("file", at: "top/implied/file")
    try append("one", at: "top")
    try append("two", at: "top")
    expect(failure { try append("three", at: "top") }, is: "exists")
    expect(failure { try append("file", at: "top") }, is: "exists")
    expect(failure { try append("file", at: "top/a") }, is: "exists")
    expect(failure { try append("two", at: "top/a") }, is: "exists")
    expect(failure { try append("file", at: "top/a/beneath") }, is: "exists")
    let tree = try arrive()
    expect(
      names(tree), is: ["top", "top/a", "top/both", "top/both/x", "top/both/y", "top/implied", "top/implied/file"])
    expect(scratch.read("destination/stage/tree/top/a"), is: [1])
  }

  @Test func `a path that would lead outside is refused, and the appender stays usable`() throws {
    scratch.write("source/file", [1])
    for path in [
      "", "/", "/etc/passwd", "..", "a/../b", ".", "./x", "a//b", "a/", "a\0b", String(repeating: "n", count: 256),
    ] {
      expect(failure { try append("file", at: path) }, is: "path", "\(path.debugDescription)")
    }
    try append("file", at: "good")
    expect(names(try arrive()), is: ["good"])
  }

  @Test func `a symbolic link arrives unchanged`() throws {
    let time = ItemTime(seconds: 1_000_000_000, nanoseconds: 5)
    try appending.appender.appendLink(target: Array("../else where".utf8), modified: time, at: Array("links/one".utf8))
    expect(
      failure { try appending.appender.appendLink(target: [97], modified: time, at: Array("links/one".utf8)) },
      is: "exists")
    _ = try arrive()
    expect(scratch.time("destination/stage/tree/links/one"), is: [1_000_000_000, 5])
  }

  @Test func `unreadable items in a directory are named and thrown`() throws {
    scratch.makeDirectory("source/tree")
    scratch.write("source/tree/good", [1])
    expect(mkfifo("\(scratch.path)/source/tree/fifo", 0o600), is: 0)
    // A FIFO is not an item: it is named, and the append continues.
    try append("tree", at: "tree")
    expect(appending.outlet.unsent, is: [NotStored(path: Array("tree/fifo".utf8), .notSendable)])
    expect(names(try arrive()), is: ["tree", "tree/good"])
  }

  @Test func `a file that keeps changing is named and thrown`() throws {
    scratch.write("source/file", pattern(300_000))
    let path = "\(scratch.path)/source/file"
    // The file has changed just before each request for a frame.
    let outlet = Outlet { number in
      let file = Glibc.open(path, O_WRONLY | O_APPEND)
      _ = withUnsafeBytes(of: number) { Glibc.write(file, $0.baseAddress!, 1) }
      close(file)
    }
    let sizes = ArchiveSizes(smallFile: 1 << 10, chunk: 1 << 12, fullFrame: 1 << 10)
    let appending = Appending(outlet, sizes: sizes)
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    expect(failure { try appending.append(Descriptor(owning: file), at: Array("file".utf8)) }, is: "source")
    expect(outlet.unsent, is: [NotStored(path: Array("file".utf8), .keepsChanging)])
  }

  @Test func `small items that are appended one after the other share one frame`() throws {
    for number in 0..<50 { scratch.write("source/\(number)", pattern(number)) }
    scratch.letSettle()
    for number in 0..<50 {
      try append("\(number)", at: "many/\(number)")
      try appending.appender.appendLink(
        target: [97], modified: ItemTime(seconds: 1, nanoseconds: 0), at: Array("links/\(number)".utf8))
    }
    expect(appending.outlet.frames.isEmpty)
    let tree = try arrive()
    expect(names(tree).count, is: 50 + 50 + 2)
    for number in 0..<50 { expect(scratch.read("destination/stage/tree/many/\(number)"), is: pattern(number)) }
    // The directories that no append has added come last.
    expect(appending.outlet.frames.count, is: 2)
  }

  @Test func `a frame waits only a moment`() throws {
    scratch.write("source/file", [1])
    scratch.letSettle()
    try append("file", at: "file")
    appending.outlet.read(appending.export) { !appending.outlet.frames.isEmpty }
    expect(appending.outlet.frames.count, is: 1)
  }

  @Test func `an export that is stopped while a frame waits for more items ends without sending them`() throws {
    scratch.write("source/file", [1])
    scratch.letSettle()
    try append("file", at: "file")
    expect(appending.export.waitingFrames == 1 && !appending.export.isRead)
    appending.outlet.stop()
    appending.export.stop()
    expect(failure { try appending.export.waitUntilRead() }, is: "stopped")
    var frame = FrameBuffer(capacity: 300 << 10)
    let filling = appending.export.fill(&frame, written: 0)
    expect(filling == .nothing(until: nil) && frame.isEmpty)
    let file = Glibc.open("\(scratch.path)/source/file", O_RDONLY | O_CLOEXEC)
    let late = try appending.appender.begin(Descriptor(owning: file), at: Array("late".utf8))
    expect(!appending.appender.isRead(late), "no more items are read")
  }

  @Test func `small items that the receiver holds are read and not sent again`() throws {
    for number in 0..<20 { scratch.write("source/\(number)", pattern(number + 1)) }
    scratch.letSettle()
    let link = ItemTime(seconds: 1, nanoseconds: 0)
    func appendAll(to appending: Appending, _ count: Int) throws {
      for number in 0..<count {
        let file = Glibc.open("\(scratch.path)/source/\(number)", O_RDONLY | O_CLOEXEC)
        try appending.append(Descriptor(owning: file), at: Array("many/\(number)".utf8))
        try appending.appender.appendLink(target: [97], modified: link, at: Array("links/\(number)".utf8))
      }
    }
    try appendAll(to: appending, 15)
    appending.outlet.read(appending.export)
    let (staging, offer) = try stage()
    expect(staging.held.items, is: 30)
    let again = Appending(held: HeldItems(of: staging))
    staging.beginSession(offer)
    try appendAll(to: again, 20)
    let result = again.finish()
    let sent = Set(try again.outlet.frames.flatMap { try entriesOf($0).map(\.text) })
    let fresh = (15..<20).flatMap { ["many/\($0)", "links/\($0)"] }
    expect(sent, is: Set(fresh + ["many", "links"]))
    expect(again.outlet.skipped, is: Tally(items: 30, bytes: (1...15).reduce(0, +)))
    expect(result.stale.isEmpty)
    let writer = StagingWriter(staging)
    for frame in again.outlet.frames { try writer.write(frame) }
    try staging.complete(result.finish) { _ in }
    expect(names(scratch.snapshot("destination/stage/tree")).count, is: 42)
  }

  @Test func `items that are appended faster than they are sent wait for their turn`() throws {
    let outlet = Outlet()
    let appending = Appending(outlet, sizes: ArchiveSizes(smallFile: 1 << 10, chunk: 1 << 12, fullFrame: 1 << 10))
    scratch.write("source/file", pattern(900))
    scratch.letSettle()
    var waiting: [ItemAppender.Append] = []
    for number in 0..<40 {
      let file = Glibc.open("\(scratch.path)/source/file", O_RDONLY | O_CLOEXEC)
      let append = try appending.appender.begin(Descriptor(owning: file), at: Array("\(number)".utf8))
      if !appending.appender.isRead(append) { waiting.append(append) }
    }
    expect(waiting.count > 20)
    outlet.read(appending.export) { waiting.allSatisfy { appending.appender.isRead($0) } }
    for append in waiting { try appending.appender.end(append) }
    appending.finish()
    let paths = try outlet.frames.flatMap { try entriesOf($0).map(\.text) }
    expect(Set(paths) == Set((0..<40).map { "\($0)" }) && paths.count == 40)
  }
}

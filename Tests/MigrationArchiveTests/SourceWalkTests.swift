import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct SourceRootTests {
  @Test(arguments: ["/", "//", "/.", "/..", "", "a/.", "a/..", "a/./"])
  func `a source without a name is refused`(_ path: String) {
    expect(failure { _ = try SourceRoot(path: Array(path.utf8)) }, is: "source")
  }

  @Test func `a source that is missing, too long or contains a NUL is refused`() throws {
    let scratch = try Scratch.withFolders()
    for path in [
      scratch.at("source/missing"), scratch.at("missing/x"), scratch.at("source/" + String(repeating: "n", count: 256)),
      scratch.at("source") + [0, 65], scratch.at("outside/secret/x"),
    ] {
      expect(failure { _ = try SourceRoot(path: path) }, is: "source")
    }
    expect(scratch.openDescriptors(), is: 1)
  }

  @Test func `trailing slashes do not matter`() throws {
    let scratch = try Scratch.withFolders()
    let root = try SourceRoot(path: scratch.at("source///"))
    expect(root.name, is: Array("source".utf8))
    expect(root.kind, is: .directory)
  }

  @Test func `a link that the user named is sent as a link`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeLink("source/link", to: "../outside")
    let export = try Export([scratch.at("source/link")])
    expect(export.summary.total, is: Tally(items: 1, bytes: 0))
    expect(try export.entries.compactMap(\.record).map(\.body), is: [.symbolicLink(target: Array("../outside".utf8))])
  }

  @Test func `a slash after a link sends the folder behind it, under the link's name`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("outside/below/deep", "deep")
    scratch.makeLink("source/link", to: "../outside")
    let export = try Export([scratch.at("source/link/")])
    let sent = try Set(export.entries.compactMap(\.record).map { String(decoding: $0.path.bytes, as: UTF8.self) })
    expect(sent, is: ["link", "link/secret", "link/below", "link/below/deep"])
    let (link, folder) = (
      try FolderSource(paths: [scratch.at("source/link")]), try FolderSource(paths: [scratch.at("outside")])
    )
    let origin = try FolderSource(paths: [scratch.at("source/link/")]).origin()
    expect(try origin != link.origin() && origin != folder.origin())
    expect(failure { _ = try SourceRoot(path: scratch.at("source/link/secret/")) } == nil)
  }

  @Test func `a folder that is named by dots is sent under its own name`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/below")
    for (path, name) in [("source/.", "source"), ("source/below/..", "source"), ("source/below/../", "source")] {
      let root = try SourceRoot(path: scratch.at(path))
      expect(root.name == Array(name.utf8) && root.kind == .directory)
    }
    expect(
      try FolderSource(paths: [scratch.at("source/.")]).origin() == FolderSource(paths: [scratch.at("source")]).origin()
    )
  }

  @Test func `a special file is named as not sent, and the other sources are sent`() throws {
    let scratch = try Scratch.withFolders()
    expect(mkfifo("\(scratch.path)/source/fifo", 0o600), is: 0)
    scratch.write("source/file", [])
    expect(failure { _ = try FolderSource(paths: [scratch.at("source/fifo")]) }, is: "source")
    let export = try Export(["source/fifo", "source/file"].map { scratch.at($0) })
    expect(export.summary.contents, is: .folders([Root(kind: .file, name: Array("file".utf8))]))
    expect(try export.entries.compactMap(\.record).map(\.path.bytes), is: [Array("file".utf8)])
    expect(export.outlet.unsent, is: [NotStored(path: Array("fifo".utf8), .notSendable)])
  }

  @Test func `two sources with one name are refused, and sources with other names arrive in order`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/secret")
    expect(
      failure { _ = try FolderSource(paths: [scratch.at("source/secret"), scratch.at("outside/secret")]) }, is: "source"
    )
    let source = try FolderSource(paths: [scratch.at("source"), scratch.at("outside"), scratch.at("destination")])
    guard case .folders(let roots) = try source.prepare(until: StopSignal()).contents else {
      Issue.record("no folders")
      return
    }
    expect(roots.map(\.name), is: ["destination", "outside", "source"].map { Array($0.utf8) })
  }

  @Test func `many sources in one directory hold it once`() throws {
    let scratch = try Scratch.withFolders()
    let names = (0..<300).map { "source/\($0)" }
    for name in names { scratch.write(name, []) }
    let source = try FolderSource(paths: names.map { scratch.at($0) })
    expect(scratch.openDescriptors(), is: 2)
    expect(try source.prepare(until: StopSignal()).total.items, is: 300)
  }
}

@Suite struct SourceWalkTests {
  private func walk(_ scratch: Scratch, _ name: String = "source") throws -> SourceTree {
    try SourceWalk.walk([SourceRoot(path: scratch.at(name))])
  }

  private func paths(_ tree: SourceTree) throws -> [String] {
    try tree.nodes.indices.map { String(decoding: try tree.path($0).bytes, as: UTF8.self) }
  }

  @Test func `names, types and totals are those on the disk`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/b")
    scratch.makeDirectory("source/b/c")
    scratch.write("source/a", pattern(5))
    scratch.write("source/b/x", pattern(4097))
    scratch.makeLink("source/b/c/link", to: "nowhere")
    let tree = try walk(scratch)
    expect(tree.total, is: Tally(items: 6, bytes: 4102))
    expect(tree.allocated, is: 4096 + 8192)
    expect(tree.unsent.isEmpty)
    expect(try paths(tree), is: ["source", "source/a", "source/b", "source/b/x", "source/b/c", "source/b/c/link"])
    expect(tree.nodes.map(\.kind), is: [.directory, .file, .directory, .file, .directory, .symbolicLink])
  }

  @Test func `a directory's items are adjacent, files first`() throws {
    let scratch = try Scratch.withFolders()
    for directory in ["source/d1", "source/d2", "source/d1/e1", "source/d1/e2"] { scratch.makeDirectory(directory) }
    for file in ["f", "d1/f", "d2/f", "d1/e1/f", "d1/e2/f", "g", "d1/g"] { scratch.write("source/\(file)", [1]) }
    let tree = try walk(scratch)
    var parents: [Int32] = []
    for node in tree.nodes where parents.last != node.parent { parents.append(node.parent) }
    expect(Set(parents).count, is: parents.count, "each directory is entered once")
    for (one, next) in zip(tree.nodes, tree.nodes.dropFirst()) where one.parent == next.parent {
      expect(!(one.kind == .directory && next.kind == .file))
    }
  }

  @Test func `a file with holes counts with its allocated size`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/sparse", [1])
    scratch.cut("source/sparse", to: 1 << 30)
    let tree = try walk(scratch)
    expect(tree.total.bytes, is: 1 << 30)
    expect(tree.allocated <= 65_536)
  }

  @Test func `the total of very large files with holes does not overflow`() throws {
    let scratch = try Scratch.withFolders()
    for name in 0..<3 {
      scratch.write("source/\(name)", [])
      // The largest size that the file system can hold; on ext4 the sum stays small.
      for size in [Int.max, 1 << 43] where truncate("\(scratch.path)/source/\(name)", size) == 0 { break }
    }
    var tree = SourceTree()
    let name = Array("n".utf8)
    let status = try scratch.open("source").directory.status("0")
    for _ in 0..<4 { _ = tree.add(name.span, status, kind: .file, parent: -1) }
    expect(try walk(scratch).total.bytes <= Limits.fileSize)
  }

  @Test func `special files are named, and no other item is lost`() throws {
    let scratch = try Scratch.withFolders()
    expect(mkfifo("\(scratch.path)/source/fifo", 0o600), is: 0)
    scratch.write("source/file", [1])
    let tree = try walk(scratch)
    expect(tree.unsent, is: [NotStored(path: Array("source/fifo".utf8), .notSendable)])
    expect(tree.total, is: Tally(items: 2, bytes: 1))
  }

  @Test(.enabled(if: hasMount("/dev/shm"))) func `other file systems are named, and left out on request`() throws {
    var selection = Selection()
    selection.isOnOneFileSystem = true
    let tree = try SourceWalk.walk([SourceRoot(path: Array("/dev".utf8))], selecting: selection)
    expect(tree.mountPoints.contains(Array("dev/shm".utf8)))
    expect(try paths(tree).filter { $0.hasPrefix("dev/shm") }, is: ["dev/shm"])
  }

  @Test(.enabled(if: hasMount("/dev/pts")))
  func `the kernel's own file systems are named, and always left out`() throws {
    var selection = Selection()
    selection.exclusions.append(Array("shm".utf8))
    let tree = try SourceWalk.walk([SourceRoot(path: Array("/dev".utf8))], selecting: selection)
    expect(tree.kernelMountPoints.contains(Array("dev/pts".utf8)))
    expect(!tree.mountPoints.contains(Array("dev/pts".utf8)))
    expect(try paths(tree).filter { $0.hasPrefix("dev/pts") }, is: ["dev/pts"])
  }

  private static func hasMount(_ path: String) -> Bool {
    let devices = ["/dev", path].map { try? Directory.status(of: Array($0.utf8)).device }
    return devices[0] != devices[1] && !devices.contains(nil)
  }

  @Test func `an unreadable directory is sent without its contents and named`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/closed")
    scratch.setMode("source/closed", 0)
    try withoutPrivileges(owning: ["", "/source", "/source/closed"].map { scratch.path + $0 }) { [self] in
      let tree = try walk(scratch)
      expect(tree.unsent.map(\.reason), is: [.unreadable])
      expect(tree.unsent.map(\.path), is: [Array("source/closed".utf8)])
      expect(tree.total.items, is: 2)
    }
  }

  @Test func `an item that is gone is named as vanished at any depth`() throws {
    let scratch = try Scratch.withFolders()
    let component = [UInt8](repeating: 0x64, count: 250)
    try DeepTree.make(in: scratch.open("source"), component, depth: 30, file: "leaf")
    let counter = Mutex(0)
    let roots = [try SourceRoot(path: scratch.at("source"))]
    // The tree is removed during the walk, so its deepest directories cannot be opened.
    let tree = try SourceWalk.walk(roots) {
      if counter.withLock({
        $0 += 1
        return $0
      }) == 28 {
        try? scratch.directory.removeTree("source")
      }
      return false
    }
    expect(!tree.unsent.isEmpty)
    for unsent in tree.unsent { expect(unsent.reason, is: .vanished) }
    let outlet = Outlet()
    let source = SourceBatch(roots: try roots.map { try RealDirectory($0.parent) }, tree: tree)
    let result = try ArchiveExport.read(source, through: outlet)
    expect(outlet.unsent.count, is: tree.nodes.count + tree.unsent.count)
    for unsent in outlet.unsent { expect(unsent.reason, is: .vanished) }
    expect(result.finish.total == Tally() && result.finish.unsent == UInt64(outlet.unsent.count))
  }

  @Test func `an item that is too deep or has too long a path is named`() throws {
    let scratch = try Scratch.withFolders()
    try DeepTree.make(in: scratch.open("source"), [0x64], depth: 2_046, file: "leaf")
    let tree = try walk(scratch)
    expect(tree.total.items, is: 2_048, "the source, its directories, and a leaf in the 2,048th component")
    try DeepTree.make(in: scratch.open("source"), [0x64], depth: 2_048, file: "leaf")
    let deeper = try walk(scratch)
    expect(deeper.unsent.map(\.reason), is: [.beyondLimits])
    expect(deeper.total.items, is: 2_049)
  }

  @Test func `paths beyond the limit are named`() throws {
    let scratch = try Scratch.withFolders()
    // "source" and 256 components of 255 bytes with their slashes: one more byte would not fit.
    try DeepTree.make(in: scratch.open("source"), [UInt8](repeating: 0x64, count: 255), depth: 255, file: "leaf")
    expect(try walk(scratch).unsent.isEmpty)
    try DeepTree.make(in: scratch.open("source"), [UInt8](repeating: 0x64, count: 255), depth: 256, file: nil)
    let tree = try walk(scratch)
    expect(tree.unsent.map(\.reason), is: [.beyondLimits])
    expect(tree.unsent[0].path.count <= Limits.path)
  }

  @Test func `three hundred levels and paths longer than PATH_MAX are walked`() throws {
    let scratch = try Scratch.withFolders()
    try DeepTree.make(in: scratch.open("source"), [UInt8](repeating: 0x65, count: 60), depth: 300, file: "leaf")
    let tree = try walk(scratch)
    expect(tree.total, is: Tally(items: 302, bytes: 4))
    expect(try tree.path(301).bytes.count > Int(PATH_MAX))
  }

  @Test func `a walk holds few descriptors and stops on request`() throws {
    let scratch = try Scratch.withFolders()
    for directory in 0..<100 {
      scratch.makeDirectory("source/\(directory)")
      for file in 0..<200 { scratch.write("source/\(directory)/\(file)", []) }
    }
    let most = Mutex(0)
    let roots = [try SourceRoot(path: scratch.at("source"))]
    let tree = try SourceWalk.walk(roots) {
      let count = scratch.openDescriptors()
      most.withLock { $0 = max($0, count) }
      return false
    }
    expect(tree.total.items, is: 20_101)
    expect(most.withLock { $0 } <= 4)
    let calls = Mutex(0)
    expect(
      failure {
        _ = try SourceWalk.walk(roots) {
          calls.withLock {
            $0 += 1
            return $0 == 10
          }
        }
      }, is: "stopped")
    expect(calls.withLock { $0 }, is: 10)
    expect(scratch.openDescriptors(), is: 2)
  }

  @Test func `a source that is removed between naming and walking ends the walk`() throws {
    let scratch = try Scratch.withFolders()
    let source = try FolderSource(paths: [scratch.at("source")])
    scratch.move("source", to: "elsewhere")
    expect(failure { _ = try source.prepare(until: StopSignal()) }, is: "source")
  }

  @Test func `a source that becomes a special file is named`() throws {
    let scratch = try Scratch.withFolders()
    let source = try FolderSource(paths: [scratch.at("source")])
    scratch.move("source", to: "elsewhere")
    expect(mkfifo("\(scratch.path)/source", 0o600), is: 0)
    let outlet = Outlet()
    expect(try source.prepare(until: StopSignal()).total, is: Tally())
    try source.export(to: outlet)
    expect(outlet.unsent, is: [NotStored(path: Array("source".utf8), .notSendable)])
  }
}

/// Trees whose deepest items no single path can reach.
enum DeepTree {
  /// Creates `depth` directories, each in the previous one, and a file in the last.
  static func make(in top: SharedDirectory, _ component: [UInt8], depth: Int, file: String?) throws {
    let name = (component + [0]).map { CChar(bitPattern: $0) }
    var current = fcntl(top.directory.raw, F_DUPFD_CLOEXEC, 0)
    for _ in 0..<depth {
      _ = mkdirat(current, name, 0o755)
      let next = openat(current, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      precondition(next >= 0, "\(errno)")
      close(current)
      current = next
    }
    if let file {
      let leaf = openat(current, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
      precondition(leaf >= 0 && Glibc.write(leaf, "leaf", 4) == 4)
      close(leaf)
    }
    close(current)
  }
}

import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Names, links and kinds from a paired device that means ill.
///
/// For every such path this end refuses with a typed failure and says so to the other. It makes,
/// changes and reads nothing outside the destination, and the same command accepts an honest
/// sender's files afterwards.
@Suite struct NameAttackTests {
  private let attack: Attack

  init() throws { attack = try Attack() }

  /// Where a hostile path may stand.
  enum Place: CaseIterable {
    case item, directory, link, chunk, hole, hardLinkTarget
  }

  private static let long = String(repeating: "n", count: 256)
  /// Paths that no item may have, each with the rule that it breaks.
  static let paths: [(path: String, reason: String)] =
    [
      "..", "../x", "root/..", "root/../x", "root/x/..", "root/x/../../../x", ".", "root/.", "root/./x", "/", "/x",
      "/root/x", "", "root/", "root//x", "//root", "root\0", "root/x\0/y", "root/x\0y", "\0",
    ].map { ($0, "a component of a path is not a valid path") }
    + ["root/\(long)", "root/\(long)/x", long].map { ($0, "a component of a path exceeds its limit") }
    + [
      ("root" + String(repeating: "/x", count: 2_048), "a path's depth exceeds its limit")
    ]

  @Test(arguments: Place.allCases) func `a path that no item may have is refused wherever it stands`(place: Place)
    throws
  {
    // Each rule at each place, and every form of it at one.
    let paths = place == .item ? Self.paths : Self.paths.filter { Self.forms.contains($0.path) }
    for (path, reason) in paths {
      let failure = try attack.refused { frame, keys in put(Array(path.utf8), at: place, in: &frame, keys) }
      #expect(failure?.message == "the other device broke the protocol: \(reason)", "\(path.debugDescription)")
    }
    try attack.expectHarmless()
  }

  private static let forms: Set = ["../x", "/x", "", "root/x\0y", "root/\(long)", "root/\(long)/x", paths.last!.path]

  private func put(_ path: [UInt8], at place: Place, in frame: inout StrangeFrame, _ keys: TransferKeys) {
    switch place {
    case .item: frame.item(raw: StrangeRecord(path, .file, size: 0).bytes)
    case .directory: frame.item(raw: StrangeRecord(path, .directory).bytes)
    case .link: frame.item(raw: StrangeRecord(path, .symbolicLink, target: [0x78]).bytes)
    case .chunk: frame.place(raw: path, isHole: false, keys)
    case .hole: frame.place(raw: path, isHole: true, keys)
    case .hardLinkTarget: frame.item(raw: StrangeRecord(Array("root/h".utf8), .hardLink, target: path).bytes)
    }
  }

  @Test func `a path of 64 KiB is refused`() throws {
    let path = Array("root".utf8) + Array(repeating: Array("/\(Self.long.dropFirst())".utf8), count: 256).joined()
    let failure = try attack.refused { frame, _ in frame.item(raw: StrangeRecord(path, .file, size: 0).bytes) }
    #expect(failure?.message == "the other device broke the protocol: a path exceeds its limit")
    try attack.expectHarmless()
  }

  @Test func `a root that is no single name is refused with its offer`() throws {
    for name in ["..", ".", "/", "a/b", "/etc", "../x", "x\0", "x/"] {
      let failure = try attack.refusedOffer(StrangeSender.offer([Root(kind: .directory, name: Array(name.utf8))]))
      #expect(failure?.message == "the other device broke the protocol: a component of a path is not a valid path")
    }
    #expect(attack.surroundings.destination.names() == [])
    try attack.expectHarmless()
  }

  @Test func `roots that come twice are refused with their offer`() throws {
    let root = Root(kind: .file, name: [0x61])
    #expect(try attack.refusedOffer(StrangeSender.offer([root, root]))?.kind == .failed)
    try attack.expectHarmless()
  }

  @Test func `devices, FIFOs, sockets and all other special files have no kind`() throws {
    for kind in [0, 6, 7, 8, 0xFF] as [UInt8] {
      let path = Array("root/node".utf8)
      let failure = try attack.refused { frame, _ in frame.item(raw: StrangeRecord(path, kind: kind).bytes) }
      #expect(failure?.message == "the other device broke the protocol: an item's record has an unknown type")
    }
    try attack.expectHarmless()
  }

  @Test func `a mode that would make something else of a file is refused`() throws {
    for mode in [S_IFCHR | 0o666, S_IFBLK | 0o666, S_IFIFO | 0o666, S_IFREG | 0o644] {
      let failure = try attack.refused { frame, _ in
        frame.item(raw: StrangeRecord(Array("root/x".utf8), .file, size: 0, mode: UInt16(mode)).bytes)
      }
      #expect(
        failure?.message == "the other device broke the protocol: an item's record has a value that is not allowed")
    }
    try attack.expectHarmless()
  }

  @Test(arguments: [0o6755, 0o1777] as [UInt16])
  func `set-id bits are dropped and counted`(mode: UInt16) throws {
    var directory = try record("root", .directory)
    directory.mode = mode & 0o777
    var file = try record("root/tool", .file(size: 4))
    file.mode = mode
    let done = try attack.taken { frame, keys in
      frame.item(directory)
      frame.file(file, Array("tool".utf8), keys)
      return [directory, file]
    }
    var status = stat()
    #expect(lstat(attack.surroundings.destination.path + "/root/tool", &status) == 0)
    #expect(status.st_mode & 0o7777 == mode_t(mode & 0o1777))
    let hasBits = mode & 0o6000 != 0
    #expect(done?.losses == (hasBits ? [Done.Loss(kind: .setIDBit, count: 1)] : []))
    try attack.expectHarmless()
  }

  // MARK: Links

  /// Where a symbolic link leads that was sent first.
  static let targets = ["outside", "absolute", "missing", "itself", "up", "/proc/self/cwd", "/dev/null"]
  /// The next items. Every link with a file, and every other item with a link to the outside.
  static func pairs(_ items: [String]) -> [(String, String)] {
    targets.map { ($0, "file") } + items.map { ("outside", $0) }
  }

  private func target(_ kind: String) -> String {
    switch kind {
    case "outside": Surroundings.outsideFromRoot
    case "absolute": attack.surroundings.outside
    case "missing": "nowhere"
    case "itself": "link"
    case "up": ".."
    default: kind
    }
  }

  @Test(arguments: pairs(["chunk", "hole", "directory", "link", "hard link"]))
  func `nothing goes through a link that was sent first`(kind: String, what: String) throws {
    try expectContradiction { frame, keys in
      frame.item(try record("root", .directory))
      frame.item(try record("root/link", .symbolicLink(target: Array(target(kind).utf8))))
      let path = try ArchivePath(Array("root/link/secret".utf8))
      let place = ChunkPlace(path: path, generation: 2, range: 0..<5, isHole: what == "hole")
      switch what {
      case "file": frame.file(try record("root/link/secret", .file(size: 5)), Array("taken".utf8), keys)
      case "chunk": frame.chunk(place, Array("taken".utf8), keys)
      case "hole": frame.hole(place, keys)
      case "directory": frame.item(try record("root/link/secret", .directory))
      case "link": frame.item(try record("root/link/secret", .symbolicLink(target: [0x78])))
      default:
        frame.file(try record("root/f", .file(size: 5)), Array("taken".utf8), keys)
        frame.item(try record("root/link/secret", .hardLink(target: ArchivePath(Array("root/f".utf8)))))
        // Hard links are made at the end, but their way is looked at now.
        frame.item(try record("root/link/empty", .directory))
      }
    }
  }

  @Test(arguments: pairs(["chunk", "directory", "hard link"]))
  func `no item replaces a link that was sent first`(kind: String, what: String) throws {
    try expectContradiction { frame, keys in
      frame.item(try record("root", .directory))
      frame.item(try record("root/link", .symbolicLink(target: Array(target(kind).utf8))))
      let path = try ArchivePath(Array("root/link".utf8))
      switch what {
      case "file": frame.file(try record("root/link", .file(size: 5), 2), Array("taken".utf8), keys)
      case "chunk":
        frame.chunk(ChunkPlace(path: path, generation: 2, range: 0..<5), Array("taken".utf8), keys)
      case "directory": frame.item(try record("root/link", .directory, 2))
      default:
        frame.file(try record("root/f", .file(size: 5)), Array("taken".utf8), keys)
        frame.item(try record("root/link", .hardLink(target: ArchivePath(Array("root/f".utf8))), 2))
      }
    }
  }

  @Test func `a root that is a link is no way out`() throws {
    try expectContradiction { frame, keys in
      frame.item(try record("root", .symbolicLink(target: Array(attack.surroundings.outside.utf8))))
      frame.file(try record("root/secret", .file(size: 5)), Array("taken".utf8), keys)
    }
  }

  @Test(arguments: targets) func `a link arrives unchanged, and its target is neither read nor changed`(
    kind: String
  ) throws {
    let target = Array(target(kind).utf8)
    var link = try record("root/link", .symbolicLink(target: target))
    link.modified = ItemTime(seconds: 5, nanoseconds: 6)
    let root = try record("root", .directory)
    _ = try attack.taken { frame, _ in
      frame.item(root)
      frame.item(link)
      return [root, link]
    }
    let arrived = try FileManager.default.destinationOfSymbolicLink(
      atPath: attack.surroundings.destination.path + "/root/link")
    #expect(Array(arrived.utf8) == target)
    try attack.expectHarmless()
  }

  /// Forbidden targets of a hard link. With each target come the items that must precede it.
  @Test(arguments: ["missing", "directory", "link", "itself", "hard link", "beneath a file", "other root", "through"])
  func `a hard link to an item that is no file of the archive is refused`(kind: String) throws {
    let path: (String) throws -> ArchivePath = { try ArchivePath(Array($0.utf8)) }
    var records = [
      try record("root", .directory), try record("root/d", .directory), try record("root/f", .file(size: 0)),
      try record("root/s", .symbolicLink(target: Array(attack.surroundings.outside.utf8))),
    ]
    let target =
      switch kind {
      case "missing": "root/nowhere"
      case "directory": "root/d"
      case "link": "root/s"
      case "itself": "root/h"
      case "hard link": "root/second"
      case "beneath a file": "root/f/x"
      case "other root": "other/f"
      default: "root/s/secret"
      }
    records.append(try record("root/h", .hardLink(target: try path(target))))
    // A ring of two.
    if kind == "hard link" { records.append(try record("root/second", .hardLink(target: try path("root/h")))) }
    let (failure, code) = try attack.concluded { frame, _ in
      for item in records { frame.item(item) }
      return records
    }
    #expect(failure?.kind == .failed)
    #expect(code == (kind == "other root" ? .announcement : .violation))
    attack.surroundings.expectNothingArrived()
    try attack.expectHarmless()
  }

  // MARK: One name for two

  @Test(arguments: 0..<6) func `a second item of one path is refused`(number: Int) throws {
    try expectContradiction { frame, keys in
      frame.file(try record("root/a", .file(size: 5)), Array("hello".utf8), keys)
      switch number {
      case 0: frame.file(try record("root/a", .file(size: 5), 2), Array("world".utf8), keys)
      case 1: frame.item(try record("root/a", .directory, 2))
      case 2: frame.item(try record("root/a", .symbolicLink(target: [0x78]), 2))
      case 3: frame.item(try record("root/a", .hardLink(target: ArchivePath(Array("root/b".utf8))), 2))
      // Below a file, complete and incomplete.
      case 4: frame.file(try record("root/a/x", .file(size: 5)), Array("world".utf8), keys)
      default:
        let place = ChunkPlace(path: try ArchivePath(Array("root/b".utf8)), generation: 1, range: 0..<5)
        frame.chunk(place, Array("hello".utf8), keys)
        frame.item(try record("root/b/x", .directory))
      }
    }
  }

  private func expectContradiction(
    _ act: (inout StrangeFrame, TransferKeys) throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let failure = try attack.refused(with: .violation, sourceLocation: sourceLocation, act)
    #expect(failure?.kind == .failed, sourceLocation: sourceLocation)
    #expect(
      failure?.message.contains("a second state of an item contradicts an earlier statement: ") == true,
      sourceLocation: sourceLocation)
    try attack.expectHarmless(sourceLocation: sourceLocation)
  }

  // MARK: The means of these tests

  @Test func `an archive made by hand arrives if it is valid`() throws {
    let paths = ["root/a", "root/b"].map { Array($0.utf8) }
    let records = try ["root/a", "root/b"].map { try record($0, .file(size: 1)) }
    _ = try attack.taken { frame, keys in
      for (number, path) in paths.enumerated() {
        frame.place(raw: path, isHole: number == 1, keys)
        frame.item(raw: StrangeRecord(path, .file, size: 1).bytes)
      }
      return records
    }
    #expect(attack.surroundings.destination.content("root/a") == Data([0x78]))
    #expect(attack.surroundings.destination.content("root/b") == Data([0]))
    try attack.expectHarmless()
  }
}

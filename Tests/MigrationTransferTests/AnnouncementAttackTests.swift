import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// More from a paired device than it announced, and more than there is room for.
@Suite struct AnnouncementAttackTests {
  private let attack: Attack

  init() throws { attack = try Attack() }

  private static let announcement = "is more than was announced"

  private static func offer(
    items: UInt64 = 1, bytes: UInt64 = 1, allocated: UInt64 = 0, flags: Offer.Flags = []
  ) -> Offer {
    Offer(contents: .folders([Attack.root]), items: items, bytes: bytes, allocated: allocated, flags: flags)
  }

  private func hole(_ path: String, _ length: UInt64) throws -> ChunkPlace {
    ChunkPlace(path: try ArchivePath(Array(path.utf8)), generation: 1, range: 0..<length, isHole: true)
  }

  @Test func `a root that was not announced is refused, with anything below it`() throws {
    for path in ["other", "other/x", "roo/x", "roots/x", "Root/x", ".peer-0/x", "tree/x", "journal"] {
      let bytes = Array(path.utf8)
      for number in 0..<(path == "other/x" ? 5 : 1) {
        let failure = try attack.refused(with: .announcement) { frame, keys in
          switch number {
          case 0: frame.item(raw: StrangeRecord(bytes, .file, size: 0).bytes)
          case 1: frame.item(raw: StrangeRecord(bytes, .directory).bytes)
          case 2: frame.item(raw: StrangeRecord(bytes, .symbolicLink, target: [0x78]).bytes)
          case 3: frame.item(raw: StrangeRecord(bytes, .hardLink, target: Array("root/x".utf8)).bytes)
          default: frame.place(raw: bytes, isHole: false, keys)
          }
        }
        #expect(failure?.message.hasSuffix("a root \(Self.announcement)") == true)
      }
    }
    try attack.expectHarmless()
  }

  @Test func `more items than announced are refused`() throws {
    let attack = try Attack(Self.offer(items: 8, bytes: 0))
    let failure = try attack.refused(with: .announcement) { frame, _ in
      // A quarter, and 1,024.
      for number in 0..<(8 + 2 + 1_024 + 1) {
        frame.item(try record("root/\(number)", .symbolicLink(target: [0x78])))
      }
    }
    #expect(failure?.message.hasSuffix("the number of items \(Self.announcement)") == true)
    try attack.expectHarmless()
  }

  @Test(arguments: [Offer.Flags(), .estimated]) func `more bytes than announced are refused, of an estimate too`(
    flags: Offer.Flags
  ) throws {
    let attack = try Attack(Self.offer(bytes: 1 << 20, flags: flags))
    let bound: UInt64 = flags.contains(.estimated) ? 3 << 19 + 1 << 30 : 5 << 18 + 64 << 20
    for lengths in [[bound + 1], [bound, 1], [Limits.fileSize], [bound - 1, 2]] {
      let failure = try attack.refused(with: .announcement) { frame, keys in
        for (number, length) in lengths.enumerated() { frame.hole(try hole("root/\(number)", length), keys) }
      }
      #expect(failure?.message.hasSuffix("the number of bytes \(Self.announcement)") == true, "\(lengths)")
    }
    // Data within the bound is accepted.
    let file = try record("root/0", .file(size: bound))
    _ = try attack.taken { frame, keys in
      frame.hole(try hole("root/0", bound), keys)
      frame.item(file)
      return [file]
    }
    try attack.expectHarmless()
  }

  @Test func `a sparse file takes no room, and one that the file system cannot hold is refused`() throws {
    let attack = try Attack(Self.offer(items: 3, bytes: Limits.fileSize))
    let size: UInt64 = 1 << 40
    let root = try record("root", .directory)
    let bomb = try record("root/bomb", .file(size: Limits.fileSize - size))
    let sparse = try record("root/sparse", .file(size: size))
    let done = try attack.taken { frame, keys in
      frame.item(root)
      frame.hole(try hole("root/bomb", Limits.fileSize - size), keys)
      frame.item(bomb)
      frame.hole(try hole("root/sparse", size), keys)
      frame.item(sparse)
      return [root, bomb, sparse]
    }
    #expect(done?.notStored == 1)
    var status = stat()
    #expect(lstat(attack.surroundings.destination.path + "/root/sparse", &status) == 0)
    #expect(status.st_size == off_t(size) && status.st_blocks < 2_048)
    try attack.expectHarmless()
  }

  @Test(.enabled(if: canMount, "no file system can be mounted"))
  func `data that needs more space than was announced ends before the disk is full`() throws {
    let attack = try Attack(Self.offer(items: 1, bytes: 16 << 20, allocated: 1 << 20))
    let path = attack.surroundings.destination.path
    try #require(mount("tmpfs", path, "tmpfs", 0, "size=3m") == 0)
    let (failure, code) = try attack.misbehave { _, stream, keys in
      let content = pattern(1 << 20)
      for number in 0..<4 as Range<UInt64> {
        var frame = StrangeFrame()
        let range = number << 20..<(number + 1) << 20
        let place = ChunkPlace(path: try ArchivePath(Array("root/big".utf8)), generation: 1, range: range)
        frame.chunk(place, content, keys)
        // It is closed before the last one, perhaps.
        do { try stream.say(frame.frame(number)) } catch { break }
      }
    }
    #expect(code == .noSpace)
    #expect(failure?.kind == .noSpace)
    #expect(failure?.message.hasPrefix("not enough space: ") == true)
    #expect(try FileSystemSpace.of(Directory.open(path).descriptor).availableBytes > 3 << 20 / 20)
    attack.surroundings.expectNothingArrived()
    // The room is free again once the staged data is given up.
    for name in attack.surroundings.destination.names() {
      try FileManager.default.removeItem(atPath: path + "/" + name)
    }
    try attack.surroundings.expectHonestArrival()
    #expect(umount2(path, CInt(MNT_DETACH)) == 0)
    try attack.surroundings.expectUntouched()
  }

  @Test func `an offer that comes back greater is judged by the room that there is now`() throws {
    try comeBackGreater()
    try attack.expectHarmless()
  }

  private func comeBackGreater() throws {
    let store = try Scratch()
    let receiver = try attack.surroundings.receiver(
      store: TransferStore(home: store.at("home")), giveUpAfter: 30)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(Self.offer(flags: .estimated)))
    let identity = sender.identity
    sender.control.close()
    _ = try receiver.events.first { if case .interrupted = $0 { true } else { nil } }
    var again = try StrangeClient(port: port, identity: identity).comeBack()
    let offer = Self.offer(bytes: 1 << 60, allocated: 1 << 60, flags: .estimated)
    #expect(try again.begin(offer, continuing: accept.transfer) == nil)
    again.control.close()
    #expect(receiver.failure()?.kind == .noSpace)
    attack.surroundings.expectNothingArrived()
  }
}

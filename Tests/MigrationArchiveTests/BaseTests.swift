import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Newer versions of files, of which only the differences come.
@Suite struct BaseTests {
  private static let source = SourceIdentity(1)
  private static let block = 128 << 10
  private static let size = 175 * block + 1000
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/root")
    scratch.makeDirectory("destination/root")
  }

  private func pass(
    _ existing: Existing = .update, dying death: Passes.Death = .none, touching touch: () -> Void = {}
  ) throws -> Passes.Pass {
    try Passes(scratch).pass(from: Self.source, existing: existing, dying: death, touching: touch)
  }

  private func change(_ offsets: [Int], truncatingTo size: Int? = nil, in name: String = "image") {
    for offset in offsets { scratch.patch("source/root/\(name)", Array("changed".utf8), at: offset) }
    if let size { scratch.cut("source/root/\(name)", to: size) }
  }

  private func isSame(_ name: String = "image") -> Bool {
    scratch.read("source/root/\(name)") == scratch.read("destination/root/\(name)")
  }

  @Test(arguments: [Existing.merge, .update])
  func `blocks that differ come, and the others are taken from the version that is there`(existing: Existing) throws {
    scratch.write("source/root/image", pattern(Self.size))
    expect(try pass(existing).content, is: Self.size)
    change([5, 70 * Self.block - 3, Self.size - 20])
    let second = try pass(existing)
    expect(second.content, is: 3 * Self.block + 1000)
    expect(second.content + second.ofBases, is: Self.size)
    expect(isSame())
    // The list of the second version was made on the way.
    change([9 * Self.block], truncatingTo: Self.size - 40 * Self.block)
    let third = try pass(existing)
    expect(third.content, is: Self.block + 1000)
    expect(isSame())
    expect(try pass(existing).sent, is: [])
  }

  @Test func `a file of any length grows, and only its end comes`() throws {
    scratch.write("source/root/image", pattern(Self.size + 1))
    _ = try pass()
    for length in [Self.size + 300, Self.size + 3 * Self.block + 5] {
      scratch.write("source/root/image", pattern(length))
      let next = try pass()
      expect(next.content <= 4 * Self.block, "\(next.content)")
      expect(isSame())
    }
  }

  @Test func `the journal of a database that is gone at the source is not that of the newer database`() throws {
    scratch.write("source/root/db", pattern(100))
    scratch.write("source/root/db-wal", pattern(50))
    _ = try pass()
    scratch.remove("source/root/db-wal")
    scratch.write("source/root/db", pattern(200))
    _ = try pass()
    expect(isSame("db"))
    expect(scratch.names("destination/root").sorted(), is: ["db", "db-wal (2)"])
    // What is gone at both is nothing.
    scratch.remove("destination/root/db-wal (2)")
    let third = try pass()
    expect(third.removed.count == 0 && third.away.isEmpty)
  }

  @Test func `an import that died leaves the version before as the base`() throws {
    scratch.write("source/root/image", pattern(Self.size))
    _ = try pass()
    change([5])
    _ = try Passes(scratch).pass(from: Self.source, isCutOff: true, existing: .update)
    change([20 * Self.block])
    expect(try pass().content, is: 2 * Self.block)
    expect(isSame())
  }

  @Test func `of a file in which everything moved, all of it comes`() throws {
    let content = pattern(Self.size)
    scratch.write("source/root/image", content)
    _ = try pass()
    scratch.write("source/root/image", [1] + content)
    let second = try pass()
    expect(second.content, is: Self.size + 1)
    expect(isSame())
  }

  @Test func `a version that was touched is no base`() throws {
    scratch.write("source/root/image", pattern(Self.size))
    _ = try pass()
    change([5])
    scratch.patch("destination/root/image", [1], at: 500)
    expect(try pass().content, is: Self.size)
    expect(isSame())
  }

  @Test func `a version that is touched while pieces of it are on the way is refused, and comes next time`() throws {
    scratch.write("source/root/image", pattern(Self.size))
    _ = try pass()
    change([5])
    let touched = try pass(touching: { scratch.patch("destination/root/image", [1], at: 500) })
    expect(touched.refused, is: ["image"])
    expect(try pass().content, is: Self.size)
    expect(isSame())
  }

  @Test func `holes and zeros of either version arrive as they are`() throws {
    scratch.write("source/root/image", pattern(Self.block * 130))
    _ = try pass()
    // A hole where data was, and data behind a hole.
    let hole = Int64(3 * Self.block + 4096)..<Int64(9 * Self.block + 8192)
    try scratch.open("source/root").directory.openChild(Array("image".utf8)[...], .readWrite).clear(hole)
    scratch.cut("source/root/image", to: 300 * Self.block)
    change([299 * Self.block])
    let second = try pass()
    expect(second.content <= 4 * Self.block, "\(second.content)")
    expect(isSame())
    change([200 * Self.block])
    expect(try pass().content, is: Self.block)
    expect(isSame())
  }

  @Test func `an app's data comes whole from what is here and what has changed`() throws {
    scratch.write("source/root/mail", pattern(3 << 20))
    scratch.write("source/root/small", pattern(5000))
    scratch.write("source/root/image", pattern(Self.size))
    scratch.write("source/root/tiny", pattern(10))
    rmdir(scratch.path("destination/root"))
    _ = try pass(.setAside)
    let same = try pass(.setAside)
    expect(same.sent + same.folders, is: [])
    expect(same.leftOut.present, is: 5)
    expect(same.stayed, is: [])
    scratch.write("source/root/new", pattern(100))
    let second = try pass(.setAside)
    expect(second.content, is: 110)
    expect(second.ofBases, is: Self.size + (3 << 20) + 5000)
    for name in ["mail", "small", "image", "tiny", "new"] { expect(isSame(name), "\(name)") }
    // The copies are what arrived now.
    change([77], in: "mail")
    expect(try pass(.setAside).content, is: (3 << 20) + 110)
    expect(isSame("mail"))
  }
}

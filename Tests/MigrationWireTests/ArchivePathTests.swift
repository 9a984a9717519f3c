import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct ArchivePathTests {
  private static func joined(_ count: Int, _ component: [UInt8] = ascii("a")) -> [UInt8] {
    Array([[UInt8]](repeating: component, count: count).joined(separator: ascii("/")))
  }

  /// 255 components of 255 bytes, and one of `last` bytes: 65,280 + `last` bytes.
  private static func long(_ last: Int) -> [UInt8] {
    joined(255, [UInt8](repeating: 1, count: 255)) + ascii("/") + [UInt8](repeating: 2, count: last)
  }

  @Test(
    arguments: [
      "a", "a/b", "a%20b", "...", "..a", "a..", ".a/.b", "a/...", " ", "a\\b", "C:", "-rf", "~", "\n", "\u{1B}[0m",
      "ä/a\u{308}",
    ].map(ascii) + [[0x80, 0xFF], [0xC0, 0xAF], joined(2_048), [UInt8](repeating: 0x61, count: 255), long(255)])
  func `a path is kept as it is`(bytes: [UInt8]) throws {
    expect(try ArchivePath(bytes).bytes, is: bytes)
    expect(try ArchivePath(copying: bytes.span).bytes, is: bytes)
  }

  @Test(arguments: [
    "", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", "a/..", "./a", "a/.", "//", "\0", "a\0b",
    "a/b\0",
  ])
  func `a path that is no path is refused`(text: String) {
    expect(violation { () throws(Violation) in _ = try ArchivePath(ascii(text)) }, is: .path)
    expect(violation { () throws(Violation) in _ = try ArchivePath(copying: ascii(text).span) }, is: .path)
  }

  @Test(arguments: [
    joined(2_049), [UInt8](repeating: 0x61, count: 256), long(256), ascii("a/") + [UInt8](repeating: 0x61, count: 256),
  ])
  func `a path beyond a limit is refused`(bytes: [UInt8]) {
    expect(violation { () throws(Violation) in _ = try ArchivePath(bytes) }, is: .limit)
  }

  @Test func `65,535 bytes are a path and 65,536 are not`() throws {
    expect(Self.long(255).count, is: 65_535)
    let bytes = Self.joined(256, [UInt8](repeating: 1, count: 255))
    expect(bytes.count, is: 65_535)
    expect(try ArchivePath(bytes).depth, is: 256)
    // 257 components of 254 and fewer bytes: the length alone is too great.
    let more = Self.joined(256, [UInt8](repeating: 1, count: 254)) + ascii("/") + [UInt8](repeating: 1, count: 256 - 1)
    expect(more.count, is: 65_535)
    expect(try ArchivePath(more).depth, is: 257)
    let tooMany = Self.joined(256, [UInt8](repeating: 1, count: 254)) + ascii("/a/") + [UInt8](repeating: 1, count: 254)
    expect(tooMany.count, is: 65_536)
    expect(violation { () throws(Violation) in _ = try ArchivePath(tooMany) }, is: .limit)
  }

  @Test func `a path knows its parts`() {
    let whole = path("a/b/c")
    expect(whole.parent == path("a/b") && whole.parent?.parent == path("a") && path("a").parent == nil)
    let others = ["a", "a/b", "a/c", "a/b/c", "a/b/c/d", "b"].map(path)
    expect(others.filter { $0.isParent(of: whole) }, is: [path("a/b")])
    expect(Array(whole.name) == ascii("c") && Array(path("a").name) == ascii("a"))
    expect(Array(whole.root) == ascii("a") && whole.depth == 3)
    expect(whole.components.map { Array($0) }, is: ["a", "b", "c"].map(ascii))
  }

  @Test func `paths are ordered by their bytes`() {
    expect(path("a") < path("a/b") && path("a.b") < path("a/b") && path("Z") < path("a"))
    expect(!(path("a") < path("a")))
  }

  @Test func `one component is appended, never more or less`() throws {
    expect(try path("a").appending(ascii("b").span), is: path("a/b"))
    for name in ["", ".", "..", "b/c", "b\0", "/b", "b/"] {
      #expect(throws: Violation.self, "\(name)") { try path("a").appending(ascii(name).span) }
    }
  }

  @Test func `random bytes make a path exactly when every component is one`() {
    var random = Seeded(4)
    let alphabet = ascii("..//a\0")
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...7, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
      let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Array($0) }
      let isValid = components.allSatisfy { !$0.isEmpty && $0 != ascii(".") && $0 != ascii("..") && !$0.contains(0) }
      if ((try? ArchivePath(bytes)) != nil) != isValid { Issue.record("\(bytes)") }
    }
  }
}

import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Attributes outside the user namespace, which are counted and not carried.
@Suite struct LostAttributeTests {
  /// Whether attributes of the trusted namespace are available here.
  static let hasTrusted: Bool = {
    guard let scratch = try? Scratch() else { return false }
    scratch.write("file", [1])
    return (try? Descriptor.open(scratch.at("file")).setAttribute(Array("trusted.a".utf8), [1])) != nil
  }()

  /// Whether chattr(1) is here, and the file system keeps its flags and tells them.
  static let hasFlags: Bool = {
    guard let scratch = try? Scratch() else { return false }
    scratch.write("file", [1])
    guard (try? chattr("+d", scratch.path("file"))) == 0, let directory = try? Directory.open(scratch.at("")) else {
      return false
    }
    return (try? directory.flaggedStatus(Array("file".utf8).span))?.flags.contains(.noDump) == true
  }()

  private static func chattr(_ flag: String, _ path: String) throws -> CInt {
    try SpawnedProcess("/usr/bin/chattr", ["chattr", flag, path]).exitCode()
  }

  private func give(_ scratch: Scratch, _ name: String, _ attributes: [String]) throws {
    let item = try Descriptor.open(scratch.at(name))
    for attribute in attributes { try item.setAttribute(Array(attribute.utf8), [1]) }
  }

  private func named(_ list: [LostAttribute]) -> [String] {
    list.map { "\(String(decoding: $0.name, as: UTF8.self)) \($0.count)" }
  }

  @Test(.enabled(if: hasTrusted, "no attributes of the trusted namespace here"))
  func `attributes that are not carried are counted by name, once an item, also for held items`() throws {
    let scratch = try Scratch.withFolders()
    for name in ["small", "large", "plain"] { scratch.write("source/\(name)", pattern(name == "large" ? 600_000 : 10)) }
    scratch.makeDirectory("source/directory")
    try give(scratch, "source/small", ["trusted.b", "user.kept"])
    try give(scratch, "source/large", ["trusted.a", "trusted.b"])
    try give(scratch, "source/directory", ["trusted.b"])
    try #require(link(scratch.path("source/small"), scratch.path("source/twin")) == 0)
    scratch.letSettle()
    let all = try Export([scratch.at("source")])
    expect(named(all.result.finish.lostAttributes), is: ["trusted.a 1", "trusted.b 3"])
    let marks = try all.entries.compactMap(\.record).map { testKeys.mark(path: $0.path, generation: $0.generation) }
    expect(marks.count, is: 6)
    var held = HeldItems()
    held.add(Held(kind: .staged, marks: marks.sorted()))
    let again = try Export([scratch.at("source")], held: held)
    expect(try again.entries.isEmpty)
    expect(again.result.finish, is: all.result.finish)
  }

  @Test(.enabled(if: hasFlags, "no chattr here, or no flags"))
  func `flags of files and folders are counted`() throws {
    let scratch = try Scratch.withFolders()
    scratch.makeDirectory("source/folder")
    for name in ["source/folder/a", "source/b", "source/c"] { scratch.write(name, pattern(10)) }
    for name in ["source", "source/folder", "source/b"] {
      expect(try Self.chattr("+d", scratch.path(name)), is: 0)
    }
    scratch.letSettle()
    expect(named(try Export([scratch.at("source")]).result.finish.lostAttributes), is: ["chattr +d 3"])
  }

  @Test func `further names of symbolic links are counted, and files with several names are not`() throws {
    let scratch = try Scratch.withFolders()
    scratch.write("source/file", [1])
    try #require(link(scratch.path("source/file"), scratch.path("source/twin")) == 0)
    try #require(symlink("file", scratch.path("source/one")) == 0)
    for name in ["two", "three"] {
      try #require(
        linkat(AT_FDCWD, scratch.path("source/one"), AT_FDCWD, scratch.path("source/\(name)"), 0) == 0)
    }
    scratch.letSettle()
    expect(named(try Export([scratch.at("source")]).result.finish.lostAttributes), is: ["hard link 2"])
  }

  @Test func `the most frequent names are reported, in order`() {
    var count = AttributeCount()
    for number in 0..<2_000 {
      let name = Array("security.\(number)".utf8)
      for _ in 0...(number < 100 ? number : 0) { count.note(name) }
    }
    count.note([])
    let list = count.list
    expect(list.count, is: Limits.lostAttributes)
    expect(list.map(\.count).sorted(), is: (37...100).map { UInt64($0) })
    expect(zip(list, list.dropFirst()).allSatisfy { $0.name.lexicographicallyPrecedes($1.name) })
  }
}

import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

/// Who may change a file, a folder, or one above it. Most cases need another user, and so root.
@Suite struct TrustTests {
  private let scratch: Scratch
  private let own = CurrentProcess.effectiveUserID
  private static let other: UInt32 = 65_534
  private static let isRoot = CurrentProcess.effectiveUserID == 0

  init() throws {
    scratch = try Scratch()
    scratch.makeDirectory("above/home/inner")
  }

  private func set(_ name: String, _ mode: mode_t, owner: UInt32? = nil, group: UInt32? = nil) throws {
    if owner != nil || group != nil { try #require(chown(scratch.path(name), owner ?? own, group ?? getegid()) == 0) }
    try #require(chmod(scratch.path(name), mode) == 0)
  }

  private func distrust(_ name: String, _ inside: [String] = []) -> Trust.Distrust? {
    do throws(Trust.Distrust) {
      _ = try Trust().find(scratch.at(name), inside.map { Array($0.utf8) })
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [0o700, 0o755, 0o500] as [mode_t])
  func `a folder that only its owner changes is trusted, however it is reached`(mode: mode_t) throws {
    try set("above", mode)
    scratch.makeLink("link", to: "above/./home/../home")
    expect(distrust("link/inner") == nil)
    expect(try Trust().find(scratch.at("link/inner")), is: scratch.at("above/home/inner"))
    expect(distrust("link/missing/below")?.isMissing, is: true)
  }

  @Test func `a folder that all may change is not trusted, and above another one only with the sticky bit`() throws {
    try set("above", 0o777)
    expect(distrust("above"), is: Trust.Distrust(scratch.at("above"), .everyone))
    expect(distrust("above/home/missing"), is: Trust.Distrust(scratch.at("above"), .everyone, isAbove: true))
    try set("above", 0o1777)
    expect(distrust("above")?.reason, is: .everyone)
    expect(distrust("above/home") == nil)
  }

  @Test(.enabled(if: isRoot)) func `what another user owns is not trusted, nor what is below it`() throws {
    try set("above/home", 0o755, owner: Self.other)
    expect(distrust("above/home"), is: Trust.Distrust(scratch.at("above/home"), .owner))
    expect(distrust("above/home/inner"), is: Trust.Distrust(scratch.at("above/home"), .owner, isAbove: true))
    expect((try? Trust(Self.other).find(scratch.at("above/home/inner"))) != nil)
    // Another user's link in a folder in which all may make some.
    try set("above", 0o1777)
    scratch.makeLink("above/link", to: scratch.path("above"))
    expect(distrust("above/link/home")?.path, is: scratch.at("above/home"))
    try #require(lchown(scratch.path("above/link"), Self.other, Self.other) == 0)
    expect(distrust("above/link/home"), is: Trust.Distrust(scratch.at("above/link"), .owner, isAbove: true))
  }

  @Test(.enabled(if: isRoot)) func `a group counts as the user if it has no other member`() throws {
    try set("above", 0o775, group: Self.other)
    expect(distrust("above"), is: Trust.Distrust(scratch.at("above"), .group))
    expect(distrust("above/home"), is: Trust.Distrust(scratch.at("above"), .group, isAbove: true))
    try set("above", 0o775, group: 0)
    let isAlone = SystemAccounts.members(ofGroup: 0) == [0]
    expect((distrust("above/home") == nil), is: isAlone)
    // A group without listed members may have members on a server.
    try set("above", 0o775, group: 4_000_000_001)
    expect(distrust("above")?.reason, is: .group)
  }

  @Test(.enabled(if: isRoot)) func `an access list that lets others write is not trusted`() throws {
    let entries: [[UInt16]] = [[1, 7], [2, 7], [4, 5], [16, 7], [32, 5]]
    let list = entries.flatMap { entry -> [UInt8] in
      let user = entry[0] == 2 ? Self.other : UInt32.max
      return entry.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] } + (0..<4).map { UInt8(user >> ($0 * 8) & 255) }
    }
    // Not every file system has such lists.
    let name = Array("system.posix_acl_access".utf8)
    let isSet: Void? = try? Directory.open(scratch.path("above")).descriptor.setAttribute(name, [2, 0, 0, 0] + list)
    guard isSet != nil else { return }
    expect(distrust("above/home"), is: Trust.Distrust(scratch.at("above"), .list, isAbove: true))
    try set("above", 0o755)
    expect(distrust("above/home") == nil)
  }

  @Test func `a folder whose group has given it more attributes than the kernel lists is not trusted`() throws {
    let folder = try Directory.open(scratch.path("above"))
    for number in 100..<380 {
      let name = Array("user.\(number)".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 240)
      // Not every file system has room for them.
      guard (try? folder.descriptor.setAttribute(name, [])) != nil else { return }
    }
    #expect(throws: SystemError.self) { try folder.descriptor.attributeNames() }
    expect(distrust("above/home") == nil)
    try set("above", 0o775)
    expect(distrust("above/home"), is: Trust.Distrust(scratch.at("above"), .list, isAbove: true))
  }

  @Test func `behind the last names no link is followed`() throws {
    scratch.makeLink("above/link", to: "home")
    expect(distrust("above/link", ["inner"]) == nil)
    expect(distrust("above", ["link", "inner"]), is: Trust.Distrust(scratch.at("above/link"), .link))
    expect(distrust("above", ["missing"])?.isMissing, is: true)
    scratch.makeLink("loop", to: "loop")
    expect(distrust("loop"), is: Trust.Distrust(scratch.at("loop"), .link))
  }

  private func bytes(_ name: String, _ limit: Int) throws(Trust.Distrust) -> [UInt8] {
    let folder = try Trust().open(scratch.at("above/home"))
    return try Trust().read(Array(name.utf8), in: folder, at: scratch.at("above/home/\(name)"), limit: limit)
  }

  private func reason(_ name: String, limit: Int = 100) -> Trust.Distrust.Reason? {
    do throws(Trust.Distrust) {
      let bytes = try bytes(name, limit)
      expect(bytes, is: Array("text".utf8))
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `only a regular file that no other user changes is read, at once`() throws {
    scratch.write("above/home/file", "text")
    expect(reason("file") == nil)
    scratch.makeLink("above/home/link", to: "file")
    expect(reason("link"), is: .link)
    try #require(mkfifo(scratch.path("above/home/pipe"), 0o600) == 0)
    expect(reason("pipe"), is: .otherKind)
    expect(reason("inner"), is: .otherKind)
    if case .unreachable = reason("file", limit: 3) {} else { Issue.record("a long file is read") }
    try set("above/home/file", 0o666)
    expect(reason("file"), is: .everyone)
    guard Self.isRoot else { return }
    try set("above/home/file", 0o664, group: Self.other)
    expect(reason("file"), is: .group)
    try set("above/home/file", 0o644, owner: Self.other)
    expect(reason("file"), is: .owner)
  }
}

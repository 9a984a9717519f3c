import Expectations
import MigrationArchive
import MigrationEngine
import MigrationWire
import Testing

@testable import peer

/// The file of `--owner-map`.
@Suite struct OwnerMapTests {
  private func parse(_ text: String) -> Result<OwnerMap, Failure> {
    do throws(Failure) {
      return .success(
        try OwnerMapFile.parse(Array(text.utf8), "map", user: { $0 == Array("ann".utf8) ? 1001 : nil }) { _ in 50 })
    } catch {
      return .failure(error)
    }
  }

  @Test func `a rule has an old and a new user or group, by name or number`() throws {
    var expected = OwnerMap()
    _ = expected.add(.user, .name(Array("bob".utf8)), 1001)
    _ = expected.add(.user, .number(1002), 7)
    _ = expected.add(.group, .number(0), 50)
    let text = "# old and new\n\n user\tbob ann\nuser 1002 7\r\ngroup 0 staff"
    expect(try parse(text).get(), is: expected)
  }

  @Test(arguments: [
    ("user bob", "--owner-map: map, line 1 is not a rule"),
    ("\nuser bob ann x", "--owner-map: map, line 2 is not a rule"),
    ("users bob ann", "--owner-map: map, line 1 is not a rule"),
    ("user bob eve", "--owner-map: map, line 1: there is no user 'eve' on this device"),
    ("user bob 1\nuser bob 2", "--owner-map: map, line 2: 'bob' has a rule already"),
    ("user bob 4294967295", "--owner-map: map, line 1: there is no user '4294967295' on this device"),
  ])
  func `a line that is no rule is named`(text: String, message: String) {
    guard case .failure(let failure) = parse(text) else { return expect(Bool(false), "it was taken") }
    expect(failure.kind == .usage && failure.message == message && failure.hint != nil)
  }
}

import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

@Suite struct IntoTemplateTests {
  private static let key = KeyFingerprint(bytes: Array(repeating: 0xAB, count: 32))

  private func path(_ template: String, _ name: String?) throws -> String {
    let key = try #require(Self.key)
    return String(
      decoding: try IntoTemplate(template).path(key, named: name, now: 86_399).bytes, as: UTF8.self)
  }

  @Test(
    arguments: [
      ("{device}", "laptop", "laptop"), ("{device}/{date}", "laptop", "laptop/1970-01-01"),
      ("{date}", "x", "1970-01-01"),
      ("all/{device}.d", "a/../b", "all/a_.._b.d"), ("{device}", nil, "abababababab"),
      // A name that is no folder's, or one of staging, is no place for data.
      ("{device}", "..", "abababababab"), ("{device}", "a\0", "abababababab"),
      ("{device}", ".peer-\(String(repeating: "0", count: 32))", "abababababab"),
    ] as [(String, String?, String)])
  func `each device has a folder below the destination`(template: String, name: String?, folder: String) throws {
    expect(try path(template, name), is: folder)
  }

  @Test(arguments: ["", "x", "/{device}", "../{device}", "{device}/", "{user}", "{device", "{device}/{x}", "a//{date}"])
  func `another path is refused`(template: String) {
    let failure = #expect(throws: Failure.self) { try IntoTemplate(template) }
    expect(failure?.kind == .usage && failure?.hint?.contains("{device}") == true)
  }

  @Test func `folders for devices are for folders alone`() throws {
    for other in [["--everything"], ["--app", "org.example.a"]] {
      let failure = #expect(throws: Failure.self) {
        try Command((["receive", "--into", "{device}"] + other).map { Array($0.utf8) })
      }
      expect(failure?.message.hasPrefix("--into cannot be used with"), is: true)
    }
  }
}

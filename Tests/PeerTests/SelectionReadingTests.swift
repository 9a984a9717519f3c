import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport
import Testing

@testable import peer

@Suite struct SelectionReadingTests {
  private func selection(_ sources: SendOptions.ExclusionSource...) throws -> Selection {
    var options = SendOptions(sources: [[0x61]])
    options.exclusions = sources
    return try Selection(options)
  }

  /// Lends a new file with these bytes.
  private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    let scratch = try Scratch()
    scratch.write("patterns", bytes)
    try body(scratch.path("patterns"))
  }

  @Test func `a pattern is taken unchanged, and a file line by line, in their order`() throws {
    var expected = Selection()
    for pattern in ["#a ", "b", "!c"] { expected.exclusions.append(Array(pattern.utf8)) }
    try withFile(Array("# no\nb \n".utf8)) { path in
      let found = try selection(.pattern(Array("#a ".utf8)), .file(Array(path.utf8)), .pattern(Array("!c".utf8)))
      expect(found, is: expected)
    }
  }

  @Test func `a missing file, a directory or a file without text is a usage error`() throws {
    let missing = #expect(throws: Failure.self) { try selection(.file(Array("/nowhere/p".utf8))) }
    expect(missing?.kind, is: .usage)
    expect(missing?.message, is: "--exclude-from: '/nowhere/p' cannot be read: No such file or directory")
    expect(missing?.hint?.contains("standard input"), is: true)
    let directory = #expect(throws: Failure.self) { try selection(.file(Array("/".utf8))) }
    expect(directory?.message, is: "--exclude-from: '/' cannot be read: Is a directory")
    try withFile([0xFF, 0xFE, 0x61, 0, 0x0A, 0]) { path in
      let failure = #expect(throws: Failure.self) { try selection(.file(Array(path.utf8))) }
      expect(failure?.message, is: "--exclude-from: '\(path)' is not plain text")
    }
    let endless = #expect(throws: Failure.self) { try selection(.file(Array("/dev/zero".utf8))) }
    expect(endless?.message, is: "--exclude-from: '/dev/zero' cannot be read: it is too long")
  }

  @Test func `a pattern that matches nothing is reported`() throws {
    let patterns = ["a[", "fine", "\u{1B}\\"].map { SendOptions.ExclusionSource.pattern(Array($0.utf8)) }
    expect(
      try selection(patterns[0], patterns[1], patterns[2]).warnings,
      is: [
        "the pattern 'a[' has a '[' without a ']' and matches nothing",
        "the pattern $'\\x1b\\\\' ends with a backslash and matches nothing",
      ])
  }
}

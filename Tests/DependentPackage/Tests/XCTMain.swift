import Testing
import XCTest

@testable import AppleFormTests

/// The program of the tests. With it, SwiftPM looks for no tests of XCTest, for which each module
/// would be compiled again with an index.
@main enum TestsProgram {
  static func main() async {
    if CommandLine.arguments.contains("--testing-library") { await Testing.__swiftPMEntryPoint() as Never }
    XCTMain([
      testCase([
        ("testExport", asyncTest(NotesMigrationTests.testExport)),
        ("testImport", asyncTest(NotesMigrationTests.testImport)),
        ("testRoundTrip", asyncTest(NotesMigrationTests.testRoundTrip)),
        (
          "testImportOfAVersionOfTheFutureFails", asyncTest(NotesMigrationTests.testImportOfAVersionOfTheFutureFails)
        ),
      ])
    ])
  }
}

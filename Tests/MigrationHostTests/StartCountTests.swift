import Expectations
import TestSupport
import Testing

@testable import MigrationHost

/// Counts how often an app is started while it leaves the record of its last import uncleared.
@Suite struct StartCountTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func record(_ app: InstalledApp, date: Int64 = 1, transfer: String? = "ab") throws {
    try ImportRecord(failure: nil, transfer: transfer, date: date).write(to: app.statusPath)
  }

  private func starts(_ app: InstalledApp, _ number: Int) -> [Bool] { (0..<number).map { _ in app.countStart() } }

  @Test func `only the third start causes a notice`() throws {
    let app = try scratch.install().prepared()
    expect(starts(app, 4), is: [false, false, false, false], "there is no record")
    try record(app)
    expect(starts(app, 5), is: [false, false, true, false, false])
  }

  @Test func `a new record, and a cleared one, restart the count`() throws {
    let app = try scratch.install().prepared()
    for (date, transfer) in [(1, "ab"), (2, "ab"), (2, "cd"), (2, nil)] as [(Int64, String?)] {
      try record(app, date: date, transfer: transfer)
      expect(starts(app, 3), is: [false, false, true])
    }
    try app.clearImportRecord()
    expect(!app.countStart())
    expect(!exists("\(scratch.path)/home/statuses/\(app.identifier).starts"))
    try record(app, date: 2, transfer: nil)
    expect(starts(app, 3), is: [false, false, true])
  }

  @Test(arguments: ["", "x", "ab 1", "ab 1 x", "ab 1 -7", "ab 1 99999999999999999999999", "\u{0}"])
  func `an invalid file counts as zero`(text: String) throws {
    let app = try scratch.install().prepared()
    try record(app)
    try write(text, to: "\(scratch.path)/home/statuses/\(app.identifier).starts")
    expect(starts(app, 3), is: [false, false, true])
  }

  @Test func `a failure to count does not prevent the start`() throws {
    let app = try scratch.install().prepared()
    try record(app)
    try write("", to: "\(scratch.path)/home/statuses/\(app.identifier).starts/inner")
    expect(starts(app, 4), is: [false, false, false, false])
  }

  @Test func `the count is removed with the app`() throws {
    let app = try scratch.install().prepared()
    try record(app)
    expect(!app.countStart())
    try scratch.home().remove(app.identifier)
    expect(tree("\(scratch.path)/home/statuses").isEmpty)
  }
}

import Expectations
import MigrationSystem
import Testing

@testable import peer

@Suite struct RestartEntryTests {
  @Test func `every line counts as Enter, and the end of the input ends the wait`() {
    expect(RestartEntry.answer(.line([])), is: true)
    expect(RestartEntry.answer(.line(Array("no".utf8))), is: true)
    expect(RestartEntry.answer(.endOfInput), is: false)
    expect(RestartEntry.answer(.interrupted) == nil)
  }

  @Test func `a program that reads the output is not asked`() {
    expect(RestartEntry.asker(json: true, unless: -1) == nil)
  }
}

import MigrationHost
import Testing

@testable import AppMigrationKit

@Suite struct ReportedErrorTests {
  private struct Plain: Error {}

  private enum Numbered: Int, Error {
    case third = 3
  }

  private struct Worded: LocalizedError {
    let errorDescription: String? = "in words"
  }

  @Test func `Swift's errors keep Foundation's domain and code`() {
    let plain = ReportedError(Plain())
    #expect(plain.domain == (Plain() as NSError).domain)
    #expect(plain.domain.hasSuffix("Plain"))
    #expect(ReportedError(Numbered.third).code == (Numbered.third as NSError).code)
    #expect(ReportedError(Worded()).text == "in words")
  }

  @Test func `an NSError keeps the entries that are texts`() {
    let error = NSError(
      domain: "d", code: -7, userInfo: [NSLocalizedDescriptionKey: "words", "text": "t", "number": 1, "data": Data()])
    let reported = ReportedError(error)
    #expect(reported == ReportedError(domain: "d", code: -7, text: "words", userInfo: ["text": "t"]))
    #expect(reported.systemError.localizedDescription == "words")
    #expect(reported.systemError.userInfo["text"] as? String == "t")
  }

  @Test func `a cancellation stays a cancellation`() {
    #expect(ReportedError(CancellationError()) == .cancelled)
    #expect(ReportedError.cancelled.thrownError is CancellationError)
  }

  @Test func `authors can catch Foundation's file errors as such`() {
    let error = ReportedError(.fileWriteFileExists, "it is there", path: "a/b").thrownError
    let cocoa = error as? CocoaError
    #expect(cocoa?.code == .fileWriteFileExists)
    #expect(cocoa?.filePath == "a/b")
    #expect(error.localizedDescription == "it is there")
    #expect(ReportedError(error) == ReportedError(.fileWriteFileExists, "it is there", path: "a/b"))
  }

  @Test func `other errors are thrown as NSErrors`() {
    let error = ReportedError(domain: "d", code: 2, text: "t").thrownError as NSError
    #expect(error.domain == "d")
    #expect(error.code == 2)
  }
}

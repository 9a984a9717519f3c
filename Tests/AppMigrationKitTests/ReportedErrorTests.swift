import Expectations
import MigrationHost
import Testing

@testable import AppMigrationKit

@Suite struct ReportedErrorTests {
  private struct Plain: Error {}

  private enum Numbered: Int, Error {
    case third = 3
  }

  private enum Typed: Error {
    case unsupportedVersion(String)
  }

  private struct Nameless: CustomNSError {
    static let errorDomain = ""
  }

  private struct Attachments: Decodable {
    let sizes: [[String: Int]]
  }

  private struct Worded: LocalizedError {
    let errorDescription: String? = "in words"
  }

  @Test func `Swift's errors keep Foundation's domain and code`() {
    let plain = ReportedError(Plain())
    expect(plain.domain, is: (Plain() as NSError).domain)
    expect(plain.domain.hasSuffix("Plain"))
    expect(ReportedError(Numbered.third).code, is: (Numbered.third as NSError).code)
    expect(ReportedError(Worded()).text, is: "in words")
  }

  private struct Advised: LocalizedError, CustomNSError {
    let errorDescription: String? = "The picture cannot be read."
    let failureReason: String? = "The file is cut."
    let recoverySuggestion: String? = "Copy it again."
    // Foundation takes these entries alone.
    var errorUserInfo: [String: Any] { [:] }
  }

  @Test func `an author's reason and suggestion are told, each once`() {
    let error = ReportedError(Advised())
    expect(error.explanation, is: "The picture cannot be read; The file is cut; Copy it again")
    let entries: [String: Any] = [
      NSLocalizedDescriptionKey: "No. The file is cut.", NSLocalizedFailureReasonErrorKey: "The file is cut.",
    ]
    expect(ReportedError(NSError(domain: "d", code: 1, userInfo: entries)).explanation, is: "No. The file is cut")
  }

  @Test func `an NSError keeps the entries that are texts`() {
    let error = NSError(
      domain: "d", code: -7, userInfo: [NSLocalizedDescriptionKey: "words", "text": "t", "number": 1, "data": Data()])
    let reported = ReportedError(error)
    expect(reported, is: ReportedError(domain: "d", code: -7, text: "words", userInfo: ["text": "t"]))
    expect(reported.systemError.localizedDescription, is: "words")
    expect(reported.systemError.userInfo["text"] as? String == "t")
  }

  @Test func `a cancellation stays a cancellation`() {
    expect(ReportedError(CancellationError()), is: .cancelled)
    expect(ReportedError.cancelled.thrownError is CancellationError)
  }

  @Test func `authors can catch Foundation's file errors as such`() {
    let error = ReportedError(.fileWriteFileExists, "it is there", path: "a/b").thrownError
    let cocoa = error as? CocoaError
    expect(cocoa?.code, is: .fileWriteFileExists)
    expect(cocoa?.filePath, is: "a/b")
    expect(error.localizedDescription, is: "it is there")
    expect(ReportedError(error), is: ReportedError(.fileWriteFileExists, "it is there", path: "a/b"))
  }

  @Test func `other errors are thrown as NSErrors`() {
    let error = ReportedError(domain: "d", code: 2, text: "t").thrownError as NSError
    expect(error.domain, is: "d")
    expect(error.code, is: 2)
  }

  private func error(_ body: () throws -> Void) -> ReportedError? {
    do {
      try body()
      return nil
    } catch {
      return ReportedError(error)
    }
  }

  @Test func `the words of an error without a text are its case and its values, with domain and code once`() {
    let typed = ReportedError(Typed.unsupportedVersion("3.0"))
    expect(typed.words, is: "unsupportedVersion(\"3.0\") (\(typed.domain) 0)")
    expect(typed.systemError.userInfo[NSDebugDescriptionErrorKey] as? String == "unsupportedVersion(\"3.0\")")
    expect(ReportedError(Nameless()).words, is: "Nameless() (code 1)")
    expect(ReportedError(Worded()).userInfo.isEmpty)
    expect(ReportedError(NSError(domain: "d", code: 3)).words, is: "The operation could not be completed (d 3)")
  }

  @Test func `the words of a decoding error contain the path in the data and the reason`() throws {
    let decoding = try #require(
      error { _ = try JSONDecoder().decode(Attachments.self, from: Data(#"{"sizes":[{"a":"b"}]}"#.utf8)) })
    expect(decoding.words.contains("sizes[0].a") && decoding.words.contains("found a string instead"), "\(decoding)")
    expect(decoding.words.hasSuffix("(NSCocoaErrorDomain 4864)"))
  }

  @Test func `the words of a file's error contain the paths and the underlying error`() throws {
    let moving = try #require(
      error { try FileManager.default.moveItem(atPath: "/nowhere/a", toPath: "/nowhere/b") })
    expect(
      moving.words,
      is: "The file doesn’t exist: '/nowhere/a' to '/nowhere/b'; No such file or directory "
        + "(NSPOSIXErrorDomain 2) (NSCocoaErrorDomain 4)")
    let opening = error { _ = try FileHandle(forReadingFrom: URL(filePath: "/nowhere/c")) }
    expect(opening?.words.contains("'/nowhere/c'"), is: true)
    let named = ReportedError(.fileReadNoSuchFile, "cannot open /nowhere/d", path: "/nowhere/d")
    expect(named.words, is: "cannot open /nowhere/d (NSCocoaErrorDomain 260)")
  }
}

import MigrationArchive
import MigrationSystem
package import MigrationWire

/// An error as it is passed from one process to another, and kept for an app's first launch: the
/// parts of an NSError that text can represent.
package struct ReportedError: Error, Equatable, Sendable, Codable {
  package let domain: String
  package let code: Int
  /// The error's own description.
  package let text: String
  /// The text entries of the user information.
  package let userInfo: [String: String]

  /// Longer texts are truncated, and surplus entries left out.
  package init(domain: String, code: Int, text: String, userInfo: [String: String] = [:]) {
    self.domain = Self.cut(domain, to: Limits.identifier)
    self.code = code
    self.text = Self.cut(text, to: Self.longestText)
    let entries = userInfo.sorted { $0.key < $1.key }.prefix(Self.mostEntries)
    self.userInfo = Dictionary(
      entries.map { (Self.cut($0.key, to: Limits.identifier), Self.cut($0.value, to: Self.longestText)) },
      uniquingKeysWith: { first, _ in first })
  }

  private static let longestText = 8 << 10
  private static let mostEntries = 32

  /// Shortens a text to its limit; a character that would be split is left out.
  private static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var scalars = String.UnicodeScalarView()
    var size = 0
    for scalar in text.unicodeScalars {
      size += UTF8.width(scalar)
      if size > limit { break }
      scalars.append(scalar)
    }
    return String(scalars)
  }
}

/// The words for an error, made of its own parts. Foundation's text often has neither the file nor
/// the value that an author looks for.
extension ReportedError {
  /// The keys of Foundation's user information that the words contain.
  package enum Key {
    package static let debugDescription = "NSDebugDescription"
    package static let failureReason = "NSLocalizedFailureReason"
    package static let recoverySuggestion = "NSLocalizedRecoverySuggestion"
    package static let path = "NSFilePath"
    package static let destination = "NSDestinationFilePath"
  }

  /// The beginning of Foundation's texts for errors without one.
  private static let preamble = "The operation could not be completed."

  /// The error's text, the paths that it does not name, the reason and the suggestion, and the
  /// description for developers.
  /// Foundation's text for an error without words only repeats the domain and the code, and is left
  /// out.
  package var explanation: String {
    let isWordless = text.hasSuffix("(\(domain) error \(code).)")
    var words = isWordless ? "" : Self.withoutStop(text)
    if words.hasPrefix("\(Self.preamble) ") { words.removeFirst(Self.preamble.count + 1) }
    let paths = [(Key.path, ""), (Key.destination, "to ")].compactMap { key, word in
      userInfo[key].flatMap { text.contains($0) ? nil : "\(word)'\($0)'" }
    }
    let parts = [words, paths.joined(separator: " ")].filter { !$0.isEmpty }
    let more = [Key.failureReason, Key.recoverySuggestion].map { key in
      userInfo[key].flatMap { text.contains(Self.withoutStop($0)) ? nil : $0 }
    }
    let said = Self.joined([parts.joined(separator: ": ")] + more + [userInfo[Key.debugDescription]])
    return said.isEmpty ? Self.withoutStop(Self.preamble) : said
  }

  /// The explanation with the domain and the code.
  package var sentence: String { "\(explanation) (\(domain.isEmpty ? "code" : domain) \(code))" }

  /// The sentence, escaped for display.
  package var words: String { VisibleText.of(sentence) }

  /// The same error with one more clause for developers.
  func explained(by clause: String) -> ReportedError {
    var entries = userInfo
    entries[Key.debugDescription] = Self.joined([entries[Key.debugDescription], clause])
    return ReportedError(domain: domain, code: code, text: text, userInfo: entries)
  }

  /// Clauses in one line, without their full stops.
  package static func joined(_ clauses: [String?]) -> String {
    clauses.compactMap { $0.map(withoutStop) }.filter { !$0.isEmpty }.joined(separator: "; ")
  }

  private static func withoutStop(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }
}

/// The domains and codes of this program's errors, numbered as in Apple's Foundation.
extension ReportedError {
  package static let cocoaDomain = "NSCocoaErrorDomain"

  /// Numbers of `CocoaError.Code`.
  package enum Cocoa: Int, Sendable {
    case fileReadUnknown = 256
    case fileReadNoPermission = 257
    case fileReadNoSuchFile = 260
    case fileWriteInvalidFileName = 514
    case fileWriteFileExists = 516
    case fileWriteOutOfSpace = 640
  }

  /// Whether it says that the disk, or the user's share of it, is full.
  var isNoSpace: Bool {
    switch domain {
    case Self.cocoaDomain: code == Cocoa.fileWriteOutOfSpace.rawValue
    case "NSPOSIXErrorDomain": SystemError(errno: CInt(clamping: code), operation: "write").isNoSpace
    default: false
    }
  }

  /// One of Foundation's file errors, about a path.
  package init(_ code: Cocoa, _ text: String, path: String? = nil) {
    self.init(
      domain: Self.cocoaDomain, code: code.rawValue, text: text,
      userInfo: path.map { [Key.path: $0] } ?? [:])
  }

  /// The exporter's error for a failed append, as one of Foundation's file errors.
  package init(appending error: Failure) {
    let code: Cocoa =
      switch error.code {
      case .path: .fileWriteInvalidFileName
      case .exists: .fileWriteFileExists
      case _ where error.cause?.isNotFound == true: .fileReadNoSuchFile
      case _ where error.cause?.isPermissionDenied == true: .fileReadNoPermission
      default: .fileReadUnknown
      }
    self.init(code, error.description, path: error.name.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The archiver's answer after the export was cancelled.
  package static let cancelled = ReportedError(
    domain: cancellationDomain, code: 1, text: "The migration was cancelled.")

  /// An exporter ended as if its export were complete, although the archiver had thrown the
  /// cancellation.
  package static let swallowedCancellation = ReportedError(
    domain: systemDomain, code: 3, text: "The exporter did not rethrow its cancellation.")

  /// Swift's own CancellationError, which has no number in Foundation.
  package static let cancellationDomain = "Swift.CancellationError"
}

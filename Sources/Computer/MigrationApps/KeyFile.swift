import MigrationSystem
import MigrationWire

/// A mistake in a description of an app, or a folder of descriptions that is not used.
package struct DescriptionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The path of the file or the folder.
  package let file: [UInt8]
  /// Counted from 1; 0 for the file as a whole.
  package let line: Int
  /// A clause about the line.
  package let reason: String
  private let isFolder: Bool

  init(file: [UInt8], line: Int, reason: String) {
    (self.file, self.line, self.reason, isFolder) = (file, line, reason, false)
  }

  /// In a file that the catching code knows.
  init(line: Int, reason: String) { self.init(file: [], line: line, reason: reason) }

  /// A file that others may change.
  init(file: [UInt8], _ cause: Trust.Distrust) {
    self.init(file: file, line: 0, reason: "it \(cause.clause)")
  }

  /// A folder that others may change, or in which other devices may put files.
  package init(folder: [UInt8], reason: String) {
    (file, line, self.reason, isFolder) = (folder, 0, reason, true)
  }

  package var description: String {
    let subject =
      isFolder
      ? "the descriptions in \(VisibleText.quoted(file)) are" : "the description \(VisibleText.quoted(file)) is"
    return "\(subject) not used: " + (line > 0 ? "line \(line): " : "") + reason
  }
}

/// A text in groups of keys and values, in the form of freedesktop.org's key files.
struct KeyFile: Sendable {
  struct Entry: Sendable {
    let key: String
    let value: String
    let line: Int
  }

  struct Group: Sendable {
    let name: String
    let line: Int
    var entries: [Entry] = []

    /// The value of the first entry with a key.
    func value(_ key: String) -> String? { entries.first { $0.key == key }?.value }
  }

  private(set) var groups: [Group] = []

  /// A line that is neither a comment, a group nor an entry.
  typealias Mistake = DescriptionError

  /// Reads a text.
  init(_ text: [UInt8]) throws(Mistake) {
    guard let text = String(validating: text, as: UTF8.self) else { throw Mistake(line: 0, reason: "it is not UTF-8") }
    // Not by characters: the end of a Windows line is one, and so is a sign with an accent behind it.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = line.trimmingBlanks
      if line.isEmpty || line.first == "#" { continue }
      if line.first == "[" {
        guard line.last == "]", line.count > 2 else { throw Mistake(line: index + 1, reason: "a group has no ']'") }
        groups.append(Group(name: String(line.dropFirst().dropLast()), line: index + 1))
        continue
      }
      guard let equals = line.firstIndex(of: "="), !groups.isEmpty else {
        throw Mistake(line: index + 1, reason: groups.isEmpty ? "it is in no group" : "it has no '='")
      }
      let (key, value) = (line[..<equals].trimmingBlanks, line[line.index(after: equals)...].trimmingBlanks)
      groups[groups.count - 1].entries.append(Entry(key: String(key), value: String(value), line: index + 1))
    }
  }

  /// The group with a name.
  func group(_ name: String) -> Group? { groups.first { $0.name == name } }
}

extension Substring.UnicodeScalarView {
  /// Without blanks at both ends, and without the end of a Windows line.
  fileprivate var trimmingBlanks: Substring.UnicodeScalarView {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" || last == "\r" { text.removeLast() }
    return text
  }
}

extension KeyFile.Entry {
  /// The parts of a list, which semicolons separate.
  var list: [String] {
    value.unicodeScalars.split(separator: ";").map { String($0.trimmingBlanks) }.filter { !$0.isEmpty }
  }
}

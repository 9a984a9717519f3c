/// Patterns in order; the last pattern that matches decides.
package struct ExclusionList: Equatable, Sendable {
  private(set) var patterns: [ExclusionPattern] = []

  package init() {}

  /// Whether the list is empty.
  package var isEmpty: Bool { patterns.isEmpty }

  /// The patterns that can never match because they are malformed.
  package var flawed: [ExclusionPattern] { patterns.filter { $0.flaw != nil } }

  /// Adds one pattern, unchanged.
  package mutating func append(_ pattern: [UInt8]) { patterns.append(ExclusionPattern(pattern)) }

  /// Adds the patterns of a text, one per line, without comments, empty lines, and unescaped spaces
  /// at the end of a line.
  package mutating func append(lines text: [UInt8]) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = text.starts(with: mark) ? text.dropFirst(mark.count) : text[...]
    for line in text.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      let pattern = Self.withoutTrailingBlanks(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
      if !pattern.isEmpty { append(Array(pattern)) }
    }
  }

  /// Whether an item is left out, given that its directory is not.
  func excludes(_ path: Span<UInt8>, nameStart: Int, isDirectory: Bool) -> Bool {
    for pattern in patterns.reversed()
    where pattern.matches(path, nameStart: nameStart, isDirectory: isDirectory) {
      return !pattern.isReinclusion
    }
    return false
  }

  private static func withoutTrailingBlanks(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var end = line.startIndex
    var isEscaped = false
    for (index, byte) in zip(line.indices, line) {
      if isEscaped || byte != UInt8(ascii: " ") { end = index + 1 }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
    return line[..<end]
  }
}

import FuzzDriver
import MigrationWire

@testable import MigrationArchive

/// A pattern and a path, with a NUL between them. A pattern keeps its text, and a malformed one
/// matches no path. A "!" in front changes only the consequence of a match. A pattern without
/// special characters matches exactly its own text.
func checkPatterns(_ input: ArraySlice<UInt8>) {
  let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
  let text = Array(parts[0])
  let pattern = ExclusionPattern(text)
  promise(pattern.text == text, "a pattern has another text")
  checkLines(Array(input))
  guard parts.count == 2, let path = read({ try ArchivePath(Array(parts[1])) }) else { return }
  let start = path.bytes.count - path.name.count
  for isDirectory in [false, true] {
    let matches = pattern.matches(path.bytes.span, nameStart: start, isDirectory: isDirectory)
    promise(pattern.flaw == nil || !matches, "a malformed pattern matches")
    if !pattern.isReinclusion {
      let inverse = ExclusionPattern([UInt8(ascii: "!")] + text)
      promise(
        inverse.matches(path.bytes.span, nameStart: start, isDirectory: isDirectory) == matches, "a '!' changes a match"
      )
    }
    guard !text.isEmpty, !text.contains(where: { "!*?[\\/".utf8.contains($0) }) else { continue }
    promise(matches == text.elementsEqual(path.name), "a plain pattern matches another name, or not its own")
  }
  let own = ExclusionPattern(path.name.flatMap { [UInt8(ascii: "\\"), $0] })
  promise(own.matches(path.bytes.span, nameStart: start, isDirectory: false), "an escaped name does not match itself")
}

/// The same bytes as a file of patterns: as many as lines, none of them with a line's end.
private func checkLines(_ bytes: [UInt8]) {
  var list = ExclusionList()
  list.append(lines: bytes)
  promise(
    list.patterns.count <= bytes.count(where: { $0 == UInt8(ascii: "\n") }) + 1, "there are more patterns than lines")
  for pattern in list.patterns {
    promise(!pattern.text.isEmpty && !pattern.text.contains(UInt8(ascii: "\n")), "a line is not one pattern")
    // A line of its text alone is the same pattern, where nothing in front or behind is special.
    guard pattern.text.first != UInt8(ascii: "#"), pattern.text.last != UInt8(ascii: "\r"), pattern.text[0] != 0xEF
    else { continue }
    var alone = ExclusionList()
    alone.append(lines: pattern.text)
    promise(alone == one(pattern), "a pattern alone is another one")
  }
}

private func one(_ pattern: ExclusionPattern) -> ExclusionList {
  var list = ExclusionList()
  list.append(pattern.text)
  return list
}

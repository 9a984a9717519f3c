import Expectations
import Glibc
import Testing

@testable import MigrationArchive

/// Whether a list of patterns, the last of which decides, leaves out an item; a slash at the end of
/// the path means a directory.
private func excludes(_ patterns: String..., path: String) -> Bool {
  var list = ExclusionList()
  for pattern in patterns { list.append(Array(pattern.utf8)) }
  return excludes(list, Array(path.utf8))
}

private func excludes(_ list: ExclusionList, _ path: [UInt8]) -> Bool {
  let isDirectory = path.last == UInt8(ascii: "/")
  let path = isDirectory ? path.dropLast() : path
  let nameStart = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
  return list.excludes(path.span, nameStart: nameStart, isDirectory: isDirectory)
}

@Suite struct ExclusionPatternTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let pattern: String
    let matching: [String]
    let others: [String]
    var testDescription: String { pattern }

    init(_ pattern: String, matches matching: [String], not others: [String]) {
      self.pattern = pattern
      self.matching = matching
      self.others = others
    }
  }

  static let cases = [
    Case("core", matches: ["core", "a/core", "core/", "a/b/core/"], not: ["core2", "Core", "a/core/x", "score"]),
    Case("core/", matches: ["core/", "a/core/"], not: ["core", "a/core"]),
    Case("/core", matches: ["core", "core/"], not: ["a/core"]),
    Case("/core/", matches: ["core/"], not: ["core", "a/core/"]),
    Case("a/core", matches: ["a/core", "a/core/"], not: ["core", "b/a/core", "a/b/core"]),

    Case("*.o", matches: ["x.o", ".o", "a/b/x.o"], not: ["x.obj", "o"]),
    Case("*", matches: ["x", ".x", "a/b"], not: []),
    Case("/*", matches: ["x", "x/"], not: ["a/b"]),
    Case("a/*", matches: ["a/b"], not: ["a", "a/b/c"]),
    Case("a/*/c", matches: ["a/b/c"], not: ["a/c", "a/b/b/c"]),
    Case("a*c", matches: ["ac", "abc", "abcbc", "x/abc"], not: ["a/c", "abcd"]),
    Case("*a*b*", matches: ["ab", "xaxbx"], not: ["ba"]),
    Case("a**c", matches: ["ac", "abc"], not: ["ab"]),

    Case("?", matches: ["x", "é", "😀", "a/x"], not: ["xy", "éé"]),
    Case("a?c", matches: ["abc", "aéc"], not: ["ac", "a/c"]),
    Case("*?", matches: ["€", "ab"], not: []),
    Case("*??", matches: ["ab", "é€"], not: ["€", "a"]),

    Case("[abc]", matches: ["a", "c", "x/b"], not: ["d", "ab"]),
    Case("[a-cx-z]1", matches: ["b1", "z1"], not: ["d1", "-1"]),
    Case("[!a-c]", matches: ["d", "é"], not: ["a", "dd"]),
    Case("[^a-c]", matches: ["d", "^"], not: ["b"]),
    Case("[]-]", matches: ["]", "-"], not: ["["]),
    Case("[!]a]", matches: ["b"], not: ["]", "a"]),
    Case("[a-]", matches: ["a", "-"], not: ["b"]),
    Case("[a-c-e]", matches: ["b", "-", "e"], not: ["d"]),
    Case("[z-a]", matches: ["z"], not: ["a", "m", "-"]),
    Case("[\\]\\\\]", matches: ["]", "\\"], not: ["[", "a"]),
    Case("[a-\\c]", matches: ["b"], not: ["\\", "d"]),
    Case("[à-ü]", matches: ["é"], not: ["e", "ÿ"]),
    Case("[[:digit:][:upper:]_]", matches: ["5", "X", "_"], not: ["x", ":", "d"]),
    Case("[[:space:]]", matches: [" ", "\t"], not: ["s", ":"]),
    Case("[[:a]", matches: ["[", ":", "a"], not: ["b"]),
    Case("[[:]", matches: ["[", ":"], not: ["]"]),
    Case("x[/a]", matches: ["xa"], not: ["x/a", "x/", "b/xa"]),

    Case("**/core", matches: ["core", "a/core", "a/b/core"], not: ["xcore", "core/x"]),
    Case("a/**", matches: ["a/b", "a/b/c"], not: ["a", "a/", "b/a/c"]),
    Case("a/**/b", matches: ["a/b", "a/x/b", "a/x/y/b"], not: ["ab", "a/xb", "x/a/b"]),
    Case("a/**/b/**/c", matches: ["a/b/c", "a/b/b/x/c", "a/x/b/c"], not: ["a/c", "a/b/x"]),
    Case("**/a/**/b", matches: ["a/b", "x/a/a/b"], not: ["b", "a"]),
    Case("**", matches: ["a", "a/b/c"], not: []),
    Case("**/", matches: ["a/", "a/b/"], not: ["a", "a/b"]),
    Case("/**", matches: ["a", "a/b"], not: []),
    Case("**/**", matches: ["a", "a/b"], not: []),
    Case("***/x", matches: ["x", "a/b/x"], not: ["y"]),
    Case("a/**b", matches: ["a/b", "a/xb"], not: ["a/x/b"]),
    Case("/a**/b", matches: ["a/b", "ax/b"], not: ["ab", "a/x/b"]),

    Case("\\#x", matches: ["#x"], not: ["x", "\\#x"]),
    Case("\\!x", matches: ["!x"], not: ["x"]),
    Case("#x", matches: ["#x"], not: ["x"]),
    Case("\\*\\?\\[", matches: ["*?["], not: ["ab["]),
    Case("a\\b", matches: ["ab"], not: ["a\\b"]),
    Case("a\\/b", matches: ["a/b"], not: ["ab"]),
    Case("a ", matches: ["a "], not: ["a"]),
    Case(" a", matches: [" a"], not: ["a"]),

    Case("", matches: [], not: ["a", "a/"]),
    Case("/", matches: [], not: ["a", "a/", "a/b/"]),
    Case("//a", matches: [], not: ["a", "b/a"]),
    Case("a//b", matches: [], not: ["a/b"]),
    Case("a//", matches: [], not: ["a/", "a"]),
    Case("./a", matches: [], not: ["a"]),
    Case("../a", matches: [], not: ["a", "b/a"]),
  ]

  @Test(arguments: cases) func `a pattern matches only the names that it describes`(_ test: Case) {
    for path in test.matching { expect(excludes(test.pattern, path: path), "\(path)") }
    for path in test.others { expect(!excludes(test.pattern, path: path), "\(path)") }
  }

  @Test(arguments: [
    ("a[", ExclusionPattern.Flaw.openBracket), ("[", .openBracket), ("[!]", .openBracket), ("[]", .openBracket),
    ("x/[a-/y", .openBracket), ("[\\", .openBracket), ("[[:alpha:]", .openBracket), ("[[:nothing:]]", .unknownClass),
    ("[[::]]", .unknownClass), ("a\\", .backslashAtEnd), ("a\\\\\\", .backslashAtEnd), ("!/a/b\\", .backslashAtEnd),
  ])
  func `a malformed pattern matches nothing and gives the reason`(pattern: String, flaw: ExclusionPattern.Flaw) {
    var list = ExclusionList()
    list.append(Array(pattern.utf8))
    expect(list.flawed.map(\.flaw), is: [flaw])
    for path in [pattern, "a", "a[", "[", "x/a/y", "[]", "a\\"] {
      expect(!excludes(list, Array(path.utf8)), "\(path)")
    }
  }

  @Test func `a byte that is not UTF-8 is a character of its own`() {
    var list = ExclusionList()
    list.append(Array("a?[!x]".utf8) + [0xFF])
    expect(excludes(list, [0x61, 0xC3, 0xE2, 0xFF]))
    expect(excludes(list, [0x61, 0xC3, 0xA9, 0x80, 0xFF]))
    expect(!excludes(list, [0x61, 0xC3, 0xA9, 0xFF]))
    expect(!excludes(list, [0x61, 0xC3, 0xE2, 0xFE]))
    // Overlong, a surrogate, beyond the last scalar, truncated: separate bytes each.
    for bytes: [UInt8] in [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] {
      var marks = ExclusionList()
      marks.append(Array(repeating: UInt8(ascii: "?"), count: bytes.count))
      expect(excludes(marks, bytes))
    }
  }

  @Test(arguments: [
    (String(repeating: "*a", count: 60) + "*b", String(repeating: "a", count: 255)),
    ("/" + String(repeating: "**/a/", count: 60) + "b", String(repeating: "a/", count: 2_000) + "a"),
    ("/" + String(repeating: "**/*a*a*/", count: 30) + "b", String(repeating: "aaaaaaaaaaa/", count: 500) + "a"),
  ])
  func `many stars on long paths take only a moment`(pattern: String, path: String) {
    // The processor time of this thread only, so that the load of the machine does not matter.
    func spent() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let begun = spent()
    expect(!excludes(pattern, path: path))
    expect(spent() - begun < 5)
  }
}

@Suite struct ExclusionListTests {
  private func texts(_ lines: String) -> [String] {
    var list = ExclusionList()
    list.append(lines: Array(lines.utf8))
    return list.patterns.map { String(decoding: $0.text, as: UTF8.self) }
  }

  @Test func `the last pattern that matches decides`() {
    expect(!excludes("*.log", "!keep.log", path: "keep.log"))
    expect(excludes("*.log", "!keep.log", path: "a/other.log"))
    expect(excludes("!keep.log", "*.log", path: "keep.log"))
    expect(!excludes("!x", path: "x"))
    expect(!excludes("*", "!*/", path: "a/"))
    expect(excludes("*", "!*/", path: "a"))
  }

  @Test func `in a text, comments and empty lines are ignored and trailing spaces removed`() {
    expect(texts("# not this\n\na\n\\#b\n #c\n!d\n"), is: ["a", "\\#b", " #c", "!d"])
    expect(texts("a  \nb\\ \nc\\  \n  \nd \\\ne\t\nf\\\\ "), is: ["a", "b\\ ", "c\\ ", "d \\", "e\t", "f\\\\"])
    expect(texts("a\r\n\r\nb \r\nc\rd\n\re"), is: ["a", "b", "c\rd", "\re"])
    expect(texts("\u{FEFF}a\nb"), is: ["a", "b"])
    expect(texts("") == [] && texts("\n\n") == [])
  }
}

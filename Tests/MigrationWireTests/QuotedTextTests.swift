import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct QuotedTextTests {
  @Test(arguments: [
    ("", "''"), ("photos", "'photos'"), ("a b", "'a b'"), ("~", "'~'"), ("-rf", "'-rf'"), ("Küche", "'Küche'"),
    ("$(rm -rf ~)", "'$(rm -rf ~)'"), ("`id`", "'`id`'"), ("a\"b", "'a\"b'"), ("!rm", "'!rm'"), ("*?[a]", "'*?[a]'"),
    ("it's", #"$'it\'s'"#), ("it's!", #"$'it\'s\x21'"#), ("'; id; '", #"$'\'; id; \''"#), (#"a\b"#, #"$'a\\b'"#),
    ("a\nb", #"$'a\nb'"#), ("\u{1B}[31m", #"$'\x1b[31m'"#), ("\u{9B}", #"$'\u009b'"#), ("\u{7F}", #"$'\x7f'"#),
    ("\u{202E}fdp.exe", #"$'\u202efdp.exe'"#), ("\u{E0041}", #"$'\U000e0041'"#), ("\t\r", #"$'\t\r'"#),
  ])
  func `a name is quoted as a shell reads it`(name: String, shown: String) {
    expect(VisibleText.quoted(name), is: shown)
  }

  @Test func `bytes that are not UTF-8 are quoted one by one`() {
    expect(VisibleText.quoted([0x61, 0xFF, 0xC2] as [UInt8]), is: #"$'a\xff\xc2'"#)
    expect(VisibleText.quoted([0xC3, 0x28] as [UInt8]), is: #"$'\xc3('"#)
  }

  @Test(arguments: [
    ("photos", "photos"), ("../a/b-c_d.txt", "../a/b-c_d.txt"), ("Küche/日本語.txt", "Küche/日本語.txt"), ("2024", "2024"),
    ("a b", "'a b'"), ("a, b", "'a, b'"), ("a;b", "'a;b'"), ("-x", "'-x'"), ("~x", "'~x'"), ("=x", "'=x'"), ("", "''"),
    ("a ", "'a '"), ("x\u{200B}", #"$'x\u200b'"#), ("\u{308}x", "'\u{308}x'"), ("a\u{3000}b", #"$'a\u3000b'"#),
  ])
  func `in a list only a single plain word has no quotes`(name: String, shown: String) {
    expect(VisibleText.listed(Array(name.utf8)), is: shown)
  }

  @Test(arguments: [(#"'a\nb' and \"#, #"'a\nb' and \"#), ("a\u{1B}[2J\u{202E}\n", #"a\u{1b}[2J\u{202e}\n"#)])
  func `a message keeps the backslashes of the names in it, and no control`(message: String, shown: String) {
    expect(VisibleText.message(message), is: shown)
  }

  @Test(arguments: [
    ("no", #""no""#), (#"a "b""#, #""a \"b\"""#), ("\"\u{301} b\"\u{338}", "\"\\\"\u{301} b\\\"\u{338}\""),
    ("\n", #""\n""#),
  ])
  func `no quotation mark in a message ends the quotation, not even one with an accent`(text: String, shown: String) {
    // Equal by scalars: equal characters would do for texts.
    expect(Array(VisibleText.said(text).utf8), is: Array(shown.utf8))
  }

  /// Names of every kind that a shell or a terminal could act on.
  private static func names() -> [[UInt8]] {
    var random = Seeded(12)
    let special = Array("$`\"'\\ *?;&|<>(){}[]~#!\n\t\r=%^,.:-a1x7u{}é".utf8)
    let odd: [[UInt8]] = [
      [0x1B], [0x9B], [0xC2, 0x9B], [0xE2, 0x80, 0xAE], [0xFF], [0xF3, 0xA0, 0x81, 0x81], [0x7F], [7],
    ]
    return (0..<4_000).map { _ in
      (0..<Int.random(in: 1...12, using: &random)).flatMap { _ -> [UInt8] in
        Int.random(in: 0..<4, using: &random) == 0
          ? odd.randomElement(using: &random)! : [special.randomElement(using: &random)!]
      }.filter { $0 != 0 }
    }
  }

  @Test func `a shell reads exactly the quoted name`() throws {
    let names = Self.names()
    for show in [{ VisibleText.quoted($0) }, { VisibleText.listed($0) }] as [([UInt8]) -> String] {
      let script = names.map { "printf '%s\\0' \(show($0))\n" }.joined()
      let (code, output) = try run(
        "/bin/bash", ["bash", "--norc", "--noprofile", "-s"], environment: ["LC_ALL=C.UTF-8", "PATH=/nowhere"],
        input: Array(script.utf8))
      expect(code, is: 0)
      let got = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      expect(got.count, is: names.count)
      for (name, got) in zip(names, got) where name != Array(got) { Issue.record("\(show(name)) is \(Array(got))") }
    }
  }

  @Test func `a quoted name has no control characters, and two names never look the same`() {
    var shown: [String: [UInt8]] = [:]
    for name in Self.names() {
      let text = VisibleText.quoted(name)
      expect(VisibleText.message(text), is: text)
      let key = text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
      if let other = shown.updateValue(name, forKey: key), other != name { Issue.record("\(other) and \(name)") }
    }
  }
}

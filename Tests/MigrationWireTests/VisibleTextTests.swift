import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct VisibleTextTests {
  @Test(arguments: [
    "", "a b", "photos/Küche – été.jpg", "日本語", "Ελλάδα", "😀🎉", "a\u{308}", "‘quoted’ \"twice\"", "100 % {x} $HOME",
    "x80 u{9b} n",
  ])
  func `harmless text is shown as it is`(text: String) {
    expect(VisibleText.of(text), is: text)
  }

  @Test(arguments: [
    ("\u{0}", #"\u{0}"#), ("\u{1B}[31m", #"\u{1b}[31m"#), ("\u{7}", #"\u{7}"#), ("\n", #"\n"#), ("\r", #"\r"#),
    ("\t", #"\t"#),
    ("\u{7F}", #"\u{7f}"#), ("\u{80}", #"\u{80}"#), ("\u{9B}", #"\u{9b}"#), ("\u{9F}", #"\u{9f}"#), ("\\", #"\\"#),
    ("\u{AD}", #"\u{ad}"#), ("\u{61C}", #"\u{61c}"#), ("\u{200B}", #"\u{200b}"#), ("\u{200D}", #"\u{200d}"#),
    ("\u{200E}", #"\u{200e}"#), ("\u{202E}", #"\u{202e}"#), ("\u{2028}", #"\u{2028}"#), ("\u{2029}", #"\u{2029}"#),
    ("\u{2060}", #"\u{2060}"#), ("\u{2066}", #"\u{2066}"#), ("\u{2069}", #"\u{2069}"#), ("\u{FEFF}", #"\u{feff}"#),
    ("\u{FE0F}", #"\u{fe0f}"#), ("\u{E0001}", #"\u{e0001}"#), ("\u{E0041}", #"\u{e0041}"#),
    ("\u{E007F}", #"\u{e007f}"#),
    ("\u{E000}", #"\u{e000}"#), ("\u{10FFFF}", #"\u{10ffff}"#), ("\u{34F}", #"\u{34f}"#), ("\u{17B4}", #"\u{17b4}"#),
    ("\u{1D173}", #"\u{1d173}"#), ("\u{180E}", #"\u{180e}"#), ("\u{2800}", #"\u{2800}"#),
    ("\u{1D159}", #"\u{1d159}"#),
  ])
  func `invisible and misleading characters are shown as escapes`(text: String, shown: String) {
    expect(VisibleText.of(text), is: shown)
    expect(VisibleText.of("a" + text + "b"), is: "a" + shown + "b")
  }

  @Test(
    arguments: [
      ([0x9B], #"\x9b"#), ([0xFF, 0x41], #"\xffA"#), ([0xC3], #"\xc3"#), ([0xC3, 0x28], #"\xc3("#),
      ([0xC0, 0x80], #"\xc0\x80"#),
      ([0xED, 0xA0, 0x80], #"\xed\xa0\x80"#), ([0xF4, 0x90, 0x80, 0x80], #"\xf4\x90\x80\x80"#),
      ([0xE2, 0x82], #"\xe2\x82"#),
      ([0xF0, 0x9F, 0x98], #"\xf0\x9f\x98"#), ([0xF5, 0xC3, 0xA4], #"\xf5ä"#), ([0xC2, 0x9B], #"\u{9b}"#),
      ([0xE0, 0x80, 0xAF], #"\xe0\x80\xaf"#),
    ] as [([UInt8], String)])
  func `bytes that are not UTF-8 are shown one by one`(bytes: [UInt8], shown: String) {
    expect(VisibleText.of(bytes), is: shown)
  }

  /// Whether a terminal or a reader could be misled by a scalar.
  private func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .spaceSeparator: scalar != " "
    case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
    default: scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isBidiControl
    }
  }

  @Test func `no scalar at all is shown when it is harmful`() {
    for value in 0...0x10FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value), isHarmful(scalar) else { continue }
      // Everything assigned, and a part of the many that are not.
      guard !scalar.isSpare || value % 256 > 0xFC else { continue }
      let shown = VisibleText.of(String(Character(scalar)))
      if shown.unicodeScalars.contains(where: isHarmful) { Issue.record("U+\(String(value, radix: 16))") }
    }
  }

  @Test func `10,000 random byte strings are shown without controls`() {
    var random = Seeded(10)
    for round in 0..<10_000 {
      var bytes = random.bytes(Int.random(in: 0...40, using: &random))
      if round % 2 == 0 {
        bytes = bytes.map { [0x1B, 0x9B, 0xC2, 0xE2, 0x80, 0xAE, 0xF3, 0xA0, 0x41, $0][Int($0 % 10)] }
      }
      let shown = VisibleText.of(bytes)
      if shown.unicodeScalars.contains(where: isHarmful) { Issue.record("\(bytes)") }
    }
  }

  @Test func `two byte strings never look the same`() {
    var random = Seeded(11)
    var shown: [String: [UInt8]] = [:]
    let parts = [
      ascii("\\"), ascii("x"), ascii("9b"), ascii("u{9b}"), ascii("n"), ascii("\n"), [0x9B], [0xC2, 0x9B], [0xC2],
      ascii("\\x9b"),
      ascii("\\\\"), ascii("{"), ascii("}"), ascii("u"), ascii("9"), ascii("b"), [0xE2, 0x80, 0xAE], [0xFF],
      ascii("\\n"), [],
    ]
    for round in 0..<60_000 {
      let bytes =
        round % 3 == 0
        ? random.bytes(Int.random(in: 0...3, using: &random))
        : Array((0..<Int.random(in: 0...4, using: &random)).map { _ in parts.randomElement(using: &random)! }.joined())
      // Compared by scalars: canonical equivalence is not what a terminal shows.
      let key = VisibleText.of(bytes).unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
      if let other = shown.updateValue(bytes, forKey: key), other != bytes { Issue.record("\(other) and \(bytes)") }
    }
  }

  @Test func `a path is shown like its bytes`() throws {
    expect(VisibleText.of(try ArchivePath([0x61, 0x2F, 0xFF, 0x1B])), is: #"a/\xff\u{1b}"#)
  }

  @Test func `a violation's description is a clause without the other device's text`() {
    for code in 1...12 as ClosedRange<UInt8> {
      let text = Violation(Violation.Code(rawValue: code), "a frame").description
      expect(text.hasPrefix("the other device broke the protocol: a frame "))
    }
  }
}

extension Unicode.Scalar {
  /// Neither assigned nor ever ignored: there are 900,000 of them.
  fileprivate var isSpare: Bool {
    switch properties.generalCategory {
    case .unassigned, .privateUse: !properties.isDefaultIgnorableCodePoint
    default: false
    }
  }
}

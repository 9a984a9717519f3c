/// The characters in a bracket expression of a pattern, such as `[a-z_]`, `[!0-9]` or
/// `[[:space:]]`.
struct CharacterClass: Equatable, Sendable {
  private var isNegated = false
  private var ranges: [ClosedRange<UInt32>] = []

  /// Whether the class contains a character.
  func contains(_ character: NameCharacter) -> Bool {
    ranges.contains { $0.contains(character.code) } != isNegated
  }

  /// Reads the text behind an opening bracket, including the closing bracket.
  ///
  /// A closing bracket in the first place, and a hyphen in the first or last place or behind a
  /// range, are ordinary characters.
  init(reading rest: inout ArraySlice<UInt8>) throws(PatternFlaw) {
    if let first = rest.first, first == UInt8(ascii: "!") || first == UInt8(ascii: "^") {
      rest.removeFirst()
      isNegated = true
    }
    var isEmpty = true
    /// The character that a following hyphen would make the start of a range.
    var low: UInt32?
    while true {
      let code = try Self.take(from: &rest)
      if code == "]", !isEmpty { return }
      isEmpty = false
      if code == "-", let start = low, let next = rest.first, next != UInt8(ascii: "]") {
        let end = try Self.takeUnescaped(try Self.take(from: &rest), from: &rest)
        if start <= end { ranges.append(start...end) }
        low = nil
      } else if code == "[", let name = Self.takeName(from: &rest) {
        guard let named = Self.named[String(decoding: name, as: UTF8.self)] else { throw .unknownClass }
        ranges += named
        low = nil
      } else {
        let character = try Self.takeUnescaped(code, from: &rest)
        ranges.append(character...character)
        low = character
      }
    }
  }

  private static func take(from rest: inout ArraySlice<UInt8>) throws(PatternFlaw) -> UInt32 {
    guard !rest.isEmpty else { throw .openBracket }
    let character = NameCharacter(rest.span, at: 0)
    rest.removeFirst(character.length)
    return character.code
  }

  /// The character behind a backslash, or else the character itself.
  private static func takeUnescaped(
    _ code: UInt32, from rest: inout ArraySlice<UInt8>
  ) throws(PatternFlaw) -> UInt32 {
    code == "\\" ? try take(from: &rest) : code
  }

  /// The name between `[:` and `:]`, read behind the first bracket; nil, without reading anything,
  /// if it is no such name.
  private static func takeName(from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let colon = UInt8(ascii: ":")
    guard rest.first == colon else { return nil }
    let inner = rest.dropFirst()
    guard let end = inner.firstIndex(of: UInt8(ascii: "]")), inner[..<end].last == colon else { return nil }
    rest = inner[(end + 1)...]
    return inner[..<(end - 1)]
  }

  /// The classes of the POSIX locale: ASCII in every language.
  private static let named: [String: [ClosedRange<UInt32>]] = [
    "alnum": [0x30...0x39, 0x41...0x5A, 0x61...0x7A], "alpha": [0x41...0x5A, 0x61...0x7A], "blank": [9...9, 32...32],
    "cntrl": [0...31, 127...127], "digit": [0x30...0x39], "graph": [33...126], "lower": [0x61...0x7A],
    "print": [32...126], "punct": [33...47, 58...64, 91...96, 123...126], "space": [9...13, 32...32],
    "upper": [0x41...0x5A], "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
  ]
}

extension UInt32 {
  fileprivate static func == (code: UInt32, character: Unicode.Scalar) -> Bool { code == character.value }
}

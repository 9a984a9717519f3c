/// A pattern for one name: the part of an exclusion pattern between two slashes.
struct NamePattern: Equatable, Sendable {
  private enum Element: Equatable {
    case byte(UInt8)
    /// `?`
    case anyCharacter
    /// `[…]`
    case oneOf(CharacterClass)
    /// `*`
    case anything
  }

  private var elements: [Element] = []

  /// Reads up to a slash or the end, without the slash.
  init(reading rest: inout ArraySlice<UInt8>) throws(ExclusionPattern.Flaw) {
    while let byte = rest.first, !rest.startsWithSeparator {
      rest.removeFirst()
      switch byte {
      case UInt8(ascii: "*"): if elements.last != .anything { elements.append(.anything) }
      case UInt8(ascii: "?"): elements.append(.anyCharacter)
      case UInt8(ascii: "["): elements.append(.oneOf(try CharacterClass(reading: &rest)))
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { throw .backslashAtEnd }
        elements.append(.byte(escaped))
      default: elements.append(.byte(byte))
      }
    }
  }

  /// Whether the pattern matches the whole name.
  ///
  /// Takes at most as many steps as the product of the lengths of the name and the pattern in
  /// bytes. After a mismatch, only the last `*` takes more, because the last one can take all that
  /// an earlier one could take.
  func matches(_ name: Span<UInt8>) -> Bool {
    var index = 0
    var position = 0
    var retry: (index: Int, position: Int)?
    while index < elements.count || position < name.count {
      if index < elements.count, case .anything = elements[index] {
        index += 1
        if index == elements.count { return true }
        retry = (index, position)
      } else if let length = length(of: index, in: name, at: position) {
        index += 1
        position += length
      } else {
        guard let last = retry, last.position < name.count else { return false }
        // By whole characters, so that `?` never begins inside one.
        position = last.position + NameCharacter(name, at: last.position).length
        index = last.index
        retry = (index, position)
      }
    }
    return true
  }

  /// The number of bytes that an element matches at a position; nil if it does not match.
  private func length(of index: Int, in name: Span<UInt8>, at position: Int) -> Int? {
    guard index < elements.count, position < name.count else { return nil }
    switch elements[index] {
    case .byte(let byte): return name[position] == byte ? 1 : nil
    case .anyCharacter: return NameCharacter(name, at: position).length
    case .oneOf(let characters):
      let character = NameCharacter(name, at: position)
      return characters.contains(character) ? character.length : nil
    case .anything: return nil
    }
  }

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
    init(reading rest: inout ArraySlice<UInt8>) throws(ExclusionPattern.Flaw) {
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

    private static func take(from rest: inout ArraySlice<UInt8>) throws(ExclusionPattern.Flaw) -> UInt32 {
      guard !rest.isEmpty else { throw .openBracket }
      let character = NameCharacter(rest.span, at: 0)
      rest.removeFirst(character.length)
      return character.code
    }

    /// The character behind a backslash, or else the character itself.
    private static func takeUnescaped(
      _ code: UInt32, from rest: inout ArraySlice<UInt8>
    ) throws(ExclusionPattern.Flaw) -> UInt32 {
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

  /// One character of a name: a Unicode scalar, or a byte that is not part of one.
  struct NameCharacter {
    /// The scalar's value; for a byte that is not part of a scalar, a value beyond all scalars, so
    /// that it equals only itself.
    let code: UInt32
    /// The number of bytes.
    let length: Int

    /// Reads the character that begins at a position.
    init(_ bytes: Span<UInt8>, at position: Int) {
      let first = bytes[position]
      if first >= 0x80, let scalar = Self.scalar(bytes.extracting(position..<bytes.count)) {
        code = scalar.value
        length = UTF8.width(scalar)
      } else {
        code = first < 0x80 ? UInt32(first) : 0x11_0000 + UInt32(first)
        length = 1
      }
    }

    /// The scalar of two to four bytes at the start of the bytes; nil if there is none.
    private static func scalar(_ bytes: Span<UInt8>) -> Unicode.Scalar? {
      // The complement of a leading byte has as many leading zeros as the character has bytes.
      let length = (~bytes[0]).leadingZeroBitCount
      guard (2...4).contains(length), length <= bytes.count,
        let text = try? UTF8Span(validating: bytes.extracting(0..<length))
      else { return nil }
      var scalars = text.makeUnicodeScalarIterator()
      return scalars.next()
    }
  }
}

extension ArraySlice<UInt8> {
  /// Whether the next character is a slash, escaped or not.
  fileprivate var startsWithSeparator: Bool {
    let slash = UInt8(ascii: "/")
    return first == slash || first == UInt8(ascii: "\\") && dropFirst().first == slash
  }

  /// Removes the slash at the start of the rest of a pattern.
  mutating func removeSeparator() { removeFirst(first == UInt8(ascii: "/") ? 1 : 2) }
}

extension UInt32 {
  fileprivate static func == (code: UInt32, character: Unicode.Scalar) -> Bool { code == character.value }
}

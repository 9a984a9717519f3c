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
  init(reading rest: inout ArraySlice<UInt8>) throws(PatternFlaw) {
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

  /// How many bytes an element matches at a position; nil if it does not match.
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

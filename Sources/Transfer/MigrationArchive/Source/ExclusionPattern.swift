/// A pattern that leaves items out or includes them again, by the rules of `.gitignore` files.
package struct ExclusionPattern: Equatable, Sendable {
  private enum Component: Equatable {
    case name(NamePattern)
    /// `**`: any number of directories; at the end, everything inside.
    case anyDirectories
  }

  private enum Anchor: Equatable {
    /// The name decides, in any directory.
    case anywhere(NamePattern)
    /// The path within the source decides.
    case path([Component])
    case nowhere(Flaw)
  }

  /// The pattern as the user wrote it.
  package let text: [UInt8]
  /// Whether matching items are included again.
  let isReinclusion: Bool
  private let isForDirectories: Bool
  private let anchor: Anchor

  /// Parses one pattern; comments and trailing spaces have no special meaning here.
  package init(_ text: [UInt8]) {
    let slash = UInt8(ascii: "/")
    var rest = text[...]
    self.text = text
    isReinclusion = rest.first == UInt8(ascii: "!")
    if isReinclusion { rest.removeFirst() }
    isForDirectories = rest.last == slash
    if isForDirectories { rest.removeLast() }
    do throws(Flaw) {
      guard rest.contains(slash) else {
        anchor = .anywhere(try NamePattern(reading: &rest))
        return
      }
      if rest.first == slash { rest.removeFirst() }
      anchor = .path(try Self.components(rest))
    } catch {
      anchor = .nowhere(error)
    }
  }

  /// Why the pattern never matches, if it is malformed.
  package var flaw: Flaw? {
    guard case .nowhere(let flaw) = anchor else { return nil }
    return flaw
  }

  private static func components(_ text: ArraySlice<UInt8>) throws(Flaw) -> [Component] {
    var components: [Component] = []
    var rest = text
    while true {
      let start = rest.startIndex
      let name = try NamePattern(reading: &rest)
      let written = text[start..<rest.startIndex]
      let isStars = written.count > 1 && written.allSatisfy { $0 == UInt8(ascii: "*") }
      components.append(isStars ? .anyDirectories : .name(name))
      guard !rest.isEmpty else { return components }
      rest.removeSeparator()
    }
  }

  /// Whether it matches an item with the given path within its source; the name begins at
  /// `nameStart`.
  func matches(_ path: Span<UInt8>, nameStart: Int, isDirectory: Bool) -> Bool {
    guard isDirectory || !isForDirectories else { return false }
    return switch anchor {
    case .anywhere(let name): name.matches(path.extracting(nameStart..<path.count))
    case .path(let components): Self.matches(components, path)
    case .nowhere: false
    }
  }

  /// As in a name, only the last `**` ever needs to match more.
  private static func matches(_ components: [Component], _ path: Span<UInt8>) -> Bool {
    var index = 0
    var start = 0
    var retry: (index: Int, start: Int)?
    while index < components.count || start <= path.count {
      let end = path.endOfComponent(from: start)
      if index < components.count, case .anyDirectories = components[index] {
        index += 1
        if index == components.count { return start <= path.count }
        retry = (index, start)
      } else if index < components.count, start <= path.count, case .name(let name) = components[index],
        name.matches(path.extracting(start..<end))
      {
        index += 1
        start = end + 1
      } else {
        guard let last = retry, last.start <= path.count else { return false }
        index = last.index
        start = path.endOfComponent(from: last.start) + 1
        retry = (index, start)
      }
    }
    return true
  }

  /// Why a pattern can never match.
  package enum Flaw: Error, Equatable, Sendable {
    case openBracket
    case unknownClass
    case backslashAtEnd

    /// A clause about the pattern, for people.
    package var clause: String {
      switch self {
      case .openBracket: "has a '[' without a ']'"
      case .unknownClass: "has an unknown character class"
      case .backslashAtEnd: "ends with a backslash"
      }
    }
  }
}

extension Span<UInt8> {
  /// The end of the component that begins at a position.
  fileprivate func endOfComponent(from start: Int) -> Int {
    var end = start
    while end < count, self[end] != UInt8(ascii: "/") { end += 1 }
    return end
  }
}

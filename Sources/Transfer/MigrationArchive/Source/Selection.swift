import MigrationSystem
import MigrationWire

/// The user's selection of the items to send.
package struct Selection: Equatable, Sendable {
  /// The items to leave out, with their contents. A source itself is never left out.
  package var exclusions = ExclusionList()
  /// Whether the contents of directories that are marked as caches are left out, except for the
  /// mark.
  package var isWithoutCaches = false
  /// Whether the contents of other file systems that are mounted below a source are left out.
  package var isOnOneFileSystem = false
  /// The names that are left out with their contents, by the path of their directory in the archive.
  fileprivate var names: [[UInt8]: Set<[UInt8]>] = [:]

  /// Leaves out one item with its contents, by its path in the archive. A source itself stays.
  package mutating func leaveOut(_ path: [UInt8]) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
    names[Array(path[..<slash]), default: []].insert(Array(path[(slash + 1)...]))
  }

  /// Selects everything.
  package init() {}

  /// Warnings for the user before the transfer begins: patterns that match nothing.
  package var warnings: [String] {
    exclusions.flawed.map { "the pattern \(VisibleText.quoted($0.text)) \($0.flaw?.clause ?? "") and matches nothing" }
  }

  /// Applies a selection to the items of one directory.
  struct OfDirectory {
    private let exclusions: ExclusionList
    /// Whether only the mark of this directory is sent.
    private let isCache: Bool
    /// The names in this directory that are left out.
    private let names: Set<[UInt8]>
    /// The path of the item that is being checked, within its source.
    private var path: [UInt8] = []
    private let nameStart: Int

    /// Prepares for a directory that is sent; `path` is its path in the archive, nil for the parent
    /// of the sources.
    init(_ selection: Selection, in directory: borrowing Directory, _ path: ArchivePath?) {
      exclusions = selection.exclusions
      isCache = selection.isWithoutCaches && directory.isMarkedAsCache
      names = selection.names.isEmpty ? [] : path.flatMap { selection.names[$0.bytes] } ?? []
      if let path, path.depth > 1 {
        self.path = path.bytes.dropFirst(path.root.count + 1) + [UInt8(ascii: "/")]
      }
      nameStart = self.path.count
    }

    /// Whether an item is sent.
    mutating func takes(_ name: Span<UInt8>, _ kind: FileKind) -> Bool {
      if isCache, [UInt8](copying: name) != Directory.cacheTag { return false }
      if !names.isEmpty, names.contains([UInt8](copying: name)) { return false }
      if exclusions.isEmpty { return true }
      path.removeSubrange(nameStart...)
      for index in name.indices { path.append(name[index]) }
      return !exclusions.excludes(path.span, nameStart: nameStart, isDirectory: kind == .directory)
    }
  }
}

extension Directory {
  /// The file with which a program marks a directory as a cache, whose contents the program can
  /// create again (bford.info/cachedir).
  fileprivate static let cacheTag = Array("CACHEDIR.TAG".utf8)
  private static let cacheSignature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)

  /// Whether the directory is marked as a cache. If the mark cannot be read, it counts as unmarked.
  fileprivate var isMarkedAsCache: Bool { (try? readCacheTag()) == Self.cacheSignature }

  /// The significant first bytes of the mark.
  private func readCacheTag() throws(SystemError) -> [UInt8] {
    let file = try openChild(Self.cacheTag)
    var bytes = [UInt8](repeating: 0, count: Self.cacheSignature.count)
    let count = try file.readFully(at: 0, into: &bytes)
    bytes.removeSubrange(count...)
    return bytes
  }
}

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

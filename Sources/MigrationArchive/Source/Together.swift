import MigrationWire

/// What belongs together by its names (Protocol §6.4): a file and its companions, in which a
/// database keeps changes of it; and everything in a folder under version control.
enum Together {
  private static let endings = ["-journal", "-shm", "-wal"].map { Array($0.utf8) }
  /// The entries by which a folder is under version control.
  static let markNames = [".git", ".hg", ".svn"].map { Array($0.utf8) }
  /// The length of the longest ending.
  static let longestEnding = 8

  /// The name of the file whose companion an item with this name may be.
  static func base(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let ending = endings.first(where: { name.count > $0.count && name.suffix($0.count) == $0[...] }) else {
      return nil
    }
    return name.dropLast(ending.count)
  }

  /// The names that the companions of a file may have.
  static func companions(of base: ArraySlice<UInt8>) -> [[UInt8]] { endings.map { base + $0 } }

  /// Whether a folder with an entry of this name is under version control.
  static func isMark(_ name: ArraySlice<UInt8>) -> Bool {
    name.first == UInt8(ascii: ".") && markNames.contains { $0[...] == name }
  }

  /// Those of the names in one folder that are companions of another one, or have companions.
  static func members(of names: [[UInt8]]) -> Set<[UInt8]> {
    let pairs = names.compactMap { name in base(of: name[...]).map { (name, Array($0)) } }
    guard !pairs.isEmpty else { return [] }
    let all = Set(names)
    return Set(pairs.filter { all.contains($0.1) }.flatMap { [$0.0, $0.1] })
  }
}

extension SourceTree {
  private struct Name: Hashable {
    let parent: Int32
    let name: ArraySlice<UInt8>
  }

  /// For each item, the number of one of those that it belongs together with; -1 for one that
  /// belongs to none. Empty if none does. A folder under version control belongs to its contents.
  func together() -> [Int32] {
    var folders: Set<Int32> = []
    var companions: [Name: [Int]] = [:]
    for (index, node) in nodes.enumerated() {
      let name = name(node)
      if Together.isMark(name) { folders.insert(node.parent) }
      guard node.kind != .directory, let base = Together.base(of: name) else { continue }
      companions[Name(parent: max(node.parent, -1), name: base), default: []].append(index)
    }
    guard !folders.isEmpty || !companions.isEmpty else { return [] }
    var together = [Int32](repeating: -1, count: nodes.count)
    // A directory precedes its entries.
    for (index, node) in nodes.enumerated() {
      if node.parent >= 0, together[Int(node.parent)] >= 0 {
        together[index] = together[Int(node.parent)]
      } else if folders.contains(Int32(index)) {
        together[index] = Int32(index)
      } else if !companions.isEmpty, node.kind != .directory,
        let others = companions[Name(parent: max(node.parent, -1), name: name(node))]
      {
        for member in others + [index] { together[member] = Int32(index) }
      }
    }
    return together
  }
}

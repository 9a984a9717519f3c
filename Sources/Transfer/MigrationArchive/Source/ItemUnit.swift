import MigrationSystem
import MigrationWire

/// A unit (Protocol §6.4) by the names of its items: a file and its sidecar files, in which a
/// database keeps changes of the file; or everything in a folder under version control.
enum ItemUnit {
  private static let endings = ["-journal", "-shm", "-wal"].map { Array($0.utf8) }
  /// The entries by which a folder is under version control.
  static let repositoryNames = [".git", ".hg", ".svn"].map { Array($0.utf8) }
  /// The length of the longest ending.
  static let longestEnding = 8

  /// The name of the file to which an item with this name may be a sidecar file.
  static func base(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let ending = endings.first(where: { name.count > $0.count && name.suffix($0.count) == $0[...] }) else {
      return nil
    }
    return name.dropLast(ending.count)
  }

  /// A file of shared memory, which a database makes anew.
  static func isMemory(_ name: ArraySlice<UInt8>) -> Bool { name.suffix(4) == Array("-shm".utf8)[...] }

  /// The names that the sidecar files of a file may have.
  static func sidecars(of base: ArraySlice<UInt8>) -> [[UInt8]] { endings.map { base + $0 } }

  /// Whether the entries of a folder with such an entry are captured together: LevelDB names its newest
  /// state in CURRENT, and a message of a Maildir moves from `new` to `cur`.
  static func isCapturedRepositoryName(_ name: ArraySlice<UInt8>, _ kind: ItemKind) -> Bool {
    switch kind {
    case .file: name == Array("CURRENT".utf8)[...]
    case .directory: name == Array("cur".utf8)[...]
    case .symbolicLink, .hardLink, .metadata: false
    }
  }

  /// Whether an open file is a database that keeps changes in sidecar files.
  static func isDatabase(_ file: borrowing Descriptor) -> Bool {
    let beginning = Array("SQLite format 3\0".utf8)
    var bytes = [UInt8](repeating: 0, count: beginning.count)
    // An unreadable file is reported by itself.
    return (try? file.readFully(at: 0, into: &bytes)) == beginning.count && bytes == beginning
  }

  /// The mailbox whose index has this name.
  static func mailbox(ofIndex name: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let ending = Array(".msf".utf8)
    return name.count > ending.count && name.suffix(ending.count) == ending[...] ? name.dropLast(ending.count) : nil
  }

  /// Whether a folder with an entry of this name is under version control.
  static func isRepositoryName(_ name: ArraySlice<UInt8>) -> Bool {
    name.first == UInt8(ascii: ".") && repositoryNames.contains { $0[...] == name }
  }

  /// The names in one folder that are sidecar files of another name, or that have sidecar files.
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

  /// For each item, the index of an item that stands for its unit; -1 for an item without a unit.
  /// Empty if there are no units. The unit of a folder under version control includes the folder.
  ///
  /// With `captured`, the folders of LevelDB and of a Maildir, and a mailbox with its index, are
  /// units too.
  func rootUnits() -> [Int32] {
    var units: [Int32] = []
    for (index, node) in nodes.enumerated() {
      units.append(node.parent < 0 ? Int32(index) : units[Int(node.parent)])
    }
    return units
  }

  func units(captured isCaptured: Bool = false) -> [Int32] {
    var folders: Set<Int32> = []
    var sidecars: [Name: [Int]] = [:]
    for (index, node) in nodes.enumerated() {
      let name = name(node)
      if ItemUnit.isRepositoryName(name) || isCaptured && ItemUnit.isCapturedRepositoryName(name, node.kind) {
        folders.insert(node.parent)
      }
      if isCaptured, node.kind == .file, let mailbox = ItemUnit.mailbox(ofIndex: name) {
        sidecars[Name(parent: max(node.parent, -1), name: mailbox), default: []].append(index)
      }
      guard node.kind != .directory, let base = ItemUnit.base(of: name) else { continue }
      sidecars[Name(parent: max(node.parent, -1), name: base), default: []].append(index)
    }
    guard !folders.isEmpty || !sidecars.isEmpty else { return [] }
    var units = [Int32](repeating: -1, count: nodes.count)
    // A directory precedes its entries.
    for (index, node) in nodes.enumerated() {
      if node.parent >= 0, units[Int(node.parent)] >= 0 {
        units[index] = units[Int(node.parent)]
      } else if folders.contains(Int32(index)) {
        units[index] = Int32(index)
      } else if !sidecars.isEmpty, node.kind != .directory,
        let others = sidecars[Name(parent: max(node.parent, -1), name: name(node))]
      {
        for member in others + [index] { units[member] = Int32(index) }
      }
    }
    return units
  }
}

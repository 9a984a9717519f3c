import MigrationSystem
import MigrationWire

/// The paths in an archive so far, as keyed hashes of 128 bits: a million of them take a few dozen
/// megabytes.
struct AppendedPaths {
  fileprivate enum Kind: UInt8 {
    case directory
    /// A directory that contains an item and that the exporter has not appended.
    case impliedDirectory
    case other
  }

  private typealias Hash = UInt128

  /// A path that an append is about to take.
  struct Taken {
    fileprivate let hash: UInt128
    fileprivate let kind: Kind
  }

  /// Random, so that an exporter that chooses paths cannot know it.
  private let key = UInt128.random(in: 0...UInt128.max)
  private var kinds: [Hash: Kind] = [:]
  /// The directories that contain items and that the exporter has not appended.
  private(set) var implied: Set<ArchivePath> = []
  private var impliedBytes = 0
  /// The most bytes of the paths in `implied`: a path with thousands of components implies
  /// thousands of long paths.
  private static let mostImpliedBytes = 64 << 20
  /// The paths of the items that are being read, and the number of such items in each directory.
  private var reserved: Set<Hash> = []
  private var reservedWithin: [Hash: Int] = [:]
  /// The directory of the last item; the next item is usually in the same directory.
  private var lastParent: ArchivePath?

  /// Fails if the archive already has an item with this path.
  func checkFree(_ path: ArchivePath) throws(Failure) {
    try checkParents(of: path)
    let hash = hash(path.bytes)
    if kinds[hash] != nil || reserved.contains(hash) || reservedWithin[hash] != nil { throw Self.exists(path) }
  }

  /// Fails if an item other than a directory has the path.
  func checkDirectory(_ path: ArchivePath) throws(Failure) {
    try checkParents(of: path)
    let hash = hash(path.bytes)
    if kinds[hash] == .other || reserved.contains(hash) { throw Self.exists(path) }
  }

  /// The paths that a tree takes under a prefix, and its directories that the archive already has.
  /// Fails if an item would be a duplicate.
  func check(_ tree: SourceTree, beneath prefix: ArchivePath) throws(Failure) -> (taken: [Taken], merged: Set<Int>) {
    var taken: [Taken] = []
    taken.reserveCapacity(tree.nodes.count)
    var merged: Set<Int> = []
    for (index, node) in tree.nodes.enumerated() {
      // A path beyond the limits is reported when its item is read.
      guard let path = try? tree.path(index) else { continue }
      let hash = hash(prefix.bytes + [UInt8(ascii: "/")] + path.bytes)
      let isDirectory = node.kind == .directory
      if reserved.contains(hash) || !isDirectory && reservedWithin[hash] != nil { throw Self.exists(prefix, path) }
      switch kinds[hash] {
      case nil: break
      case .other: throw Self.exists(prefix, path)
      case .directory, .impliedDirectory:
        guard isDirectory else { throw Self.exists(prefix, path) }
        if kinds[hash] == .directory { merged.insert(index) }
      }
      taken.append(Taken(hash: hash, kind: isDirectory ? .directory : .other))
    }
    return (taken, merged)
  }

  /// Records an item that has been checked. Returns whether it is new.
  @discardableResult
  mutating func take(_ path: ArchivePath, isDirectory: Bool) -> Bool {
    implyParents(of: path)
    let before = kinds.updateValue(isDirectory ? .directory : .other, forKey: hash(path.bytes))
    if before == .impliedDirectory { implied.remove(path) }
    return before != .directory
  }

  /// Reserves the path of a file that has been checked, while the file is read.
  mutating func reserve(_ path: ArchivePath) {
    reserved.insert(hash(path.bytes))
    for parent in path.parent?.lineage ?? [] { reservedWithin[hash(parent.bytes), default: 0] += 1 }
  }

  /// Ends the reservation of a file that has been read; `isTaken` says whether the file is in the
  /// archive.
  mutating func settle(_ path: ArchivePath, isTaken: Bool) {
    reserved.remove(hash(path.bytes))
    for parent in path.parent?.lineage ?? [] {
      let hash = hash(parent.bytes)
      reservedWithin[hash] = reservedWithin[hash].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
    if isTaken { take(path, isDirectory: false) }
  }

  /// Records the paths that a tree takes.
  mutating func take(_ taken: [Taken]) {
    kinds.reserveCapacity(kinds.count + taken.count)
    var becameReal: Set<Hash> = []
    for one in taken where kinds.updateValue(one.kind, forKey: one.hash) == .impliedDirectory {
      becameReal.insert(one.hash)
    }
    if !becameReal.isEmpty { implied = implied.filter { !becameReal.contains(hash($0.bytes)) } }
  }

  private func checkParents(of path: ArchivePath) throws(Failure) {
    guard let parent = path.parent, parent != lastParent else { return }
    guard impliedBytes + parent.depth * parent.bytes.count / 2 <= Self.mostImpliedBytes else {
      throw Failure(.path, "\(VisibleText.quoted(path)) is nested in too many directories", name: path.bytes)
    }
    for parent in parent.lineage {
      let hash = hash(parent.bytes)
      if kinds[hash] == .other || reserved.contains(hash) { throw Self.exists(parent) }
    }
  }

  private mutating func implyParents(of path: ArchivePath) {
    guard let parent = path.parent, parent != lastParent else { return }
    for place in parent.lineage {
      let hash = hash(place.bytes)
      guard kinds[hash] == nil else { continue }
      kinds[hash] = .impliedDirectory
      implied.insert(place)
      impliedBytes += place.bytes.count
    }
    lastParent = parent
  }

  private func hash(_ path: [UInt8]) -> Hash {
    var hash = SipHash(key: key)
    hash.combine(path)
    return hash.finish()
  }

  private static func exists(_ path: ArchivePath, _ inner: ArchivePath? = nil) -> Failure {
    let bytes = inner.map { path.bytes + [UInt8(ascii: "/")] + $0.bytes } ?? path.bytes
    return Failure(
      .exists, "the archive already has an item \(VisibleText.quoted(bytes))", name: bytes)
  }
}

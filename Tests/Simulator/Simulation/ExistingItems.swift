import MigrationArchive
import MigrationSystem
import MigrationWire

/// The items at the destination before anything arrives, and the changes that they may undergo.
final class ExistingItems {
  /// One existing item, in its original state.
  private struct Piece {
    let node: Node
    let state: Node.State
    let target: [UInt8]
  }

  /// The treatment of names that are taken.
  let existing: Existing
  private let world: World
  private let disk: SimulatedDisk
  private var pieces: [[UInt8]: Piece] = [:]

  /// Puts items at the destination of some simulations, with names that the source has too.
  init(_ disk: SimulatedDisk, like source: SimulatedSource) {
    self.disk = disk
    world = disk.world
    let modes: [Existing] = [.skip, .keepBoth, .replace, .merge]
    existing = world.dice.one(in: 3) ? modes[world.dice.roll(0...3)] : .refuse
    guard existing != .refuse else { return }
    for (path, version) in source.current.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      if !world.dice.one(in: 3) { put(path, like: version) }
    }
  }

  private func put(_ path: [UInt8], like version: Version) {
    guard let path = try? ArchivePath(path), let parent = directory(path.parent) else { return }
    let isOther = world.dice.one(in: 8)
    let kind: FileKind = isOther ? (version.kind == .directory ? .regular : .directory) : version.kind
    let node = disk.node(kind)
    if kind == .regular {
      let isSame = !isOther && world.dice.one(in: 2)
      node.write(.data(0, isSame ? version.data : world.dice.bytes(world.dice.roll(1...900))))
      node.write(.time(isSame ? version.modified : Timestamp(seconds: 77, nanoseconds: 0)))
    } else if kind == .symbolicLink {
      node.target = world.dice.one(in: 2) ? version.target : Array("elsewhere".utf8)
    }
    node.write(.mode(0o700))
    add(path, node, to: parent)
    guard kind == .directory, let inside = try? path.appending(Array(".own".utf8).span) else { return }
    let own = disk.node(.regular)
    own.write(.data(0, Array("own".utf8)))
    add(inside, own, to: node)
  }

  /// All present items count as old from now on.
  func keep(_ all: [[UInt8]: Node]) {
    for (path, node) in all where !isOld(path, node) {
      pieces[path] = Piece(node: node, state: node.state, target: node.target)
    }
  }

  private func add(_ path: ArchivePath, _ node: Node, to parent: Node) {
    node.commit(node.pending.count)
    let name = Array(path.name)
    parent.entries[name] = node
    parent.durableEntries[name] = node
    pieces[path.bytes] = Piece(node: node, state: node.state, target: node.target)
  }

  private func directory(_ path: ArchivePath?) -> Node? {
    var node = disk.destination
    for name in path?.components ?? [] {
      guard let next = node.entries[Array(name)], next.kind == .directory else { return nil }
      node = next
    }
    return node
  }

  // MARK: The sender's view

  /// Marks of kind 2 and 3, as the receiver would make them from the present items.
  func marks(_ keys: TransferKeys) -> (present: [Mark], taken: [Mark]) {
    guard existing.leavesOutEqual else { return ([], []) }
    var (present, taken): ([Mark], [Mark]) = ([], [])
    for (path, piece) in pieces {
      guard let path = try? ArchivePath(path) else { continue }
      if existing == .skip { taken.append(keys.takenMark(path: path)) }
      if piece.node.kind == .regular, let modified = piece.state.modified {
        present.append(
          keys.presentMark(path: path, size: UInt64(piece.state.data.count), modified: ItemTime(modified)))
      } else if piece.node.kind == .symbolicLink {
        present.append(keys.presentMark(path: path, target: piece.target))
      }
    }
    return (present.sorted(), taken.sorted())
  }

  // MARK: Checks

  /// Whether this node is an old item in its original state.
  func isOld(_ path: [UInt8], _ node: Node) -> Bool {
    guard let piece = pieces[path], piece.node === node else { return false }
    return node.state == piece.state && node.target == piece.target
  }

  /// The original state of an old directory that still exists, and into which another one may have
  /// been merged.
  func directory(_ path: [UInt8], _ node: Node) -> Node.State? {
    guard let piece = pieces[path], piece.node === node, node.kind == .directory else { return nil }
    return piece.state
  }

  /// Whether an existing item may keep an item from this path: its own name is taken, or a file has
  /// the place of one of its directories.
  func keepsOut(_ path: [UInt8]) -> Bool { existing == .skip && pieces[path] != nil || blocks(path) }

  /// Whether nothing could arrive under this path, because a file has the place of one of its
  /// directories.
  func blocks(_ path: [UInt8]) -> Bool {
    guard existing == .skip, var place = try? ArchivePath(path) else { return false }
    while let parent = place.parent {
      if let piece = pieces[parent.bytes], piece.node.kind != .directory { return true }
      place = parent
    }
    return false
  }

  /// At every moment, each old file is unchanged, or a complete file of the same name has replaced
  /// it.
  func check(_ arrived: [[UInt8]: Node], isVersion: ([UInt8], Node) -> Bool) {
    for (path, piece) in pieces.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let name = String(decoding: path, as: UTF8.self)
      guard let node = arrived[path] else {
        world.fail("\(name) was at the destination and is gone")
        continue
      }
      if node === piece.node, piece.node.kind == .directory {
        world.check(existing == .replace || isOld(path, node), "the directory \(name) has changed")
      } else if !isOld(path, node) {
        world.check(existing == .replace, "\(name) was at the destination and has changed")
        world.check(node !== piece.node && isVersion(path, node), "\(name) is neither old nor new")
      }
    }
  }

  /// The path in the archive of the item at a destination path, which may have been changed because
  /// it was taken.
  func original(of path: [UInt8]) -> [UInt8] {
    // No name at the source has these suffixes. Numbers above 2 come from a transfer that kept both
    // beside earlier transfers.
    let additions = (2...9).map { Array(" (\($0))".utf8) }
    var rest = path[...]
    var original: [UInt8] = []
    while let first = rest.first {
      if additions.contains(where: { rest.starts(with: $0) }) {
        rest.removeFirst(4)
      } else {
        original.append(first)
        rest.removeFirst()
      }
    }
    return original
  }
}

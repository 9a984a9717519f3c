import MigrationSystem

/// The changes that people and programs make to files during a transfer.
extension SimulatedSource {
  /// Makes a few roots with items in them.
  func populate() {
    for index in 0..<world.dice.roll(1...3) {
      let root = make(world.dice.one(in: 4) ? .regular : .directory)
      put(root, Array("root\(index)".utf8), in: top)
    }
    for _ in 0..<world.dice.roll(0...18) { addSomething() }
    record()
  }

  /// Changes something now and then, while changes are left.
  func changeNowAndThen(preferring node: SourceNode? = nil) {
    if let node, node === editedAgain, world.dice.one(in: 3) {
      editedAgain = nil
      edit(node, isHidden: true)
      return record(node)
    }
    guard changesLeft > 0, world.dice.one(in: 25) else { return }
    changesLeft -= 1
    if let node, node.kind == .regular, world.dice.one(in: 2) { edit(node) } else { changeSomething() }
    record(node)
  }

  /// Makes one change.
  func change() {
    guard changesLeft > 0 else { return }
    changesLeft -= 1
    changeSomething()
    record()
  }

  private func changeSomething() {
    let (directory, name, node) = somewhere()
    guard let directory, let name, let node else { return addSomething() }
    switch world.dice.roll(0...11) {
    case 0...3: if node.kind == .regular { edit(node) } else { addSomething() }
    case 4: replace(directory, name, with: make(node.kind))
    case 9...11 where directory !== top: unlink(node, name, in: directory)
    case 6:
      // An item of another type in the same place.
      replace(directory, name, with: make([.regular, .directory, .symbolicLink][world.dice.roll(0...2)]))
    case 7:
      if node.kind != .symbolicLink, world.dice.one(in: 2) {
        node.extended = extendedMetadata(of: node.kind)
      } else {
        node.mode ^= 0o020
      }
      node.changed = stamp
    case 8 where directory !== top:
      unlink(node, name, in: directory)
      put(node, name + [UInt8(ascii: "~")], in: directory)
      node.changed = stamp
    default: addSomething()
    }
  }

  private func replace(_ directory: SourceNode, _ name: [UInt8], with node: SourceNode) {
    if node.kind == .directory, world.dice.one(in: 2) { put(make(.regular), Array("inside".utf8), in: node) }
    put(node, name, in: directory)
  }

  private func addSomething() {
    let directories = all.filter { $0.node.kind == .directory }.map(\.node)
    guard let directory = world.dice.pick(directories) else { return }
    let files = all.filter { $0.node.kind == .regular }.map(\.node)
    if world.dice.one(in: 4), let file = world.dice.pick(files) {
      return put(file, Array("n\(world.dice.roll(0...30))".utf8), in: directory)
    }
    let kinds: [FileKind] = [.regular, .regular, .regular, .directory, .symbolicLink]
    put(make(kinds[world.dice.roll(0...4)]), Array("n\(world.dice.roll(0...30))".utf8), in: directory)
  }

  private func edit(_ node: SourceNode, isHidden: Bool = false) {
    // Again within the same tick of the file system's clock: only the bytes show it.
    if world.dice.one(in: 2), changesLeft > 0 {
      changesLeft -= 1
      if world.dice.one(in: 2) {
        editedAgain = node
      } else {
        world.after(world.dice.roll(1...6_000)) { [self] in
          edit(node)
          record(node)
        }
      }
    }
    let time = node.modified
    let count = node.data.count
    switch isHidden ? 2 : world.dice.roll(0...3) {
    case 0: node.data += world.dice.bytes(world.dice.roll(1...900))
    case 1 where count > 0: node.data.removeLast(world.dice.roll(1...count))
    case 2 where count > 0:
      // In place, with the time set back.
      node.data[world.dice.roll(0...count - 1)] &+= 1
      node.changed = stamp
      node.modified = time
      return
    default: node.data = world.dice.bytes(count)
    }
    touch(node)
  }

  private func somewhere() -> (SourceNode?, [UInt8]?, SourceNode?) {
    guard let one = world.dice.pick(all) else { return (nil, nil, nil) }
    return (one.directory, one.name, one.node)
  }

  private var all: [(directory: SourceNode, name: [UInt8], node: SourceNode)] {
    var found: [(directory: SourceNode, name: [UInt8], node: SourceNode)] = []
    var pending = [top]
    while let directory = pending.popLast() {
      for name in directory.names {
        guard let node = directory.children[name] else { continue }
        found.append((directory, name, node))
        if node.kind == .directory { pending.append(node) }
      }
    }
    return found
  }
}

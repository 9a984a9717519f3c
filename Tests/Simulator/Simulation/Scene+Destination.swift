import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

extension Version {
  /// The metadata from which the generation of this version is computed.
  var fingerprint: SourceFingerprint {
    SourceFingerprint(
      fileSystem: 77, inode: inode, size: UInt64(kind == .regular ? data.count : 10), modified: ItemTime(modified),
      changed: ItemTime(changed))
  }
}

extension Scene {
  /// The reason to refuse a part before anything of it is sent: one of its names is taken, and the
  /// receiver does not allow that.
  func objection(toPart part: UInt16) -> Fault? {
    guard existingItems.existing == .refuse,
      let taken = parts[Int(part)].first(where: { disk.destination.entries[$0.name] != nil })
    else { return nil }
    return Fault(.exists, "'\(String(decoding: taken.name, as: UTF8.self))' already exists in the destination")
  }

  /// The destination must match the source: each file is one version of itself, current when the
  /// last export began or later. If nothing changed since the source was listed, all files are
  /// there.
  func checkDestination(ofPart part: UInt16) {
    guard let export = concluded[part]?.export else { return world.fail("something was imported without a FINISH") }
    checkExistingItems(destination)
    let all = destination(ofPart: part)
    let (notStored, items) = (notStored[part] ?? 0, export.finish.total.items)
    let arrived = all.filter { !existingItems.isOld($0.key, $0.value) }
    if existingItems.existing == .refuse || existingItems.existing == .keepBoth {
      world.check(
        arrived.count + Int(notStored) == Int(items),
        "\(arrived.count) items arrived, \(notStored) were refused, \(items) were sent")
    }
    for (path, node) in arrived.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let name = String(decoding: path, as: UTF8.self)
      let versions = source.history(of: existingItems.original(of: path))
      let same = versions.filter {
        $0.version.matches(
          node, over: existingItems.directory(path, node), ignoringTimes: mutation == .ignoreFingerprint)
      }
      if same.isEmpty {
        world.note(
          "arrived: \(node.kind) \(node.state.mode) \(String(describing: node.state.modified)) \(node.state.data.count)"
        )
        for (version, until) in versions {
          let differences = zip(version.data, node.state.data).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
          world.note(
            "version until \(until): \(version.kind) \(version.mode) \(version.modified) \(version.data.count), "
              + "differs at \(differences.count) from \(differences.first ?? -1) to \(differences.last ?? -1)")
        }
      }
      world.check(!same.isEmpty, "\(name) was never at the source in this version")
      world.check(
        same.isEmpty || same.contains { $0.until >= export.start }, "\(name) is a version older than the last export")
    }
    if source.lastChange < export.listed, export.unsent == 0 {
      let names = Set(all.keys.map(existingItems.original))
      for path in source.current.keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
      where self.part(of: path) == part && !names.contains(path) && refusedPaths[part]?.contains(path) != true {
        world.fail("\(String(decoding: path, as: UTF8.self)) is missing")
      }
      if disk.hasHardLinks, existingItems.existing == .refuse { checkLinks(arrived) }
    }
  }

  /// Until everything of a part has arrived, the destination has no new items of it.
  func checkNothingNew() {
    guard concluded.count < parts.count else { return }
    for (path, node) in destination where !existingItems.isOld(path, node) && concluded[part(of: path)] == nil {
      world.fail("\(String(decoding: path, as: UTF8.self)) is at the destination although not everything has arrived")
    }
  }

  /// Each part that was finished last survives a power failure. A receiver that stays may be stopped
  /// while a second process sends.
  func checkFinished() {
    for part in concluded.keys.sorted() {
      let isDone = done.contains { transfer, done in
        done[part] != nil && transfer.ofPart(part) == concluded[part]?.name && !doneBefore.contains(transfer)
      }
      if isDone { checkDestination(ofPart: part) }
    }
  }

  /// The part that an item belongs to, by its path at the source or at the destination.
  func part(of path: [UInt8]) -> UInt16 {
    let root = Array(existingItems.original(of: path).prefix { $0 != UInt8(ascii: "/") })
    return UInt16(parts.firstIndex { $0.contains { $0.name == root } } ?? 0)
  }

  func destination(ofPart part: UInt16) -> [[UInt8]: Node] { destination.filter { self.part(of: $0.key) == part } }

  /// Each old item is still at the destination, or a complete item has replaced it.
  func checkExistingItems(_ arrived: [[UInt8]: Node]) {
    existingItems.check(arrived) { path, node in
      source.history(of: path).contains {
        $0.version.matches(
          node, over: existingItems.directory(path, node), ignoringTimes: mutation == .ignoreFingerprint)
      }
    }
  }

  /// Names of one file at the source are names of one file at the destination.
  private func checkLinks(_ arrived: [[UInt8]: Node]) {
    var first: [UInt64: Node] = [:]
    for (path, version) in source.current.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      guard version.kind == .regular, let node = arrived[path] else { continue }
      if let other = first.updateValue(node, forKey: version.inode), other !== node {
        world.fail("\(String(decoding: path, as: UTF8.self)) is no longer a link")
      }
    }
  }

  var destination: [[UInt8]: Node] {
    var found: [[UInt8]: Node] = [:]
    var pending = disk.destination.entries.map { ($0.key, $0.value) }
    while let (path, node) = pending.popLast() {
      found[path] = node
      for (name, child) in node.entries { pending.append((path + [UInt8(ascii: "/")] + name, child)) }
    }
    return found
  }
}

extension Version {
  /// The extended metadata, as the disk keeps it.
  private var attributes: [[UInt8]: [UInt8]] {
    var attributes = Dictionary(extended.attributes.map { ($0.name, $0.value) }) { one, _ in one }
    if !extended.accessList.isEmpty {
      attributes[SimulatedPlaces.listName(.access)] = SimulatedPlaces.bytes(extended.accessList)
    }
    if !extended.defaultAccessList.isEmpty {
      attributes[SimulatedPlaces.listName(.default)] = SimulatedPlaces.bytes(extended.defaultAccessList)
    }
    return attributes
  }

  /// A directory that was merged into an older one keeps the attributes and the access lists of the
  /// older one, and gets no permission that the older one lacks.
  fileprivate func matches(_ node: Node, over older: Node.State?, ignoringTimes: Bool) -> Bool {
    let lists = [SimulatedPlaces.listName(.access), SimulatedPlaces.listName(.default)]
    let brought = older == nil ? attributes : attributes.filter { !lists.contains($0.key) }
    let expected = (older?.attributes ?? [:]).merging(brought) { _, new in new }
    guard kind == node.kind, expected == node.state.attributes else { return false }
    let modified = ignoringTimes ? node.state.modified : modified
    switch kind {
    case .regular: return data == node.state.data && mode & 0o1777 == node.state.mode && modified == node.state.modified
    case .symbolicLink: return target == node.target && modified == node.state.modified
    default:
      let mode = mode & 0o1777 & (older.map { $0.mode | 0o7000 } ?? 0o7777) | (older?.mode ?? 0) & 0o1000
      return mode == node.state.mode && modified == node.state.modified
    }
  }
}

import MigrationWire

extension SourceTree {
  /// The lacks of a destination by item, those beneath directories that it cannot hold included; empty where it can hold
  /// everything.
  func lacks(of traits: DestinationTraits, beneath prefix: ArchivePath? = nil) -> [DestinationTraits.Lack?] {
    guard !traits.refusesNothing else { return [] }
    // A directory comes before its entries.
    let top: DestinationTraits.Lack? = prefix.flatMap { traits.lack(forPath: $0) } == nil ? nil : .directory
    var lacks: [DestinationTraits.Lack?] = []
    lacks.reserveCapacity(nodes.count)
    for node in nodes {
      let isBeneath = node.parent < 0 ? top != nil : lacks[Int(node.parent)] != nil
      lacks.append(
        isBeneath ? .directory : traits.lack(forName: name(node)) ?? traits.lack(for: node.kind, length: node.size))
    }
    return lacks
  }
}

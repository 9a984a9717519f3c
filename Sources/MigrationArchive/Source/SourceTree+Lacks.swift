import MigrationWire

extension SourceTree {
  /// For each item, the ability that a destination lacks, including items inside directories that
  /// it cannot hold; empty if the destination can hold every item.
  func lacks(of traits: DestinationTraits, beneath prefix: ArchivePath? = nil) -> [DestinationTraits.Lack?] {
    guard !traits.refusesNothing else { return [] }
    // A directory precedes its entries.
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

import MigrationWire

extension PlanChoice {
  /// The most folders that are a part each.
  private static let mostFolders = 100

  /// The parts, in the order in which they move: apps, items that programs may run, the user's
  /// folders by their keys, other folders, and other items; at the end browsers, which may show the page
  /// of either computer, and the apps that are in use, since a person may have to close them. Each
  /// folder is a part, so that it is taken, or has room, by itself.
  package func parts(of inventory: Inventory) -> [ChosenPart] {
    func parts(isLast: Bool) -> [ChosenPart] {
      apps.filter { chosen[$0] && inventory.entries[$0].app?.movesLast == isLast }
        .map { ChosenPart(app: inventory.entries[$0], in: inventory) }
    }
    let items = inventory.entries.indices.filter { chosen[$0] && inventory.entries[$0].app == nil }
      .map { inventory.entries[$0] }
    let running = items.filter(\.mayRun)
    let others = items.filter { !$0.mayRun }
    let keyed = others.filter { if case .folder = $0.subject { true } else { false } }
    let named = others.filter { if case .item = $0.subject { true } else { false } }
    let folders = named.filter { $0.places[0].kind == .directory }
    let single = folders.count <= Self.mostFolders ? folders : []
    let rest = named.filter { entry in !single.contains { $0.name == entry.name } }
    let all = [
      [ChosenPart(running, ChosenPart.Contents.folders, in: inventory)],
      keyed.map { ChosenPart([$0], ChosenPart.Contents.home, in: inventory) },
      single.map { ChosenPart([$0], ChosenPart.Contents.folders, in: inventory) },
      [ChosenPart(rest, ChosenPart.Contents.folders, in: inventory)],
    ]
    return parts(isLast: false) + all.flatMap { $0.compactMap(\.self) } + parts(isLast: true)
  }
}

extension MovableApp {
  /// Whether it moves behind all others: it is in use, or may show the page of one of the computers.
  fileprivate var movesLast: Bool {
    let name = identifier.lowercased()
    return inUse != nil || Self.browsers.contains { name.contains($0) }
  }

  private static let browsers = [
    "firefox", "chrom", "brave", "vivaldi", "opera", "edge", "epiphany", "falkon", "librewolf",
  ]
}

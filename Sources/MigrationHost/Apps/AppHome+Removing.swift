import MigrationSystem

extension AppHome {
  /// Removes an app with its data. A group's directory goes with the last app that lists the group.
  ///
  /// If it is interrupted, the app is gone already, and the rest goes with the next installation or removal.
  package func remove(_ identifier: String) throws(HostError) {
    try withCatalog { () throws(HostError) in try sweep() }
    let place = "apps/\(identifier)"
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw .notInstalled(identifier) }
    let lock = try AppLock.take(.removing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(HostError) in
      try files.move(place, to: "apps/\(Self.removalPrefix)\(identifier)")
      try finishRemoval(of: identifier)
    }
  }

  /// Removes what is left of an app that is to go. Under its lock and the catalog's.
  func finishRemoval(of identifier: String) throws(HostError) {
    let place = "apps/\(Self.removalPrefix)\(identifier)"
    guard try files.kind(of: place) != nil else { return }
    for folder in ["containers", "replaced", "staging", "trash"] { try files.removeTree("\(folder)/\(identifier)") }
    let records = [
      "statuses/\(identifier).json", "statuses/\(identifier).starts", "imports/\(identifier).mark",
    ]
    for file in records {
      try files.remove(file)
      // A crash may have left it beside.
      try files.remove("\(file).new")
    }
    for group in try abandonedGroups(by: place) { try files.removeTree("groups/\(group)") }
    try files.removeTree(place)
  }

  /// The groups that an app lists and no other does; none where that cannot be known.
  private func abandonedGroups(by place: String) throws(HostError) -> [String] {
    guard let bundle = try? AppBundle(installedAt: Array(files.path("\(place)/bundle").utf8)) else { return [] }
    let others = try Self.listing(of: try files.names(in: "apps"), in: files)
    guard others.damaged.isEmpty else { return [] }
    let listed = Set(others.apps.flatMap(\.bundle.allGroups))
    return bundle.allGroups.filter { !listed.contains($0) }
  }
}

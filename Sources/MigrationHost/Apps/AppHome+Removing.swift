import MigrationSystem

extension AppHome {
  /// Removes an app or a clip with its data. A group's directory goes with the last app that lists the group, and one that belongs
  /// to a clip and its app with these.
  ///
  /// If it is interrupted, the app is gone already, and the rest goes with the next installation or removal.
  package func remove(_ identifier: String) throws(HostError) {
    try withCatalog { () throws(HostError) in _ = try sweep() }
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw try missing(identifier) }
    let lock = try AppLock.take(.removing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(HostError) in
      // A clip may have given way to its app meanwhile.
      guard try files.kind(of: Self.place(identifier)) != nil else { throw try missing(identifier) }
      try files.move(Self.place(identifier), to: Self.removal(identifier))
      try finishRemoval(of: identifier)
    }
  }

  /// Where an app is that is to go.
  static func removal(_ identifier: String) -> String { Folder.apps.place("\(removalPrefix)\(identifier)") }

  /// Removes what is left of an app that is to go. Under its lock and the catalog's.
  ///
  /// - Returns: the groups that went with it.
  @discardableResult
  func finishRemoval(of identifier: String) throws(HostError) -> [String] {
    let place = Self.removal(identifier)
    guard try files.kind(of: place) != nil else { return [] }
    for folder in ["containers", "replaced", "staging", "trash"] { try files.removeTree("\(folder)/\(identifier)") }
    let records = [
      "statuses/\(identifier).json", "statuses/\(identifier).starts", "imports/\(identifier).mark",
    ]
    for file in records {
      try files.remove(file)
      // A crash may have left it beside.
      try files.remove("\(file).new")
    }
    let groups = try removeGroups(of: identifier, at: place)
    try files.removeTree(place)
    return groups
  }
}

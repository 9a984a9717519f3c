import MigrationSystem

extension AppHome {
  /// Removes an app or a clip with its data. A group's directory is removed with the last app that
  /// lists the group; the directory of a group that belongs to a clip and its app is removed with
  /// these.
  ///
  /// If the removal is interrupted, the app is removed already, and the next installation or
  /// removal removes the rest.
  package func remove(_ identifier: String) throws(HostError) {
    try withCatalog { () throws(HostError) in _ = try sweep() }
    guard AppName.isWellFormed(identifier), try isInstalled(identifier) else { throw try missing(identifier) }
    let lock = try AppLock.take(.removing, of: identifier, in: files)
    defer { withExtendedLifetime(lock) {} }
    try withCatalog { () throws(HostError) in
      // Its app may have replaced a clip meanwhile.
      guard try files.kind(of: Self.place(identifier)) != nil else { throw try missing(identifier) }
      try files.move(Self.place(identifier), to: Self.removal(identifier))
      try finishRemoval(of: identifier)
      try AppLock.remove(identifier, in: files)
    }
  }

  /// The place of an app that is being removed.
  static func removal(_ identifier: String) -> String { Folder.apps.place("\(removalPrefix)\(identifier)") }

  /// Removes the rest of an app that is being removed. Needs its lock and the catalog's lock.
  ///
  /// - Returns: the groups that were removed with it.
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
      // A crash may have left this file.
      try files.remove("\(file).new")
    }
    let groups = try removeGroups(of: identifier, at: place)
    try files.removeTree(place)
    return groups
  }
}

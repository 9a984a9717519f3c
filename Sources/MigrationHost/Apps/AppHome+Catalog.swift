import MigrationSystem

/// The catalog: the installed apps. It is locked briefly for each change.
extension AppHome {
  static let draftPrefix = ".installing-"
  static let removalPrefix = ".removing-"

  /// Runs a closure while no other process can change the set of installed apps.
  func withCatalog<Result: ~Copyable>(_ body: () throws(HostError) -> Result) throws(HostError) -> Result {
    try files.makeDirectory("apps")
    guard let apps = try files.open("apps") else {
      throw HostError(.storage, "\"\(files.path("apps"))\" was removed meanwhile")
    }
    _ = try HostError.wrapping(.storage, "\"\(files.path("apps"))\" cannot be locked") { () throws(SystemError) in
      try apps.directory.descriptor.lock(nonBlocking: false)
    }
    defer { withExtendedLifetime(apps) {} }
    return try body()
  }

  /// The installed apps, read under the catalog's lock: including apps that a crash has left
  /// without their places.
  func catalog() throws(HostError) -> Listing {
    let names = try files.names(in: "apps")
    let former = names.filter { $0.hasPrefix(Self.formerPrefix) }
    for name in former { try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count))) }
    return try Self.listing(of: former.isEmpty ? names : try files.names(in: "apps"), in: files)
  }

  /// Removes the remains of installations and removals that a crash interrupted, and of clips whose
  /// apps have replaced them.
  ///
  /// - Returns: the clips that were removed, with the groups that were removed with each.
  @discardableResult
  func sweep() throws(HostError) -> [Replacement] {
    for name in try files.names(in: "apps") {
      if name.hasPrefix(Self.draftPrefix) {
        guard let draft = try files.open("apps/\(name)"), (try? draft.directory.descriptor.lock()) == true else {
          continue
        }
        try files.removeTree("apps/\(name)")
      } else if name.hasPrefix(Self.removalPrefix) {
        let identifier = String(name.dropFirst(Self.removalPrefix.count))
        guard let lock = try? AppLock.take(.removing, of: identifier, in: files) else { continue }
        defer { withExtendedLifetime(lock) {} }
        try finishRemoval(of: identifier)
        try AppLock.remove(identifier, in: files)
      } else if name.hasPrefix(Self.formerPrefix) {
        try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count)))
      }
    }
    var replacements: [Replacement] = []
    for clip in try catalog().outgoing {
      guard let lock = try? AppLock.take(.removing, of: clip, in: files) else { continue }
      defer { withExtendedLifetime(lock) {} }
      replacements.append(try removeClip(clip))
    }
    try sweepGroups()
    return replacements
  }
}

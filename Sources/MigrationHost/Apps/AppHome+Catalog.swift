import MigrationSystem

/// The catalog: which apps there are. It is locked for short whenever that changes.
extension AppHome {
  static let draftPrefix = ".installing-"
  static let removalPrefix = ".removing-"

  /// Does something while nobody else changes which apps there are.
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

  /// Removes what a crash has left of installations and removals.
  func sweep() throws(HostError) {
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
      } else if name.hasPrefix(Self.formerPrefix) {
        try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count)))
      }
    }
  }
}

import MigrationSystem

/// One version of an app in the place of another.
///
/// Where the file system cannot let two names change places in one step, the old version is moved aside first. A crash between
/// the two steps leaves the app without its place: the next process that looks for it gives it back.
extension AppHome {
  static let formerPrefix = ".former-"

  /// Puts what is at a place where an app is, and what was there in its place, or nowhere. Under the catalog's lock.
  func replace(_ place: String, with draft: String, of identifier: String) throws(HostError) {
    if try files.exchange(draft, with: place) { return }
    let former = Self.former(identifier)
    try files.move(place, to: former)
    try files.move(draft, to: place)
    try files.removeTree(former)
  }

  /// Ends what a crash has left of `replace`. Under the catalog's lock.
  func settleReplacing(of identifier: String) throws(HostError) {
    let former = Self.former(identifier)
    guard AppName.isWellFormed(identifier), try files.kind(of: former) != nil else { return }
    if try files.kind(of: Self.place(identifier)) == nil {
      try files.move(former, to: Self.place(identifier))
    } else {
      try files.removeTree(former)
    }
  }

  /// Whether an app is installed; one that a crash has left without its place gets it back.
  func isInstalled(_ identifier: String) throws(HostError) -> Bool {
    if try files.kind(of: Self.place(identifier)) != nil { return true }
    guard try files.kind(of: Self.former(identifier)) != nil else {
      // Perhaps it has just got its place.
      return try files.kind(of: Self.place(identifier)) != nil
    }
    // Another process may be in the middle of it, and has the lock.
    try withCatalog { () throws(HostError) in try settleReplacing(of: identifier) }
    return try files.kind(of: Self.place(identifier)) != nil
  }

  /// The names in the catalog, after those that a crash has left without their places got them back.
  func namesInstalled() throws(HostError) -> [String] {
    let names = try files.names(in: "apps")
    let former = names.filter { $0.hasPrefix(Self.formerPrefix) }
    guard !former.isEmpty else { return names }
    return try withCatalog { () throws(HostError) in
      for name in former { try settleReplacing(of: String(name.dropFirst(Self.formerPrefix.count))) }
      return try files.names(in: "apps")
    }
  }

  static func place(_ identifier: String) -> String { Folder.apps.place(identifier) }
  private static func former(_ identifier: String) -> String { "apps/\(formerPrefix)\(identifier)" }
}

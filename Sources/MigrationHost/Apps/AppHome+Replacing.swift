import MigrationSystem

/// Replaces one version of an app with another.
///
/// If the file system cannot exchange two names in one step, the old version is moved aside first.
/// A crash between the two steps leaves the app without its place: the next process that looks for
/// the app moves it back.
extension AppHome {
  static let formerPrefix = ".former-"

  /// Moves a draft to an app's place, and the old version, if there is one, to the draft's place.
  /// Needs the catalog's lock.
  func replace(_ place: String, with draft: String, of identifier: String) throws(HostError) {
    if try files.exchange(draft, with: place) { return }
    let former = Self.former(identifier)
    try files.move(place, to: former)
    try files.move(draft, to: place)
    try files.removeTree(former)
  }

  /// Completes a `replace` that a crash interrupted. Needs the catalog's lock.
  func settleReplacing(of identifier: String) throws(HostError) {
    let former = Self.former(identifier)
    guard AppName.isWellFormed(identifier), try files.kind(of: former) != nil else { return }
    if try files.kind(of: Self.place(identifier)) == nil {
      try files.move(former, to: Self.place(identifier))
    } else {
      try files.removeTree(former)
    }
  }

  /// Whether an app is installed; an app that a crash has left without its place is moved back.
  func isInstalled(_ identifier: String) throws(HostError) -> Bool {
    if try files.kind(of: Self.place(identifier)) != nil { return true }
    guard try files.kind(of: Self.former(identifier)) != nil else {
      // Another process may have just moved it to its place.
      return try files.kind(of: Self.place(identifier)) != nil
    }
    // Another process may be replacing it, and hold the lock.
    try withCatalog { () throws(HostError) in try settleReplacing(of: identifier) }
    return try files.kind(of: Self.place(identifier)) != nil
  }

  /// The names in the catalog, after apps without their places were moved back.
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

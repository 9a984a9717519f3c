import MigrationSystem

/// The app's data container: HOME of the app and of its extension.
extension InstalledApp {
  /// The initial contents of a container.
  private static let skeleton = ["Documents", "Library/Application Support", "Library/Caches", "tmp", ".config"]

  /// Creates the missing parts of the container and of the groups' directories.
  package func prepareContainer() throws(HostError) {
    try files.makeDirectory(container)
    try files.unlock(container)
    for directory in Self.skeleton {
      // The app may have replaced it, for example with a link to another disk; that is kept.
      if try files.kind(of: "\(container)/\(directory)") == nil { try files.makeDirectory("\(container)/\(directory)") }
    }
    try files.unlock("\(container)/.config")
    try files.makeDirectory("statuses")
    for group in bundle.allGroups { try files.makeDirectory(PreferenceLink(group).directory) }
    try linkPreferences()
  }

  /// Whether there is any data: an item other than a directory, outside tmp, and not created by
  /// this program.
  package var holdsData: Bool {
    get throws(HostError) {
      guard let status = try files.status(of: container) else { return false }
      // A container that its owner has closed is not read, even by root.
      guard ContainerContents.isOpen(status), let root = try files.open(container) else { return true }
      let links = Set(try preferenceLinks().map(\.file))
      return try HostError.wrapping(.container, "the container of \(identifier) cannot be examined") {
        () throws(SystemError) in try ContainerContents(ignoring: links).holdsData(root)
      }
    }
  }

  /// Empties the container; durable when it returns. The groups keep their data.
  package func clearContainer() throws(HostError) {
    try empty()
    try sweepTrash()
  }

  /// Moves the container aside, and creates an empty one; durable when it returns.
  ///
  /// `settle` moves it back, unless an import has succeeded meanwhile.
  package func setContainerAside() throws(HostError) {
    if try files.kind(of: container) != nil { try files.move(container, to: replaced) }
    try prepareContainer()
  }

  /// Moves the old container back to its place, and removes the current one; durable when it
  /// returns.
  package func putContainerBack() throws(HostError) {
    try restore()
    try sweepTrash()
  }

  /// Empties the container; its contents are moved to the trash, and not removed yet.
  func empty() throws(HostError) {
    try discard(container)
    try prepareContainer()
  }

  /// Moves the old container back to its place; the current one is moved to the trash, and not
  /// removed yet.
  func restore() throws(HostError) {
    guard try files.kind(of: replaced) != nil else { return }
    try discard(container)
    // From now on the container at this place is the old one.
    if var mark = try importMark, !mark.isRestoring {
      mark.isRestoring = true
      try write(mark)
    }
    try files.move(replaced, to: container)
    try prepareContainer()
  }

  /// Removes the container that was moved aside, if there is one. `endImport` does that after a
  /// success.
  package func dropContainerSetAside() throws(HostError) {
    guard try files.kind(of: replaced) != nil else { return }
    let hasSucceeded = try hasImportSucceeded
    precondition(hasSucceeded, "the old data is removed only after a success")
    try discard(replaced)
    try sweepTrash()
  }

  /// Moves an entry to the trash in one step. The next sweep removes it.
  func discard(_ place: String) throws(HostError) {
    guard try files.kind(of: place) != nil else { return }
    try files.move(place, to: "\(trash)/\(try Self.randomName())")
  }

  /// Empties the trash.
  func sweepTrash() throws(HostError) {
    try files.removeTree(trash)
  }

  static func randomName() throws(HostError) -> String {
    try HostError.wrapping(.storage, "no name can be generated") { () throws(SystemError) in
      try SystemRandom.bytes(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
  }
}

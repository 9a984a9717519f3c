import MigrationSystem

/// The app's data container: HOME of the app and of its extension.
extension InstalledApp {
  /// What is in a container from the beginning.
  private static let skeleton = ["Documents", "Library/Application Support", "Library/Caches", "tmp", ".config"]

  /// Makes whatever is missing of the container and of the groups' directories.
  package func prepareContainer() throws(HostError) {
    try files.makeDirectory(container)
    try files.unlock(container)
    for directory in Self.skeleton {
      // What the app has put in its place, a link to another disk say, is its own affair.
      if try files.kind(of: "\(container)/\(directory)") == nil { try files.makeDirectory("\(container)/\(directory)") }
    }
    try files.unlock("\(container)/.config")
    try files.makeDirectory("statuses")
    for group in bundle.allGroups { try files.makeDirectory(PreferenceLink(group).directory) }
    try linkPreferences()
  }

  /// Whether there is any data: something that is no directory, outside of tmp, and not our own doing.
  package var holdsData: Bool {
    get throws(HostError) {
      guard let status = try files.status(of: container) else { return false }
      // One that its owner has closed is not looked into, whoever we are.
      guard ContainerContents.isOpen(status), let root = try files.open(container) else { return true }
      let links = Set(try preferenceLinks().map(\.file))
      return try HostError.wrapping(.container, "the container of \(identifier) cannot be examined") {
        () throws(SystemError) in try ContainerContents(ignoring: links).holdsData(root)
      }
    }
  }

  /// Empties the container; durable when it returns. The groups keep what they have.
  package func clearContainer() throws(HostError) {
    try empty()
    try sweepTrash()
  }

  /// Puts the container aside, and an empty one in its place; durable when it returns.
  ///
  /// `settle` puts it back, unless an import has succeeded meanwhile.
  package func setContainerAside() throws(HostError) {
    if try files.kind(of: container) != nil { try files.move(container, to: replaced) }
    try prepareContainer()
  }

  /// Gives the container that was set aside its place again, and removes the one that is there; durable when it returns.
  package func putContainerBack() throws(HostError) {
    try restore()
    try sweepTrash()
  }

  /// Empties the container; what was in it is taken away, and not removed yet.
  func empty() throws(HostError) {
    try discard(container)
    try prepareContainer()
  }

  /// Gives the container that was set aside its place again; what was there is taken away, and not removed yet.
  func restore() throws(HostError) {
    guard try files.kind(of: replaced) != nil else { return }
    try discard(container)
    // From now on what stands in the container's place is the old one.
    if var mark = try importMark, !mark.isRestoring {
      mark.isRestoring = true
      try write(mark)
    }
    try files.move(replaced, to: container)
    try prepareContainer()
  }

  /// Removes the container that was set aside, if there is one. `endImport` does that after a success.
  package func dropContainerSetAside() throws(HostError) {
    guard try files.kind(of: replaced) != nil else { return }
    let hasSucceeded = try hasImportSucceeded
    precondition(hasSucceeded, "only a success makes the old data dispensable")
    try discard(replaced)
    try sweepTrash()
  }

  /// Takes something away in one step. It is gone for good with the next sweep.
  func discard(_ place: String) throws(HostError) {
    guard try files.kind(of: place) != nil else { return }
    try files.move(place, to: "\(trash)/\(try Self.randomName())")
  }

  /// Removes what was taken away.
  func sweepTrash() throws(HostError) {
    try files.removeTree(trash)
  }

  static func randomName() throws(HostError) -> String {
    try HostError.wrapping(.storage, "no name can be made") { () throws(SystemError) in
      try SystemRandom.bytes(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
  }
}

import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// The files of apps and their credentials in PEER_HOME, by their places: relative paths such as
/// "containers/org.example.notes".
///
/// Every change is made here, one at a time, so that a test can simulate the end of the process
/// before any of them. Places are made of the program's own names and of identifiers; links on the
/// way to a place are never followed.
package struct HomeFiles: Sendable {
  /// Called before each change with its description; if it throws, the error is passed on and the
  /// change is not made.
  package typealias Observer = @Sendable (_ change: String) throws(Failure) -> Void

  /// The absolute path; that of apps needs no encoding in a URL.
  let path: String
  package let root: SharedDirectory
  let renaming: Directory.RenameMethod
  let observer: Observer?

  package init(
    path: String, root: SharedDirectory, renaming: Directory.RenameMethod = .preferred, observer: Observer? = nil
  ) {
    (self.path, self.root, self.renaming, self.observer) = (path, root, renaming, observer)
  }

  /// The absolute path of a place.
  func path(_ place: String) -> String { "\(path)/\(place)" }

  /// The type of the entry at a place; nil if there is none.
  package func kind(of place: String) throws(Failure) -> FileKind? { try status(of: place)?.kind }

  /// The kernel's status of a place; nil if there is no entry.
  package func status(of place: String) throws(Failure) -> FileStatus? {
    try looking("examine", place) { (parent, name) throws(SystemError) in try parent.status(name) }
  }

  /// The content of a file; nil if there is none.
  package func read(_ place: String, limit: Int) throws(Failure) -> [UInt8]? {
    try looking("read", place) { (parent, name) throws(SystemError) in
      try parent.openChild(name).readAll(limit: limit)
    }
  }

  /// The target of a symbolic link; nil if there is no entry.
  func readLink(_ place: String) throws(Failure) -> [UInt8]? {
    try looking("read", place) { (parent, name) throws(SystemError) in try parent.readLink(name) }
  }

  /// A directory; nil if there is none.
  package func open(_ place: String) throws(Failure) -> SharedDirectory? {
    try looking("open", place) { (parent, name) throws(SystemError) in
      SharedDirectory(try parent.openChildDirectory(name))
    }
  }

  /// The names in a directory, in order; none if there is no directory. Names that are not UTF-8
  /// are not ours and are left out.
  package func names(in place: String) throws(Failure) -> [String] {
    guard let directory = try open(place) else { return [] }
    return try Failure.wrapping(
      .failed, "\(VisibleText.quoted(path(place))) cannot be read",
      directory.directory.names().compactMap { String(validating: $0, as: UTF8.self) }.sorted())
  }

  /// Creates a directory and its missing parents, private to this user.
  package func makeDirectory(_ place: String) throws(Failure) {
    if try kind(of: place) == .directory { return }
    try change("make", place) { () throws(SystemError) in
      _ = try root.directory.makeDirectories(place, mode: 0o700)
      if place.contains("/") { try parent(of: place).directory.synchronize() }
      try root.directory.synchronize()
    }
  }

  /// Restores all permissions of a directory's owner.
  func unlock(_ place: String) throws(Failure) {
    guard let status = try status(of: place), status.kind == .directory, status.mode & 0o700 != 0o700 else { return }
    try change("open", place) { () throws(SystemError) in
      try parent(of: place).directory.setMode(Self.split(place).name, status.mode | 0o700)
    }
  }

  /// Moves an entry to another place, which is free; durable when it returns.
  func move(_ place: String, to target: String) throws(Failure) {
    try makeDirectory(Self.split(target).parent)
    // A directory without write permission cannot be moved to another parent.
    try unlock(place)
    try change("move", place) { () throws(SystemError) in
      let (from, to) = (try parent(of: place), try parent(of: target))
      try from.directory.renameAmongOwn(
        Self.split(place).name, to: to.directory, as: Self.split(target).name, by: renaming)
      try to.directory.synchronize()
      try from.directory.synchronize()
    }
  }

  /// Exchanges the entries at two places, in one step; durable when it returns. False if the file
  /// system has no such step: then nothing has changed.
  func exchange(_ place: String, with other: String) throws(Failure) -> Bool {
    guard renaming == .preferred else { return false }
    return try change("exchange", place) { () throws(SystemError) in
      let (one, two) = (try parent(of: place), try parent(of: other))
      do throws(SystemError) {
        try one.directory.exchange(Self.split(place).name, with: two.directory, Self.split(other).name)
      } catch {
        guard error.isRenameFlagRefused else { throw error }
        return false
      }
      try one.directory.synchronize()
      try two.directory.synchronize()
      return true
    }
  }

  /// Creates or replaces a file; durable when it returns.
  package func write(_ place: String, _ bytes: [UInt8]) throws(Failure) {
    try makeDirectory(Self.split(place).parent)
    try change("write", place) { () throws(SystemError) in
      try parent(of: place).directory.replaceFile(Array(Self.split(place).name.utf8), with: bytes)
    }
  }

  /// Creates a symbolic link; an existing one is kept.
  func makeLink(_ place: String, target: String) throws(Failure) {
    try change("create the link", place) { () throws(SystemError) in
      do throws(SystemError) {
        try parent(of: place).directory.makeSymbolicLink(Self.split(place).name, target: target)
      } catch  where error.isAlreadyExisting {
        // Another process of the app creates the same link.
      }
    }
  }

  /// Removes an entry other than a directory, if there is one; durable when it returns.
  package func remove(_ place: String) throws(Failure) {
    if try kind(of: place) == nil { return }
    try change("remove", place) { () throws(SystemError) in
      let parent = try parent(of: place)
      do throws(SystemError) {
        try parent.directory.remove(Self.split(place).name)
      } catch  where error.isNotFound {
        // Another process removed it first.
      }
      try parent.directory.synchronize()
    }
  }

  /// Removes the entry at a place with its contents, if there is one.
  package func removeTree(_ place: String) throws(Failure) {
    if try kind(of: place) == nil { return }
    try change("remove", place) { () throws(SystemError) in
      let parent = try parent(of: place)
      try parent.directory.removeTree(ifThere: Self.split(place).name)
      try parent.directory.synchronize()
    }
  }

  /// Makes a change of another kind.
  func change<Result>(
    _ action: String, _ place: String, _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    try observer?("\(action) \(place)")
    return try Failure.wrapping(.failed, "cannot \(action) \(VisibleText.quoted(path(place)))", body())
  }

  static func split(_ place: String) -> (parent: String, name: String) {
    guard let slash = place.lastIndex(of: "/") else { preconditionFailure("a place is in one of our directories") }
    return (String(place[..<slash]), String(place[place.index(after: slash)...]))
  }

  private func parent(of place: String) throws(SystemError) -> SharedDirectory {
    SharedDirectory(try root.directory.openDirectoryBeneath(Self.split(place).parent))
  }

  private func looking<Result>(
    _ action: String, _ place: String, _ body: (borrowing Directory, String) throws(SystemError) -> Result
  ) throws(Failure) -> Result? {
    do {
      guard place.utf8.contains(UInt8(ascii: "/")) else { return try body(root.directory, place) }
      return try body(try parent(of: place).directory, Self.split(place).name)
    } catch  where error.isNotFound {
      return nil
    } catch {
      throw Failure(.failed, "cannot \(action) \(VisibleText.quoted(path(place)))", cause: error)
    }
  }
}

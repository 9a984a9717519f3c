import MigrationSystem
import MigrationWire

/// The files that belong to apps under PEER_HOME, by their places: relative paths such as "containers/org.example.notes".
///
/// Every change goes through here, one at a time, so that a test can end the process, as it were, before any of them. Places
/// are made of the program's own names and of identifiers; a link on the way to one is never followed.
struct HomeFiles: Sendable {
  /// Called before each change with what it is; an error is thrown on, and the change not made.
  typealias Observer = @Sendable (_ change: String) throws(HostError) -> Void

  /// The absolute path; it needs no encoding in a URL.
  let path: String
  let root: SharedDirectory
  private let renaming: RenamingMeans
  private let observer: Observer?

  init(
    path: String, root: SharedDirectory, renaming: RenamingMeans = .preferred, observer: Observer? = nil
  ) {
    self.path = path
    self.root = root
    self.renaming = renaming
    self.observer = observer
  }

  /// The absolute path of a place.
  func path(_ place: String) -> String { "\(path)/\(place)" }

  /// What is at a place; nil if nothing is.
  func kind(of place: String) throws(HostError) -> FileKind? { try status(of: place)?.kind }

  /// What the kernel knows about a place; nil if nothing is there.
  func status(of place: String) throws(HostError) -> FileStatus? {
    try looking("examine", place) { (parent, name) throws(SystemError) in try parent.status(name) }
  }

  /// The content of a file; nil if there is none.
  func read(_ place: String, limit: Int) throws(HostError) -> [UInt8]? {
    try looking("read", place) { (parent, name) throws(SystemError) in
      try parent.openChild(name).readAll(limit: limit)
    }
  }

  /// The target of a symbolic link; nil if nothing is there.
  func readLink(_ place: String) throws(HostError) -> [UInt8]? {
    try looking("read", place) { (parent, name) throws(SystemError) in try parent.readLink(name) }
  }

  /// A directory; nil if there is none.
  func open(_ place: String) throws(HostError) -> SharedDirectory? {
    try looking("open", place) { (parent, name) throws(SystemError) in
      SharedDirectory(try parent.openChildDirectory(name))
    }
  }

  /// The names in a directory, in their order; none if there is no directory. Those that are not UTF-8 are not ours.
  func names(in place: String) throws(HostError) -> [String] {
    guard let directory = try open(place) else { return [] }
    return try HostError.wrapping(.storage, "\(VisibleText.quoted(path(place))) cannot be read") {
      () throws(SystemError) in
      var names: [String] = []
      try directory.directory.forEachEntry { (name, _) throws(SystemError) in
        if let name = String(validating: [UInt8](copying: name), as: UTF8.self) { names.append(name) }
        return true
      }
      return names.sorted()
    }
  }

  /// Makes a directory and those above it, where they are missing, for this user alone.
  func makeDirectory(_ place: String) throws(HostError) {
    if try kind(of: place) == .directory { return }
    try change("make", place) { () throws(SystemError) in
      _ = try root.directory.makeDirectories(place, mode: 0o700)
      if place.contains("/") { try parent(of: place).directory.synchronize() }
      try root.directory.synchronize()
    }
  }

  /// Gives its owner all rights to a directory again.
  func unlock(_ place: String) throws(HostError) {
    guard let status = try status(of: place), status.kind == .directory, status.mode & 0o700 != 0o700 else { return }
    try change("open", place) { () throws(SystemError) in
      try parent(of: place).directory.setMode(Self.split(place).name, status.mode | 0o700)
    }
  }

  /// Gives what is at a place another one, where nothing is; durable when it returns.
  func move(_ place: String, to target: String) throws(HostError) {
    try makeDirectory(Self.split(target).parent)
    // A directory that may not be written to cannot get another parent.
    try unlock(place)
    try change("move", place) { () throws(SystemError) in
      let (from, to) = (try parent(of: place), try parent(of: target))
      try from.directory.renameAmongOwn(
        Self.split(place).name, to: to.directory, as: Self.split(target).name, by: renaming)
      try to.directory.synchronize()
      try from.directory.synchronize()
    }
  }

  /// Lets what is at two places change them, in one step; durable when it returns. False where the file system has no such
  /// step: then nothing has happened.
  func exchange(_ place: String, with other: String) throws(HostError) -> Bool {
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

  /// Puts a file in the place of another one or of none; durable when it returns.
  func write(_ place: String, _ bytes: [UInt8]) throws(HostError) {
    try makeDirectory(Self.split(place).parent)
    try change("write", place) { () throws(SystemError) in
      try parent(of: place).directory.replaceFile(Array(Self.split(place).name.utf8), with: bytes)
    }
  }

  /// Makes a symbolic link; one that is there is left.
  func makeLink(_ place: String, target: String) throws(HostError) {
    try change("make the link", place) { () throws(SystemError) in
      do throws(SystemError) {
        try parent(of: place).directory.makeSymbolicLink(Self.split(place).name, target: target)
      } catch  where error.isAlreadyExisting {
        // Another process of the app makes the same.
      }
    }
  }

  /// Removes what is no directory, if there is something; durable when it returns.
  func remove(_ place: String) throws(HostError) {
    if try kind(of: place) == nil { return }
    try change("remove", place) { () throws(SystemError) in
      let parent = try parent(of: place)
      do throws(SystemError) {
        try parent.directory.remove(Self.split(place).name)
      } catch  where error.isNotFound {
        // Another process was faster.
      }
      try parent.directory.synchronize()
    }
  }

  /// Removes whatever is at a place with all that is in it, if there is something.
  func removeTree(_ place: String) throws(HostError) {
    if try kind(of: place) == nil { return }
    try change("remove", place) { () throws(SystemError) in
      let parent = try parent(of: place)
      try parent.directory.removeTree(ifThere: Self.split(place).name)
      try parent.directory.synchronize()
    }
  }

  /// Makes a change that is none of the others.
  func change<Result>(
    _ action: String, _ place: String, _ body: () throws(SystemError) -> Result
  ) throws(HostError) -> Result {
    try observer?("\(action) \(place)")
    return try HostError.wrapping(.storage, "cannot \(action) \(VisibleText.quoted(path(place)))", body)
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
  ) throws(HostError) -> Result? {
    do {
      guard place.utf8.contains(UInt8(ascii: "/")) else { return try body(root.directory, place) }
      return try body(try parent(of: place).directory, Self.split(place).name)
    } catch  where error.isNotFound {
      return nil
    } catch {
      throw HostError(.storage, "cannot \(action) \(VisibleText.quoted(path(place)))", cause: error)
    }
  }
}

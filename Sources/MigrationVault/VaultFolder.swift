import MigrationCredentials
import MigrationHost
import MigrationSystem
import MigrationWire

/// One of the vault's directories in PEER_HOME, for this user alone. Each change is made by one call, so that a test can end
/// the process, as it were, before any of them.
struct VaultFolder: Sendable {
  /// Called before each change with what it is; an error is thrown on, and the change not made.
  typealias Observer = @Sendable (_ change: String) throws(VaultError) -> Void

  /// The longest that a process waits for another one that changes something.
  private static let patience = Duration.seconds(10)

  let home: [UInt8]
  let name: String
  let observer: Observer?

  /// Its path.
  var path: [UInt8] { home + Array("/\(name)".utf8) }

  private var shown: String { VisibleText.quoted(path) }

  /// Opens it; nil where it is missing.
  func openIfThere() throws(VaultError) -> SharedDirectory? {
    try VaultError.ifThere("\(shown) cannot be opened") { () throws(SystemError) in
      SharedDirectory(try Directory.open(home).openChildDirectory(name))
    }
  }

  /// Opens it, and makes it where it is missing.
  func open() throws(VaultError) -> SharedDirectory {
    if let folder = try openIfThere() { return folder }
    try observer?("make \(name)")
    return try VaultError.wrapping("\(shown) cannot be made") { () throws(SystemError) in
      let parent = try Directory.openOrMake(home, mode: 0o700)
      do throws(SystemError) {
        try parent.makeDirectory(name, mode: 0o700)
        try parent.synchronize()
      } catch  where error.isAlreadyExisting {
        // Another process made it just now.
      }
      return SharedDirectory(try parent.openChildDirectory(name))
    }
  }

  /// Locks it until what is returned is let go of.
  func lock(_ folder: SharedDirectory, within patience: Duration = patience) throws(VaultError) {
    let isTaken = try VaultError.wrapping("\(shown) cannot be locked") { () throws(SystemError) in
      try folder.directory.descriptor.lockOnceFree(within: patience)
    }
    guard isTaken else {
      let holder = folder.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw VaultError(
        .unavailable, "another process\(holder) has \(shown) locked for too long",
        hint: "Wait until it ends, or end it.")
    }
  }

  /// The names in it, or in a directory beneath it, sorted; those that are not UTF-8 are not ours.
  func names(in folder: SharedDirectory) throws(VaultError) -> [String] {
    try VaultError.wrapping("\(shown) cannot be listed") { () throws(SystemError) in
      var names: [String] = []
      try folder.directory.forEachEntry { (name, _) throws(SystemError) in
        if let name = String(validating: [UInt8](copying: name), as: UTF8.self) { names.append(name) }
        return true
      }
      return names.sorted()
    }
  }

  /// The owners of whom there is something.
  func owners(in folder: SharedDirectory) throws(VaultError) -> [CredentialOwner] {
    try names(in: folder).compactMap { CredentialOwner(stored: $0) }
  }

  /// The content of a file; nil where it is missing.
  ///
  /// What is no file, or too long to be one of ours, is damaged.
  func read(_ name: String, in folder: SharedDirectory, limit: Int) throws(VaultError) -> [UInt8]? {
    let file = "\(VisibleText.quoted(name)) in \(shown)"
    return try VaultError.ifThere("\(file) cannot be read") { () throws(SystemError) -> Result<[UInt8], VaultError> in
      // A pipe would be waited for.
      let descriptor = try folder.directory.openChild(name, .nonBlocking)
      let status = try descriptor.status()
      guard status.kind == .regular, status.size <= limit else {
        return .failure(VaultError(.damaged, "\(file) is none of this program's files"))
      }
      return .success(try descriptor.readAll(limit: limit))
    }?.get()
  }

  /// Puts a file in the place of another one or of none; durable when it returns.
  func write(_ name: String, in folder: SharedDirectory, _ bytes: [UInt8]) throws(VaultError) {
    try observer?("write \(name)")
    try VaultError.wrapping("\(VisibleText.quoted(name)) in \(shown) cannot be written") { () throws(SystemError) in
      try folder.directory.replaceFile(Array(name.utf8), with: bytes)
    }
  }

  /// Makes a change that is none of the others.
  func change(
    _ action: String, _ name: String, _ body: () throws(SystemError) -> Void
  ) throws(VaultError) {
    try observer?("\(action) \(name)")
    try VaultError.wrapping("cannot \(action) \(VisibleText.quoted(name)) in \(shown)", body)
  }
}

extension CredentialOwner {
  /// The owner that the name of a file or directory stands for; nil where it is the name of none.
  package init?(stored name: String) {
    self.init(name: name)
    guard AppName.isWellFormed(app), AppName.isWellFormed(identifier) else { return nil }
  }
}

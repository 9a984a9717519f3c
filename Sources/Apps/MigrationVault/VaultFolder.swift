import MigrationArchive
package import MigrationCredentials
import MigrationHost
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One of the vault's directories in PEER_HOME, for this user alone. Each change is one call, so
/// that a test can simulate the end of the process before any change.
struct VaultFolder: Sendable {
  /// Called before each change with its description. If it throws, the change is not made and the
  /// error is rethrown.
  typealias Observer = @Sendable (_ change: String) throws(Failure) -> Void

  /// The longest time for which a process waits for another process that makes a change.
  private static let patience = Duration.seconds(10)

  let home: [UInt8]
  let name: String
  let observer: Observer?

  /// Its path.
  var path: [UInt8] { home + Array("/\(name)".utf8) }

  private var shown: String { VisibleText.quoted(path) }

  /// Opens the directory; nil if it is missing.
  func openIfThere() throws(Failure) -> SharedDirectory? {
    try Failure.ifThere("\(shown) cannot be opened") { () throws(SystemError) in
      SharedDirectory(try Directory.open(home).openChildDirectory(name))
    }
  }

  /// Opens the directory, and makes it if it is missing.
  func open() throws(Failure) -> SharedDirectory {
    if let folder = try openIfThere() { return folder }
    try observer?("make \(name)")
    func made() throws(SystemError) -> SharedDirectory {
      let parent = try Directory.openOrMake(home, mode: 0o700)
      do throws(SystemError) {
        try parent.makeDirectory(name, mode: 0o700)
        try parent.synchronize()
      } catch  where error.isAlreadyExisting {
        // Another process made it just now.
      }
      return SharedDirectory(try parent.openChildDirectory(name))
    }
    return try Failure.wrapping(.failed, "\(shown) cannot be made", made())
  }

  /// Locks the directory until the returned value is released.
  func lock(_ folder: SharedDirectory, within patience: Duration = patience) throws(Failure) {
    let isTaken = try Failure.wrapping(
      .failed, "\(shown) cannot be locked", folder.directory.descriptor.lockOnceFree(within: patience))
    guard isTaken else {
      let holder = folder.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw Failure(
        .unavailable, "another process\(holder) has \(shown) locked for too long",
        hint: "Wait until the process ends, or end it.")
    }
  }

  /// The names in it, or in a directory inside it, sorted; names that are not UTF-8 are not this
  /// program's.
  func names(in folder: SharedDirectory) throws(Failure) -> [String] {
    try Failure.wrapping(
      .failed, "\(shown) cannot be listed",
      folder.directory.names().compactMap { String(validating: $0, as: UTF8.self) }.sorted())
  }

  /// The owners that have files.
  func owners(in folder: SharedDirectory) throws(Failure) -> [CredentialOwner] {
    try names(in: folder).compactMap { CredentialOwner(stored: $0) }
  }

  /// The content of a file; nil if it is missing.
  ///
  /// An item that is not a file, or that is too long for this program's files, is damaged.
  func read(_ name: String, in folder: SharedDirectory, limit: Int) throws(Failure) -> [UInt8]? {
    let file = "\(VisibleText.quoted(name)) in \(shown)"
    return try Failure.ifThere("\(file) cannot be read") { () throws(SystemError) -> Result<[UInt8], Failure> in
      let descriptor = try folder.directory.openChild(name, .anyKind)
      let status = try descriptor.status()
      guard status.kind == .regular, status.size <= limit else {
        return .failure(Failure(.damaged, "\(file) is not a file of this program"))
      }
      return .success(try descriptor.readAll(limit: limit))
    }?.get()
  }

  /// Adds or replaces a file; durable when it returns.
  func write(_ name: String, in folder: SharedDirectory, _ bytes: [UInt8]) throws(Failure) {
    try observer?("write \(name)")
    try Failure.wrapping(
      .failed, "\(VisibleText.quoted(name)) in \(shown) cannot be written",
      folder.directory.replaceFile(Array(name.utf8), with: bytes))
  }

  /// Makes any other change.
  func change(
    _ action: String, _ name: String, _ body: () throws(SystemError) -> Void
  ) throws(Failure) {
    try observer?("\(action) \(name)")
    try Failure.wrapping(.failed, "cannot \(action) \(VisibleText.quoted(name)) in \(shown)", body())
  }
}

extension CredentialOwner {
  /// The owner for the name of a file or directory; nil if the name is not an owner's.
  package init?(stored name: String) {
    self.init(name: name)
    guard AppName.isWellFormed(app), AppName.isWellFormed(identifier) else { return nil }
  }
}

extension CredentialStatus {
  /// The app's status for a failure with the credentials or the account records of PEER_HOME.
  init(_ failure: Failure) {
    self =
      switch failure.code {
      case .unavailable: .notAvailable
      case .damaged: .decode
      case .full: .dataTooLarge
      default: .io
      }
  }
}

extension Failure {
  init(_ error: TLSError) { self.init(.failed, error.description) }

  /// Makes a call that the kernel may refuse, for a file that may be missing: nil then.
  static func ifThere<Result>(
    _ action: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result? {
    do {
      return try body()
    } catch  where error.isNotFound {
      return nil
    } catch {
      throw Failure(.failed, action(), cause: error)
    }
  }
}

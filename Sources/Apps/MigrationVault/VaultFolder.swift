import MigrationArchive
package import MigrationCredentials
import MigrationHost
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One of the vault's directories in PEER_HOME, for this user alone.
struct VaultFolder: Sendable {
  /// The longest time for which a process waits for another process that makes a change.
  private static let patience = Duration.seconds(10)

  let home: [UInt8]
  let name: String
  let observer: HomeFiles.Observer?

  /// Its path.
  var path: [UInt8] { home + Array("/\(name)".utf8) }

  private var shown: String { VisibleText.quoted(path) }

  /// The place of an entry in it.
  func place(_ entry: String) -> String { "\(name)/\(entry)" }

  /// The files of PEER_HOME; nil if the directory is missing.
  func openIfThere() throws(Failure) -> HomeFiles? {
    let root = try Failure.ifThere("\(shown) cannot be opened") { () throws(SystemError) in
      SharedDirectory(try Directory.open(home))
    }
    guard let root else { return nil }
    let files = files(root)
    return try files.kind(of: name) == nil ? nil : files
  }

  /// The files of PEER_HOME; makes the directory if it is missing.
  func open() throws(Failure) -> HomeFiles {
    if let files = try openIfThere() { return files }
    let files = files(
      try Failure.wrapping(
        .failed, "\(shown) cannot be made", SharedDirectory(try Directory.openOrMake(home, mode: 0o700))))
    try files.makeDirectory(name)
    return files
  }

  private func files(_ root: SharedDirectory) -> HomeFiles {
    HomeFiles(path: String(decoding: home, as: UTF8.self), root: root, observer: observer)
  }

  /// Locks the directory until the returned value is released.
  func lock(_ files: HomeFiles, within patience: Duration = patience) throws(Failure) -> SharedDirectory {
    guard let folder = try files.open(name) else { throw Failure(.failed, "\(shown) was removed meanwhile") }
    let isTaken = try Failure.wrapping(
      .failed, "\(shown) cannot be locked", folder.directory.descriptor.lockOnceFree(within: patience))
    guard isTaken else {
      let holder = folder.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw Failure(
        .unavailable, "another process\(holder) has \(shown) locked for too long",
        hint: "Wait until the process ends, or end it.")
    }
    return folder
  }

  /// The owners that have files.
  func owners(in files: HomeFiles) throws(Failure) -> [CredentialOwner] {
    try files.names(in: name).compactMap { CredentialOwner(stored: $0) }
  }

  /// The content of a file; nil if it is missing.
  ///
  /// An item that is not a file, or that is too long for this program's files, is damaged.
  func read(_ entry: String, in files: HomeFiles, limit: Int) throws(Failure) -> [UInt8]? {
    guard let status = try files.status(of: place(entry)) else { return nil }
    guard status.kind == .regular, status.size <= limit else {
      throw Failure(.damaged, "\(VisibleText.quoted(entry)) in \(shown) is not a file of this program")
    }
    return try files.read(place(entry), limit: limit)
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

import MigrationArchive
import MigrationHost
import MigrationSystem
import MigrationWire

/// The directory of keys. It must not be part of PEER_HOME, so that a copy of PEER_HOME has no key.
struct KeysDirectory: Sendable {
  private let path: [UInt8]
  private let home: [UInt8]
  private let observer: HomeFiles.Observer?

  var shown: String { VisibleText.quoted(path) }

  /// - Parameters:
  ///   - path: nil if the environment names none.
  ///   - home: PEER_HOME's absolute path, without links.
  init(_ path: [UInt8]?, besides home: [UInt8], observer: HomeFiles.Observer? = nil) throws(Failure) {
    guard let path else {
      throw Failure(
        .unavailable,
        "there is no place for the key of the credentials: neither XDG_STATE_HOME nor HOME is an absolute path",
        hint: "Set XDG_STATE_HOME to a private directory.")
    }
    self.path = path
    self.home = home
    self.observer = observer
    try refuseInside(path)
  }

  /// The place of the keys, by the environment: `peer/keys` in XDG_STATE_HOME, or in
  /// ~/.local/state. Nil if neither is an absolute path.
  static func fromEnvironment() -> [UInt8]? {
    func absolute(_ name: String) -> [UInt8]? {
      Environment.bytes(name).flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
    }
    let state = absolute("XDG_STATE_HOME") ?? absolute("HOME").map { $0 + Array("/.local/state".utf8) }
    return state.map { $0 + Array("/peer/keys".utf8) }
  }

  /// The content of a file; nil if it is missing. A file that other users may read is refused.
  func read(_ name: String, limit: Int) throws(Failure) -> [UInt8]? {
    let found = try Failure.ifThere("\(shown) cannot be opened") { () throws(SystemError) in
      SharedDirectory(try Directory.open(path))
    }
    guard let found else { return nil }
    try check()
    let file = try Failure.ifThere("the key in \(shown) cannot be opened") { () throws(SystemError) in
      SharedDescriptor(try found.directory.openChild(name, .anyKind))
    }
    guard let file else { return nil }
    func content() throws(SystemError) -> Result<[UInt8], Failure> {
      let status = try file.descriptor.status()
      guard status.kind == .regular, status.mode & 0o077 == 0, status.owner == CurrentProcess.effectiveUserID else {
        return .failure(
          Failure(
            .unavailable, "the key of the credentials in \(shown) is not for this user alone",
            hint: "If other users have read it, remove the credentials; otherwise: chmod 600"))
      }
      return .success(try file.descriptor.readAll(limit: limit))
    }
    return try Failure.wrapping(.failed, "the key in \(shown) cannot be read", content()).get()
  }

  /// Writes a file, and makes the directory if it is missing; durable when it returns, with all
  /// directories above it.
  func write(_ name: String, _ bytes: [UInt8]) throws(Failure) {
    try observer?("write the key")
    let made = try Failure.wrapping(
      .failed, "\(shown) cannot be made", SharedDirectory(try Directory.openOrMake(path, mode: 0o700)))
    try check()
    func put() throws(SystemError) {
      try made.directory.replaceFile(Array(name.utf8), with: bytes)
      try made.directory.descriptor.synchronizeFileSystem()
    }
    try Failure.wrapping(.failed, "the key in \(shown) cannot be written", put())
  }

  private func check() throws(Failure) {
    try refuseInside(
      try Trust.Distrust.mapped(Trust().find(path)) {
        Failure(
          .unavailable,
          "other users may change \(shown), which has the key of the credentials: "
            + "\(VisibleText.quoted($0.path)) \($0.clause)",
          hint: "Remove their rights, or set XDG_STATE_HOME to a private directory.")
      })
  }

  private func refuseInside(_ path: [UInt8]) throws(Failure) {
    guard path == home || path.starts(with: home + [UInt8(ascii: "/")]) else { return }
    throw Failure(
      .unavailable, "the key of the credentials would be in PEER_HOME and in each copy of it: \(shown)",
      hint: "Set XDG_STATE_HOME to a directory outside PEER_HOME.")
  }
}

import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A file with a secret: a regular file that belongs to the user and that no other user can read or
/// change. A link might belong to another user, who would then choose the secret.
struct SecretFile {
  /// The size limit: a longer file has another content.
  private static let sizeLimit = 4096

  /// The option that names the file.
  let option: String
  /// The content in words, as in "a code".
  let content: String
  /// A sentence that says how to make such a file.
  let hint: String

  /// The content, which the caller cleanses.
  func read(_ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID) throws(Failure) -> [UInt8] {
    let name = VisibleText.quoted(path)
    let file = try open(path)
    guard let status = try? file.status() else { throw unfit("\(name) cannot be examined") }
    guard status.kind == .regular else { throw unfit("\(name) is not a regular file") }
    guard status.owner == owner else { throw unfit("\(name) belongs to another user") }
    guard status.mode & 0o077 == 0 else {
      throw unfit("other users can access \(name)", hint: "Remove their rights: chmod 600 \(VisibleText.listed(path))")
    }
    guard status.size <= Self.sizeLimit else { throw unfit("\(name) is too long to contain \(content)") }
    // This shortens its bytes in place: a copy would not be cleansed.
    return try Failure.wrapping(file.readAll(limit: Self.sizeLimit))
  }

  private func open(_ path: [UInt8]) throws(Failure) -> Descriptor {
    do throws(SystemError) {
      return try Descriptor.open(path)
    } catch {
      guard error.isSymbolicLink else { throw unreadable(path, error) }
      throw unfit("\(VisibleText.quoted(path)) is a link; \(content) must be in a regular file")
    }
  }

  private func unfit(_ message: String, hint: String? = nil) -> Failure {
    Failure(.usage, message, hint: hint ?? self.hint)
  }

  /// The failure for a file that cannot be opened.
  func unreadable(_ path: [UInt8], _ error: SystemError) -> Failure {
    .usage("\(option): \(VisibleText.quoted(path)) cannot be read: \(error.words)", hint: hint)
  }

  /// Writes a new file that only its owner can read; an existing file is not changed.
  static func make(_ path: [UInt8], _ text: String, orElse hint: String) throws(Failure) {
    let (parent, name) = FileContent.split(path)
    do throws(SystemError) {
      let file = try Directory.open(parent).createFile(name, mode: 0o600)
      try file.write(at: 0, text.utf8.span)
      try file.synchronize()
    } catch {
      guard error.isAlreadyExisting else { throw Failure(error) }
      throw Failure(
        .failed, "\(VisibleText.quoted(path)) exists already, and is not changed", hint: hint)
    }
  }
}

import MigrationSystem

/// The file with which a program marks a directory as a cache, whose contents the program can
/// create again (bford.info/cachedir).
enum CacheTag {
  static let name = Array("CACHEDIR.TAG".utf8)
  private static let signature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)

  /// Whether a directory is marked. If the mark cannot be read, the directory counts as unmarked.
  static func marks(_ directory: borrowing Directory) -> Bool {
    (try? read(in: directory)) == signature
  }

  /// The significant first bytes of the mark; none if it is not a regular file.
  private static func read(in directory: borrowing Directory) throws(SystemError) -> [UInt8] {
    // The name could belong to a pipe, and opening a pipe would block.
    let file = try directory.openChild(name, [.readOnly, .nonBlocking])
    guard try file.status().kind == .regular else { return [] }
    var bytes = [UInt8](repeating: 0, count: signature.count)
    let count = try file.readFully(at: 0, into: &bytes)
    bytes.removeSubrange(count...)
    return bytes
  }
}

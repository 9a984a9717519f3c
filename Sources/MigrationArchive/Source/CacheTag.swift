import MigrationSystem

/// The file by which a program marks a directory as one whose contents it can make again (bford.info/cachedir).
enum CacheTag {
  static let name = Array("CACHEDIR.TAG".utf8)
  private static let signature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)

  /// Whether a directory is marked. One whose mark cannot be read counts as none.
  static func marks(_ directory: borrowing Directory) -> Bool {
    (try? read(in: directory)) == signature
  }

  /// The first bytes of the mark, as many as count; none if it is no regular file.
  private static func read(in directory: borrowing Directory) throws(SystemError) -> [UInt8] {
    // The name could be a pipe's, which would be waited for.
    let file = try directory.openChild(name, [.readOnly, .nonBlocking])
    guard try file.status().kind == .regular else { return [] }
    var bytes = [UInt8](repeating: 0, count: signature.count)
    var target = bytes.mutableSpan
    let count = try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try unsafe file.readFully(at: 0, into: buffer)
    }
    bytes.removeSubrange(count...)
    return bytes
  }
}

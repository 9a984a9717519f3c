package import MigrationEngine
import MigrationSystem
import MigrationWire

extension TransferStore {
  /// Fails if others than a user and root can change the content of a directory, which holds keys
  /// and paths, or if every user can put another one in its place. A link to a directory counts as
  /// that directory. It need not exist yet.
  package static func check(
    _ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID, hint: String
  ) throws(TransferFailure) {
    // The caller that opens the directory reports why it cannot. A missing one is made for its
    // owner alone.
    if let status = try? Directory.open(path).status() {
      let name = VisibleText.quoted(path)
      guard status.owner == owner || status.owner == 0 else {
        throw TransferFailure(
          .refused, "\(name), where transfers are remembered, belongs to another user", hint: hint)
      }
      guard status.mode & 0o022 == 0 else {
        throw TransferFailure(
          .refused, "other users can write to \(name), which holds the records of transfers",
          hint: "Remove their rights: chmod 700 \(VisibleText.listed(path))")
      }
    }
    try checkAbove(path)
  }

  /// Fails if every user may rename the entries of a directory above: the right to write is enough
  /// for that, unless the directory has the sticky bit.
  private static func checkAbove(_ path: [UInt8]) throws(TransferFailure) {
    var nearest = path
    while nearest.count > 1, !FileContent.isDirectory(nearest) { nearest = FileContent.split(nearest).directory }
    guard var above = try? Directory.open(nearest).canonicalPath() else { return }
    while true {
      if let status = try? Directory.status(of: above), status.mode & 0o1002 == 0o0002 {
        throw TransferFailure(
          .refused,
          "every user can write to \(VisibleText.quoted(above)), and replace \(VisibleText.quoted(path)) in it",
          hint: "Remove that right: chmod o-w \(VisibleText.listed(above))")
      }
      guard above.count > 1 else { return }
      above = FileContent.split(above).directory
    }
  }
}

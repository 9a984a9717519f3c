package import MigrationEngine
import MigrationSystem
import MigrationWire

extension TransferStore {
  /// Fails unless only a user and root can change the content of a directory, which holds keys and
  /// paths. A link to a directory counts as that directory. It need not exist yet.
  package static func check(
    _ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID, hint: String
  ) throws(TransferFailure) {
    // The caller that opens the directory reports why it cannot. A missing one is made for its
    // owner alone.
    guard let status = try? Directory.open(path).status() else { return }
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
}

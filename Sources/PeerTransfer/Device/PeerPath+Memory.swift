import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension PeerPath {
  /// The store of unfinished transfers in this directory, which is created if it is missing. A
  /// directory that other users may change is refused.
  func memory() throws(TransferFailure) -> TransferStore {
    let hint = "Name a directory of your own."
    do throws(SystemError) {
      _ = try Directory.openOrMake(bytes, mode: 0o700)
    } catch {
      throw TransferFailure(
        .refused, "transfers cannot be remembered in \(VisibleText.quoted(bytes)): \(error.words)", hint: hint)
    }
    try TransferStore.check(bytes, hint: hint)
    return TransferStore(home: bytes)
  }
}

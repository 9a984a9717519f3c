import MigrationEngine
import MigrationTransfer

extension PeerPath {
  /// The place where unfinished transfers are remembered. One that other users may change is refused.
  func memory() throws(TransferFailure) -> TransferStore {
    try TransferStore.check(bytes, hint: "Name a directory of your own.")
    return TransferStore(home: bytes)
  }
}

import MigrationWire

extension Unsent {
  /// What the users of both devices are told: an item that was left out since the destination cannot hold it is not stored.
  var event: TransferEvent {
    if let refusal { return .notStored(path: path, reason: refusal, message: message) }
    return .unsent(self)
  }
}

package import MigrationWire

extension Unsent {
  /// What the users of both devices are told: an item that was left out since the destination cannot hold it is not stored.
  package var event: TransferEvent {
    if let refusal { return .notStored(path: path, reason: refusal, message: message) }
    return .unsent(self)
  }

  /// An item that the sender left out since the destination cannot hold it, named as one that the receiver refused. No
  /// generation of it was looked at.
  package var refused: Refusal? {
    guard let refusal, let path = try? ArchivePath(path) else { return nil }
    return Refusal(path: path, generation: 0, reason: refusal, message: message)
  }
}

extension Refusal {
  /// What the user is told of it.
  package var event: TransferEvent { .notStored(path: path.bytes, reason: reason, message: message) }
}

package import MigrationWire

extension Unsent {
  /// The event for the users of both devices. An item that was left out because the destination
  /// cannot hold it is reported as not stored.
  package var event: TransferEvent {
    if let refusal { return .notStored(path: path, reason: refusal, message: message) }
    return .unsent(self)
  }

  /// An item that the sender left out because the destination cannot hold it, named like a refusal
  /// of the receiver. No generation of it was read.
  package var refused: Refusal? {
    guard let refusal, let path = try? ArchivePath(path) else { return nil }
    return Refusal(path: path, generation: 0, reason: refusal, message: message)
  }
}

extension Refusal {
  /// The event for the user.
  package var event: TransferEvent { .notStored(path: path.bytes, reason: reason, message: message) }
}

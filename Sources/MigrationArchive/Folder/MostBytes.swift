import MigrationWire

/// The most bytes that the user of this device accepts of one transfer.
///
/// Data that is held when a session begins may be stale, because the sender's files were renamed or
/// changed meanwhile; only the end of the session shows it. So each session brings at most this
/// many bytes, and the receiver checks the total of the archive when it is known.
package struct MostBytes: Equatable, Sendable {
  package let bytes: UInt64

  package init(_ bytes: UInt64) { self.bytes = bytes }

  /// Fails if a transfer is larger: by its offer, or by the sender's totals at the end.
  func check(total: UInt64) throws(ArchiveError) {
    guard total > bytes else { return }
    let sizes = Close.Space(needed: total, available: bytes).sizes
    throw refusal("the transfer has \(sizes.needed), and the receiver takes at most \(sizes.available)")
  }

  /// Fails if a session is about to bring more.
  func check(coming: UInt64) throws(ArchiveError) {
    guard coming > bytes else { return }
    throw refusal("the session exceeds \(ReadableNumber.size(bytes)), the most that the receiver takes")
  }

  private func refusal(_ message: String) -> ArchiveError {
    ArchiveError(
      .noSpace, "\(message) (--max-size)",
      hint: "Start 'peer receive' with a greater --max-size, or without it; the received data is kept.")
  }
}

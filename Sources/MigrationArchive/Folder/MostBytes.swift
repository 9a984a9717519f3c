import MigrationWire

/// The most bytes that the user of this device wants of one transfer.
///
/// What is held when a session begins may be stale, since the sender's files were renamed or changed meanwhile, and only the end of
/// the session tells. So a session brings at most so much, and what all of the archive comes to is judged when that is known.
package struct MostBytes: Equatable, Sendable {
  package let bytes: UInt64

  package init(_ bytes: UInt64) { self.bytes = bytes }

  /// Fails where a transfer has more: by its offer, or by what the sender says at the end.
  func check(total: UInt64) throws(ArchiveError) {
    guard total > bytes else { return }
    let sizes = Close.Space(needed: total, available: bytes).sizes
    throw refusal("the transfer has \(sizes.needed), and the receiver takes at most \(sizes.available)")
  }

  /// Fails where a session is about to bring more.
  func check(coming: UInt64) throws(ArchiveError) {
    guard coming > bytes else { return }
    throw refusal("more than \(ReadableNumber.size(bytes)) comes, and the receiver takes no more")
  }

  private func refusal(_ message: String) -> ArchiveError {
    ArchiveError(
      .noSpace, "\(message) (--max-size)",
      hint: "Start 'peer receive' with a greater --max-size, or without it; what has arrived is kept.")
  }
}

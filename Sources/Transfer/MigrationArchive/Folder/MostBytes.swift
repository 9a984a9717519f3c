package import MigrationWire

/// The most bytes that the user of this device accepts of one transfer.
///
/// Data that is held when a session begins may be stale, because the sender's files were renamed or
/// changed meanwhile; only the end of the session shows it. So each session brings at most this
/// many bytes, and the receiver checks the total of the archive when it is known.
package struct MostBytes: Equatable, Sendable {
  package let bytes: UInt64
  /// How many of them other parts of the transfer have.
  private let others: UInt64

  package init(_ bytes: UInt64) { self.init(bytes, others: 0) }

  private init(_ bytes: UInt64, others: UInt64) {
    self.bytes = bytes
    self.others = others
  }

  /// The same bound for one part, beside others.
  package func besides(_ others: UInt64) -> MostBytes { MostBytes(bytes, others: others) }

  /// Fails if a transfer is larger: by the offer of a part, or by the sender's totals at its end.
  package func check(total: UInt64) throws(Failure) {
    let total = total.addingClamped(others)
    guard total > bytes else { return }
    throw Failure(over: Close.Space(needed: total, available: bytes))
  }

  /// Fails if a session is about to bring more.
  func check(coming: UInt64) throws(Failure) {
    guard coming.addingClamped(others) > bytes else { return }
    // How much the transfer has is not known.
    throw Failure(over: Close.Space(needed: bytes, available: bytes))
  }
}

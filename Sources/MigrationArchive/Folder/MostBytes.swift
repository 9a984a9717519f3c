import MigrationWire

/// The most bytes that the user of this device wants of one transfer, what has arrived of it before included.
package struct MostBytes: Equatable, Sendable {
  package let bytes: UInt64

  package init(_ bytes: UInt64) { self.bytes = bytes }

  /// Fails where a transfer has more.
  func check(_ total: UInt64) throws(ArchiveError) {
    guard total > bytes else { return }
    let sizes = Close.Space(needed: total, available: bytes).sizes
    throw ArchiveError(
      .noSpace, "the transfer has \(sizes.needed), and the receiver takes at most \(sizes.available) (--max-size)",
      hint: "Start 'peer receive' with a greater --max-size, or without it; what has arrived is kept.")
  }
}

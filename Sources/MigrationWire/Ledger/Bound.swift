/// The most that a receiver takes in one session (Protocol §11).
package struct Bound: Equatable, Sendable {
  package var items: UInt64
  /// The sum of the files' sizes.
  package var bytes: UInt64
  /// Bytes of records.
  package var metadata: UInt64
  /// How many more of them every record that arrives may bring.
  package var metadataPerItem: UInt64

  package init(items: UInt64, bytes: UInt64, metadata: UInt64, metadataPerItem: UInt64 = 0) {
    self.items = items
    self.bytes = bytes
    self.metadata = metadata
    self.metadataPerItem = metadataPerItem
  }
}

extension Offer {
  /// The most that the receiver takes upon this offer. Sources change while they are sent, so a
  /// quarter and a fixed margin may come on top, and more on top of an estimate. The bytes of an
  /// app's exporter are bounded only by the free room.
  package var bound: Bound {
    if flags.contains(.estimated) {
      return Bound(
        items: items + items / 2 + 1_048_576, bytes: mostBytes(bytes + bytes / 2 + 1_073_741_824),
        metadata: Limits.metadataMargin, metadataPerItem: UInt64(Limits.record))
    }
    let metadata = metadata ?? min(Limits.fileSize, items.multipliedClamped(by: UInt64(Limits.record)))
    return Bound(
      items: items + items / 4 + 1_024, bytes: mostBytes(bytes + bytes / 4 + 67_108_864),
      metadata: metadata + metadata / 4 + Limits.metadataMargin)
  }

  /// Whether more bytes than announced may come, as many as there is room for: only an app's
  /// exporter knows what it will make.
  package var isOpenEnded: Bool { if case .app = contents { true } else { false } }

  private func mostBytes(_ ofFolders: UInt64) -> UInt64 {
    isOpenEnded ? Limits.fileSize : min(Limits.fileSize, ofFolders)
  }
}

extension UInt64 {
  /// The sum, or the greatest number.
  package func addingClamped(_ other: UInt64) -> UInt64 {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }

  /// The difference, or 0.
  package func subtractingClamped(_ other: UInt64) -> UInt64 { self - Swift.min(self, other) }

  /// The product, or the greatest number.
  package func multipliedClamped(by other: UInt64) -> UInt64 {
    let (product, isTooMuch) = multipliedReportingOverflow(by: other)
    return isTooMuch ? .max : product
  }
}

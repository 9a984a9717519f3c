package import MigrationWire

/// What a transfer will have come to, as far as that is known.
package struct ExpectedTotal: Equatable, Sendable {
  package let tally: Tally
  /// Whether more may come, since an app's exporter has only estimated it.
  package let isEstimate: Bool

  package init(_ tally: Tally = Tally(), isEstimate: Bool = false) {
    self.tally = tally
    self.isEstimate = isEstimate
  }

  /// What the sender's user, who may be the app's author, is told of an estimate that was off: a clause. Nil where it was not.
  func correction(_ actual: UInt64, of contents: Offer.Contents) -> String? {
    guard isEstimate, case .app(let app) = contents else { return nil }
    guard EstimatedSize.isOff(tally.bytes, from: actual) else { return nil }
    let sizes = [tally.bytes, actual].map { ReadableNumber.size($0) }
    return "the extension of \(VisibleText.of(app.bundleIdentifier)) estimated its export at \(sizes[0]), and it has "
      + "\(sizes[1]): room and time left are reckoned by resourcesSizeEstimate"
  }
}

extension TransferProgress {
  /// So much of what is expected is there. Beyond an estimate the total is not known.
  package init(_ phase: TransferPhase, _ arrived: Tally, of total: ExpectedTotal, fraction: Double?) {
    let isBeyond = total.isEstimate && arrived.bytes > total.tally.bytes
    self.init(
      phase: phase, bytes: arrived.bytes, totalBytes: isBeyond ? nil : max(total.tally.bytes, arrived.bytes),
      items: arrived.items, totalItems: max(total.tally.items, arrived.items), phaseFraction: fraction)
  }
}

package import MigrationWire

/// The final size of a transfer, as far as it is known.
package struct ExpectedTotal: Equatable, Sendable {
  package let tally: Tally
  /// Whether more may arrive, because an app's exporter has only estimated the size.
  package let isEstimate: Bool

  package init(_ tally: Tally = Tally(), isEstimate: Bool = false) {
    self.tally = tally
    self.isEstimate = isEstimate
  }

  /// The clause that tells the sender's user, who may be the app's author, that an estimate was
  /// wrong. Nil where it was right.
  func correction(_ actual: UInt64, of contents: Offer.Contents) -> String? {
    guard isEstimate, case .app(let app) = contents else { return nil }
    guard EstimatedSize.isOff(tally.bytes, from: actual) else { return nil }
    let sizes = [tally.bytes, actual].map { ReadableNumber.size($0) }
    return "the extension of \(VisibleText.of(app.bundleIdentifier)) estimated its export at \(sizes[0]), and it has "
      + "\(sizes[1]): the remaining room and time are computed from resourcesSizeEstimate"
  }
}

extension TransferProgress {
  /// The progress when `arrived` of the expected total has arrived. Beyond an estimate the total is
  /// unknown.
  package init(_ phase: TransferPhase, _ arrived: Tally, of total: ExpectedTotal, fraction: Double?) {
    let isBeyond = total.isEstimate && arrived.bytes > total.tally.bytes
    self.init(
      phase: phase, bytes: arrived.bytes, totalBytes: isBeyond ? nil : max(total.tally.bytes, arrived.bytes),
      items: arrived.items, totalItems: max(total.tally.items, arrived.items), phaseFraction: fraction)
  }
}

package import MigrationWire

/// The progress of a transfer over all its sessions: data of earlier sessions is included.
package struct TransferProgress: Equatable, Sendable {
  package let phase: Phase
  /// The bytes of content that have moved: holes do not count, neither here nor in the total.
  package let bytes: UInt64
  /// Nil where more has arrived than was estimated.
  package let totalBytes: UInt64?
  package let items: UInt64
  package let totalItems: UInt64
  /// How much of the phase itself is done, from 0 to 1, where this differs from the share of
  /// arrived data.
  package let phaseFraction: Double?

  package init(
    phase: Phase, bytes: UInt64, totalBytes: UInt64?, items: UInt64, totalItems: UInt64,
    phaseFraction: Double? = nil
  ) {
    self.phaseFraction = phaseFraction
    self.phase = phase
    self.bytes = bytes
    self.totalBytes = totalBytes
    self.items = items
    self.totalItems = totalItems
  }

  /// The name of a part of a transfer, the same on both sides.
  package enum Phase: String, CaseIterable, Sendable {
    case pairing
    case checking
    case sending
    case receiving
    case verifying
    case importing
  }
}

/// The final size of a transfer, as far as it is known.
package struct ExpectedTotal: Equatable, Sendable {
  package let tally: Tally
  /// Whether more may arrive, because an app's exporter has only estimated the size.
  package let isEstimate: Bool
  /// The bytes of the files that take no space on the sender's disk, mostly in holes.
  private let spared: UInt64
  /// The size of the parts before the running one, and of those behind it.
  fileprivate let before: Tally
  private let behind: Tally

  /// `allocated` is the files' space on the sender's disk, where it is known.
  package init(
    _ tally: Tally = Tally(), allocated: UInt64 = .max, isEstimate: Bool = false, before: Tally = Tally(),
    behind: Tally = Tally()
  ) {
    self.tally = tally
    spared = tally.bytes - min(tally.bytes, allocated)
    self.isEstimate = isEstimate
    self.before = before
    self.behind = behind
  }

  /// The same place among the parts, with another total.
  func with(_ tally: Tally) -> ExpectedTotal {
    ExpectedTotal(tally, allocated: tally.bytes - min(spared, tally.bytes), before: before, behind: behind)
  }

  /// The same part among others.
  func between(_ before: Tally, _ behind: Tally) -> ExpectedTotal {
    ExpectedTotal(
      tally, allocated: tally.bytes - min(spared, tally.bytes), isEstimate: isEstimate, before: before, behind: behind)
  }

  /// The bytes of holes in the data that has arrived, and of those that are still expected.
  ///
  /// Data that came earlier has its share of holes. If more has moved than the files take on the
  /// sender's disk, that disk compresses, and says nothing about holes.
  fileprivate func holes(_ arrived: Arrived) -> (here: UInt64, coming: UInt64) {
    let bytes = arrived.tally.bytes
    let share = tally.bytes > 0 ? Double(spared) / Double(tally.bytes) : 0
    let here = min(bytes, arrived.holes.addingClamped(UInt64(Double(min(arrived.uncounted, bytes)) * share)))
    let isCompressed = bytes - here > tally.bytes - spared
    return (here, isCompressed ? 0 : min(spared - min(spared, here), tally.bytes - min(tally.bytes, bytes)))
  }

  /// The size of all parts, when `arrived` of the running one has arrived.
  fileprivate func whole(_ arrived: Tally) -> Tally {
    let part = Tally(items: max(tally.items, arrived.items), bytes: max(tally.bytes, arrived.bytes))
    return part.adding(before).adding(behind)
  }

  /// The clause that tells the sender's user, who may be the app's author, that an estimate was
  /// wrong. Nil where it was right.
  func correction(_ actual: UInt64, of contents: Offer.Contents) -> String? {
    guard isEstimate, case .app(let app) = contents else { return nil }
    guard Offer.isEstimate(tally.bytes, offFrom: actual) else { return nil }
    let sizes = [tally.bytes, actual].map { Figures.size($0) }
    return "the extension of \(VisibleText.of(app.bundleIdentifier)) estimated its export at \(sizes[0]), and it has "
      + "\(sizes[1]): the remaining room and time are computed from resourcesSizeEstimate"
  }
}

extension TransferProgress {
  /// The progress when `arrived` of the expected total has arrived. Beyond an estimate the total is
  /// unknown.
  package init(_ phase: Phase, _ arrived: Arrived, of total: ExpectedTotal, fraction: Double?) {
    let isBeyond = total.isEstimate && arrived.tally.bytes > total.tally.bytes
    let (whole, all) = (total.whole(arrived.tally), arrived.tally.adding(total.before))
    let holes = total.holes(arrived)
    self.init(
      phase: phase, bytes: all.bytes - holes.here,
      totalBytes: isBeyond ? nil : whole.bytes - holes.here - holes.coming, items: all.items,
      totalItems: whole.items, phaseFraction: fraction)
  }
}

import MigrationSystem
package import MigrationWire

/// The items that each source has put in place in this run of a receiver. Several sources may send
/// at a time; each may replace only the items that were there before all of them.
package final class Deliveries: Sendable {
  /// A source of a device. An unknown source is known only by its transfer.
  package struct Deliverer: Hashable, Sendable {
    let device: KeyFingerprint
    let source: SourceIdentity
    let transfer: TransferID?
  }

  /// Each path includes everything below it. A path takes eight bytes; a collision only puts an item beside.
  private let places = Mutex<[UInt64: Deliverer]>([:])
  private let key = UInt128.random(in: .min ... .max)

  package init() {}

  /// The items that one part of a transfer delivers; `sources` are the sources of its roots.
  package func of(
    _ device: KeyFingerprint, _ sources: [[UInt8]: SourceIdentity], in transfer: TransferID
  ) -> OfPart {
    OfPart(all: self, device: device, sources: sources, transfer: transfer)
  }

  fileprivate func note(_ target: ArchivePath, _ deliverer: Deliverer) {
    let hash = EarlierItems.hash(target, key)
    places.withLock { $0[hash] = deliverer }
  }

  /// The last source that put an item, or a folder above it, in place.
  fileprivate func deliverer(at target: ArchivePath) -> Deliverer? {
    let hashes = target.lineage.map { EarlierItems.hash($0, key) }
    return places.withLock { places in hashes.last { places[$0] != nil }.flatMap { places[$0] } }
  }

  /// The items that one part of a device has put in place in this run, among all others.
  package struct OfPart: Sendable {
    fileprivate let all: Deliveries
    fileprivate let device: KeyFingerprint
    fileprivate let sources: [[UInt8]: SourceIdentity]
    fileprivate let transfer: TransferID

    private func deliverer(of path: ArchivePath) -> Deliveries.Deliverer {
      let source = sources[Array(path.root)] ?? .unknown
      return Deliveries.Deliverer(device: device, source: source, transfer: source == .unknown ? transfer : nil)
    }

    /// Records that an item of the archive is in place at the destination.
    func note(_ target: ArchivePath, from path: ArchivePath) { all.note(target, deliverer(of: path)) }

    /// Whether the entry at a place came from another source than an item's.
    func hasOthers(at target: ArchivePath, than path: ArchivePath) -> Bool {
      all.deliverer(at: target).map { $0 != deliverer(of: path) } ?? false
    }
  }
}

import MigrationSystem
package import MigrationWire

/// What each source has put in place in this run of a receiver, so that no other one replaces it:
/// several may send at a time, and each replaces what was there before all of them.
package final class Deliveries: Sendable {
  /// A source of a device. Of an unknown one, only the transfer is known.
  package struct Deliverer: Hashable, Sendable {
    let device: KeyFingerprint
    let source: SourceIdentity
    let transfer: TransferID?
  }

  /// A path stands for everything in it. Eight bytes each: an accidental equality puts an item beside.
  private let places = Mutex<[UInt64: Deliverer]>([:])
  private let key = UInt128.random(in: .min ... .max)

  package init() {}

  /// What one part of a transfer delivers; `sources` are those of its roots.
  package func of(
    _ device: KeyFingerprint, _ sources: [[UInt8]: SourceIdentity], in transfer: TransferID
  ) -> OfPart {
    OfPart(all: self, device: device, sources: sources, transfer: transfer)
  }

  fileprivate func note(_ target: ArchivePath, _ deliverer: Deliverer) {
    let hash = EarlierItems.hash(target, key)
    places.withLock { $0[hash] = deliverer }
  }

  /// The last one that has put this, or what it is in, in place.
  fileprivate func deliverer(at target: ArchivePath) -> Deliverer? {
    let hashes = target.lineage.map { EarlierItems.hash($0, key) }
    return places.withLock { places in hashes.last { places[$0] != nil }.flatMap { places[$0] } }
  }

  /// What one part of a device has put in place in this run, among all others.
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

    /// Whether another source than an item's has put in place what lies there.
    func hasOthers(at target: ArchivePath, than path: ArchivePath) -> Bool {
      all.deliverer(at: target).map { $0 != deliverer(of: path) } ?? false
    }
  }
}

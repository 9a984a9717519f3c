import MigrationArchive
import MigrationWire

/// Chunk tags that cost little: a keyed hash in the place of a MAC.
final class SimulatedSealer: ChunkSealing {
  private let key: UInt128
  private var nonce: UInt64 = 0

  init(_ keys: TransferKeys) { key = keys.tagKey }

  func seal(place: [UInt8], data: RawSpan) -> ChunkSeal {
    nonce += 1
    return ChunkSeal(nonceHigh: nonce, nonceLow: 7, tag: tag(nonce, place, data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool {
    seal.tag == tag(seal.nonceHigh, place, data)
  }

  private func tag(_ nonce: UInt64, _ place: [UInt8], _ data: RawSpan) -> UInt128 {
    var hash = SipHash(key: key)
    hash.combine(nonce)
    hash.combine(place)
    data.withUnsafeBytes { hash.combine(Array($0)) }
    return hash.finish()
  }
}

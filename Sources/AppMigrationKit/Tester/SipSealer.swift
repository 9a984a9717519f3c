internal import MigrationArchive
internal import MigrationWire

/// Tags for frames that never leave the process: a keyed hash instead of the transfer's tags, which
/// need OpenSSL.
final class SipSealer: ChunkSealing {
  private let key: UInt128
  private var nonce: UInt32 = 0

  init(key: UInt128) { self.key = key }

  func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    nonce &+= 1
    return ChunkSeal(nonceHigh: 0, nonceLow: nonce, tag: tag(nonce, place, data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool {
    seal.tag == tag(seal.nonceLow, place, data)
  }

  func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    ChunkSeal(nonceHigh: seal.nonceHigh, nonceLow: seal.nonceLow, tag: tag(seal.nonceLow, place, data))
  }

  private func tag(_ nonce: UInt32, _ place: [UInt8], _ data: Span<UInt8>) -> UInt128 {
    var hash = SipHash(key: key)
    hash.combine(nonce)
    hash.combine(UInt64(data.count))
    hash.combine(place)
    hash.combine(data)
    return hash.finish()
  }
}

import MigrationArchive
package import MigrationWire

/// Cheap chunk tags: a keyed hash over place and data instead of a MAC.
package final class HashSealer: ChunkSealing {
  private let key: UInt64
  private var nonce: UInt32 = 0

  /// Both ends have the same key.
  package init(key: UInt64 = 0x1234_5678_9ABC_DEF1) { self.key = key }

  /// The same for both ends of a transfer.
  package convenience init(_ keys: TransferKeys) { self.init(key: UInt64(truncatingIfNeeded: keys.tagKey)) }

  package func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    nonce += 1
    return ChunkSeal(nonceHigh: key, nonceLow: nonce, tag: tag(nonce, place, data))
  }

  package func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool {
    seal.tag == tag(seal.nonceLow, place, data)
  }

  package func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    ChunkSeal(nonceHigh: seal.nonceHigh, nonceLow: seal.nonceLow, tag: tag(seal.nonceLow, place, data))
  }

  private func tag(_ nonce: UInt32, _ place: [UInt8], _ data: Span<UInt8>) -> UInt128 {
    var hash = SipHash(key: UInt128(key))
    hash.combine(nonce)
    hash.combine(place)
    hash.combine(UInt64(data.count))
    hash.combine(data.withUnsafeBytes { Self.folded($0, key) })
    return hash.finish()
  }

  private static func folded(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) -> UInt64 {
    var hash = key
    var offset = 0
    while offset < bytes.count {
      var word: UInt64 = 0
      if offset + 8 <= bytes.count {
        word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      } else {
        for index in offset..<bytes.count { word = word << 8 | UInt64(bytes[index]) }
      }
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
      offset += 8
    }
    return hash
  }
}

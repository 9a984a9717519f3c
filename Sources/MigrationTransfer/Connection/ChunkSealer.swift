import MigrationArchive
import MigrationTLS
import MigrationWire

/// Chunk tags under the key of a transfer; one thread uses it.
final class ChunkSealer: ChunkSealing {
  private var tagger: ChunkTagger

  init(_ keys: TransferKeys) throws(TLSError) {
    var key = ByteWriter()
    key.u128(keys.tagKey)
    tagger = try ChunkTagger(key: key.bytes)
  }

  func seal(place: [UInt8], data: RawSpan) -> ChunkSeal {
    unsafe tagger.tag(header: place.span.bytes, data: data)
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool {
    unsafe tagger.verify(seal, header: place.span.bytes, data: data)
  }

  func expected(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> ChunkSeal {
    unsafe tagger.expected(seal, header: place.span.bytes, data: data)
  }
}

extension TransferKeys {
  /// Fresh keys for a new transfer.
  static func random() -> TransferKeys {
    TransferKeys(tagKey: .randomIdentifier(), hashKey: .randomIdentifier())
  }
}

extension UInt128 {
  /// 16 bytes from the library's generator.
  static func randomIdentifier() -> UInt128 {
    randomBytes(16).reduce(0) { $0 << 8 | UInt128($1) }
  }
}

import MigrationArchive
import MigrationTLS
import MigrationWire

/// Chunk tags under the key of a transfer; one thread uses it.
final class ChunkSealer: ChunkSealing {
  private var tagger: ChunkTagger

  init(_ keys: TransferKeys) throws(TLSError) {
    tagger = try ChunkTagger(key: keys.tagKey)
  }

  func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    tagger.tag(header: place.span, data: data)
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool {
    tagger.verify(seal, header: place.span, data: data)
  }

  func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    tagger.expected(seal, header: place.span, data: data)
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

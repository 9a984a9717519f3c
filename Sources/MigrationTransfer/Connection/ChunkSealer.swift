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
    unsafe ChunkSeal(tagger.tag(header: place.span.bytes, data: data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool {
    var bytes = ByteWriter()
    seal.write(to: &bytes)
    guard let tag = ChunkTag(bytes: bytes.bytes) else { return false }
    return unsafe tagger.verify(tag, header: place.span.bytes, data: data)
  }
}

extension ChunkSeal {
  fileprivate init(_ tag: ChunkTag) {
    let bytes = tag.bytes
    func integer<Value: FixedWidthInteger>(_ range: Range<Int>) -> Value {
      bytes[range].reduce(0) { $0 << 8 | Value($1) }
    }
    self.init(nonceHigh: integer(0..<8), nonceLow: integer(8..<12), tag: integer(12..<28))
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

package import MigrationWire

/// Creates and checks chunk tags (Protocol §9.3); one thread uses it.
package protocol ChunkSealing: AnyObject {
  /// A tag with a fresh nonce.
  func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal
  /// Whether the tag is valid.
  func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool
  /// The tag that would fit with the nonce of this one.
  func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal
}

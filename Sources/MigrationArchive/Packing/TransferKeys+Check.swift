import MigrationSystem
package import MigrationWire

extension TransferKeys {
  /// The check of the bytes of a chunk, or of a hole without any (Protocol §9.3).
  package func check(_ place: ChunkPlace, _ data: Span<UInt8> = Span()) -> ChunkCheck {
    check(place, lanes: checkLanes(of: data))
  }
}

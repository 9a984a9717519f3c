/// The sizes of an archive's frames and chunks. A receiver accepts any.
package struct ArchiveSizes: Sendable {
  /// A file up to this size is sent together with its record, in one frame.
  let smallFile: Int
  /// The most bytes of a large file in one chunk.
  let chunk: Int
  /// The bytes of a large file that a reader reads before it asks for its next work.
  let part: Int
  /// A frame with at least this many bytes is sent and not filled further.
  let fullFrame: Int

  /// A frame is read, checked, sealed and sent in one pass, so it should fit into the processor
  /// core's own cache.
  package init(smallFile: Int = 256 << 10, chunk: Int = 256 << 10, part: Int = 8 << 20, fullFrame: Int = 224 << 10) {
    self.smallFile = smallFile
    self.chunk = chunk
    self.part = part
    self.fullFrame = fullFrame
  }

  /// The memory that suffices for almost every frame; a larger frame grows.
  package var frameCapacity: Int { max(smallFile, chunk, fullFrame) + (16 << 10) }
}

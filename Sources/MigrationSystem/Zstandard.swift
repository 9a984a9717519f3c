/// One thread's compressor of libzstd, where this machine has that library.
@safe package struct Zstandard: ~Copyable {
  /// The fastest of the usual levels.
  private static let level: CInt = 1

  private let library: ZstandardLibrary
  private let context: OpaquePointer

  /// Whether this machine can compress and decompress.
  package static var isAvailable: Bool { ZstandardLibrary.shared != nil }

  /// Fails where the library is missing.
  package init?() {
    guard let library = ZstandardLibrary.shared, let context = unsafe library.makeCompressor() else { return nil }
    self.library = library
    unsafe self.context = context
  }

  deinit { _ = unsafe library.freeCompressor(context) }

  /// Compresses bytes to the front of a buffer; how many they come to, nil if that is more than `limit` or than there is room for.
  package func compress(_ bytes: RawSpan, into buffer: inout [UInt8], atMost limit: Int = .max) -> Int? {
    let size = unsafe bytes.withUnsafeBytes { source in
      unsafe buffer.withUnsafeMutableBytes { target in
        unsafe library.compress(
          context, target.baseAddress, min(target.count, limit), source.baseAddress, source.count, Self.level)
      }
    }
    return library.isError(size) == 0 ? size : nil
  }
}

/// One thread's decompressor of libzstd, where this machine has that library.
@safe package struct ZstandardDecoder: ~Copyable {
  private let library: ZstandardLibrary
  private let context: OpaquePointer

  /// Fails where the library is missing.
  package init?() {
    guard let library = ZstandardLibrary.shared, let context = unsafe library.makeDecompressor() else { return nil }
    self.library = library
    unsafe self.context = context
  }

  deinit { _ = unsafe library.freeDecompressor(context) }

  /// Decompresses one whole frame to exactly the first `count` bytes of a buffer; false where it is anything else.
  ///
  /// What a frame says of its window costs no memory: all of the data lies in the buffer, so the library keeps none of it.
  package func decompress(_ bytes: RawSpan, into buffer: inout [UInt8], exactly count: Int) -> Bool {
    precondition(count <= buffer.count, "the data fits into its buffer")
    return unsafe bytes.withUnsafeBytes { source in
      // Else other frames behind it would be decoded as well, or skipped.
      guard unsafe library.frameLength(source.baseAddress, source.count) == source.count else { return false }
      return unsafe buffer.withUnsafeMutableBytes { target in
        unsafe library.decompress(context, target.baseAddress, count, source.baseAddress, source.count) == count
      }
    }
  }
}

/// One thread's compressor of libzstd, if this machine has that library.
@safe package struct Zstandard: ~Copyable {
  /// The fastest of the usual levels.
  private static let level: CInt = 1

  private let library: ZstandardLibrary
  private let context: OpaquePointer

  /// Whether this machine can compress and decompress.
  package static var isAvailable: Bool { ZstandardLibrary.shared != nil }

  /// Fails if the library is missing.
  package init?() {
    guard let library = ZstandardLibrary.shared, let context = unsafe library.makeCompressor() else { return nil }
    self.library = library
    unsafe self.context = context
  }

  deinit { _ = unsafe library.freeCompressor(context) }

  /// Compresses bytes to the front of a buffer. Returns the compressed length; nil if it exceeds
  /// `limit` or the buffer.
  package func compress(_ bytes: Span<UInt8>, into buffer: inout [UInt8], atMost limit: Int = .max) -> Int? {
    let size = unsafe bytes.withUnsafeBytes { source in
      unsafe buffer.withUnsafeMutableBytes { target in
        unsafe library.compress(
          context, target.baseAddress, min(target.count, limit), source.baseAddress, source.count, Self.level)
      }
    }
    return library.isError(size) == 0 ? size : nil
  }
}

/// One thread's decompressor of libzstd, if this machine has that library.
@safe package struct ZstandardDecoder: ~Copyable {
  private let library: ZstandardLibrary
  private let context: OpaquePointer

  /// Fails if the library is missing.
  package init?() {
    guard let library = ZstandardLibrary.shared, let context = unsafe library.makeDecompressor() else { return nil }
    self.library = library
    unsafe self.context = context
  }

  deinit { _ = unsafe library.freeDecompressor(context) }

  /// Decompresses one whole frame to exactly the first `count` bytes of a buffer; false for any
  /// other input.
  ///
  /// The window size that a frame declares costs no memory: all data is in the buffer, so the
  /// library keeps no copy.
  package func decompress(_ bytes: Span<UInt8>, into buffer: inout [UInt8], exactly count: Int) -> Bool {
    precondition(count <= buffer.count, "the data fits into its buffer")
    return unsafe bytes.withUnsafeBytes { source in
      // Otherwise the library would also decode, or skip, further frames behind it.
      guard unsafe library.frameLength(source.baseAddress, source.count) == source.count else { return false }
      return unsafe buffer.withUnsafeMutableBytes { target in
        unsafe library.decompress(context, target.baseAddress, count, source.baseAddress, source.count) == count
      }
    }
  }
}

import Glibc

/// One thread's compressor of libzstd, if this machine has that library.
@safe package struct Zstandard: ~Copyable {
  /// The fastest of the usual levels.
  private static let level: CInt = 1

  private let library: Library
  private let context: OpaquePointer

  /// Whether this machine can compress and decompress.
  package static var isAvailable: Bool { Library.shared != nil }

  /// The version of the library; nil if this machine has none that can be used.
  package static var version: String? { Library.shared?.version }

  /// Fails if the library is missing.
  package init?() {
    guard let library = Library.shared, let context = unsafe library.makeCompressor() else { return nil }
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

  /// The functions of libzstd that are called, if this machine has them. The library is opened at run
  /// time and never linked.
  @safe struct Library: Sendable {
    typealias Make = @convention(c) @Sendable () -> OpaquePointer?
    typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Int
    typealias Compress =
      @convention(c) @Sendable (
        OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, CInt
      ) -> Int
    typealias Decompress =
      @convention(c) @Sendable (
        OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int
      ) -> Int
    typealias Measure = @convention(c) @Sendable (UnsafeRawPointer?, Int) -> Int
    typealias IsError = @convention(c) @Sendable (Int) -> CUnsignedInt
    typealias Name = @convention(c) @Sendable () -> UnsafePointer<CChar>

    let makeCompressor: Make
    let freeCompressor: Free
    let compress: Compress
    let makeDecompressor: Make
    let freeDecompressor: Free
    let decompress: Decompress
    let frameLength: Measure
    let isError: IsError
    private let name: Name

    var version: String { unsafe String(cString: name()) }

    /// Opened once; nil if it is missing or incompatible.
    static let shared = Library()

    private init?() {
      guard let handle = unsafe dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL),
        let makeCompressor = unsafe dlsym(handle, "ZSTD_createCCtx"),
        let freeCompressor = unsafe dlsym(handle, "ZSTD_freeCCtx"),
        let compress = unsafe dlsym(handle, "ZSTD_compressCCtx"),
        let makeDecompressor = unsafe dlsym(handle, "ZSTD_createDCtx"),
        let freeDecompressor = unsafe dlsym(handle, "ZSTD_freeDCtx"),
        let decompress = unsafe dlsym(handle, "ZSTD_decompressDCtx"),
        let frameLength = unsafe dlsym(handle, "ZSTD_findFrameCompressedSize"),
        let isError = unsafe dlsym(handle, "ZSTD_isError"),
        let name = unsafe dlsym(handle, "ZSTD_versionString")
      else { return nil }
      unsafe self.makeCompressor = unsafe unsafeBitCast(makeCompressor, to: Make.self)
      unsafe self.freeCompressor = unsafe unsafeBitCast(freeCompressor, to: Free.self)
      unsafe self.compress = unsafe unsafeBitCast(compress, to: Compress.self)
      unsafe self.makeDecompressor = unsafe unsafeBitCast(makeDecompressor, to: Make.self)
      unsafe self.freeDecompressor = unsafe unsafeBitCast(freeDecompressor, to: Free.self)
      unsafe self.decompress = unsafe unsafeBitCast(decompress, to: Decompress.self)
      unsafe self.frameLength = unsafe unsafeBitCast(frameLength, to: Measure.self)
      self.isError = unsafe unsafeBitCast(isError, to: IsError.self)
      unsafe self.name = unsafe unsafeBitCast(name, to: Name.self)
    }
  }
}

/// One thread's decompressor of libzstd, if this machine has that library.
@safe package struct ZstandardDecoder: ~Copyable {
  private let library: Zstandard.Library
  private let context: OpaquePointer

  /// Fails if the library is missing.
  package init?() {
    guard let library = Zstandard.Library.shared, let context = unsafe library.makeDecompressor() else { return nil }
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
